//! Leasing instances from a store that fetches one at a time, with its history.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use abide_model::{EventKind, ExecutionStatus, KvEntry, WorkItem};
use abide_provider::{
    DispatcherCapabilityFilter, ErrorKind, InstanceLease, LeaseInstances, Message, MessageId, Operation,
    OrchestrationItem, ParentLink, Position, Provider, ProviderError, Rejection, StoreError,
};
use futures::executor::block_on;

use crate::fake::{Fake, Script};
use crate::items::{cancel, completed, continue_as_new, history, signal, start, started};

fn request(limit: usize) -> LeaseInstances {
    LeaseInstances {
        limit,
        lease_for: Duration::from_secs(30),
        wait: Duration::from_millis(7),
        capabilities: Some(DispatcherCapabilityFilter::default_for_current_build()),
        serving: None,
    }
}

/// An instance without a history, and with this mail.
fn item(messages: Vec<WorkItem>) -> OrchestrationItem {
    OrchestrationItem {
        instance: "i".to_owned(),
        orchestration_name: "O".to_owned(),
        execution_id: 3,
        version: "1.0.0".to_owned(),
        history: Vec::new(),
        messages,
        history_error: None,
        kv_snapshot: HashMap::new(),
    }
}

fn store_of(item: OrchestrationItem) -> Fake {
    Fake { instances: Script::of([Ok(Some((item, "token".to_owned(), 4)))]), ..Fake::default() }
}

fn lease_of(item: OrchestrationItem) -> InstanceLease {
    let mut leases = block_on(store_of(item).lease_instances(request(8))).unwrap();
    assert_eq!(leases.len(), 1, "one at a time");
    leases.remove(0)
}

#[test]
fn a_lease_is_one_fetch_whatever_the_limit() {
    let store = store_of(item(vec![start(None)]));
    assert_eq!(block_on(store.lease_instances(request(8))).unwrap().len(), 1);
    assert_eq!(store.calls(), ["fetch 30s 7ms Some(1)"]);
    assert_eq!(block_on(store.lease_instances(request(1))).unwrap().len(), 0, "nothing is no error");
    assert_eq!(store.calls().len(), 1);
    let anything = LeaseInstances { capabilities: None, ..request(1) };
    assert_eq!(block_on(store.lease_instances(anything)).unwrap().len(), 0);
    assert_eq!(store.calls(), ["fetch 30s 7ms None"]);
}

#[test]
fn a_limit_of_zero_asks_nobody() {
    let store = store_of(item(vec![start(None)]));
    assert_eq!(block_on(store.lease_instances(request(0))).unwrap().len(), 0);
    assert_eq!(store.calls(), [""; 0]);
}

#[test]
fn a_lease_carries_what_was_fetched() {
    let lease = lease_of(item(vec![start(None), cancel()]));
    assert_eq!((lease.instance.as_str(), lease.token.as_str(), lease.attempt), ("i", "token", 4));
    assert_eq!((lease.orchestration_name.as_str(), lease.orchestration_version.as_str()), ("O", "1.0.0"));
    let messages: Vec<_> =
        lease.messages.iter().map(|message| (message.id, message.attempt, message.item.clone())).collect();
    assert_eq!(messages, [(MessageId(1), 4, start(None)), (MessageId(2), 4, cancel())]);
}

#[test]
fn the_position_and_the_status_are_read_from_the_history() {
    let parent = Some(ParentLink { instance: "p".to_owned(), execution_id: Some(2), event_id: Some(5) });
    let at = |execution_id, last_event_id| Position { incarnation: 0, execution_id, last_event_id };
    let table = [
        (vec![], at(0, 0), None, None),
        (vec![started("O", None)], at(3, 1), Some(ExecutionStatus::Running), None),
        (vec![started("O", Some("p")), completed()], at(3, 2), Some(ExecutionStatus::Completed), parent),
    ];
    for (kinds, position, status, parent) in table {
        let lease = lease_of(OrchestrationItem { history: history(kinds), ..item(vec![signal("x")]) });
        assert_eq!((lease.position, lease.status, lease.parent), (position, status, parent));
    }
}

#[test]
fn what_starts_comes_first_and_ids_are_in_the_order_of_enqueueing() {
    let continued = EventKind::OrchestrationContinuedAsNew { input: String::new() };
    let goes_on = continue_as_new(&[]);
    let table = [
        (vec![], vec![cancel(), signal("x"), start(None)], [3, 1, 2]),
        (vec![], vec![cancel(), goes_on.clone(), start(None)], [2, 1, 3]),
        (vec![started("O", None), continued], vec![start(None), signal("x"), goes_on.clone()], [3, 1, 2]),
        (vec![started("O", None)], vec![signal("x"), start(None), goes_on], [1, 2, 3]),
    ];
    for (kinds, mail, expected) in table {
        let lease = lease_of(OrchestrationItem { history: history(kinds), ..item(mail.clone()) });
        assert_eq!(lease.messages.iter().map(|message| message.id.0).collect::<Vec<_>>(), expected);
        let (fetched, ..) = lease.into_item(Ok(vec![]), BTreeMap::new());
        assert_eq!(fetched.messages, mail, "and back");
    }
}

#[test]
fn before_the_first_turn_the_parent_is_the_one_that_the_start_names() {
    let parent = ParentLink { instance: "p".to_owned(), execution_id: Some(2), event_id: Some(5) };
    assert_eq!(lease_of(item(vec![cancel(), start(Some("p"))])).parent, Some(parent));
    let exists = OrchestrationItem { history: history([started("O", None)]), ..item(vec![start(Some("p"))]) };
    assert_eq!(lease_of(exists).parent, None, "an instance keeps what it has");
}

