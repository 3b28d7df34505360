//! Values of an instance: what finished executions left, and what the current one changed.

mod delta;
mod executions;
mod kept;
mod snapshots;
mod values;

pub use delta::*;
pub use executions::*;
pub use kept::*;
pub use snapshots::*;
pub(crate) use values::*;

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::run_next;
use crate::suite::area;
use crate::support::{Ack, Subject, activity, assert_refused, signal, start};

area! {
    kv_store;
    test_kv_set_and_get;
    test_kv_overwrite;
    test_kv_clear_single;
    test_kv_clear_all;
    test_kv_get_nonexistent;
    test_kv_snapshot_in_fetch;
    test_kv_snapshot_after_clear_single;
    test_kv_snapshot_after_clear_all;
    test_kv_execution_id_tracking;
    test_kv_cross_execution_overwrite;
    test_kv_cross_execution_remove_readd;
    test_kv_prune_preserves_overwritten: Administration;
    test_kv_prune_preserves_all_keys: Administration;
    test_kv_instance_isolation;
    test_kv_delete_instance_cascades: Administration;
    test_kv_clear_nonexistent_key;
    test_kv_get_unknown_instance;
    test_kv_set_after_clear;
    test_kv_empty_value;
    test_kv_large_value;
    test_kv_special_chars_in_key;
    test_kv_snapshot_empty;
    test_kv_snapshot_cross_execution;
    test_kv_prune_current_execution_protected: Administration;
    test_kv_delete_instance_with_children: Administration;
    test_kv_clear_isolation;
    test_kv_delta_snapshot_excludes_current_execution;
    test_kv_delta_snapshot_includes_completed_execution;
    test_kv_delta_client_reads_merged;
    test_kv_delta_tombstone_overrides_store;
    test_kv_delta_clear_all_tombstones_store;
    test_kv_delta_merged_on_completion;
    test_kv_delta_merged_on_can;
    test_kv_delta_delete_instance_cascades: Administration;
    test_kv_delta_prune_untouched_key_survives: Administration;
    test_kv_delta_merged_on_failure;
    test_kv_order_within_a_turn;
    test_kv_keys_accumulate_over_turns;
    test_kv_snapshot_keeps_times;
    test_kv_refused_ack_changes_no_value;
    test_kv_deleted_values_stay_deleted: Administration;
}

/// A value that a commit sets can be read at once, by its key and among all; what was not committed cannot.
pub async fn test_kv_set_and_get<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert_eq!(value(&store, "a", "x").await, None, "nothing is committed yet");
    store.ack(&turn.token, Ack::first("a").set(2, "x", "1").set(3, "y", "2")).await;
    assert_eq!(value(&store, "a", "x").await.as_deref(), Some("1"));
    assert_eq!(value(&store, "a", "y").await.as_deref(), Some("2"));
    assert_eq!(value(&store, "a", "z").await, None);
    assert_values(&store, "a", &[("x", "1"), ("y", "2")]).await;
    store.step(Ack::of("a", 1).signalled(4)).await;
    assert_values(&store, "a", &[("x", "1"), ("y", "2")]).await;
}

/// The last of several values of a key counts, whether they come in one turn or in several.
pub async fn test_kv_overwrite<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "other", "o").set(4, "x", "2")).await;
    assert_values(&store, "a", &[("other", "o"), ("x", "2")]).await;
    store.step(Ack::of("a", 1).set(5, "x", "3")).await;
    assert_values(&store, "a", &[("other", "o"), ("x", "3")]).await;
    assert_eq!(value(&store, "a", "x").await.as_deref(), Some("3"));
}

/// A value that is removed is gone, and no other is.
pub async fn test_kv_clear_single<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "y", "2")).await;
    store.step(Ack::of("a", 1).clear(4, "x")).await;
    assert_eq!(value(&store, "a", "x").await, None, "what was removed is not an empty value");
    assert_values(&store, "a", &[("y", "2")]).await;
    store.step(Ack::of("a", 1).set(5, "z", "3").clear(6, "z")).await;
    assert_values(&store, "a", &[("y", "2")]).await;
}

