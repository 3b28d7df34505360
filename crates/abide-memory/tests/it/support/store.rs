//! A store under a clock that the test moves. Calls that do not wait answer at once, so they are written without
//! `await`.

use std::sync::Arc;
use std::time::Duration;

use abide_memory::{Dump, InMemoryProvider, State};
use abide_model::{Event, WorkItem};
use abide_provider::{
    Enqueue, ExecutionMetadata, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, OrchestrationItem,
    Provider, ProviderError, Rejection, RequestKey, SessionFetchConfig, Start, StoreError, TagFilter,
    TurnCommit, WorkLease,
};
use futures::FutureExt as _;

use super::{Counter, ManualClock, TurnBuilder, seconds, start};

/// Where every test begins.
pub(crate) const BEGIN: u64 = 1_000_000;

/// How long leases last unless a test says otherwise.
pub(crate) const LEASE: Duration = seconds(30);

pub(crate) struct Store {
    pub(crate) provider: Arc<InMemoryProvider>,
    pub(crate) clock: ManualClock,
}

impl Store {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::at(BEGIN);
        let provider = InMemoryProvider::with_seams(Arc::new(clock.clone()), Arc::new(Counter::default()));
        Self { provider: Arc::new(provider), clock }
    }

    /// A store with an instance of this name, whose first turn is committed.
    pub(crate) fn with_instance(name: &str) -> Self {
        let store = Self::new();
        store.create(name, TurnBuilder::starting(1));
        store
    }

    /// Starts an instance and commits its first turn; gives back the lease it was committed under.
    pub(crate) fn create(&self, name: &str, first_turn: TurnBuilder) -> InstanceLease {
        self.enqueue(start(name));
        let lease = self.lease();
        assert_eq!(lease.instance, name, "another instance was ready");
        self.commit(first_turn.under(&lease));
        lease
    }

    pub(crate) fn enqueue(&self, item: WorkItem) {
        self.try_enqueue(item, None).unwrap();
    }

    pub(crate) fn enqueue_delayed(&self, item: WorkItem, delay: Duration) {
        self.try_enqueue(item, Some(delay)).unwrap();
    }

    pub(crate) fn try_enqueue(&self, item: WorkItem, delay: Option<Duration>) -> Result<(), ProviderError> {
        at_once(self.provider.enqueue_for_orchestrator(item, delay))
    }

    pub(crate) fn enqueue_once(&self, item: WorkItem, key: u8) {
        let request = Enqueue { item, delay: None, key: RequestKey([key; 16]) };
        at_once(self.provider.enqueue_once(request)).unwrap();
    }

    pub(crate) fn start_once(&self, instance: &str, key: u8) -> Start {
        let request = Enqueue { item: start(instance), delay: None, key: RequestKey([key; 16]) };
        at_once(self.provider.start_once(request)).unwrap()
    }

    pub(crate) fn enqueue_work(&self, item: WorkItem) {
        at_once(self.provider.enqueue_for_worker(item)).unwrap();
    }

    pub(crate) fn lease_with(&self, request: LeaseInstances) -> Vec<InstanceLease> {
        at_once(self.provider.lease_instances(request)).unwrap()
    }

    pub(crate) fn try_lease(&self) -> Option<InstanceLease> {
        self.lease_with(lease_instances(1)).into_iter().next()
    }

    pub(crate) fn lease(&self) -> InstanceLease {
        self.try_lease().expect("something to lease")
    }

    pub(crate) fn fetch(&self) -> Option<(OrchestrationItem, String, u32)> {
        at_once(self.provider.fetch_orchestration_item(LEASE, Duration::ZERO, None)).unwrap()
    }

    pub(crate) fn commit(&self, commit: TurnCommit) {
        self.try_commit(commit).unwrap();
    }

    pub(crate) fn try_commit(&self, commit: TurnCommit) -> Result<(), StoreError> {
        at_once(self.provider.commit_turns(vec![commit])).remove(0).map(drop)
    }

    pub(crate) fn refused(&self, commit: TurnCommit) -> Option<Rejection> {
        let before = self.state();
        let refusal = self.try_commit(commit).unwrap_err().rejection();
        assert_eq!(self.state(), before, "a refused commit changed something");
        refusal
    }

    pub(crate) fn ack(&self, token: &str, events: Vec<Event>) -> Result<(), ProviderError> {
        let (work, mail, cancelled) = (Vec::new(), Vec::new(), Vec::new());
        let metadata = ExecutionMetadata::default();
        at_once(self.provider.ack_orchestration_item(token, 1, events, work, mail, metadata, cancelled))
    }

    pub(crate) fn append(
        &self,
        name: &str,
        execution_id: u64,
        events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        at_once(self.provider.append_with_execution(name, execution_id, events))
    }

    pub(crate) fn abandon(&self, token: &str, delay: Option<Duration>) -> Result<(), ProviderError> {
        at_once(self.provider.abandon_orchestration_item(token, delay, false))
    }

    pub(crate) fn abandon_ignoring_attempt(&self, token: &str) -> Result<(), ProviderError> {
        at_once(self.provider.abandon_orchestration_item(token, None, true))
    }

    pub(crate) fn renew(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        at_once(self.provider.renew_orchestration_item_lock(token, extend_for))
    }

    pub(crate) fn lease_work_with(&self, request: LeaseWork) -> Vec<WorkLease> {
        at_once(self.provider.lease_work(request)).unwrap()
    }

    pub(crate) fn try_lease_work(&self) -> Option<WorkLease> {
        self.lease_work_with(lease_work(1)).into_iter().next()
    }

    pub(crate) fn lease_work(&self) -> WorkLease {
        self.try_lease_work().expect("work to lease")
    }

    /// Leases one activity, also one of a session.
    pub(crate) fn lease_work_as(&self, owner: &str, lock_timeout: Duration) -> Option<WorkLease> {
        let session = Some(SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout });
        self.lease_work_with(LeaseWork { session, ..lease_work(1) }).into_iter().next()
    }

    pub(crate) fn finish(&self, token: &str, completion: Option<WorkItem>) -> Result<(), StoreError> {
        at_once(self.provider.finish_work(vec![FinishedWork { token: token.to_owned(), completion }]))
            .remove(0)
    }

    pub(crate) fn abandon_work(&self, token: &str, delay: Option<Duration>) -> Result<(), ProviderError> {
        at_once(self.provider.abandon_work_item(token, delay, false))
    }

    pub(crate) fn renew_work(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        at_once(self.provider.renew_work_item_lock(token, extend_for))
    }

    pub(crate) fn state(&self) -> State {
        self.provider.snapshot()
    }

    pub(crate) fn dump(&self) -> Dump {
        self.provider.dump()
    }

    /// The numbers of all messages.
    pub(crate) fn mail(&self) -> Vec<u64> {
        self.dump().messages.into_keys().collect()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

pub(crate) fn lease_instances(limit: usize) -> LeaseInstances {
    LeaseInstances { limit, lease_for: LEASE, wait: Duration::ZERO, capabilities: None, serving: None }
}

pub(crate) fn lease_work(limit: usize) -> LeaseWork {
    LeaseWork {
        limit,
        lease_for: LEASE,
        wait: Duration::ZERO,
        session: None,
        tags: TagFilter::DefaultOnly,
        serving: None,
    }
}

/// The answer of a call that has nothing to wait for.
pub(crate) fn at_once<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("this call should not wait")
}
