//! Pruning executions leaves values alone; deleting an instance does not.

use abide_provider::{InstanceFilter, PruneOptions, PruneResult};

use crate::ProviderFactory;
use crate::deletion::{assert_gone, birth, first_turn, run_next};
use crate::kv_store::delta::past;
use crate::kv_store::{Values, assert_values, pairs, snapshot};
use crate::support::{Ack, Subject, signal, start};

/// A value that a later execution overwrote stays as that left it when the execution that first set it is pruned.
pub async fn test_kv_prune_preserves_overwritten<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").continuing(3)).await;
    run_next(&store, Ack::first_of("a", 2).set(2, "x", "2").continuing(3)).await;
    run_next(&store, Ack::first_of("a", 3)).await;
    assert_eq!(prune(&store).await.executions_deleted, 2);
    assert_values(&store, "a", &[("x", "2")]).await;
    store.post(signal("a", "next")).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&[("x", "2")]));
}

/// Values of pruned executions stay, for clients and for replay: by one prune or in bulk.
pub async fn test_kv_prune_preserves_all_keys<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    for (execution, key) in [(1, "first"), (2, "second"), (3, "third")] {
        run_next(&store, Ack::first_of("a", execution).set(2, key, "left").continuing(3)).await;
    }
    run_next(&store, Ack::first_of("a", 4).set(2, "current", "set")).await;
    let keep_two = PruneOptions { keep_last: Some(2), completed_before: None };
    let pruned = store.admin().prune_executions("a", keep_two).await.expect("it exists");
    assert_eq!(pruned.executions_deleted, 2);
    let all = [("current", "set"), ("first", "left"), ("second", "left"), ("third", "left")];
    assert_values(&store, "a", &all).await;

    let pruned =
        store.admin().prune_executions_bulk(InstanceFilter::default(), PruneOptions::default()).await;
    assert_eq!(pruned.expect("a bulk prune can be made").executions_deleted, 1);
    assert_values(&store, "a", &all).await;
    store.post(signal("a", "next")).await;
    assert_eq!(
        snapshot(&store.fetch("a").await),
        pairs(&[("first", "left"), ("second", "left"), ("third", "left")])
    );
}

/// A prune leaves the changes of the current execution what they are: seen by clients, not by replay, and folded at its end.
pub async fn test_kv_prune_current_execution_protected<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    past(&store).await;
    store.step(Ack::of("a", 2).set(2, "x", "new").clear(3, "y").set(4, "z", "new")).await;
    assert_eq!(prune(&store).await.executions_deleted, 1);
    assert_values(&store, "a", &[("x", "new"), ("z", "new")]).await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("x", "old"), ("y", "old")]), "the prune ended nothing");
    store.ack(&turn.token, Ack::of("a", 2).continuing(5)).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&[("x", "new"), ("z", "new")]));
}

/// A value that only a pruned execution touched survives, also for those that come after the next one.
pub async fn test_kv_delta_prune_untouched_key_survives<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    past(&store).await;
    store.step(Ack::of("a", 2).set(2, "y", "new").continuing(3)).await;
    run_next(&store, Ack::first_of("a", 3)).await;
    assert_eq!(prune(&store).await.executions_deleted, 2);
    assert_values(&store, "a", &[("x", "old"), ("y", "new")]).await;
    store.step(Ack::of("a", 3).continuing(2)).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&[("x", "old"), ("y", "new")]));
}

/// Values go with their instance, and a new one of the same name has none.
pub async fn test_kv_delete_instance_cascades<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").completing(3)).await;
    store.begin(Ack::first("b").set(2, "x", "2").completing(3)).await;
    store.admin().delete_instance("a", false).await.expect("it has ended");
    assert_values(&store, "a", &[]).await;
    assert_values(&store, "b", &[("x", "2")]).await;
    assert_begins_without_values(&store).await;
}

/// Changes of an execution that has not ended go with its instance, too.
pub async fn test_kv_delta_delete_instance_cascades<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    past(&store).await;
    store.step(Ack::of("a", 2).set(2, "x", "new").clear(3, "y").set(4, "z", "new")).await;
    store.begin(Ack::first("b").set(2, "x", "2")).await;
    store.admin().delete_instance("a", true).await.expect("force deletes what runs");
    assert_gone(&store, "a").await;
    assert_values(&store, "b", &[("x", "2")]).await;
    assert_begins_without_values(&store).await;
}

/// Values of children go with the root's tree.
pub async fn test_kv_delete_instance_with_children<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("root").set(2, "x", "1").completing(3)).await;
    for (child, parent) in [("child", "root"), ("grandchild", "child")] {
        store.post(birth(child, parent, 1)).await;
        run_next(&store, first_turn(child, parent, Some(1)).set(2, "x", "2").completing(3)).await;
    }
    store.begin(Ack::first("other").set(2, "x", "3").completing(3)).await;
    store.admin().delete_instance("root", false).await.expect("the tree has ended");
    for id in ["root", "child", "grandchild"] {
        assert_values(&store, id, &[]).await;
    }
    assert_values(&store, "other", &[("x", "3")]).await;
}

/// A removal in an instance that was deleted removes nothing from the next one of its name, and the next one's end brings
/// nothing back.
pub async fn test_kv_deleted_values_stay_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    past(&store).await;
    store.step(Ack::of("a", 2).clear(2, "x").set(3, "z", "new")).await;
    store.admin().delete_instance("a", true).await.expect("force deletes what runs");
    store.begin(Ack::first("a").set(2, "x", "of the next")).await;
    assert_values(&store, "a", &[("x", "of the next")]).await;
    store.step(Ack::of("a", 1).continuing(3)).await;
    assert_values(&store, "a", &[("x", "of the next")]).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&[("x", "of the next")]));
}

async fn assert_begins_without_values(store: &Subject<'_>) {
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert!(snapshot(&turn).is_empty(), "values of a deleted instance are handed out: {:?}", snapshot(&turn));
    store.ack(&turn.token, Ack::first("a")).await;
    assert_values(store, "a", &[]).await;
}

async fn prune(store: &Subject<'_>) -> PruneResult {
    store.admin().prune_executions("a", PruneOptions::default()).await.expect("it exists")
}
