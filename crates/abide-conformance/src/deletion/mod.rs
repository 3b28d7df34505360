//! Instances are deleted with everything they have, or not at all.

mod atomic;
mod dropped;
mod family;
mod late;
mod tree;
mod unborn;

pub use atomic::*;
pub use dropped::*;
pub(crate) use family::*;
pub use late::*;
pub use tree::*;
pub use unborn::*;

use abide_model::EventKind;

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::suite::area;
use crate::support::{Ack, Subject, activity, assert_refused, signal, start, timer};

area! {
    deletion;
    test_delete_terminal_instances: Administration;
    test_delete_running_rejected_force_succeeds: Administration;
    test_delete_nonexistent_instance: Administration;
    test_delete_cleans_queues_and_locks: Administration;
    test_cascade_delete_hierarchy: Administration;
    test_force_delete_prevents_ack_recreation: Administration;
    test_list_children: Administration;
    test_delete_get_parent_id: Administration;
    test_delete_get_instance_tree: Administration;
    test_delete_instances_atomic: Administration;
    test_delete_instances_atomic_force: Administration;
    test_delete_instances_atomic_orphan_detection: Administration;
    test_stale_activity_after_delete_recreate: Administration;
    test_delete_between_executions_is_refused: Administration;
    test_deleted_name_begins_anew: Administration;
    test_delete_instances_atomic_of_a_child: Administration;
    test_delete_instances_atomic_passes_over_what_is_no_instance: Administration;
    test_delete_judges_the_instance_that_is_there: Administration;
    test_stale_tree_is_refused: Administration;
    test_force_delete_beside_ack: Administration;
    test_dropped_deletion_is_all_or_nothing: Administration;
    test_unreadable_history_is_deleted: Administration, Need::Hook(crate::Hook::CorruptHistory);
    // A store may keep no parent beside a message: then it cannot find the starts of children.
    test_unborn_child_goes_with_its_parent: Administration, Need::Ability(abide_provider::Ability::UnbornChildren);
    test_unborn_child_goes_with_its_leased_turn: Administration, Need::Ability(abide_provider::Ability::UnbornChildren);
    test_unborn_child_takes_its_queue_along: Administration, Need::Ability(abide_provider::Ability::UnbornChildren);
    test_unborn_child_of_a_tree: Administration, Need::Ability(abide_provider::Ability::UnbornChildren);
    test_birth_beside_deletion: Administration, Need::Ability(abide_provider::Ability::UnbornChildren);
    test_detached_start_outlives_its_author: Administration;
}

/// What completed and what failed can be deleted: instance, executions and events go, are counted, and nobody else is
/// touched.
pub async fn test_delete_terminal_instances<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "completed").await;
    failed_root(&store, "failed").await;
    completed_root(&store, "other").await;
    let other = Observed::of(&store, "other").await;

    for id in ["completed", "failed"] {
        let deleted = store.admin().delete_instance(id, false).await;
        let deleted = deleted.unwrap_or_else(|error| panic!("'{id}' has ended: {error}"));
        assert_eq!(numbers(&deleted), [1, 1, 2, 0], "one instance, one execution, two events, no mail");
        assert_gone(&store, id).await;
    }
    assert_eq!(existing(&store).await, ["other"]);
    assert_eq!(Observed::of(&store, "other").await, other, "another instance was touched");
}

/// What runs is deleted by force only. Without it nothing is changed: it goes on, with its mail, its work and its lease.
pub async fn test_delete_running_rejected_force_succeeds<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let before = Observed::of(&store, "a").await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;

    let refused = store.admin().delete_instance("a", false).await;
    assert_says(&refused, &["running"], "the deletion of what runs");
    assert_eq!(Observed::of(&store, "a").await, before, "the refused deletion deleted something");
    store.ack(&turn.token, Ack::of("a", 1).signalled(3)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3], "the refused deletion took the lease");
    assert_eq!(store.fetch_work().await.id(), 2, "the refused deletion took the work");

    let deleted = store.admin().delete_instance("a", true).await.expect("force deletes what runs");
    assert_eq!(numbers(&deleted), [1, 1, 3, 1], "one instance, one execution, three events, one activity");
    assert_gone(&store, "a").await;
}

/// There is nothing to delete under a name that is no instance, not even if it has mail.
pub async fn test_delete_nonexistent_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "a").await;
    store.post(start("unborn")).await;
    for (id, force) in [("unknown", false), ("unknown", true), ("unborn", false), ("unborn", true)] {
        let refused = store.admin().delete_instance(id, force).await;
        assert_says(&refused, &["not found"], "the deletion of what is no instance");
    }
    assert_eq!(existing(&store).await, ["a"], "the refused deletion deleted or made an instance");
    let turn = store.fetch("unborn").await;
    assert_eq!(turn.item.messages, [start("unborn")], "the refused deletion took mail");
}

