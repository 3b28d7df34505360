//! Deleting a set of instances, all or nothing.

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{
    assert_gone, assert_says, completed_child, completed_root, existing, failed_root, numbers, owned,
    running_child,
};
use crate::support::{Ack, Subject, activity, assert_refused, signal, start};

/// All of the named instances go, or none: one that runs keeps them all.
pub async fn test_delete_instances_atomic<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "a").await;
    failed_root(&store, "b").await;
    completed_root(&store, "kept").await;
    store.create("running").await;
    let before = Observed::of(&store, "a").await;
    for ids in [["a", "b", "running"], ["running", "a", "b"], ["a", "running", "b"]] {
        let refused = store.admin().delete_instances_atomic(&owned(&ids), false).await;
        assert_says(&refused, &["running"], "the deletion of a set in which something runs");
        assert_eq!(existing(&store).await, ["a", "b", "kept", "running"], "{ids:?}: a part was deleted");
        assert_eq!(Observed::of(&store, "a").await, before);
    }

    let none = store.admin().delete_instances_atomic(&[], false).await.expect("nobody is somebody to delete");
    assert_eq!(numbers(&none), [0; 4]);
    let deleted = store.admin().delete_instances_atomic(&owned(&["a", "b", "a"]), false).await;
    let deleted = deleted.expect("all of them have ended; a name that comes twice is one instance");
    assert_eq!(numbers(&deleted), [2, 2, 4, 0]);
    assert_gone(&store, "a").await;
    assert_gone(&store, "b").await;
    assert_eq!(existing(&store).await, ["kept", "running"]);
}

/// By force what runs goes too, with its work, its mail and its lease.
pub async fn test_delete_instances_atomic_force<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "ended").await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    store.create("b").await;
    running_child(&store, "child", "b").await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;

    let ids = owned(&["ended", "a", "b", "child"]);
    let deleted = store.admin().delete_instances_atomic(&ids, true).await.expect("force deletes what runs");
    assert_eq!(numbers(&deleted), [4, 4, 6, 2], "four instances, an activity and a message");
    for id in &ids {
        assert_gone(&store, id).await;
    }
    assert_refused(
        &store.try_ack(&turn.token, Ack::of("a", 1).signalled(3)).await,
        "a turn of what is deleted",
    );
    assert_gone(&store, "a").await;
    store.assert_no_work("the work went too").await;
}

/// No child is left behind, by force or not: a set that has a parent and not all of its children is refused.
pub async fn test_delete_instances_atomic_orphan_detection<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    completed_child(&store, "grandchild", "child").await;
    completed_root(&store, "other").await;
    let incomplete = [["root", "other"], ["root", "child"], ["child", "other"], ["root", "grandchild"]];
    for (ids, force) in incomplete.iter().flat_map(|ids| [(ids, false), (ids, true)]) {
        let refused = store.admin().delete_instances_atomic(&owned(ids), force).await;
        assert_says(&refused, &["child", "orphan", "tree"], "a deletion that leaves a child behind");
        let there = existing(&store).await;
        assert_eq!(there, ["child", "grandchild", "other", "root"], "{ids:?}: a part was deleted");
    }
    let whole = owned(&["grandchild", "root", "child"]);
    let deleted = store.admin().delete_instances_atomic(&whole, false).await;
    let deleted = deleted.expect("the whole tree, in whatever order");
    assert_eq!(deleted.instances_deleted, 3);
    assert_eq!(existing(&store).await, ["other"]);
}

/// A set may be a child with everything below it: its parent stays, and has one child less.
pub async fn test_delete_instances_atomic_of_a_child<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("root").await;
    completed_child(&store, "child", "root").await;
    completed_child(&store, "grandchild", "child").await;
    completed_child(&store, "sibling", "root").await;
    let root = Observed::of(&store, "root").await;
    let deleted = store.admin().delete_instances_atomic(&owned(&["child", "grandchild"]), false).await;
    assert_eq!(deleted.expect("both have ended").instances_deleted, 2);
    assert_gone(&store, "child").await;
    assert_gone(&store, "grandchild").await;
    assert_eq!(Observed::of(&store, "root").await, root, "the parent was touched");
    assert_eq!(store.admin().list_children("root").await.expect("children can be listed"), ["sibling"]);
}

/// A name that is no instance is passed over, and what waits for it stays; by force that goes.
pub async fn test_delete_instances_atomic_passes_over_what_is_no_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "a").await;
    store.post(signal("ghost", "early")).await;
    store.post(start("ghost")).await;
    store.post_work(activity("ghost", 2)).await;
    let deleted = store.admin().delete_instances_atomic(&owned(&["unknown", "ghost", "a"]), false).await;
    let deleted = deleted.expect("names that are no instances are passed over");
    assert_eq!(numbers(&deleted), [1, 1, 2, 0], "only the instance is deleted");
    let turn = store.fetch("ghost").await;
    assert_eq!(turn.item.messages.len(), 2, "without force mail for what is no instance stays");

    let deleted = store.admin().delete_instances_atomic(&owned(&["ghost"]), true).await;
    let deleted = deleted.expect("force removes what waits");
    assert_eq!(numbers(&deleted), [0, 0, 0, 3], "no instance, but two messages and an activity");
    assert_refused(&store.try_ack(&turn.token, Ack::first("ghost")).await, "a first turn that was deleted");
    assert_gone(&store, "ghost").await;
    store.assert_no_work("by force the work went").await;
    store.expire_leases().await;
    store.assert_no_turn("by force the start went").await;
}

/// Whether something runs is judged when it is deleted: what was said about an instance of the same name before that does
/// not count.
pub async fn test_delete_judges_the_instance_that_is_there<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "a").await;
    let ended = store.admin().list_instances_by_status("Completed").await.expect("instances can be listed");
    assert_eq!(ended, ["a"]);
    store.admin().delete_instance("a", false).await.expect("it has ended");
    store.create("a").await;
    let refused = store.admin().delete_instances_atomic(&ended, false).await;
    assert_says(&refused, &["running"], "the deletion of what runs by now");
    assert_eq!(store.event_ids("a", 1).await, [1]);
}

/// A tree that was read before a child was born is not the tree any more: deleting it is refused, by force or not.
pub async fn test_stale_tree_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("root").await;
    completed_child(&store, "child", "root").await;
    let stale = store.admin().get_instance_tree("root").await.expect("a tree can be read");
    running_child(&store, "late", "child").await;
    store.step(Ack::of("root", 1).completing(2)).await;
    for force in [false, true] {
        let refused = store.admin().delete_instances_atomic(&stale.all_ids, force).await;
        assert_says(&refused, &["child", "orphan", "tree"], "the deletion of a stale tree");
        assert_eq!(existing(&store).await, ["child", "late", "root"], "a part of the tree was deleted");
    }
    let tree = store.admin().get_instance_tree("root").await.expect("a tree can be read");
    let deleted = store.admin().delete_instances_atomic(&tree.all_ids, true).await;
    assert_eq!(deleted.expect("the tree is the one that is there").instances_deleted, 3);
    assert_gone(&store, "late").await;
}
