//! What a lease hands out: values that earlier executions left, and nothing of the current one.

use crate::ProviderFactory;
use crate::deletion::run_next;
use crate::instance_locking::give_back;
use crate::kv_store::{Values, pairs, snapshot};
use crate::support::{Ack, Subject, signal, start};

/// A lease hands out the values that earlier executions left, each as it was set, with its time.
pub async fn test_kv_snapshot_in_fetch<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "y", "2").continuing(4)).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("x", "1"), ("y", "2")]));
    give_back(&store, &turn).await;
    let again = store.fetch("a").await;
    assert_eq!(again.item.kv_snapshot, turn.item.kv_snapshot, "another lease hands out the same");
    store.ack(&again.token, Ack::first_of("a", 2)).await;
    store.post(signal("a", "next")).await;
    let next = store.fetch("a").await;
    assert_eq!(
        next.item.kv_snapshot, turn.item.kv_snapshot,
        "every turn of an execution begins with the same"
    );
}

/// A value that an earlier execution removed is not handed out.
pub async fn test_kv_snapshot_after_clear_single<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store
        .begin(Ack::first("a").set(2, "x", "1").set(3, "y", "2").set(4, "z", "3").clear(5, "x").continuing(6))
        .await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("y", "2"), ("z", "3")]), "removed by the execution that set it");
    store.ack(&turn.token, Ack::first_of("a", 2).clear(2, "y").continuing(3)).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&[("z", "3")]), "removed by the next one");
}

/// After an execution that removed everything, nothing is handed out but what it set behind that.
pub async fn test_kv_snapshot_after_clear_all<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "y", "2").continuing(4)).await;
    run_next(&store, Ack::first_of("a", 2).set(2, "z", "3").clear_all(3).set(4, "last", "4").continuing(5))
        .await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("last", "4")]));
    store.ack(&turn.token, Ack::first_of("a", 3).clear_all(2).continuing(3)).await;
    assert!(snapshot(&store.fetch("a").await).is_empty());
}

/// Without values the snapshot is empty: before the first turn, in later ones, and in later executions.
pub async fn test_kv_snapshot_empty<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert!(snapshot(&turn).is_empty());
    store.ack(&turn.token, Ack::first("a")).await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    assert!(snapshot(&turn).is_empty());
    store.ack(&turn.token, Ack::of("a", 1).continuing(2)).await;
    assert!(snapshot(&store.fetch("a").await).is_empty());
}

/// The snapshot has what all earlier executions left, not only the one before.
pub async fn test_kv_snapshot_cross_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "first", "1").set(3, "x", "1").continuing(4)).await;
    run_next(&store, Ack::first_of("a", 2).set(2, "second", "2").set(3, "x", "2").continuing(4)).await;
    run_next(&store, Ack::first_of("a", 3).continuing(2)).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("first", "1"), ("second", "2"), ("x", "2")]));
}

/// A snapshot says when each value was written, as its event does: through later turns and executions that leave it alone.
pub async fn test_kv_snapshot_keeps_times<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "y", "1")).await;
    store.step(Ack::of("a", 1).set(7, "y", "1").continuing(8)).await;
    run_next(&store, Ack::first_of("a", 2).set(5, "z", "1").continuing(6)).await;
    let turn = store.fetch("a").await;
    let time = |key: &str| turn.item.kv_snapshot.get(key).map(|entry| entry.last_updated_at_ms);
    assert_eq!((time("x"), time("y"), time("z")), (Some(2), Some(7), Some(5)));
}

/// The snapshot leaves out what the current execution changed, in however many turns: replay brings that back, and would
/// read its own writes otherwise.
pub async fn test_kv_delta_snapshot_excludes_current_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "new")).await;
    for id in 3..6 {
        store.post(signal("a", "next")).await;
        let turn = store.fetch("a").await;
        assert!(
            snapshot(&turn).is_empty(),
            "the current execution reads its own writes: {:?}",
            snapshot(&turn)
        );
        store.ack(&turn.token, Ack::of("a", 1).set(id, "x", &format!("newer {id}"))).await;
    }

    store.begin(Ack::first("b").set(2, "x", "old").set(3, "y", "old").continuing(4)).await;
    let expected = pairs(&[("x", "old"), ("y", "old")]);
    let turn = store.fetch("b").await;
    assert_eq!(snapshot(&turn), expected);
    store.ack(&turn.token, Ack::first_of("b", 2).set(2, "x", "new").clear(3, "y").set(4, "z", "new")).await;
    store.post(signal("b", "next")).await;
    let turn = store.fetch("b").await;
    assert_eq!(snapshot(&turn), expected, "neither a new value, nor a changed one, nor a removal is seen");
    store.ack(&turn.token, Ack::of("b", 2).clear_all(5)).await;
    store.post(signal("b", "next")).await;
    assert_eq!(snapshot(&store.fetch("b").await), expected, "removing everything is not seen either");
}

/// The snapshot has what an execution changed as soon as that has ended.
pub async fn test_kv_delta_snapshot_includes_completed_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1")).await;
    store.step(Ack::of("a", 1).set(3, "y", "2")).await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    assert!(snapshot(&turn).is_empty(), "it has not ended");
    store.ack(&turn.token, Ack::of("a", 1).set(4, "x", "3").completing(5)).await;
    store.post(signal("a", "late")).await;
    let turn = store.fetch("a").await;
    assert_eq!(
        snapshot(&turn),
        pairs(&[("x", "3"), ("y", "2")]),
        "values of all its turns, the last one included"
    );
}
