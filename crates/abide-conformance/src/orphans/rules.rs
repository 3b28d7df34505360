//! Time, status and number.

use abide_provider::{OrphanFilter, PruneOptions};

use crate::ProviderFactory;
use crate::deletion::{
    assert_gone, child_of, complete, completed_child, completed_root, ended_at, existing, moment, numbers,
    owned, run_next, running_child,
};
use crate::orphans::{cleanup, failed_child};
use crate::support::{Ack, Subject, assert_refused};

/// The end of the asking execution decides, strictly, and not the child's own.
pub async fn test_orphans_by_the_end_of_the_parent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    completed_child(&store, "early", "parent").await;
    running_child(&store, "late", "parent").await;
    moment(&store).await;
    store.step(Ack::of("parent", 1).continuing(2)).await;
    moment(&store).await;
    run_next(&store, Ack::first_of("parent", 2).completing(2)).await;
    moment(&store).await;
    complete(&store, "late").await;
    let asked = ended_at(&store, "parent", 1).await;
    assert!(ended_at(&store, "early", 1).await < asked && asked + 1 < ended_at(&store, "late", 1).await);

    for time in [0, asked] {
        assert_eq!(numbers(&cleanup(&store, before(time)).await), [0; 4], "the execution ended at {asked}");
    }
    assert_eq!(
        cleanup(&store, before(asked + 1)).await.instances_deleted,
        2,
        "both children of that execution"
    );
    assert_eq!(existing(&store).await, ["parent"]);
}

/// If the asking execution is not there any more, pruned or missing with its instance, the child's own end decides, strictly.
pub async fn test_orphans_by_their_own_end<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    running_child(&store, "of a pruned one", "parent").await;
    store.step(Ack::of("parent", 1).continuing(2)).await;
    run_next(&store, Ack::first_of("parent", 2)).await;
    let pruned = store.admin().prune_executions("parent", PruneOptions::default()).await.expect("it exists");
    assert_eq!(pruned.executions_deleted, 1);
    moment(&store).await;
    complete(&store, "of a pruned one").await;
    moment(&store).await;
    child_of(&store, "of a missing one", "missing", 3).await;
    moment(&store).await;
    complete(&store, "of a missing one").await;

    for id in ["of a pruned one", "of a missing one"] {
        let end = ended_at(&store, id, 1).await;
        assert_eq!(numbers(&cleanup(&store, before(end)).await), [0; 4], "'{id}' ended at that time");
        assert_eq!(cleanup(&store, before(end + 1)).await.instances_deleted, 1, "'{id}' ended before");
        assert_gone(&store, id).await;
    }
}

/// Only children that ended as asked; both ends if nothing is asked.
pub async fn test_orphans_by_status<F: ProviderFactory>(factory: &F) {
    let cases: [(&[&str], &[&str]); 4] = [
        (&["Completed"], &["failed", "parent"]),
        (&["Failed"], &["completed", "parent"]),
        (&["Failed", "Completed"], &["parent"]),
        (&[], &["parent"]),
    ];
    for (statuses, left) in cases {
        let store = Subject::new(factory).await;
        completed_root(&store, "parent").await;
        completed_child(&store, "completed", "parent").await;
        failed_child(&store, "failed", "parent", 1).await;
        let filter = OrphanFilter { child_status: owned(statuses), ..OrphanFilter::default() };
        let deleted = cleanup(&store, filter).await;
        let expected = 3 - u64::try_from(left.len()).expect("three at most");
        assert_eq!((deleted.instances_deleted, existing(&store).await), (expected, owned(left)));
    }
}

/// What is no end of a child is refused, beside a right one too, and nothing is deleted.
pub async fn test_orphans_of_a_wrong_status_are_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "parent").await;
    completed_child(&store, "child", "parent").await;
    let wrong: [&[&str]; 6] =
        [&["Running"], &["ContinuedAsNew"], &["completed"], &["Nonsense"], &[""], &["Completed", "Running"]];
    for statuses in wrong {
        let filter = OrphanFilter { child_status: owned(statuses), ..OrphanFilter::default() };
        let refused = store.admin().cleanup_orphaned_instances(filter).await;
        assert_refused(&refused, "a cleanup of children that have not ended");
        assert_eq!(existing(&store).await, ["child", "parent"], "{statuses:?}");
    }
}

/// A limit is a number of orphans. What cannot be deleted does not use it up.
pub async fn test_orphans_limit_makes_progress<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "parent").await;
    for blocked in ["blocked 1", "blocked 2"] {
        completed_child(&store, blocked, "parent").await;
        running_child(&store, &format!("child of {blocked}"), blocked).await;
    }
    for id in ["a", "b", "c"] {
        moment(&store).await;
        completed_child(&store, id, "parent").await;
    }
    let at_most = |limit| OrphanFilter { limit: Some(limit), ..OrphanFilter::default() };
    assert_eq!(numbers(&cleanup(&store, at_most(0)).await), [0; 4]);
    assert_eq!(cleanup(&store, at_most(1)).await.instances_deleted, 1);
    assert_eq!(existing(&store).await.len(), 7, "one of eight is gone");
    assert_eq!(cleanup(&store, at_most(5)).await.instances_deleted, 2);
    let left = ["blocked 1", "blocked 2", "child of blocked 1", "child of blocked 2", "parent"];
    assert_eq!(existing(&store).await, left);
}

fn before(time: u64) -> OrphanFilter {
    OrphanFilter { parent_completed_before: Some(time), ..OrphanFilter::default() }
}
