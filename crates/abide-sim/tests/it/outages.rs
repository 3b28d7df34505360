//! A store that cannot be reached for a time.

use abide_model::{Clock as _, Spawn as _};
use abide_provider::{ErrorKind, Operation, Provider as _};
use abide_sim::{Fault, FaultPlan, Gate, World};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn calls_fail_from_its_beginning_until_its_end() {
    let world = World::new(1);
    let store = world.faulty(FaultPlan::none().outage(seconds(10), seconds(20)));
    let mut answers = Vec::new();
    for moment in [0, 9, 10, 15, 19, 20, 30] {
        world.clock.sleep_until(seconds(moment)).await;
        let answer = store.enqueue_once(request(start("a"))).await;
        answers.push((moment, answer.err().map(|error| error.kind)));
    }
    let (fine, out) = (None, Some(ErrorKind::NotApplied));
    assert_eq!(answers, [(0, fine), (9, fine), (10, out), (15, out), (19, out), (20, fine), (30, fine)]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_when_it_begins_is_cut_off() {
    let world = World::new(1);
    let store = world.faulty(FaultPlan::none().outage(seconds(10), seconds(20)));
    let error = store.lease_instances(instances(HOUR)).await.unwrap_err();
    assert_eq!((error.kind, world.clock.monotonic()), (ErrorKind::Unknown, seconds(10)));
    let (call, fault) = store.injected()[0];
    assert_eq!((call.operation, fault), (Operation::LeaseInstances, Fault::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_is_answered_before_it_begins() {
    let world = World::new(1);
    let store = world.faulty(FaultPlan::none().outage(seconds(10), seconds(20)));
    let sender = store.clone();
    let moment = world.clock.sleep(seconds(5));
    world.tasks.spawn(
        "sender",
        Box::pin(async move {
            moment.await;
            sender.enqueue_once(request(start("a"))).await.unwrap();
        }),
    );
    assert_eq!(store.lease_instances(instances(HOUR)).await.unwrap().len(), 1);
    assert!(!store.fired());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_held_meanwhile_meets_it() {
    let (world, gate) = (World::new(1), Gate::closed());
    let store = world.faulty(FaultPlan::none().outage(seconds(10), seconds(20)));
    store.hold(Operation::EnqueueOnce, &gate);
    let (opener, moment) = (gate.clone(), world.clock.sleep(seconds(15)));
    world.tasks.spawn(
        "opener",
        Box::pin(async move {
            moment.await;
            opener.open();
        }),
    );
    let error = store.enqueue_once(request(start("a"))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotApplied);
}

#[tokio::test(start_paused = true)]
async fn one_that_never_ends_or_never_begins_is_no_special_case() {
    let world = World::new(1);
    let for_ever = world.faulty(FaultPlan::none().outage(seconds(0), std::time::Duration::MAX));
    assert!(for_ever.read("a").await.unwrap_err().is_retryable());
    let empty = world.faulty(FaultPlan::none().outage(seconds(10), seconds(10)));
    assert_eq!(empty.lease_instances(instances(seconds(30))).await.unwrap().len(), 0);
    assert_eq!(world.clock.monotonic(), seconds(30));
    assert!(!empty.fired());
}
