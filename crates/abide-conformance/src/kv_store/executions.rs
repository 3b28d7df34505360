//! Values across executions, and over many turns.

use crate::ProviderFactory;
use crate::deletion::run_next;
use crate::kv_store::{Values, assert_values, pairs, snapshot, value};
use crate::support::{Ack, Subject, signal};

/// Values belong to the execution that set them until it ends, and to the instance from then on.
pub async fn test_kv_execution_id_tracking<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "first", "1").continuing(3)).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("first", "1")]));
    store.ack(&turn.token, Ack::first_of("a", 2).set(2, "second", "2")).await;
    assert_values(&store, "a", &[("first", "1"), ("second", "2")]).await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("first", "1")]), "the second execution has not ended");
    store.ack(&turn.token, Ack::of("a", 2).continuing(3)).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("first", "1"), ("second", "2")]), "the second execution has ended");
    store.ack(&turn.token, Ack::first_of("a", 3).set(2, "third", "3")).await;
    assert_values(&store, "a", &[("first", "1"), ("second", "2"), ("third", "3")]).await;
}

/// A later execution overwrites what an earlier one left, at once for clients and with its end for replay.
pub async fn test_kv_cross_execution_overwrite<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "y", "1").continuing(4)).await;
    run_next(&store, Ack::first_of("a", 2).set(2, "x", "2")).await;
    assert_values(&store, "a", &[("x", "2"), ("y", "1")]).await;
    store.step(Ack::of("a", 2).continuing(3)).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("x", "2"), ("y", "1")]));
    store.ack(&turn.token, Ack::first_of("a", 3).set(2, "x", "3").completing(3)).await;
    assert_values(&store, "a", &[("x", "3"), ("y", "1")]).await;
}

/// A value can be set, removed and set again by three executions.
pub async fn test_kv_cross_execution_remove_readd<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").continuing(3)).await;
    run_next(&store, Ack::first_of("a", 2).clear(2, "x")).await;
    assert_eq!(value(&store, "a", "x").await, None, "removed by the current execution");
    store.step(Ack::of("a", 2).continuing(3)).await;
    assert_eq!(value(&store, "a", "x").await, None, "removed by a past one");
    let turn = store.fetch("a").await;
    assert!(snapshot(&turn).is_empty(), "what was removed is not handed out");
    store.ack(&turn.token, Ack::first_of("a", 3).set(2, "x", "3")).await;
    assert_values(&store, "a", &[("x", "3")]).await;
    store.step(Ack::of("a", 3).continuing(3)).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&[("x", "3")]));
}

/// Keys add up over the turns of one execution: clients see all of them, and all of them are counted.
pub async fn test_kv_keys_accumulate_over_turns<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let key = |id: u64| format!("key {id:03}");
    let turns = 20;
    let per_turn = 10;
    store.create("a").await;
    for turn in 0..turns {
        let first = 2 + turn * per_turn;
        let ids = first..first + per_turn;
        store.step(ids.fold(Ack::of("a", 1), |ack, id| ack.set(id, &key(id), "12345"))).await;
    }
    let all: Vec<(String, &str)> = (2..2 + turns * per_turn).map(|id| (key(id), "12345")).collect();
    let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    assert_values(&store, "a", &all).await;
    let stats = store.get_instance_stats("a").await.expect("statistics can be asked for");
    let stats = stats.expect("it exists");
    assert_eq!(
        (stats.kv_user_key_count, stats.kv_total_value_bytes),
        (turns * per_turn, turns * per_turn * 5)
    );

    store.step(Ack::of("a", 1).continuing(900)).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&all), "the next execution gets them all");
}
