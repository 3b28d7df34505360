//! A store of which only the required methods are left.

use std::sync::Arc;

use abide_model::Clock as _;
use abide_provider::{Abilities, ErrorKind, InstanceQuery, Lane, Operation, Provider};
use abide_sim::{Fault, FaultPlan, FaultStore, RequiredOnly, World};

use crate::support::*;

fn plain(plan: FaultPlan) -> (Arc<FaultStore>, RequiredOnly) {
    let faults = World::new(1).faulty(plan);
    (faults.clone(), RequiredOnly::new(faults))
}

#[tokio::test(start_paused = true)]
async fn it_offers_nothing_beyond() {
    let (_, store) = plain(FaultPlan::none());
    assert_eq!(store.abilities(), Abilities::NONE);
    assert!(store.stolen_leases().is_none() && store.changes("a").is_none());
    assert_eq!(store.next_due(Lane::Work).await, Ok(None));
    assert_eq!(store.name(), "memory");
}

#[tokio::test(start_paused = true)]
async fn a_whole_step_goes_through_the_required_methods() {
    let (faults, store) = plain(FaultPlan::none());
    let held = leased_work(&store, "a").await;
    store.finish_work(vec![finished(&held, "a")]).await.remove(0).unwrap();
    let called: Vec<_> = faults.calls().into_iter().map(|(operation, _)| operation).collect();
    assert_eq!(
        called,
        [
            Operation::EnqueueForOrchestrator,
            Operation::FetchOrchestrationItem,
            Operation::AckOrchestrationItem,
            Operation::FetchWorkItem,
            Operation::AckWorkItem,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn it_goes_wrong_in_the_required_methods() {
    let plan = FaultPlan::none().at(Operation::AckOrchestrationItem, 1, Fault::Unknown);
    let (faults, store) = plain(plan);
    let lease = leased(&store, &["a"]).await.remove(0);
    let lost = store.commit_turns(vec![commit_of(&lease)]).await.remove(0).unwrap_err();
    assert_eq!(lost.kind, ErrorKind::Unknown);
    assert!(faults.fired());
    let again = store.commit_turns(vec![commit_of(&lease)]).await.remove(0).unwrap_err();
    assert!(matches!(again.kind, ErrorKind::Rejected(_)), "the first was applied");
}

#[tokio::test(start_paused = true)]
async fn its_administration_is_the_required_part_of_the_inner_one() {
    let (faults, store) = plain(FaultPlan::none());
    let lease = leased(&store, &["a"]).await.remove(0);
    store.commit_turns(vec![commit_of(&lease)]).await.remove(0).unwrap();
    let admin = store.as_management_capability().unwrap();
    let page = admin.list_instances_page(InstanceQuery::new()).await.unwrap();
    assert_eq!(page.instances.len(), 1);
    assert_eq!(faults.count(Operation::ListInstancesPage), 0);
    assert_eq!(faults.count(Operation::ListInstances), 1);
    let error = admin.get_instance_info("nobody").await.unwrap_err();
    assert!(!error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn it_waits_as_long_as_the_inner_one() {
    let world = World::new(1);
    let store = RequiredOnly::new(world.memory.clone());
    assert_eq!(store.lease_work(work(HOUR)).await.unwrap().len(), 0);
    assert_eq!(world.clock.monotonic(), HOUR);
    let patient = FaultStore::new(world.memory.clone(), world.clock.clone());
    let store = RequiredOnly::new(Arc::new(patient.with_abilities(Abilities::NONE)));
    assert_eq!(store.lease_work(work(HOUR)).await.unwrap().len(), 0);
    assert_eq!(world.clock.monotonic(), HOUR);
}
