//! Finished instances are removed after their time.

use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{DeleteInstanceResult, Retention};

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{
    assert_gone, complete, completed_child, completed_root, ended_at, eternal_root, existing, failed_root,
    moment, numbers, root_between_executions, run_next, running_child,
};
use crate::suite::area;
use crate::support::{Ack, Subject, beside, start};

area! {
    retention;
    test_retention_removes_what_ended_long_ago: Administration;
    test_retention_age_is_strict: Administration;
    test_retention_counts_from_the_end: Administration;
    test_retention_removes_whole_trees: Administration;
    test_retention_never_removes_children_alone: Administration;
    test_retention_spares_what_runs: Administration;
    test_retention_spares_the_gap_between_executions: Administration;
    test_retention_beside_an_eternal_instance: Administration;
    test_retention_limit_makes_progress: Administration;
    test_retention_longer_than_time: Administration;
}

/// More than any test creates.
const MANY: u32 = 100;

/// Roots that completed or failed longer ago than the given time go; those that ended since stay.
pub async fn test_retention_removes_what_ended_long_ago<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "old completed").await;
    failed_root(&store, "old failed").await;
    store.pass(2 * store.lock()).await;
    completed_root(&store, "new completed").await;
    failed_root(&store, "new failed").await;
    store.pass(store.lock() / 2).await;
    let new = Observed::of(&store, "new completed").await;
    let deleted = enforce(&store, store.lock(), MANY).await;
    assert_eq!(numbers(&deleted), [2, 2, 4, 0]);
    assert_gone(&store, "old completed").await;
    assert_gone(&store, "old failed").await;
    assert_eq!(existing(&store).await, ["new completed", "new failed"]);
    assert_eq!(Observed::of(&store, "new completed").await, new, "what stays was touched");
    store.pass(2 * store.lock()).await;
    assert_eq!(enforce(&store, store.lock(), MANY).await.instances_deleted, 2, "their time comes, too");
}

/// What ended exactly that long ago stays: longer ago is longer.
pub async fn test_retention_age_is_strict<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "a").await;
    let before = store.now_ms();
    let ended = ended_at(&store, "a", 1).await;
    let deleted = enforce(&store, Duration::ZERO, MANY).await;
    // Only a clock that stands still can tell; by any other it has ended a moment ago by now.
    if ended == before && store.now_ms() == before {
        assert_eq!(numbers(&deleted), [0; 4], "it ended now, and not before now");
    }
    moment(&store).await;
    enforce(&store, Duration::ZERO, MANY).await;
    assert_gone(&store, "a").await;
}

/// Age is that of the end: when an instance was created, or its earlier executions ended, does not count.
pub async fn test_retention_counts_from_the_end<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("old, ended now").await;
    eternal_root(&store, "eternal, ended now", 3).await;
    store.pass(2 * store.lock()).await;
    store.step(Ack::of("old, ended now", 1).completing(2)).await;
    store.step(Ack::of("eternal, ended now", 3).completing(2)).await;
    moment(&store).await;
    assert_eq!(numbers(&enforce(&store, store.lock(), MANY).await), [0; 4]);
    assert_eq!(existing(&store).await.len(), 2);
    store.pass(2 * store.lock()).await;
    assert_eq!(
        numbers(&enforce(&store, store.lock(), MANY).await),
        [2, 4, 8, 0],
        "with all their executions"
    );
}

/// A root goes with everything below it, also with what ended a moment ago.
pub async fn test_retention_removes_whole_trees<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    running_child(&store, "grandchild", "child").await;
    store.pass(2 * store.lock()).await;
    complete(&store, "grandchild").await;
    completed_root(&store, "other").await;
    moment(&store).await;
    let deleted = enforce(&store, store.lock(), MANY).await;
    assert_eq!(numbers(&deleted), [3, 3, 6, 0], "the end of the root counts");
    assert_eq!(existing(&store).await, ["other"]);
}

/// A child is not removed by itself, however old it is: its root decides.
pub async fn test_retention_never_removes_children_alone<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("running root").await;
    completed_child(&store, "child of running", "running root").await;
    store.create("root").await;
    completed_child(&store, "child", "root").await;
    completed_child(&store, "orphan", "missing").await;
    store.pass(2 * store.lock()).await;
    complete(&store, "root").await;
    moment(&store).await;
    assert_eq!(numbers(&enforce(&store, store.lock(), MANY).await), [0; 4]);
    assert_eq!(existing(&store).await.len(), 5);
    store.pass(2 * store.lock()).await;
    assert_eq!(enforce(&store, store.lock(), MANY).await.instances_deleted, 2, "the root with its child");
    assert_eq!(existing(&store).await, ["child of running", "orphan", "running root"]);
}

