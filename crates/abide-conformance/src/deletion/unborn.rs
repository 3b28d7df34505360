//! Children whose start is in the queue when their parent is deleted.

use abide_provider::Force;

use crate::ProviderFactory;
use crate::deletion::{
    assert_gone, assert_says, birth, completed_child, completed_root, existing, first_turn, meet,
    numbers, only,
};
use crate::instance_locking::lease_all;
use crate::support::{Ack, Subject, assert_refused, queue_message, signal, start, start_of};

/// How often two calls meet.
const ROUNDS: usize = 20;

/// A queued start that names a deleted parent never comes to life: it goes with the parent, whether that had ended or was
/// deleted by force. Starts of anybody else stay.
pub async fn test_unborn_child_goes_with_its_parent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "ended").await;
    store.create("running").await;
    completed_root(&store, "kept").await;
    store.post(birth("child of ended", "ended", 1)).await;
    store.post(birth("child of running", "running", 1)).await;
    store.post(birth("child of kept", "kept", 1)).await;
    store.post(start("root")).await;
    let later = Some(store.lock());
    let delayed = store.enqueue_for_orchestrator(birth("delayed child", "ended", 1), later).await;
    delayed.expect("a message can be delayed");

    let deleted = store.admin().delete_instance("ended", false).await.expect("it has ended");
    assert_eq!(numbers(&deleted), [1, 1, 2, 2], "two starts go with the parent");
    let deleted = store.admin().delete_instance("running", true).await.expect("force deletes what runs");
    assert_eq!(numbers(&deleted), [1, 1, 1, 1], "a start goes with the parent");
    store.expire_leases().await;
    let turns = lease_all(&store).await;
    let names: Vec<&str> = turns.keys().map(String::as_str).collect();
    assert_eq!(names, ["child of kept", "root"], "exactly the children of deleted parents are gone");
}

/// A child that is being born when its parent is deleted is not born: the lease on its first turn goes, and what others sent
/// to its name waits for somebody who will have it.
pub async fn test_unborn_child_goes_with_its_leased_turn<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    store.post(signal("child", "early")).await;
    store.post(birth("child", "parent", 1)).await;
    let turn = store.fetch("child").await;
    store.admin().delete_instance("parent", true).await.expect("force deletes what runs");

    let born = store.try_ack(&turn.token, first_turn("child", "parent", Some(1))).await;
    assert_refused(&born, "the first turn of a child whose parent is deleted");
    let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock()).await;
    assert_refused(&renewed, "the renewal of a lease that was deleted");
    assert_gone(&store, "child").await;
    store.expire_leases().await;
    store.assert_no_turn("the start of the child went with its parent").await;

    store.post(start_of("child", "Order", Some("1.0.0"))).await;
    let anew = store.fetch("child").await;
    assert_eq!(anew.item.orchestration_name, "Order", "the name is free for somebody else");
    store.ack(&anew.token, Ack::first("child")).await;
    let parent = store.admin().get_parent_id("child").await.expect("it exists");
    assert_eq!(parent, None, "the new one is nobody's child");
}

/// Queue messages were kept for a child because it was about to start. If it is not, they go, and whoever has its name next does
/// not get them; other mail waits, as it does for any name.
pub async fn test_unborn_child_takes_its_queue_along<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "parent").await;
    store.post(birth("child", "parent", 1)).await;
    store.post(queue_message("child", "for the child")).await;
    store.post(signal("child", "early")).await;
    store.post(birth("wanted", "parent", 1)).await;
    store.post(start("wanted")).await;
    store.post(queue_message("wanted", "for whoever starts")).await;
    store.admin().delete_instance("parent", false).await.expect("it has ended");

    let turn = store.fetch("wanted").await;
    let kept = [start("wanted"), queue_message("wanted", "for whoever starts")];
    assert_eq!(turn.item.messages, kept, "another start is left, and with it the queue");
    store.post(start("child")).await;
    let anew = store.fetch("child").await;
    assert_eq!(anew.item.messages, [signal("child", "early"), start("child")]);
}

/// Starts go with every instance of a tree that is deleted, not only with its root, and in bulk too.
pub async fn test_unborn_child_of_a_tree<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for root in ["one", "two"] {
        completed_root(&store, root).await;
        completed_child(&store, &format!("child of {root}"), root).await;
    }
    for parent in ["one", "two"] {
        store.post(birth(&format!("grandchild of {parent}"), &format!("child of {parent}"), 1)).await;
    }
    store.admin().delete_instance("one", false).await.expect("the tree has ended");
    let deleted = store.admin().delete_instance_bulk(only(&["two"])).await;
    assert_eq!(numbers(&deleted.expect("the tree has ended")), [2, 2, 4, 1]);
    store.assert_no_turn("the starts went with the trees").await;
    assert!(existing(&store).await.is_empty());
}

/// The first turn of a child beside the deletion of its parent: either the child is born, and then something runs below its
/// parent, which stays; or the parent is deleted, and the child is not born. Never a child without its parent.
pub async fn test_birth_beside_deletion<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for round in 0..ROUNDS {
        let (parent, child) = (format!("parent {round}"), format!("child {round}"));
        completed_root(&store, &parent).await;
        store.post(birth(&child, &parent, 1)).await;
        let turn = store.fetch(&child).await;
        let first = first_turn(&child, &parent, Some(1));
        let (born, deleted) = meet(&store, round, (turn.token, first), (&parent, Force::No)).await;
        if born.is_ok() {
            assert_says(&deleted, &["running", "child"], "the deletion of a parent whose child is born");
            let children = store.admin().list_children(&parent).await.expect("children can be listed");
            assert_eq!(children, [child], "the child was born, and its parent stayed");
        } else {
            let deleted = deleted.unwrap_or_else(|error| panic!("neither birth nor deletion: {error}"));
            assert_eq!(deleted.instances_deleted, 1);
            assert_gone(&store, &parent).await;
            assert_gone(&store, &child).await;
        }
        store.assert_no_turn("the start was consumed, or went with the parent").await;
    }
}

/// A start that names no parent is nobody's child: it outlives whoever sent it.
pub async fn test_detached_start_outlives_its_author<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("author").mail(start("detached")).completing(2)).await;
    store.admin().delete_instance("author", false).await.expect("it has ended");
    let turn = store.fetch("detached").await;
    assert_eq!(turn.item.messages, [start("detached")]);
    store.ack(&turn.token, Ack::first("detached")).await;
    assert_eq!(existing(&store).await, ["detached"]);
}
