//! The provider under test, with calls as short as a sentence.
//!
//! Calls that a test is not about must succeed: they panic with what they were doing. A fetch never waits.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use abide_model::{Event, WorkItem};
use abide_provider::{
    DispatcherCapabilityFilter, OrchestrationItem, Provider, ProviderAdmin, ProviderError, SemverRange,
    SessionFetchConfig, TagFilter, transfer_time,
};

use super::{Ack, start};
use crate::ProviderFactory;

/// Time beyond the end of a lease, for stores whose clock is not ours.
const MARGIN: Duration = Duration::from_millis(200);

/// A fresh provider, and the factory it came from.
pub(crate) struct Subject<'f> {
    factory: &'f dyn ProviderFactory,
    provider: Arc<dyn Provider>,
}

/// A leased instance.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) item: OrchestrationItem,
    pub(crate) token: String,
    pub(crate) attempt: u32,
}

/// A leased activity.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) item: WorkItem,
    pub(crate) token: String,
    pub(crate) attempt: u32,
}

impl Deref for Subject<'_> {
    type Target = dyn Provider;

    fn deref(&self) -> &Self::Target {
        self.provider.as_ref()
    }
}

impl<'f> Subject<'f> {
    pub(crate) async fn new(factory: &'f dyn ProviderFactory) -> Self {
        Self { factory, provider: factory.create_provider().await }
    }

    /// The provider, to be used from several tasks.
    pub(crate) fn shared(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.provider)
    }

    pub(crate) fn admin(&self) -> &dyn ProviderAdmin {
        self.provider.as_management_capability().expect("the provider has an administrative side")
    }

    /// How long leases last.
    pub(crate) fn lock(&self) -> Duration {
        self.factory.lock_timeout()
    }

    /// The time by the store's clock, in milliseconds since the epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        self.factory.store_time().as_millis()
    }

    pub(crate) async fn pass(&self, duration: Duration) {
        self.factory.pass_time(duration).await;
    }

    /// Lets a lease that was taken now run out.
    pub(crate) async fn expire_leases(&self) {
        self.pass(self.lock() + MARGIN).await;
    }

    /// Lets a lease on so many bytes expire, which a store across a network may let last longer.
    pub(crate) async fn expire_leases_on(&self, bytes: usize) {
        self.pass(self.lock().max(transfer_time(bytes) * 2) + MARGIN).await;
    }

    // Mail and turns.

    pub(crate) async fn post(&self, item: WorkItem) {
        let sent = self.enqueue_for_orchestrator(item.clone(), None).await;
        sent.unwrap_or_else(|error| panic!("{item:?} could not be enqueued: {error}"));
    }

    /// Leases whatever comes first, if anything does.
    pub(crate) async fn try_fetch(&self) -> Option<Turn> {
        self.try_fetch_filtered(None).await
    }

    pub(crate) async fn try_fetch_filtered(
        &self,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Option<Turn> {
        let fetched = self.fetch_orchestration_item(self.lock(), Duration::ZERO, filter).await;
        let fetched = fetched.unwrap_or_else(|error| panic!("fetching an instance failed: {error}"));
        fetched.map(|(item, token, attempt)| Turn { item, token, attempt })
    }

    /// Leases this instance, which must come first.
    pub(crate) async fn fetch(&self, instance: &str) -> Turn {
        let turn = self.try_fetch().await;
        let turn = turn.unwrap_or_else(|| panic!("instance '{instance}' has mail, but nothing was fetched"));
        assert_eq!(turn.item.instance, instance, "another instance was fetched");
        turn
    }

    /// Nothing can be leased now.
    pub(crate) async fn assert_no_turn(&self, why: &str) {
        let turn = self.try_fetch().await;
        assert!(turn.is_none(), "{why}, but this was fetched: {turn:?}");
    }

    pub(crate) async fn try_ack(&self, token: &str, ack: Ack) -> Result<(), ProviderError> {
        let Ack { instance: _, execution_id, events, worker_items, orchestrator_items, metadata, cancelled } =
            ack;
        let acked = self.ack_orchestration_item(
            token,
            execution_id,
            events,
            worker_items,
            orchestrator_items,
            metadata,
            cancelled,
        );
        acked.await
    }

    pub(crate) async fn ack(&self, token: &str, ack: Ack) {
        let instance = ack.instance.clone();
        let acked = self.try_ack(token, ack).await;
        acked.unwrap_or_else(|error| panic!("the turn of '{instance}' could not be acked: {error}"));
    }

    /// Starts an instance, leases it and commits this first turn.
    pub(crate) async fn begin(&self, first: Ack) {
        let instance = first.instance.clone();
        self.post(start(&instance)).await;
        let turn = self.fetch(&instance).await;
        self.ack(&turn.token, first).await;
    }

    /// An instance that runs, with its start as its only event and no mail.
    pub(crate) async fn create(&self, instance: &str) {
        self.begin(Ack::first(instance)).await;
    }

    /// Sends an instance a signal, leases it and commits this turn.
    pub(crate) async fn step(&self, turn: Ack) {
        let instance = turn.instance.clone();
        self.post(super::signal(&instance, "step")).await;
        let leased = self.fetch(&instance).await;
        self.ack(&leased.token, turn).await;
    }

    /// The history of the latest execution.
    pub(crate) async fn history(&self, instance: &str) -> Vec<Event> {
        let history = self.read(instance).await;
        history.unwrap_or_else(|error| panic!("the history of '{instance}' could not be read: {error}"))
    }

    /// The ids of the events of one execution.
    pub(crate) async fn event_ids(&self, instance: &str, execution_id: u64) -> Vec<u64> {
        let history = self.read_with_execution(instance, execution_id).await;
        let history = history.unwrap_or_else(|error| panic!("history of '{instance}': {error}"));
        history.iter().map(Event::event_id).collect()
    }

    // Work.

    pub(crate) async fn post_work(&self, item: WorkItem) {
        let sent = self.enqueue_for_worker(item.clone()).await;
        sent.unwrap_or_else(|error| panic!("{item:?} could not be enqueued: {error}"));
    }

    pub(crate) async fn try_fetch_work_as(
        &self,
        session: Option<&SessionFetchConfig>,
        tags: &TagFilter,
    ) -> Option<Job> {
        let fetched = self.fetch_work_item(self.lock(), Duration::ZERO, session, tags).await;
        let fetched = fetched.unwrap_or_else(|error| panic!("fetching work failed: {error}"));
        fetched.map(|(item, token, attempt)| Job { item, token, attempt })
    }

    /// Leases the first activity without tag and session, if there is one.
    pub(crate) async fn try_fetch_work(&self) -> Option<Job> {
        self.try_fetch_work_as(None, &TagFilter::default_only()).await
    }

    /// Leases the first activity without tag and session.
    pub(crate) async fn fetch_work(&self) -> Job {
        self.try_fetch_work().await.expect("there is work, but nothing was fetched")
    }

    pub(crate) async fn assert_no_work(&self, why: &str) {
        let job = self.try_fetch_work().await;
        assert!(job.is_none(), "{why}, but this was fetched: {job:?}");
    }
}

