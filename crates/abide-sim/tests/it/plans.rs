//! When something goes wrong.

use abide_model::Clock as _;
use abide_provider::{Operation, Provider as _};
use abide_sim::{Fault, FaultPlan, FaultStore, World};

use crate::support::*;

/// Which of six alternating calls fail: reads are odd, status reads even.
async fn failing(store: &FaultStore) -> Vec<u64> {
    let mut failed = Vec::new();
    for number in 1..=6 {
        let is_ok = if number % 2 == 1 {
            store.read("a").await.is_ok()
        } else {
            store.get_custom_status("a", 0).await.is_ok()
        };
        if !is_ok {
            failed.push(number);
        }
    }
    failed
}

#[tokio::test(start_paused = true)]
async fn a_plan_says_which_calls_go_wrong() {
    let cases = [
        (FaultPlan::none(), vec![]),
        (FaultPlan::none().at(Operation::Read, 2, Fault::NotApplied), vec![3]),
        (FaultPlan::none().at(Operation::GetCustomStatus, 3, Fault::NotApplied), vec![6]),
        (FaultPlan::none().at(Operation::Read, 4, Fault::NotApplied), vec![]),
        (FaultPlan::none().at_call(4, Fault::NotApplied), vec![4]),
        (FaultPlan::none().when(|call| (call.number > 4).then_some(Fault::NotApplied)), vec![5, 6]),
        (
            FaultPlan::none().at_call(1, Fault::NotApplied).at(Operation::Read, 3, Fault::NotApplied),
            vec![1, 5],
        ),
    ];
    for (plan, expected) in cases {
        let name = format!("{plan:?}");
        let store = World::new(1).faulty(plan);
        assert_eq!(failing(&store).await, expected, "{name}");
        assert_eq!(store.fired(), !expected.is_empty(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_several_rules_the_first_decides() {
    let plan = FaultPlan::none()
        .at(Operation::Read, 1, Fault::Delay(seconds(1)))
        .at_call(1, Fault::NotApplied)
        .when(|_| Some(Fault::HangBefore));
    let world = World::new(1);
    let store = world.faulty(plan);
    store.read("a").await.unwrap();
    assert_eq!(world.clock.monotonic(), seconds(1));
}

#[tokio::test(start_paused = true)]
async fn every_call_is_recorded_with_its_ordinal() {
    let store = World::new(1).faulty(FaultPlan::none().at(Operation::Read, 2, Fault::NotApplied));
    failing(&store).await;
    let (read, status) = (Operation::Read, Operation::GetCustomStatus);
    assert_eq!(store.calls(), [(read, 1), (status, 1), (read, 2), (status, 2), (read, 3), (status, 3)]);
    assert_eq!((store.count(read), store.count(Operation::LeaseWork)), (3, 0));
    let (call, fault) = store.injected()[0];
    assert_eq!((call.operation, call.ordinal, call.number, fault), (read, 2, 3, Fault::NotApplied));
}

#[tokio::test(start_paused = true)]
async fn a_new_plan_counts_anew() {
    let store = World::new(1).faulty(FaultPlan::none().at_call(1, Fault::NotApplied));
    assert_eq!(failing(&store).await, [1]);
    store.set_plan(FaultPlan::none().at(Operation::Read, 2, Fault::NotApplied));
    assert_eq!((store.calls().len(), store.fired()), (0, false));
    assert_eq!(failing(&store).await, [3]);
}

#[tokio::test(start_paused = true)]
async fn every_single_fault_can_be_tried_in_turn() {
    // Without faults, to learn what there is to fail.
    let learned = World::new(1).faulty(FaultPlan::none());
    failing(&learned).await;
    // Then every call once.
    for (operation, ordinal) in learned.calls() {
        let store = World::new(1).faulty(FaultPlan::none().at(operation, ordinal, Fault::UnknownBefore));
        assert_eq!(failing(&store).await.len(), 1, "{operation} {ordinal}");
        assert!(store.fired(), "{operation} {ordinal}");
    }
}
