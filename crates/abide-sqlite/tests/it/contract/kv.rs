//! The key-value store of an instance and its delta.

use abide_model::{EventKind, ExecutionStatus};
use abide_provider::Provider as _;
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

/// Commits a turn that records these changes behind what is there.
fn record(store: &Store, changes: Vec<EventKind>, ending: Option<ExecutionStatus>) {
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let turn = TurnBuilder::of_execution(lease.position.execution_id);
    let turn = turn.events(lease.position.last_event_id + 1, changes);
    let turn = match ending {
        None => turn,
        Some(status) => turn.ending(status, ""),
    };
    store.commit(turn.under(&lease));
}

fn values(store: &Store) -> Vec<(String, String)> {
    let mut values: Vec<_> = block_on(store.provider.get_kv_all_values("a")).unwrap().into_iter().collect();
    values.sort();
    for key in ["x", "y", "z"] {
        let value = block_on(store.provider.get_kv_value("a", key)).unwrap();
        let listed = values.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
        assert_eq!(value, listed, "both ways of reading agree");
    }
    values
}

fn snapshot(store: &Store) -> Vec<String> {
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let snapshot = block_on(store.provider.read_kv_snapshot(&lease)).unwrap();
    store.commit(TurnBuilder::of_execution(lease.position.execution_id).under(&lease));
    snapshot
        .into_iter()
        .map(|(key, entry)| format!("{key}={} at {}", entry.value, entry.last_updated_at_ms))
        .collect()
}

fn pairs<'a>(pairs: &[(&'a str, &'a str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn the_delta_lies_over_the_store_until_the_execution_ends() {
    on_both(|store| {
        store.create_idle("a");
        record(store, vec![value_set("x", "1"), value_set("y", "1")], None);
        assert_eq!(values(store), pairs(&[("x", "1"), ("y", "1")]));
        assert_eq!(snapshot(store), [""; 0], "nothing is settled yet");
        record(store, vec![], Some(ExecutionStatus::ContinuedAsNew));
        assert_eq!(snapshot(store), ["x=1 at 9", "y=1 at 9"]);
        store.enqueue(continue_as_new("a"));
        let lease = store.lease();
        store.commit(TurnBuilder::starting(2).under(&lease));
        record(store, vec![value_set("x", "2"), value_cleared("y"), value_set("z", "2")], None);
        assert_eq!(values(store), pairs(&[("x", "2"), ("z", "2")]));
        assert_eq!(snapshot(store), ["x=1 at 9", "y=1 at 9"], "as earlier executions left it");
        record(store, vec![], Some(ExecutionStatus::Completed));
        assert_eq!(values(store), pairs(&[("x", "2"), ("z", "2")]));
        assert_eq!(snapshot(store), ["x=2 at 9", "z=2 at 9"]);
        assert_eq!(store.count("kv_delta"), 0);
    });
}

#[test]
fn clearing_all_leaves_tombstones_and_later_changes_stay() {
    on_both(|store| {
        store.create_idle("a");
        record(store, vec![value_set("x", "1"), value_set("y", "1")], Some(ExecutionStatus::Failed));
        record(store, vec![value_set("z", "2")], None);
        record(store, vec![value_set("y", "3"), EventKind::KeyValuesCleared, value_set("x", "4")], None);
        assert_eq!(values(store), pairs(&[("x", "4")]));
        assert_eq!(snapshot(store), ["x=1 at 9", "y=1 at 9"]);
        record(store, vec![], Some(ExecutionStatus::Completed));
        assert_eq!(snapshot(store), ["x=4 at 9"]);
        assert_eq!((store.count("kv_store"), store.count("kv_delta")), (1, 0));
    });
}

#[test]
fn a_key_set_and_cleared_again_is_not_there() {
    on_both(|store| {
        store.create_idle("a");
        record(store, vec![value_set("x", "1"), value_cleared("x"), value_cleared("y")], None);
        assert_eq!(values(store), []);
        record(store, vec![], Some(ExecutionStatus::Completed));
        assert_eq!((store.count("kv_store"), store.count("kv_delta")), (0, 0));
    });
}

#[test]
fn instances_do_not_see_each_others_values() {
    on_both(|store| {
        store.create("b", TurnBuilder::starting(1).event(2, value_set("x", "b's")));
        store.create_idle("a");
        record(store, vec![EventKind::KeyValuesCleared], Some(ExecutionStatus::Completed));
        assert_eq!(values(store), []);
        assert_eq!(block_on(store.provider.get_kv_value("b", "x")).unwrap().as_deref(), Some("b's"));
        assert!(block_on(store.provider.get_kv_all_values("nobody")).unwrap().is_empty());
    });
}

#[test]
fn custom_status_has_a_version_per_change() {
    on_both(|store| {
        let seen = |after| block_on(store.provider.get_custom_status("a", after)).unwrap();
        assert_eq!(seen(0), None);
        store.create_idle("a");
        assert_eq!(seen(0), None);
        for (version, status) in [(1, Some("one")), (2, Some("two")), (3, None), (4, Some("four"))] {
            record(store, vec![status_said(Some("overwritten")), status_said(status)], None);
            assert_eq!(seen(version - 1), Some((status.map(ToOwned::to_owned), version)));
            assert_eq!(seen(version), None);
        }
        record(store, vec![value_set("x", "1")], None);
        assert_eq!(seen(3), Some((Some("four".to_owned()), 4)), "other turns leave it alone");
    });
}

#[test]
fn the_size_of_an_instance_is_that_of_its_current_execution() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).event(2, value_set("x", "12345")));
        record(store, vec![value_set("y", "678"), value_cleared("x")], None);
        let stats = block_on(store.provider.get_instance_stats("a")).unwrap().unwrap();
        let events = block_on(store.provider.read("a")).unwrap();
        let bytes: usize = events.iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
        assert_eq!(stats.history_event_count, 4);
        assert_eq!(stats.history_size_bytes, u64::try_from(bytes).unwrap());
        assert_eq!((stats.kv_user_key_count, stats.kv_total_value_bytes), (1, 3));
    });
}
