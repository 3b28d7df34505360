//! The key-value store: store, delta, tombstones, and the fold.

use std::collections::{BTreeMap, HashMap};

use abide_model::{EventKind, ExecutionStatus};
use abide_provider::Provider as _;

use crate::support::*;

fn all(store: &Store) -> BTreeMap<String, String> {
    let values: HashMap<_, _> = at_once(store.provider.get_kv_all_values("a")).unwrap();
    values.into_iter().collect()
}

fn map<const N: usize>(entries: [(&str, &str); N]) -> BTreeMap<String, String> {
    entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// An instance whose first execution left `a = 1` and `b = 1`, and whose second has begun.
fn second_execution() -> Store {
    let store = Store::new();
    let first = TurnBuilder::starting(1).event(2, value_set("a", "1")).event(3, value_set("b", "1"));
    store.create("a", first.ending(ExecutionStatus::ContinuedAsNew, "next").mail(continue_as_new("a")));
    let lease = store.lease();
    store.commit(TurnBuilder::starting(2).under(&lease));
    store
}

fn turn(store: &Store, turn: TurnBuilder) {
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(turn.under(&lease));
}

#[test]
fn changes_of_the_current_execution_are_a_delta_over_the_store() {
    let store = second_execution();
    turn(&store, TurnBuilder::of_execution(2).event(2, value_set("a", "2")).event(3, value_cleared("b")));
    assert_eq!(all(&store), map([("a", "2")]));
    assert_eq!(at_once(store.provider.get_kv_value("a", "a")).unwrap().as_deref(), Some("2"));
    assert_eq!(at_once(store.provider.get_kv_value("a", "b")).unwrap(), None);
    let dump = store.dump();
    assert_eq!(dump.kv_store.len(), 2);
    assert_eq!(dump.kv_delta[&("a".to_owned(), "a".to_owned())], Some(("2".to_owned(), 9)));
    assert_eq!(dump.kv_delta[&("a".to_owned(), "b".to_owned())], None);
}

#[test]
fn a_snapshot_is_the_store_alone() {
    let store = second_execution();
    turn(&store, TurnBuilder::of_execution(2).event(2, value_set("a", "2")));
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let snapshot = at_once(store.provider.read_kv_snapshot(&lease)).unwrap();
    assert_eq!(
        snapshot.into_iter().map(|(key, entry)| (key, entry.value)).collect::<BTreeMap<_, _>>(),
        map([("a", "1"), ("b", "1")])
    );
}

#[test]
fn clearing_all_puts_a_tombstone_on_every_key_of_store_and_delta() {
    let store = second_execution();
    turn(&store, TurnBuilder::of_execution(2).event(2, value_set("c", "2")));
    let clearing =
        TurnBuilder::of_execution(2).event(3, EventKind::KeyValuesCleared).event(4, value_set("d", "2"));
    turn(&store, clearing);
    assert_eq!(all(&store), map([("d", "2")]));
    let tombstones = store.dump().kv_delta.into_iter().filter(|(_, change)| change.is_none());
    assert_eq!(tombstones.map(|((_, key), _)| key).collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn the_end_of_an_execution_folds_the_delta_into_the_store() {
    let store = second_execution();
    turn(&store, TurnBuilder::of_execution(2).event(2, value_cleared("a")));
    let last = TurnBuilder::of_execution(2).event(3, value_set("c", "2"));
    turn(&store, last.ending(ExecutionStatus::Completed, ""));
    let dump = store.dump();
    assert!(dump.kv_delta.is_empty());
    assert_eq!(dump.kv_store.into_keys().map(|(_, key)| key).collect::<Vec<_>>(), ["b", "c"]);
}
