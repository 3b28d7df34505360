//! Which messages a lease hands out, and in which order.

use abide_model::ExecutionStatus;
use abide_provider::{BATCH_BYTES, BATCH_MESSAGES, InstanceLease};

use crate::support::*;

fn contents(lease: &InstanceLease) -> Vec<String> {
    lease.messages.iter().map(|message| said(&message.item)).collect()
}

fn numbers(lease: &InstanceLease) -> Vec<u64> {
    lease.messages.iter().map(|message| message.id.0).collect()
}

#[test]
fn what_starts_it_comes_first_and_the_rest_in_order() {
    let store = Store::new();
    store.enqueue(signal("a", "1"));
    store.enqueue(start("a"));
    store.enqueue(signal("a", "3"));
    store.enqueue(continue_as_new("a"));
    let lease = store.lease();
    assert_eq!(contents(&lease), ["StartOrchestration", "1", "3", "ContinueAsNew"]);
    assert_eq!(numbers(&lease), [2, 1, 3, 4]);
}

#[test]
fn the_successor_of_a_continued_execution_comes_first() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).ending(ExecutionStatus::ContinuedAsNew, "next"));
    store.enqueue(signal("a", "2"));
    store.enqueue(start("a"));
    store.enqueue(continue_as_new("a"));
    assert_eq!(contents(&store.lease()), ["ContinueAsNew", "2", "StartOrchestration"]);
}

#[test]
fn an_execution_that_runs_has_no_message_to_put_first() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", "2"));
    store.enqueue(continue_as_new("a"));
    assert_eq!(contents(&store.lease()), ["2", "ContinueAsNew"]);
}

#[test]
fn mail_that_comes_after_the_lease_is_not_part_of_it() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", "2"));
    let lease = store.lease();
    store.enqueue(signal("a", "3"));
    store.commit(TurnBuilder::of_execution(1).under(&lease));
    assert_eq!(contents(&store.lease()), ["3"]);
}

#[test]
fn a_lease_hands_out_a_thousand_messages_at_most() {
    let store = Store::new();
    for _ in 0..BATCH_MESSAGES {
        store.enqueue(signal("a", ""));
    }
    store.enqueue(start("a"));
    let lease = store.lease();
    assert_eq!(lease.messages.len(), BATCH_MESSAGES);
    assert_eq!((numbers(&lease)[0], numbers(&lease)[999]), (1_001, 999));
}

#[test]
fn a_lease_hands_out_no_further_message_once_four_mebibytes_are_reached() {
    let overhead = serde_json::to_string(&signal("a", "")).unwrap().len();
    let store = Store::with_instance("a");
    store.enqueue(signal("a", &"x".repeat(BATCH_BYTES - overhead - 1)));
    store.enqueue(signal("a", "2"));
    store.enqueue(signal("a", "3"));
    let lease = store.lease();
    assert_eq!(numbers(&lease), [2, 3]);
    store.commit(TurnBuilder::of_execution(1).under(&lease));
    assert_eq!(numbers(&store.lease()), [4]);
}

#[test]
fn four_mebibytes_sharp_are_a_batch() {
    let overhead = serde_json::to_string(&signal("a", "")).unwrap().len();
    let store = Store::with_instance("a");
    store.enqueue(signal("a", &"x".repeat(BATCH_BYTES - overhead)));
    store.enqueue(signal("a", "3"));
    assert_eq!(numbers(&store.lease()), [2]);
}

#[test]
fn a_message_that_is_larger_than_a_batch_is_handed_out_alone() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", &"x".repeat(BATCH_BYTES + 1)));
    store.enqueue(signal("a", "3"));
    assert_eq!(numbers(&store.lease()), [2]);
}
