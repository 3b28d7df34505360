//! Finished children that nobody waits for are removed.
//!
//! A child is an orphan when the execution that asked for it has ended, or is not there any more.

mod rules;
mod spared;

pub use rules::*;
pub use spared::*;

use abide_provider::{DeleteInstanceResult, OrphanFilter, PruneOptions};

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{
    assert_gone, birth, completed_child, completed_root, existing, failed_root, first_turn, numbers, run_next,
};
use crate::suite::area;
use crate::support::{Ack, Subject, activity, signal};

area! {
    orphans;
    test_orphans_of_ended_parents: Administration;
    test_orphans_of_a_continued_parent: Administration;
    test_orphans_of_a_pruned_execution: Administration;
    test_orphans_of_a_missing_parent: Administration;
    test_orphans_of_a_link_without_an_execution: Administration;
    test_orphans_go_with_everything: Administration;
    test_orphans_by_the_end_of_the_parent: Administration;
    test_orphans_by_their_own_end: Administration;
    test_orphans_by_status: Administration;
    test_orphans_of_a_wrong_status_are_refused: Administration;
    test_orphans_limit_makes_progress: Administration;
    test_children_of_what_runs_are_no_orphans: Administration;
    test_running_orphans_stay: Administration;
    test_orphans_above_what_runs_stay: Administration;
    test_roots_are_no_orphans: Administration;
    test_unreadable_child_harms_no_cleanup: Administration, Need::Hook(crate::Hook::CorruptHistory);
}

/// Whether the parent completed or failed, and whether the child did: nobody waits for it. The parent stays.
pub async fn test_orphans_of_ended_parents<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "completed").await;
    failed_root(&store, "failed").await;
    for parent in ["completed", "failed"] {
        completed_child(&store, &format!("completed child of {parent}"), parent).await;
        failed_child(&store, &format!("failed child of {parent}"), parent, 1).await;
    }
    let parent = Observed::of(&store, "completed").await;
    let deleted = cleanup(&store, OrphanFilter::default()).await;
    assert_eq!(numbers(&deleted), [4, 4, 8, 0]);
    assert_eq!(existing(&store).await, ["completed", "failed"]);
    assert_eq!(Observed::of(&store, "completed").await, parent, "the parent was touched");
    assert_eq!(numbers(&cleanup(&store, OrphanFilter::default()).await), [0; 4], "there is nothing left");
}

/// A parent that continued as new does not wait for the children of its earlier executions; it does for those of the current
/// one.
pub async fn test_orphans_of_a_continued_parent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    parent_in_its_second_execution(&store).await;
    let parent = Observed::of(&store, "parent").await;
    assert_eq!(cleanup(&store, OrphanFilter::default()).await.instances_deleted, 1);
    assert_eq!(existing(&store).await, ["of the second", "parent"]);
    assert_eq!(Observed::of(&store, "parent").await, parent, "the parent was touched");

    store.step(Ack::of("parent", 2).continuing(2)).await;
    let turn = store.fetch("parent").await;
    assert_eq!(
        cleanup(&store, OrphanFilter::default()).await.instances_deleted,
        1,
        "the second has ended, too"
    );
    assert_eq!(existing(&store).await, ["parent"]);
    store.ack(&turn.token, Ack::first_of("parent", 3)).await;
}

/// Of an execution that was pruned nobody waits for anything.
pub async fn test_orphans_of_a_pruned_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    parent_in_its_second_execution(&store).await;
    let pruned = store.admin().prune_executions("parent", PruneOptions::default()).await.expect("it exists");
    assert_eq!(pruned.executions_deleted, 1);
    assert_eq!(cleanup(&store, OrphanFilter::default()).await.instances_deleted, 1);
    assert_eq!(existing(&store).await, ["of the second", "parent"]);
}

/// Nobody waits for the child of an instance that is not there.
pub async fn test_orphans_of_a_missing_parent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_child(&store, "completed", "missing").await;
    failed_child(&store, "failed", "missing", 7).await;
    completed_root(&store, "root").await;
    let deleted = cleanup(&store, OrphanFilter::default()).await;
    assert_eq!(numbers(&deleted), [2, 2, 4, 0]);
    assert_gone(&store, "completed").await;
    assert_gone(&store, "failed").await;
    assert_eq!(existing(&store).await, ["root"]);
}

/// A link that does not say which execution asked means the first one.
pub async fn test_orphans_of_a_link_without_an_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    store.post(birth("child", "parent", None)).await;
    run_next(&store, first_turn("child", "parent", None).completing(2)).await;
    assert_eq!(
        cleanup(&store, OrphanFilter::default()).await.instances_deleted,
        0,
        "the first execution runs"
    );
    store.step(Ack::of("parent", 1).continuing(2)).await;
    run_next(&store, Ack::first_of("parent", 2)).await;
    assert_eq!(cleanup(&store, OrphanFilter::default()).await.instances_deleted, 1, "the first has ended");
    assert_eq!(existing(&store).await, ["parent"]);
}

/// An orphan goes as a whole: with everything below it, its mail and its work, and all of that is counted.
pub async fn test_orphans_go_with_everything<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    completed_child(&store, "grandchild", "child").await;
    completed_child(&store, "great-grandchild", "grandchild").await;
    store.post(signal("child", "late")).await;
    store.post(signal("grandchild", "late")).await;
    store.post_work(activity("child", 5)).await;
    let deleted = cleanup(&store, OrphanFilter::default()).await;
    assert_eq!(numbers(&deleted), [3, 3, 6, 3]);
    for id in ["child", "grandchild", "great-grandchild"] {
        assert_gone(&store, id).await;
    }
    assert_eq!(existing(&store).await, ["root"]);
    store.assert_no_turn("stray mail went with the orphan").await;
    store.assert_no_work("stray work went with the orphan").await;
}

pub(crate) async fn cleanup(store: &Subject<'_>, filter: OrphanFilter) -> DeleteInstanceResult {
    let deleted = store.admin().cleanup_orphaned_instances(filter.clone()).await;
    deleted
        .unwrap_or_else(|error| panic!("a cleanup by {filter:?} passes over what it cannot delete: {error}"))
}

/// A child of this execution of its parent that failed, with two events.
pub(crate) async fn failed_child(store: &Subject<'_>, child: &str, parent: &str, asked_in: u64) {
    store.post(birth(child, parent, asked_in)).await;
    run_next(store, first_turn(child, parent, Some(asked_in)).failing(2)).await;
}

/// Its second execution runs, and asked for one child; its first asked for another. Both children completed.
async fn parent_in_its_second_execution(store: &Subject<'_>) {
    store.create("parent").await;
    completed_child(store, "of the first", "parent").await;
    store.step(Ack::of("parent", 1).continuing(2)).await;
    run_next(store, Ack::first_of("parent", 2)).await;
    store.post(birth("of the second", "parent", 2)).await;
    run_next(store, first_turn("of the second", "parent", Some(2)).completing(2)).await;
}