/// What runs is not removed, and neither is what has something below it that runs, however deep.
pub async fn test_retention_spares_what_runs<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("running").await;
    eternal_root(&store, "eternal", 3).await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    running_child(&store, "grandchild", "child").await;
    let all = existing(&store).await;
    store.pass(2 * store.lock()).await;
    assert_eq!(numbers(&enforce(&store, store.lock(), MANY).await), [0; 4]);
    assert_eq!(existing(&store).await, all);
    assert_eq!(store.event_ids("eternal", 1).await, [1, 2], "retention prunes nothing");
    complete(&store, "grandchild").await;
    assert_eq!(enforce(&store, store.lock(), MANY).await.instances_deleted, 3);
    assert_eq!(existing(&store).await, ["eternal", "running"]);
}

/// An instance between two executions runs, whether the next one is queued or being begun, and however long that takes. A root
/// above such a one stays, too.
pub async fn test_retention_spares_the_gap_between_executions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    running_child(&store, "child", "root").await;
    store.step(Ack::of("child", 1).continuing(2)).await;
    let of_child = store.fetch("child").await;
    root_between_executions(&store, "eternal").await;
    store.pass(2 * store.lock()).await;
    assert_eq!(
        numbers(&enforce(&store, store.lock(), MANY).await),
        [0; 4],
        "the leases ran out, the mail waits"
    );
    assert_eq!(existing(&store).await, ["child", "eternal", "root"]);
    let renewed = store.renew_orchestration_item_lock(&of_child.token, store.lock()).await;
    assert!(renewed.is_err(), "the lease ran out");

    run_next(&store, Ack::first_of("child", 2)).await;
    let turn = store.fetch("eternal").await;
    assert_eq!(numbers(&enforce(&store, Duration::ZERO, MANY).await), [0; 4], "the next execution is leased");
    store.ack(&turn.token, Ack::first_of("eternal", 2)).await;
    assert_eq!(numbers(&enforce(&store, Duration::ZERO, MANY).await), [0; 4], "the next execution runs");
    assert_eq!(store.event_ids("eternal", 1).await, [1, 2]);
    assert_eq!(store.event_ids("eternal", 2).await, [1]);
}

/// Retention that is enforced again and again beside an instance that continues again and again never removes it.
pub async fn test_retention_beside_an_eternal_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("eternal")).await;
    let provider = store.shared();
    let host_time = Timestamp::from_millis(store.now_ms() + 1_000_000);
    let cleaning = beside(async move {
        let admin = provider.as_management_capability().expect("the provider has an administrative side");
        let mut deleted = 0;
        for _ in 0..50 {
            let retention = Retention { keep_for: Duration::ZERO, limit: MANY, host_time };
            match admin.enforce_retention(retention).await {
                Ok(result) => deleted += result.instances_deleted,
                Err(error) => assert!(error.is_retryable(), "retention passes over what runs: {error}"),
            }
            tokio::task::yield_now().await;
        }
        deleted
    });
    for execution in 1..=20 {
        moment(&store).await;
        run_next(&store, Ack::first_of("eternal", execution).continuing(2)).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(
        cleaning.await.expect("retention answers, and does not panic"),
        0,
        "an instance that runs was removed"
    );
    let executions = store.admin().list_executions("eternal").await.expect("executions can be listed");
    assert_eq!(executions, (1..=20).collect::<Vec<u64>>());
}

/// At most so many roots at once. What cannot be removed does not use the number up, so that a few trees that are kept do not
/// keep all others.
pub async fn test_retention_limit_makes_progress<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for blocked in ["blocked 1", "blocked 2", "blocked 3"] {
        completed_root(&store, blocked).await;
        running_child(&store, &format!("child of {blocked}"), blocked).await;
    }
    for id in ["a", "b", "c", "d"] {
        moment(&store).await;
        completed_root(&store, id).await;
        completed_child(&store, &format!("child of {id}"), id).await;
    }
    store.pass(2 * store.lock()).await;
    assert_eq!(numbers(&enforce(&store, store.lock(), 0).await), [0; 4]);
    assert_eq!(enforce(&store, store.lock(), 1).await.instances_deleted, 2, "one root, with its child");
    assert_eq!(existing(&store).await.len(), 12);
    assert_eq!(enforce(&store, store.lock(), 2).await.instances_deleted, 4, "two roots, with their children");
    assert_eq!(enforce(&store, store.lock(), 2).await.instances_deleted, 2);
    assert_eq!(existing(&store).await.len(), 6);
    assert_eq!(numbers(&enforce(&store, store.lock(), 1).await), [0; 4]);
    assert!(existing(&store).await.iter().all(|id| id.contains("blocked")), "those that cannot go are left");
}

/// A time before the beginning of all time is before everything.
pub async fn test_retention_longer_than_time<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "a").await;
    moment(&store).await;
    assert_eq!(numbers(&enforce(&store, Duration::MAX, MANY).await), [0; 4]);
    assert_eq!(existing(&store).await, ["a"]);
}

async fn enforce(store: &Subject<'_>, keep_for: Duration, limit: u32) -> DeleteInstanceResult {
    let host_time = Timestamp::from_millis(store.now_ms());
    let deleted = store.admin().enforce_retention(Retention { keep_for, limit, host_time }).await;
    deleted.unwrap_or_else(|error| panic!("retention passes over what it cannot delete: {error}"))
}
