//! The lane of activities: leased, run, and their results told.
//!
//! [`Worker::work`] is the way of one activity. How it is run and stopped is in `execute.rs`, how its result becomes durable in
//! `finish.rs`, which sessions are ours in `session.rs`.
//!
//! Deliberately absent: removing an activity without a result. Only the turn that cancels it does that.

mod execute;
mod finish;
mod session;
mod stolen;

use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_model::{ErrorDetails, PoisonMessageType, WorkItem};
use abide_provider::{LeaseWork, Operation, SessionFetchConfig, StoreError, WorkLease};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::{Notify, Semaphore};
use tracing::{Instrument, info_span, warn};

use self::execute::Activity;
use self::finish::Taken;
pub(crate) use self::session::keep_sessions;
use self::session::{Room, Sessions, Ticket};
use self::stolen::Running;
pub(crate) use self::stolen::listen;
use crate::chances::Verdict;
use crate::core::Core;
use crate::dispatch::{Attempt, GiveBack, Lane, Slot};
use crate::renewal::{Lease, Leased};

/// So many finished activities per slot may wait for the store to take their result.
const UNACKNOWLEDGED_PER_SLOT: usize = 4;
/// A session that is one too many is left to others for this long.
const SESSION_TOO_MANY: Duration = Duration::from_millis(100);

/// Runs activities.
pub(crate) struct Worker {
    core: Arc<Core>,
    client: Client,
    pub(crate) sessions: Sessions,
    pub(crate) running: Running,
    unacknowledged: Arc<Semaphore>,
    node: String,
}

impl Worker {
    pub(crate) fn new(core: Arc<Core>, client: Client) -> Self {
        let slots = core.settings.worker_concurrency;
        let node = core.settings.worker_node_id.clone().unwrap_or_else(|| core.id.clone());
        Self {
            client,
            sessions: Sessions::new(core.settings.max_sessions_per_runtime),
            running: Running::default(),
            unacknowledged: Arc::new(Semaphore::new(slots.saturating_mul(UNACKNOWLEDGED_PER_SLOT).max(1))),
            node,
            core,
        }
    }

    /// Who claims sessions.
    pub(crate) fn owner(&self) -> &str {
        &self.node
    }

    /// One activity, from its lease to its result.
    async fn work(self: Arc<Self>, lease: WorkLease, granted: Duration, slot: Slot, ticket: Option<Ticket>) {
        let WorkItem::ActivityExecute { .. } = &lease.item else {
            return self.misrouted(&lease).await;
        };
        let Some(ticket) = ticket else {
            let back = GiveBack { delay: Some(SESSION_TOO_MANY), attempt: Attempt::DoesNotCount };
            return self.hand_back(&lease.token, back).await;
        };
        let settings = &self.core.settings;
        let keep = Lease {
            on: Leased::Work,
            token: lease.token.clone(),
            lasts: settings.worker_lock_timeout,
            interval: settings.worker_renewal_interval,
        };
        let renewed = self.core.renewals.hold(keep, granted);
        let Some(key) = key_of(&lease.item) else { return };
        if self.core.chances.judge(&key, lease.attempt, settings.max_attempts) == Verdict::Poison {
            return self.poison(lease).await;
        }
        let Some(activity) = Activity::of(lease) else { return };
        self.execute(activity, renewed, slot, ticket).await;
    }

    /// It was tried too often: the orchestration is told.
    async fn poison(&self, lease: WorkLease) {
        let WorkItem::ActivityExecute { instance, execution_id, id, name, .. } = &lease.item else { return };
        warn!(target: "abide::runtime", instance_id = %instance, activity_name = %name, attempt = lease.attempt,
            "the activity was tried too often; it fails");
        let details = ErrorDetails::Poison {
            attempt_count: lease.attempt,
            max_attempts: self.core.settings.max_attempts,
            message_type: PoisonMessageType::Activity {
                instance: instance.clone(),
                execution_id: *execution_id,
                activity_name: name.clone(),
                activity_id: *id,
            },
            message: serde_json::to_string(&lease.item).unwrap_or_default(),
        };
        let completion = WorkItem::ActivityFailed {
            instance: instance.clone(),
            execution_id: *execution_id,
            id: *id,
            details,
        };
        if self.finish(lease.token, completion).await == Taken::Yes {
            self.core.metrics.record_activity_poison();
        }
    }

