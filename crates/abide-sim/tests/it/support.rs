//! Messages, turns and calls, as short as a test needs them.

use std::time::Duration;

use abide_model::{Clock as _, Event, EventKind, Timestamp, WorkItem};
use abide_provider::{
    Authority, Consumed, Enqueue, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, Provider,
    RequestKey, TagFilter, Turn, TurnCommit, WorkLease,
};
use abide_sim::World;
use futures_util::future::{Either, select};

pub(crate) const LEASE: Duration = Duration::from_secs(30);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: "{}".to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn activity(instance: &str) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id: 2,
        name: "charge".to_owned(),
        input: "{}".to_owned(),
        session_id: None,
        tag: None,
    }
}

/// Fires in a day.
pub(crate) fn timer(instance: &str) -> WorkItem {
    let fire_at_ms = abide_sim::VirtualClock::EPOCH.saturating_add(24 * HOUR).as_millis();
    WorkItem::TimerFired { instance: instance.to_owned(), execution_id: 1, id: 2, fire_at_ms }
}

pub(crate) fn completed(instance: &str) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: instance.to_owned(),
        execution_id: 1,
        id: 2,
        result: "done".to_owned(),
    }
}

pub(crate) fn request(item: WorkItem) -> Enqueue {
    Enqueue { item, delay: None, key: RequestKey([7; 16]) }
}

pub(crate) fn instances(wait: Duration) -> LeaseInstances {
    LeaseInstances { limit: 9, lease_for: LEASE, wait, capabilities: None, serving: None }
}

pub(crate) fn work(wait: Duration) -> LeaseWork {
    LeaseWork { limit: 9, lease_for: LEASE, wait, session: None, tags: TagFilter::default(), serving: None }
}

/// The first turn of an instance.
pub(crate) fn first_turn(instance: &str) -> Turn {
    let started = EventKind::OrchestrationStarted {
        name: "Order".to_owned(),
        version: "1.0.0".to_owned(),
        input: "{}".to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    Turn::of_past(1, vec![Event::recorded(1, instance, 1, Timestamp::EPOCH, started)])
}

pub(crate) fn commit_of(lease: &InstanceLease) -> TurnCommit {
    TurnCommit {
        instance: lease.instance.clone(),
        authority: Authority::Lease { token: lease.token.clone() },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: first_turn(&lease.instance),
    }
}

pub(crate) fn finished(lease: &WorkLease, instance: &str) -> FinishedWork {
    FinishedWork { token: lease.token.clone(), completion: Some(completed(instance)) }
}

/// Enqueues the starts of these instances and leases them.
pub(crate) async fn leased(store: &dyn Provider, names: &[&str]) -> Vec<InstanceLease> {
    for name in names {
        store.enqueue_for_orchestrator(start(name), None).await.unwrap();
    }
    let leases = store.lease_instances(instances(Duration::ZERO)).await.unwrap();
    assert_eq!(leases.len(), names.len());
    leases
}

/// Runs the first turn of an instance that asks for an activity, and leases that.
pub(crate) async fn leased_work(store: &dyn Provider, instance: &str) -> WorkLease {
    let lease = leased(store, &[instance]).await.remove(0);
    let mut commit = commit_of(&lease);
    commit.turn.worker_items.push(activity(instance));
    store.commit_turns(vec![commit]).await.remove(0).unwrap();
    store.lease_work(work(Duration::ZERO)).await.unwrap().remove(0)
}

/// The answer of a call, unless there is none within an hour.
pub(crate) async fn within_an_hour<T>(world: &World, call: impl Future<Output = T>) -> Option<T> {
    let hour = world.clock.sleep_until(world.clock.monotonic() + HOUR);
    match select(std::pin::pin!(call), hour).await {
        Either::Left((answer, _)) => Some(answer),
        Either::Right(_) => None,
    }
}
