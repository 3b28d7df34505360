//! How long a call waits.

use std::sync::Arc;
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Timestamp, WorkItem};
use abide_provider::{
    Authority, Committed, Consumed, InstanceLease, LeaseInstances, LeaseWork, Provider, StoreError,
    TagFilter, TurnCommit, WorkLease,
};
use futures_util::future::{Either, join, select};

use crate::ProviderFactory;
use crate::batches::calls::turn_of;
use crate::factory::real_time;
use crate::support::{Ack, activity, signal, start};

/// Longer than any of these tests takes: who is served only when this is over was not woken.
pub(super) const LONG: Duration = Duration::from_secs(30);
/// Within which time a call is served, even on a busy machine.
pub(super) const PROMPTLY: Duration = Duration::from_secs(10);
/// How long something takes to happen, so that a call waits for it.
pub(super) const MOMENT: Duration = Duration::from_millis(100);

/// A provider whose time is the real one.
pub(super) struct Waited {
    pub(super) provider: Arc<dyn Provider>,
    clock: SystemClock,
}

/// A call that finds nothing answers with nothing when its wait is over: not before, and not much later.
pub async fn test_lease_calls_wait_as_long_as_they_are_told<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    let began = store.clock.monotonic();
    assert!(store.lease_instances(MOMENT).await.is_empty(), "the store is empty");
    store.assert_elapsed(began, MOMENT, "a lease call for instances");
    let began = store.clock.monotonic();
    assert!(store.lease_work(MOMENT).await.is_empty(), "the store is empty");
    store.assert_elapsed(began, MOMENT, "a lease call for work");
}

/// A call that may not wait answers at once, whatever will be there later.
pub async fn test_lease_calls_that_may_not_wait_answer_at_once<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.create("a").await;
    let sent = store.provider.enqueue_for_orchestrator(signal("a", "later"), Some(LONG)).await;
    sent.expect("a message is enqueued");
    let calls = join(store.lease_instances(Duration::ZERO), store.lease_work(Duration::ZERO));
    let (instances, work) = promptly(calls, "calls that may not wait").await;
    assert!(instances.is_empty() && work.is_empty(), "nothing is visible");
}

/// A call that finds something does not wait for more.
pub async fn test_what_is_there_is_leased_without_waiting<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post(start("a")).await;
    store.post_work(activity("a", 2)).await;
    let instances = promptly(store.lease_instances(LONG), "a call with one instance to lease").await;
    assert_eq!(instances.len(), 1);
    let work = promptly(store.lease_work(LONG), "a call with one activity to lease").await;
    assert_eq!(work.len(), 1);
}

impl Waited {
    pub(super) async fn new(factory: &dyn ProviderFactory) -> Self {
        Self { provider: factory.create_provider_in_real_time().await, clock: SystemClock::new() }
    }

    /// Leases instances for as long as the whole test.
    pub(super) async fn lease_instances(&self, wait: Duration) -> Vec<InstanceLease> {
        self.lease_instances_for(LONG, wait).await
    }

    pub(super) async fn lease_instances_for(
        &self,
        lease_for: Duration,
        wait: Duration,
    ) -> Vec<InstanceLease> {
        let leases = self.provider.lease_instances(instances(lease_for, wait)).await;
        leases.unwrap_or_else(|error| panic!("leasing instances failed: {error}"))
    }

    /// Leases activities for as long as the whole test.
    pub(super) async fn lease_work(&self, wait: Duration) -> Vec<WorkLease> {
        self.lease_work_with(work(LONG, wait)).await
    }

    pub(super) async fn lease_work_with(&self, request: LeaseWork) -> Vec<WorkLease> {
        let leases = self.provider.lease_work(request).await;
        leases.unwrap_or_else(|error| panic!("leasing work failed: {error}"))
    }

    pub(super) async fn post(&self, item: WorkItem) {
        let sent = self.provider.enqueue_for_orchestrator(item, None).await;
        sent.expect("a message is enqueued");
    }

    pub(super) async fn post_work(&self, item: WorkItem) {
        self.provider.enqueue_for_worker(item).await.expect("an activity is enqueued");
    }

    pub(super) async fn commit(&self, lease: &InstanceLease, turn: Ack) {
        let commit = TurnCommit {
            instance: turn.instance.clone(),
            authority: Authority::Lease { token: lease.token.clone() },
            consumed: Consumed::All,
            left: Vec::new(),
            turn: turn_of(turn),
        };
        let answer: Result<Committed, StoreError> = self.provider.commit_turns(vec![commit]).await.remove(0);
        answer.expect("the turn is committed");
    }

    /// Commits the first turn of a new instance.
    pub(super) async fn create(&self, instance: &str) {
        self.post(start(instance)).await;
        let leased = self.lease_instances(Duration::ZERO).await.pop().expect("the instance has mail");
        self.commit(&leased, Ack::first(instance)).await;
    }

    /// The time in a moment, by the store's clock.
    pub(super) fn in_a_moment(&self) -> Timestamp {
        self.clock.wall().saturating_add(MOMENT)
    }

    pub(super) fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    /// So much time has passed, and not much more.
    pub(super) fn assert_elapsed(&self, began: Duration, expected: Duration, what: &str) {
        // Stores round to milliseconds, and their clock is not quite ours.
        const TOLERANCE: Duration = Duration::from_millis(30);
        let elapsed = self.clock.monotonic().saturating_sub(began);
        assert!(elapsed + TOLERANCE >= expected, "{what} took {elapsed:?}, and should wait for {expected:?}");
        assert!(elapsed < expected + PROMPTLY, "{what} took {elapsed:?}, and should wait for {expected:?}");
    }
}

/// One instance.
pub(super) fn instances(lease_for: Duration, wait: Duration) -> LeaseInstances {
    LeaseInstances { limit: 1, lease_for, wait, capabilities: None, serving: None }
}

/// One activity without tag and session.
pub(super) fn work(lease_for: Duration, wait: Duration) -> LeaseWork {
    LeaseWork { limit: 1, lease_for, wait, session: None, tags: TagFilter::default_only(), serving: None }
}

/// What comes of a call that must not wait until its time is over.
pub(super) async fn promptly<T>(call: impl Future<Output = T>, what: &str) -> T {
    match select(Box::pin(call), Box::pin(real_time(PROMPTLY))).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => panic!("{what}: nothing came within {PROMPTLY:?}"),
    }
}

/// What comes of a call for which something happens only after it has waited for a moment.
pub(super) async fn woken_by<T>(
    cause: impl Future<Output = ()>,
    call: impl Future<Output = T>,
    what: &str,
) -> T {
    let after_a_moment = async {
        real_time(MOMENT).await;
        cause.await;
    };
    let (answer, ()) = promptly(join(call, after_a_moment), what).await;
    answer
}