#[test]
fn a_history_that_cannot_be_read_is_leased_and_corrupt_when_read() {
    let broken = OrchestrationItem { history_error: Some("line 3".to_owned()), ..item(vec![signal("x")]) };
    let store = store_of(broken);
    let lease = block_on(store.lease_instances(request(1))).unwrap().remove(0);
    assert_eq!(lease.position, Position { incarnation: 0, execution_id: 3, last_event_id: 0 });
    assert_eq!(lease.status, Some(ExecutionStatus::Running), "it has an execution");
    let error = block_on(store.read_history_after(&lease, 0)).unwrap_err();
    assert_eq!(error, StoreError::rejected(Operation::ReadHistoryAfter, Rejection::Corrupt, "line 3"));
}

#[test]
fn the_history_that_came_with_the_lease_is_not_read_again() {
    let kinds = [started("O", None), completed()];
    let store = store_of(OrchestrationItem { history: history(kinds), ..item(vec![signal("x")]) });
    let lease = block_on(store.lease_instances(request(1))).unwrap().remove(0);
    store.calls();
    for (after, expected) in [(0, vec![1, 2]), (1, vec![2]), (2, vec![]), (9, vec![])] {
        let events = block_on(store.read_history_after(&lease, after)).unwrap();
        assert_eq!(events.iter().map(|event| event.event_id).collect::<Vec<_>>(), expected, "{after}");
    }
    assert_eq!(store.calls(), [""; 0]);
}

#[test]
fn without_a_history_in_the_lease_it_is_read_from_the_store() {
    let store = Fake {
        histories: Script::of([
            Ok(history([started("O", None), completed()])),
            Err(ProviderError::retryable("read", "busy")),
            Err(ProviderError::permanent("read", "line 3")),
        ]),
        ..Fake::default()
    };
    let lease = InstanceLease {
        position: Position { incarnation: 0, execution_id: 3, last_event_id: 2 },
        preloaded: None,
        ..lease_of(item(vec![signal("x")]))
    };
    assert_eq!(block_on(store.read_history_after(&lease, 1)).unwrap().len(), 1);
    assert_eq!(store.calls(), ["read i 3"]);
    let error = block_on(store.read_history_after(&lease, 1)).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::NotApplied, "read: busy"));
    let error = block_on(store.read_history_after(&lease, 1)).unwrap_err();
    assert_eq!((error.rejection(), error.message.as_str()), (Some(Rejection::Corrupt), "read: line 3"));
}

#[test]
fn the_snapshot_is_the_one_that_came_with_the_lease() {
    let entry = KvEntry { value: "v".to_owned(), last_updated_at_ms: 7 };
    let lease = lease_of(OrchestrationItem {
        kv_snapshot: HashMap::from([("k".to_owned(), entry.clone())]),
        ..item(vec![start(None)])
    });
    let store = Fake::default();
    let snapshot = block_on(store.read_kv_snapshot(&lease)).unwrap();
    assert_eq!(snapshot.into_iter().collect::<Vec<_>>(), [("k".to_owned(), entry)]);
    let foreign = InstanceLease { preloaded: None, ..lease };
    let error = block_on(store.read_kv_snapshot(&foreign)).unwrap_err();
    assert_eq!(error.rejection(), Some(Rejection::Invalid));
    assert_eq!(error.operation, Operation::ReadKvSnapshot);
}

#[test]
fn a_lease_becomes_an_item_in_the_order_of_enqueueing() {
    let message = |id, item| Message { id: MessageId(id), attempt: 1, item };
    let lease = InstanceLease {
        messages: vec![message(7, start(None)), message(3, cancel()), message(9, signal("x"))],
        ..lease_of(item(vec![]))
    };
    let kv = BTreeMap::from([("k".to_owned(), KvEntry { value: "v".to_owned(), last_updated_at_ms: 7 })]);
    let (fetched, token, attempt) = lease.clone().into_item(Ok(history([started("O", None)])), kv);
    assert_eq!((token.as_str(), attempt), ("token", 4));
    assert_eq!(fetched.messages, [cancel(), start(None), signal("x")]);
    assert_eq!((fetched.execution_id, fetched.history.len(), fetched.history_error), (1, 1, None));
    assert_eq!((fetched.orchestration_name.as_str(), fetched.version.as_str()), ("O", "1.0.0"));
    assert_eq!(fetched.kv_snapshot["k"].value, "v");
    let (broken, ..) = lease.into_item(Err("line 3".to_owned()), BTreeMap::new());
    assert_eq!((broken.history, broken.history_error.as_deref()), (vec![], Some("line 3")));
}

#[test]
fn a_failed_fetch_took_nothing() {
    let table = [
        (ProviderError::retryable("fetch", "busy"), ErrorKind::NotApplied),
        (ProviderError::permanent("fetch", "no"), ErrorKind::Rejected(Rejection::Invalid)),
    ];
    for (answer, kind) in table {
        let message = answer.to_string();
        let store = Fake { instances: Script::of([Err(answer)]), ..Fake::default() };
        let error = block_on(store.lease_instances(request(1))).unwrap_err();
        assert_eq!(error, StoreError { operation: Operation::LeaseInstances, kind, message });
    }
}
