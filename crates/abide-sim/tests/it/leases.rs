//! Leases that are lost, and leases that nobody heard of.

use std::time::Duration;

use abide_model::Clock as _;
use abide_provider::{Operation, Provider, Rejection};
use abide_sim::{Fault, FaultPlan, FaultStore, World};

use crate::support::*;

async fn names(store: &FaultStore) -> Vec<(String, u32)> {
    let leases = store.lease_instances(instances(Duration::ZERO)).await.unwrap();
    leases.into_iter().map(|lease| (lease.instance, lease.attempt)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_loses_its_lease_is_refused_and_others_have_the_instance() {
    let store = World::new(1).faulty(FaultPlan::none().at(Operation::CommitTurn, 1, Fault::LoseLease));
    let lease = leased(&*store, &["a"]).await.remove(0);
    let refusal = store.commit_turns(vec![commit_of(&lease)]).await.remove(0).unwrap_err();
    assert_eq!(refusal.rejection(), Some(Rejection::LeaseLost));
    assert!(store.fired());
    assert_eq!(names(&store).await, [("a".to_owned(), 2)], "the lost lease counts as an attempt");
}

#[tokio::test(start_paused = true)]
async fn work_that_loses_its_lease_is_refused_and_others_have_it() {
    let store = World::new(1).faulty(FaultPlan::none().at(Operation::FinishWork, 1, Fault::LoseLease));
    let lease = leased_work(&*store, "a").await;
    let refusal = store.finish_work(vec![finished(&lease, "a")]).await.remove(0).unwrap_err();
    assert_eq!(refusal.rejection(), Some(Rejection::LeaseLost));
    let again = store.lease_work(work(Duration::ZERO)).await.unwrap().remove(0);
    assert_eq!(again.attempt, 2);
}

#[tokio::test(start_paused = true)]
async fn every_required_method_with_a_lease_can_lose_it() {
    let world = World::new(1);
    let store = world.faulty(FaultPlan::none().when(|_| Some(Fault::LoseLease)));
    let held = leased_work(&*world.memory, "a").await;
    assert!(!store.renew_work_item_lock(&held.token, LEASE).await.unwrap_err().is_retryable());
    let held = world.memory.lease_work(work(Duration::ZERO)).await.unwrap().remove(0);
    assert!(!store.abandon_work_item(&held.token, None, true).await.unwrap_err().is_retryable());
    let held = world.memory.lease_work(work(Duration::ZERO)).await.unwrap().remove(0);
    assert!(!store.ack_work_item(&held.token, None).await.unwrap_err().is_retryable());

    let held = leased(&*world.memory, &["b"]).await.remove(0);
    assert!(!store.renew_orchestration_item_lock(&held.token, LEASE).await.unwrap_err().is_retryable());
    let held = world.memory.lease_instances(instances(Duration::ZERO)).await.unwrap().remove(0);
    assert!(!store.abandon_orchestration_item(&held.token, None, true).await.unwrap_err().is_retryable());
    assert_eq!(store.injected().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn what_has_no_lease_cannot_lose_it() {
    let store = World::new(1).faulty(FaultPlan::none().when(|_| Some(Fault::LoseLease)));
    store.read("a").await.unwrap();
    store.enqueue_once(request(start("a"))).await.unwrap();
    assert_eq!(names(&store).await, [("a".to_owned(), 1)]);
    assert!(!store.fired());
}

#[tokio::test(start_paused = true)]
async fn leases_that_nobody_heard_of_run_out() {
    let world = World::new(1);
    let store = world.faulty(FaultPlan::none().at(Operation::LeaseInstances, 1, Fault::Unknown));
    store.enqueue_once(request(start("a"))).await.unwrap();
    store.lease_instances(instances(Duration::ZERO)).await.unwrap_err();
    assert_eq!(names(&store).await, []);
    // A call that waits has it as soon as the lease is over.
    let leases = store.lease_instances(instances(HOUR)).await.unwrap();
    assert_eq!((leases[0].attempt, world.clock.monotonic()), (2, LEASE));
}

#[tokio::test(start_paused = true)]
async fn work_that_nobody_heard_of_runs_out() {
    let world = World::new(1);
    let store = world.faulty(FaultPlan::none());
    world.memory.enqueue_for_worker(activity("a")).await.unwrap();
    store.set_plan(FaultPlan::none().at(Operation::LeaseWork, 1, Fault::Unknown));
    store.lease_work(work(Duration::ZERO)).await.unwrap_err();
    let leases = store.lease_work(work(HOUR)).await.unwrap();
    assert_eq!((leases[0].attempt, world.clock.monotonic()), (2, LEASE));
}