/// All mail and all work of an instance goes with it, leased or not, due or not, and so does its lease. Nothing comes back
/// when time passes.
pub async fn test_delete_cleans_queues_and_locks<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3))).await;
    let job = store.fetch_work().await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    store.post(signal("a", "waiting")).await;
    let later = store.now_ms() + u64::try_from(store.lock().as_millis()).expect("a lease is short");
    store.post(timer("a", 9, later)).await;
    store.post(signal("b", "of somebody else")).await;
    store.post(start("b")).await;
    store.post_work(activity("b", 7)).await;

    let deleted = store.admin().delete_instance("a", true).await.expect("force deletes what runs");
    assert_eq!(numbers(&deleted), [1, 1, 3, 5], "three messages and two activities wait or are leased");
    assert_refused(
        &store.try_ack(&turn.token, Ack::of("a", 1).signalled(4)).await,
        "the turn of a deleted one",
    );
    let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock()).await;
    assert_refused(&renewed, "the renewal of a lease that was deleted");
    let abandoned = store.abandon_orchestration_item(&turn.token, None, false).await;
    assert_refused(&abandoned, "giving back a lease that was deleted");
    assert_refused(
        &store.renew_work_item_lock(&job.token, store.lock()).await,
        "the renewal of deleted work",
    );
    assert_refused(&store.ack_work_item(&job.token, None).await, "the end of deleted work");

    let other = store.fetch("b").await;
    assert_eq!(other.signals(), ["of somebody else"], "mail of another instance was deleted");
    store.ack(&other.token, Ack::first("b")).await;
    assert_eq!(store.fetch_work().await.id(), 7, "work of another instance was deleted");
    store.assert_no_work("the work went with its instance").await;
    store.expire_leases().await;
    store.assert_no_turn("the mail went with its instance, timers too").await;
    assert_eq!(
        store.fetch_work().await.id(),
        7,
        "work of another instance comes back, and none of the deleted"
    );
    store.assert_no_work("the work went with its instance").await;
    assert_gone(&store, "a").await;
}

/// An instance between two executions runs: it continues as new, and its next execution waits in the queue or is being begun.
pub async fn test_delete_between_executions_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    root_between_executions(&store, "a").await;
    let before = Observed::of(&store, "a").await;
    let queued = store.admin().delete_instance("a", false).await;
    assert_says(&queued, &["running"], "the deletion of what goes on");
    let turn = store.fetch("a").await;
    let leased = store.admin().delete_instance("a", false).await;
    assert_says(&leased, &["running"], "the deletion of what is being begun");
    let named = store.admin().delete_instances_atomic(&owned(&["a"]), false).await;
    assert_says(&named, &["running"], "the deletion of what is being begun, by name");
    assert_eq!(Observed::of(&store, "a").await, before, "the refused deletion deleted something");

    store.ack(&turn.token, Ack::first_of("a", 2)).await;
    assert_eq!(store.event_ids("a", 2).await, [1], "the next execution begins as if nothing had been");
    let deleted = store.admin().delete_instance("a", true).await.expect("force deletes what runs");
    assert_eq!(numbers(&deleted), [1, 2, 3, 0], "both executions go");
    assert_gone(&store, "a").await;
}

/// A name that was deleted can be used again, and whoever has it then finds nothing of the one before.
pub async fn test_deleted_name_begins_anew<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    run_next(&store, with_everything(Ack::first_of("a", 1)).continuing(20)).await;
    run_next(&store, with_everything(Ack::first_of("a", 2)).pinned("9.9.9")).await;
    store.admin().delete_instance("a", true).await.expect("force deletes what runs");
    assert_gone(&store, "a").await;

    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.execution_id, 1, "the executions begin anew");
    assert!(turn.item.history.is_empty(), "the history begins anew: {:?}", turn.item.history);
    assert!(turn.item.kv_snapshot.is_empty(), "the values begin anew: {:?}", turn.item.kv_snapshot);
    assert_eq!((turn.item.messages.as_slice(), turn.attempt), ([start("a")].as_slice(), 1));
    store.ack(&turn.token, Ack::first("a")).await;
    let status = store.get_custom_status("a", 0).await.expect("a custom status can be read");
    assert_eq!(status, None, "the custom status begins anew");
    assert_eq!(store.admin().list_executions("a").await.expect("executions can be listed"), [1]);
    let info = store.admin().get_instance_info("a").await.expect("it exists");
    assert_eq!((info.status.as_str(), info.current_execution_id), ("Running", 1));
    store.assert_no_work("no work of the one before is left").await;
    store.assert_no_turn("no mail of the one before is left").await;
}

/// A history that cannot be read can be deleted, as a whole and with what is below it.
pub async fn test_unreadable_history_is_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    factory.corrupt_instance_history("root").await;
    factory.corrupt_instance_history("child").await;
    let deleted = store.admin().delete_instance("root", false).await;
    let deleted = deleted.expect("nobody needs to read what is deleted");
    assert_eq!(deleted.instances_deleted, 2);
    assert_gone(&store, "root").await;
    assert_gone(&store, "child").await;
}

fn with_everything(turn: Ack) -> Ack {
    let value = EventKind::KeyValueSet { key: "key".into(), value: "old".into(), last_updated_at_ms: 1 };
    let execution_id = turn.execution_id;
    let turn = turn.event(10, value).event(11, EventKind::CustomStatusUpdated { status: Some("old".into()) });
    let instance = turn.instance.clone();
    if execution_id == 1 {
        turn
    } else {
        turn.scheduling(activity(&instance, 12)).mail(signal(&instance, "old"))
    }
}
