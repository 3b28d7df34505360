//! Workers that take sessions, with calls as short as a sentence.

use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::TagFilter;

use crate::support::{Job, Subject, activity_with, completed, worker};

/// An idle time that no test reaches.
pub(super) const NEVER_IDLE: Duration = Duration::from_secs(3600);

/// The instance whose activities these are; nothing here depends on it.
pub(super) const INSTANCE: &str = "a";

/// Somebody who takes work, sessions included.
#[derive(Clone, Copy)]
pub(super) struct Worker<'s> {
    store: &'s Subject<'s>,
    owner: &'s str,
    owns_for: Duration,
    leases_for: Duration,
}

impl<'s> Worker<'s> {
    /// Sessions and activities are taken for the lock time of the factory.
    pub(super) fn new(store: &'s Subject<'s>, owner: &'s str) -> Self {
        Self { store, owner, owns_for: store.lock(), leases_for: store.lock() }
    }

    /// Takes sessions for this long.
    pub(super) fn owning_for(self, owns_for: Duration) -> Self {
        Self { owns_for, ..self }
    }

    /// Takes activities for this long.
    pub(super) fn leasing_for(self, leases_for: Duration) -> Self {
        Self { leases_for, ..self }
    }

    /// Takes the first activity that it may take, if there is one.
    pub(super) async fn try_take(&self) -> Option<Job> {
        let session = worker(self.owner, self.owns_for);
        let tags = TagFilter::default_only();
        let fetched =
            self.store.fetch_work_item(self.leases_for, Duration::ZERO, Some(&session), &tags).await;
        let fetched = fetched.unwrap_or_else(|error| panic!("{} could not fetch: {error}", self.owner));
        fetched.map(|(item, token, attempt)| Job { item, token, attempt })
    }

    /// Takes this activity, which must come first for it.
    #[track_caller]
    pub(super) fn take(&self, id: u64) -> impl Future<Output = Job> {
        let place = std::panic::Location::caller();
        async move {
            let job = self.try_take().await;
            let found = job.as_ref().map(Job::id);
            let owner = self.owner;
            assert_eq!(found, Some(id), "{owner} must get this activity next ({place})");
            job.expect("it was just compared")
        }
    }

    /// There is nothing that it may take.
    pub(super) async fn finds_nothing(&self, why: &str) {
        let job = self.try_take().await;
        assert!(job.is_none(), "{why}, but {} got this: {job:?}", self.owner);
    }

    /// Renews its sessions, however idle they are, and says how many there were.
    pub(super) async fn renew_sessions(&self, extend_for: Duration) -> usize {
        renew_sessions(self.store, &[self.owner], extend_for, NEVER_IDLE).await
    }
}

/// An activity of a session.
pub(super) fn in_session(session: &str, id: u64) -> WorkItem {
    activity_with(INSTANCE, id, Some(session), None)
}

/// Enqueues activities of a session, in this order.
pub(super) async fn post_in(store: &Subject<'_>, session: &str, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        store.post_work(in_session(session, id)).await;
    }
}

/// Finishes an activity.
pub(super) async fn finish(store: &Subject<'_>, job: &Job) {
    let acked = store.ack_work_item(&job.token, Some(completed(INSTANCE, job.id()))).await;
    acked.unwrap_or_else(|error| panic!("activity {} could not be acked: {error}", job.id()));
}

pub(super) async fn renew_sessions(
    store: &Subject<'_>,
    owners: &[&str],
    extend_for: Duration,
    idle_timeout: Duration,
) -> usize {
    let renewed = store.renew_session_lock(owners, extend_for, idle_timeout).await;
    renewed.unwrap_or_else(|error| panic!("the sessions of {owners:?} could not be renewed: {error}"))
}

/// Forgets orphaned sessions, and says how many there were.
pub(super) async fn clean_up(store: &Subject<'_>, idle_timeout: Duration) -> usize {
    let forgotten = store.cleanup_orphaned_sessions(idle_timeout).await;
    forgotten.unwrap_or_else(|error| panic!("orphaned sessions could not be forgotten: {error}"))
}

/// Claims a session by taking and finishing one activity, so that nothing of it is queued.
pub(super) async fn claim_empty(store: &Subject<'_>, by: Worker<'_>, session: &str, id: u64) {
    post_in(store, session, [id]).await;
    let job = by.take(id).await;
    finish(store, &job).await;
}