impl Turn {
    /// What the signals in the batch carry, in order.
    pub(crate) fn signals(&self) -> Vec<&str> {
        let data = self.item.messages.iter().filter_map(|message| {
            if let WorkItem::ExternalRaised { data, .. } = message { Some(data.as_str()) } else { None }
        });
        data.collect()
    }
}

impl Job {
    /// Its event.
    pub(crate) fn id(&self) -> u64 {
        let WorkItem::ActivityExecute { id, .. } = self.item else {
            panic!("this is no activity: {:?}", self.item);
        };
        id
    }
}

/// The refusal of a call that must be refused for good: a permanent error.
#[track_caller]
pub(crate) fn assert_refused<T: std::fmt::Debug>(answer: &Result<T, ProviderError>, what: &str) {
    match answer {
        Ok(done) => panic!("{what} must be refused, but was answered with {done:?}"),
        Err(error) => assert!(!error.is_retryable(), "{what} is refused for good, not for now: {error}"),
    }
}

/// A worker that takes sessions.
pub(crate) fn worker(owner: &str, lock_timeout: Duration) -> SessionFetchConfig {
    SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout }
}

/// A dispatcher that replays what is pinned in this range, ends included.
pub(crate) fn supporting(min: &str, max: &str) -> DispatcherCapabilityFilter {
    let version = |text: &str| semver::Version::parse(text).expect("a version");
    let range = SemverRange::new(version(min), version(max));
    DispatcherCapabilityFilter { supported_duroxide_versions: vec![range] }
}

/// Runs a future beside the test; on another thread if the test's runtime has several.
#[expect(
    clippy::disallowed_methods,
    reason = "the point is to have it run beside the test; its handle is awaited"
)]
pub(crate) fn beside<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::spawn(future)
}