/// All values can be removed at once.
pub async fn test_kv_clear_all<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "y", "2")).await;
    store.step(Ack::of("a", 1).set(4, "z", "3").clear_all(5)).await;
    assert_values(&store, "a", &[]).await;
    for key in ["x", "y", "z"] {
        assert_eq!(value(&store, "a", key).await, None);
    }
}

/// A key that was never set has no value.
pub async fn test_kv_get_nonexistent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    assert_eq!(value(&store, "a", "x").await, None);
    assert_values(&store, "a", &[]).await;
    store.step(Ack::of("a", 1).set(2, "xx", "1")).await;
    assert_eq!(value(&store, "a", "x").await, None, "a part of a key is another key");
}

/// Instances have keys of their own.
pub async fn test_kv_instance_isolation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "of a")).await;
    store.begin(Ack::first("b").set(2, "x", "of b").set(3, "y", "only b")).await;
    assert_values(&store, "a", &[("x", "of a")]).await;
    assert_values(&store, "b", &[("x", "of b"), ("y", "only b")]).await;
    assert_eq!(value(&store, "a", "y").await, None);
    store.step(Ack::of("a", 1).continuing(3)).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("x", "of a")]), "the snapshot of an instance is its own");
    store.ack(&turn.token, Ack::first_of("a", 2).set(2, "x", "changed")).await;
    assert_values(&store, "b", &[("x", "of b"), ("y", "only b")]).await;
}

/// Removing a value that is not there is nothing, and no error.
pub async fn test_kv_clear_nonexistent_key<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").clear(2, "never").clear_all(3).set(4, "x", "1")).await;
    store.step(Ack::of("a", 1).clear(5, "never")).await;
    assert_values(&store, "a", &[("x", "1")]).await;
    store.step(Ack::of("a", 1).completing(6)).await;
    assert_values(&store, "a", &[("x", "1")]).await;
    assert_eq!(value(&store, "a", "never").await, None);
}

/// What is no instance has no values, and reading them makes no instance.
pub async fn test_kv_get_unknown_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1")).await;
    store.post(start("unborn")).await;
    for id in ["unknown", "unborn"] {
        assert_eq!(value(&store, id, "x").await, None);
        assert_values(&store, id, &[]).await;
        let stats = store.get_instance_stats(id).await.expect("statistics can be asked for");
        assert_eq!(stats, None, "reading values made an instance of '{id}'");
    }
}

/// A key that was removed can be set again, in the same turn and in a later one.
pub async fn test_kv_set_after_clear<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").clear(3, "x").set(4, "x", "2")).await;
    assert_values(&store, "a", &[("x", "2")]).await;
    store.step(Ack::of("a", 1).clear(5, "x")).await;
    store.step(Ack::of("a", 1).set(6, "x", "3")).await;
    assert_values(&store, "a", &[("x", "3")]).await;
    store.step(Ack::of("a", 1).clear_all(7)).await;
    store.step(Ack::of("a", 1).set(8, "x", "4").completing(9)).await;
    assert_values(&store, "a", &[("x", "4")]).await;
}

/// An empty value is a value.
pub async fn test_kv_empty_value<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "").set(3, "y", "1")).await;
    assert_eq!(value(&store, "a", "x").await.as_deref(), Some(""));
    store.step(Ack::of("a", 1).set(4, "y", "").continuing(5)).await;
    assert_values(&store, "a", &[("x", ""), ("y", "")]).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("x", ""), ("y", "")]), "it is in the snapshot too");
}

/// A value of the largest size that is allowed comes back as it was, and so do many of them.
pub async fn test_kv_large_value<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let letters = "x".repeat(LARGEST_VALUE);
    let umlauts = "ü".repeat(LARGEST_VALUE / 2);
    let mut first = Ack::first("a").set(2, "letters", &letters).set(3, "umlauts", &umlauts);
    for id in 4..20 {
        first = first.set(id, &format!("key {id}"), &letters);
    }
    store.begin(first).await;
    assert_eq!(value(&store, "a", "letters").await, Some(letters.clone()));
    assert_eq!(value(&store, "a", "umlauts").await, Some(umlauts.clone()));
    let all = values(&store, "a").await;
    assert_eq!((all.len(), all.get("key 19")), (18, Some(&letters)));
    store.step(Ack::of("a", 1).continuing(20)).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn).get("umlauts"), Some(&umlauts), "it is in the snapshot too");
}

