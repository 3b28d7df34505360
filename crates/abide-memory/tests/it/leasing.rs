//! What a lease says.

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::{LeaseInstances, LeaseWork, ParentLink, Position};

use crate::support::*;

#[test]
fn a_lease_on_what_does_not_exist_is_described_by_its_start() {
    let store = Store::new();
    store.enqueue(start_child("a"));
    let lease = store.lease();
    assert_eq!(
        (lease.orchestration_name.as_str(), lease.orchestration_version.as_str()),
        ("Child", "unknown")
    );
    let parent = ParentLink { instance: "parent".to_owned(), execution_id: Some(2), event_id: Some(7) };
    assert_eq!(lease.parent, Some(parent));
    assert_eq!(lease.status, None);
    assert_eq!(lease.position, Position { incarnation: 1, execution_id: 0, last_event_id: 0 });
    assert_eq!(lease.store_time, Some(Timestamp::from_millis(BEGIN)));
    assert!(lease.preloaded.is_none());
}

#[test]
fn a_lease_on_an_instance_is_described_by_the_instance() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).named("Renamed", "2.0.0").event(5, status_said(None)));
    store.enqueue(start_child("a"));
    let lease = store.lease();
    assert_eq!(
        (lease.orchestration_name.as_str(), lease.orchestration_version.as_str()),
        ("Renamed", "2.0.0")
    );
    assert_eq!(lease.parent, None);
    assert_eq!(lease.status, Some(ExecutionStatus::Running));
    assert_eq!(lease.position, Position { incarnation: 1, execution_id: 1, last_event_id: 5 });
}

#[test]
fn tokens_differ_and_have_a_shape() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.enqueue(start("b"));
    let (first, second) = (store.lease().token, store.lease().token);
    assert_ne!(first, second);
    for token in [first, second] {
        let digits = token.strip_prefix("lock_").unwrap();
        assert!(digits.len() == 32 && digits.chars().all(|digit| digit.is_ascii_hexdigit()), "{token}");
    }
}

#[test]
fn a_lease_that_ran_out_was_an_attempt_of_what_it_handed_out() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.lease();
    store.enqueue(signal("a", "later"));
    assert_eq!(store.dump().messages[&1].attempts, 0);
    store.advance(LEASE);
    assert_eq!(store.dump().messages[&1].attempts, 1);
    let lease = store.lease();
    assert_eq!(lease.messages.iter().map(|message| message.attempt).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(lease.attempt, 2);
}

#[test]
fn a_lease_that_is_over_at_once_is_handed_out_once_per_call() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.enqueue(start("b"));
    let request = LeaseInstances { lease_for: seconds(0), ..lease_instances(usize::MAX) };
    assert_eq!(store.lease_with(request.clone()).len(), 2);
    assert_eq!(store.lease_with(request)[0].attempt, 2);
    store.enqueue_work(activity("a", 2));
    store.enqueue_work(activity("a", 3));
    let request = LeaseWork { lease_for: seconds(0), ..lease_work(usize::MAX) };
    assert_eq!(store.lease_work_with(request.clone()).len(), 2);
    assert_eq!(store.lease_work_with(request)[1].attempt, 2);
}

#[test]
fn a_fetch_gives_the_messages_in_ascending_order() {
    let store = Store::new();
    store.enqueue(signal("a", "1"));
    store.enqueue(start("a"));
    let (item, _, attempt) = store.fetch().unwrap();
    assert_eq!(item.messages, [signal("a", "1"), start("a")]);
    assert_eq!((item.instance.as_str(), item.execution_id, attempt), ("a", 1, 1));
    assert_eq!((item.orchestration_name.as_str(), item.version.as_str()), ("Order", "1.0.0"));
    assert!(item.history.is_empty() && item.history_error.is_none() && item.kv_snapshot.is_empty());
    assert!(store.fetch().is_none());
}

#[test]
fn a_fetch_brings_history_and_snapshot_of_the_current_execution() {
    let store = Store::new();
    let first = TurnBuilder::starting(1).event(2, value_set("k", "old"));
    store.create("a", first.ending(ExecutionStatus::ContinuedAsNew, "next"));
    store.enqueue(continue_as_new("a"));
    let lease = store.lease();
    store.commit(TurnBuilder::starting(2).event(2, value_set("k", "new")).under(&lease));
    store.enqueue(signal("a", ""));
    let (item, _, _) = store.fetch().unwrap();
    assert_eq!(item.execution_id, 2);
    assert_eq!(item.history, [event(1, started()), event(2, value_set("k", "new"))]);
    assert_eq!(item.kv_snapshot["k"].value, "old");
}