    /// Something that is no activity has no business here; nothing is known that could be told to anybody.
    async fn misrouted(&self, lease: &WorkLease) {
        warn!(target: "abide::runtime", kind = abide_model::kind_of(&lease.item), "not an activity; left in the queue");
        let delay = self.core.settings.unregistered_backoff.delay(lease.attempt);
        self.hand_back(&lease.token, GiveBack::tried(delay)).await;
    }

    async fn hand_back(&self, token: &str, back: GiveBack) {
        give_back(Arc::clone(&self.core), token.to_owned(), back).await;
    }
}

impl Lane for Worker {
    type Lease = WorkLease;

    const NAME: &'static str = "activities";
    const LEASE: Operation = Operation::LeaseWork;
    const QUEUE: abide_provider::Lane = abide_provider::Lane::Work;

    fn slots(&self) -> usize {
        self.core.settings.worker_concurrency
    }

    fn lease(
        self: Arc<Self>,
        limit: usize,
        wait: Duration,
    ) -> BoxFuture<'static, Result<Vec<WorkLease>, StoreError>> {
        let settings = &self.core.settings;
        let own =
            SessionFetchConfig { owner_id: self.node.clone(), lock_timeout: settings.session_lock_timeout };
        let (limit, wait, session) = match self.sessions.room() {
            Room::Unused => (limit, wait, Some(own)),
            Room::For(more) => (limit.min(more), wait, Some(own)),
            // A call that waits without a session would not see that there is room again.
            Room::None => (limit, wait.min(settings.dispatcher_min_poll_interval), None),
        };
        let request = LeaseWork {
            limit,
            lease_for: settings.worker_lock_timeout,
            wait,
            session,
            tags: settings.worker_tag_filter.clone(),
        };
        let store = Arc::clone(&self.core.store);
        async move { store.lease_work(request).await }.boxed()
    }

    fn run(self: Arc<Self>, lease: WorkLease, granted: Duration, slot: Slot) -> BoxFuture<'static, ()> {
        let session = if let WorkItem::ActivityExecute { session_id, .. } = &lease.item {
            session_id.as_deref()
        } else {
            None
        };
        let ticket = self.sessions.enter(session);
        let span = if let WorkItem::ActivityExecute { instance, execution_id, id, name, .. } = &lease.item {
            info_span!(target: "abide::runtime", "activity", instance_id = %instance, execution_id,
                orchestration_name = %lease.orchestration_name, activity_name = %name, activity_id = id,
                attempt = lease.attempt)
        } else {
            tracing::Span::none()
        };
        self.work(lease, granted, slot, ticket).instrument(span).boxed()
    }

    fn token(lease: &WorkLease) -> String {
        lease.token.clone()
    }

    fn give_back(self: Arc<Self>, token: String, back: GiveBack) -> BoxFuture<'static, ()> {
        give_back(Arc::clone(&self.core), token, back).boxed()
    }

    fn news(core: &Core) -> &Notify {
        &core.new_work
    }

    fn count_leased(core: &Core, leased: u64) {
        core.metrics.record_worker_dispatcher_items_fetched(leased);
    }

    fn count_worked(core: &Core, millis: u64) {
        core.metrics.record_worker_dispatcher_execution_duration(millis);
    }
}

/// The name of an activity, the same for every lease on it.
fn key_of(item: &WorkItem) -> Option<String> {
    let WorkItem::ActivityExecute { instance, execution_id, id, .. } = item else { return None };
    Some(key(instance, *execution_id, *id))
}

fn key(instance: &str, execution_id: u64, activity_id: u64) -> String {
    format!("{instance}/{execution_id}/{activity_id}")
}

async fn give_back(core: Arc<Core>, token: String, back: GiveBack) {
    let store = Arc::clone(&core.store);
    let call = move || {
        let (store, token) = (Arc::clone(&store), token.clone());
        async move { store.abandon_work_item(&token, back.delay, back.ignores_attempt()).await }.boxed()
    };
    core.give_back(Operation::AbandonWorkItem, call).await;
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("node", &self.node).finish_non_exhaustive()
    }
}
