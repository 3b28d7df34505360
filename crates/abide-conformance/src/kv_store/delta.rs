//! What the current execution changed, laid over what earlier ones left, and what becomes of it when it ends.

use abide_model::ExecutionStatus;

use crate::ProviderFactory;
use crate::deletion::run_next;
use crate::kv_store::{Values, assert_values, pairs, snapshot, value};
use crate::support::{Ack, Subject, signal};

/// Clients see the changes of the current execution over the values of earlier ones.
pub async fn test_kv_delta_client_reads_merged<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    past(&store).await;
    assert_values(&store, "a", &[("x", "old"), ("y", "old")]).await;
    store.step(Ack::of("a", 2).set(2, "y", "new").set(3, "z", "new")).await;
    assert_values(&store, "a", &[("x", "old"), ("y", "new"), ("z", "new")]).await;
}

/// A value of an earlier execution that the current one removed is gone for clients at once, and for replay after its end.
pub async fn test_kv_delta_tombstone_overrides_store<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    past(&store).await;
    store.step(Ack::of("a", 2).clear(2, "x")).await;
    assert_eq!(value(&store, "a", "x").await, None, "what earlier executions left shines through");
    assert_values(&store, "a", &[("y", "old")]).await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("x", "old"), ("y", "old")]), "replay removes it itself");
    store.ack(&turn.token, Ack::of("a", 2).continuing(3)).await;
    assert_values(&store, "a", &[("y", "old")]).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&[("y", "old")]));
}

/// Removing everything hides what earlier executions left and what this one set, for clients at once, for replay after its
/// end.
pub async fn test_kv_delta_clear_all_tombstones_store<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    past(&store).await;
    store.step(Ack::of("a", 2).set(2, "z", "new")).await;
    store.step(Ack::of("a", 2).clear_all(3)).await;
    assert_values(&store, "a", &[]).await;
    for key in ["x", "y", "z"] {
        assert_eq!(value(&store, "a", key).await, None, "'{key}' was removed with everything");
    }
    store.step(Ack::of("a", 2).set(4, "x", "again")).await;
    assert_values(&store, "a", &[("x", "again")]).await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&[("x", "old"), ("y", "old")]), "replay removes everything itself");
    store.ack(&turn.token, Ack::of("a", 2).continuing(5)).await;
    assert_eq!(snapshot(&store.fetch("a").await), pairs(&[("x", "again")]));
}

/// With the completion of an execution its changes are what it left.
pub async fn test_kv_delta_merged_on_completion<F: ProviderFactory>(factory: &F) {
    merged_on(factory, ExecutionStatus::Completed).await;
}

/// With continue-as-new the changes of an execution are what its successor finds.
pub async fn test_kv_delta_merged_on_can<F: ProviderFactory>(factory: &F) {
    merged_on(factory, ExecutionStatus::ContinuedAsNew).await;
}

/// What a failed execution changed stays, too.
pub async fn test_kv_delta_merged_on_failure<F: ProviderFactory>(factory: &F) {
    merged_on(factory, ExecutionStatus::Failed).await;
}

/// Changes of several turns, and of the one that ends the execution, become what the instance has.
async fn merged_on<F: ProviderFactory>(factory: &F, end: ExecutionStatus) {
    let store = Subject::new(factory).await;
    past(&store).await;
    store.step(Ack::of("a", 2).set(2, "x", "new").set(3, "z", "new")).await;
    store.step(Ack::of("a", 2).clear(4, "y").set(5, "last", "1").ending(6, end, "end")).await;
    let expected = [("last", "1"), ("x", "new"), ("z", "new")];
    assert_values(&store, "a", &expected).await;
    store.post(signal("a", "late")).await;
    let turn = store.fetch("a").await;
    assert_eq!(snapshot(&turn), pairs(&expected), "an execution that ended as {end} left this");
    store.ack(&turn.token, Ack::of("a", 2)).await;
    assert_values(&store, "a", &expected).await;
}

/// An instance in its second execution; its first left two values.
pub(super) async fn past(store: &Subject<'_>) {
    store.begin(Ack::first("a").set(2, "x", "old").set(3, "y", "old").continuing(4)).await;
    run_next(store, Ack::first_of("a", 2)).await;
}
