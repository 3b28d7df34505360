//! Reading under a lease.

use std::collections::BTreeMap;

use abide_model::{Event, EventKind, KvEntry};
use abide_provider::InstanceLease;

use super::calls::{commit, lease, under};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, signal, start};

/// The tail of a history is what lies behind an event: everything behind none, nothing behind the last.
pub async fn test_read_history_after_gives_the_tail<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("new")).await;
    let new = lease(&store, "new").await;
    assert!(tail(&store, &new, 0).await.is_empty(), "an instance that does not exist has no history");
    commit(&store, under(&new, Ack::first("new"))).await;

    store.begin(Ack::first("a").signalled(2).signalled(3)).await;
    store.step(Ack::of("a", 1).signalled(4).signalled(7)).await;
    let whole = store.history("a").await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    assert_eq!(tail(&store, &leased, 0).await, whole, "behind no event lies the whole history");
    assert_eq!(tail(&store, &leased, 1).await, whole[1..]);
    assert_eq!(tail(&store, &leased, 3).await, whole[3..], "what lies behind an event does not include it");
    assert_eq!(tail(&store, &leased, 5).await, whole[4..], "an id that no event has will do");
    assert!(tail(&store, &leased, 7).await.is_empty(), "nothing lies behind the last event");
}

/// The tail is of the leased execution and of the leased instance alone.
pub async fn test_read_history_after_keeps_executions_apart<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("other").signalled(2).signalled(3)).await;
    store.begin(Ack::first("a").signalled(2).continuing(3)).await;
    let between = lease(&store, "a").await;
    assert_eq!(ids(&tail(&store, &between, 0).await), [(1, 1), (1, 2), (1, 3)], "the execution that ended");
    commit(&store, under(&between, Ack::first_of("a", 2).signalled(2))).await;

    store.post(signal("a", "next")).await;
    let second = lease(&store, "a").await;
    let history = tail(&store, &second, 0).await;
    assert_eq!(ids(&history), [(2, 1), (2, 2)], "only the current execution");
    assert!(history.iter().all(|event| event.instance_id == "a"), "only this instance: {history:?}");
    assert_eq!(ids(&tail(&store, &second, 1).await), [(2, 2)]);
}

/// The snapshot of values is what earlier executions left: not what the current one has changed, and of no other
/// instance.
pub async fn test_read_kv_snapshot_gives_what_earlier_executions_left<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("other").event(2, set("theirs", "1", 5)).completing(3)).await;
    let first = Ack::first("a").event(2, set("kept", "old", 10)).event(3, set("cleared", "x", 11));
    store.begin(first).await;
    store.post(signal("a", "one")).await;
    let leased = lease(&store, "a").await;
    assert!(snapshot(&store, &leased).await.is_empty(), "the first execution has no predecessor");
    commit(&store, under(&leased, Ack::of("a", 1).continuing(4))).await;

    let clear = EventKind::KeyValueCleared { key: "cleared".to_owned() };
    let between = lease(&store, "a").await;
    let second =
        Ack::first_of("a", 2).event(2, set("kept", "new", 20)).event(3, clear).event(4, set("own", "y", 21));
    commit(&store, under(&between, second)).await;
    store.post(signal("a", "two")).await;
    let leased = lease(&store, "a").await;
    let left_by_the_first = BTreeMap::from([
        ("cleared".to_owned(), KvEntry { value: "x".to_owned(), last_updated_at_ms: 11 }),
        ("kept".to_owned(), KvEntry { value: "old".to_owned(), last_updated_at_ms: 10 }),
    ]);
    assert_eq!(snapshot(&store, &leased).await, left_by_the_first);

    commit(&store, under(&leased, Ack::of("a", 2).continuing(5))).await;
    let left_by_both = BTreeMap::from([
        ("kept".to_owned(), KvEntry { value: "new".to_owned(), last_updated_at_ms: 20 }),
        ("own".to_owned(), KvEntry { value: "y".to_owned(), last_updated_at_ms: 21 }),
    ]);
    assert_eq!(snapshot(&store, &lease(&store, "a").await).await, left_by_both);
}

fn set(key: &str, value: &str, last_updated_at_ms: u64) -> EventKind {
    EventKind::KeyValueSet { key: key.to_owned(), value: value.to_owned(), last_updated_at_ms }
}

async fn tail(store: &Subject<'_>, lease: &InstanceLease, after: u64) -> Vec<Event> {
    let tail = store.read_history_after(lease, after).await;
    tail.unwrap_or_else(|error| panic!("the history of '{}' could not be read: {error}", lease.instance))
}

async fn snapshot(store: &Subject<'_>, lease: &InstanceLease) -> BTreeMap<String, KvEntry> {
    let snapshot = store.read_kv_snapshot(lease).await;
    snapshot.unwrap_or_else(|error| panic!("the values of '{}' could not be read: {error}", lease.instance))
}

fn ids(history: &[Event]) -> Vec<(u64, u64)> {
    history.iter().map(|event| (event.execution_id, event.event_id)).collect()
}