/// Any text is a key, and only that text: nothing in it has a meaning for the store.
pub async fn test_kv_special_chars_in_key<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let keys = [
        "with space",
        " with space",
        "quote'",
        "double\"quote",
        "back\\slash",
        "semi;colon--",
        "per%cent",
        "per_cent",
        "per?cent",
        "$1",
        ":name",
        "new\nline",
        "tab\t",
        "Case",
        "case",
        "ключ",
        "鍵",
        "🔑",
        "e\u{301}",
        "é",
        "[x]",
        "{\"json\":1}",
        "a.b",
        "a/b",
        "*",
        "",
    ];
    let numbered = keys.iter().zip(2_u64..);
    let first = numbered.fold(Ack::first("a"), |turn, (key, id)| turn.set(id, key, &format!("value {id}")));
    store.begin(first).await;
    for (key, id) in keys.iter().zip(2_u64..) {
        assert_eq!(value(&store, "a", key).await, Some(format!("value {id}")), "the key {key:?}");
    }
    assert_eq!(values(&store, "a").await.len(), keys.len(), "two keys became one");
    assert_eq!(value(&store, "a", "per-cent").await, None, "a key was taken for a pattern");

    let clearing = keys.iter().zip(100_u64..).skip(1);
    store.step(clearing.fold(Ack::of("a", 1), |turn, (key, id)| turn.clear(id, key))).await;
    assert_values(&store, "a", &[("with space", "value 2")]).await;
}

/// Removing values of one instance leaves those of others.
pub async fn test_kv_clear_isolation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "y", "2").continuing(4)).await;
    run_next(&store, Ack::first_of("a", 2)).await;
    store.begin(Ack::first("b").set(2, "x", "3").set(3, "y", "4").completing(5)).await;
    store.begin(Ack::first("c").set(2, "x", "5")).await;
    store.step(Ack::of("a", 2).clear(2, "x")).await;
    assert_values(&store, "a", &[("y", "2")]).await;
    store.step(Ack::of("a", 2).clear_all(3).continuing(4)).await;
    assert_values(&store, "a", &[]).await;
    assert_values(&store, "b", &[("x", "3"), ("y", "4")]).await;
    assert_values(&store, "c", &[("x", "5")]).await;
}

/// Within a turn the order of the events counts: what follows a removal of everything stays.
pub async fn test_kv_order_within_a_turn<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "old", "1").continuing(3)).await;
    let turn =
        Ack::first_of("a", 2).set(2, "before", "1").clear_all(3).set(4, "after", "2").set(5, "gone", "3");
    run_next(&store, turn.clear(6, "gone").set(7, "old", "again")).await;
    assert_values(&store, "a", &[("after", "2"), ("old", "again")]).await;
    store.step(Ack::of("a", 2).set(8, "late", "1").clear_all(9).continuing(10)).await;
    assert_values(&store, "a", &[]).await;
    assert!(snapshot(&store.fetch("a").await).is_empty(), "the removal was the last word");
}

/// A commit that is refused changes no value.
pub async fn test_kv_refused_ack_changes_no_value<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").scheduling(activity("a", 3))).await;
    let before = Observed::of(&store, "a").await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    let changes = || Ack::of("a", 1).set(4, "x", "2").set(5, "y", "3").clear_all(6);
    assert_refused(&store.try_ack(&turn.token, changes().signalled(2)).await, "an event id that is taken");
    assert_refused(&store.try_ack("no such token", changes()).await, "a commit without a lease");
    store.expire_leases().await;
    assert_refused(&store.try_ack(&turn.token, changes().completing(7)).await, "a commit after its lease");
    assert_eq!(Observed::of(&store, "a").await, before, "a refused commit changed something");
    assert_values(&store, "a", &[("x", "1")]).await;
}
