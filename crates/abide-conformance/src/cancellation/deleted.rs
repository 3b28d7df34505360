//! Activities whose instance, or whose execution, is not there any more.

use abide_provider::PruneOptions;

use super::activities::{
    activity_of, assert_queue_stays_empty, assert_taken_away, finish, running_with, take,
};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, activity, assert_refused, completed, start_child};

async fn force_delete(store: &Subject<'_>, instance: &str) {
    let deleted = store.admin().delete_instance(instance, true).await;
    deleted.unwrap_or_else(|error| panic!("'{instance}' could not be deleted by force: {error}"));
}

/// After its instance was deleted, an activity is not handed out, whether it waited or ran; those of others are.
pub async fn test_fetch_returns_missing_state_when_instance_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2, 3]).await;
    take(&store, &activity("a", 2)).await;
    running_with(&store, "b", &[2]).await;
    force_delete(&store, "a").await;

    let other = take(&store, &activity("b", 2)).await;
    assert_eq!(other.attempt, 1, "nobody had it before");
    finish(&store, &other).await;
    assert_queue_stays_empty(&store).await;
}

/// After its instance was deleted, the lease on an activity cannot be renewed.
pub async fn test_renew_returns_missing_when_instance_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2]).await;
    let job = take(&store, &activity("a", 2)).await;
    store.renew_work_item_lock(&job.token, store.lock() * 2).await.expect("the instance is there");
    force_delete(&store, "a").await;

    for _ in 0..2 {
        let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
        assert_refused(&renewed, "the renewal of an activity whose instance was deleted");
    }
    assert_queue_stays_empty(&store).await;
}

/// Whoever still runs an activity of a deleted instance can do no harm: nothing it does brings the instance back, or
/// reaches the next one of its name.
pub async fn test_orphan_activity_after_instance_force_deletion<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2]).await;
    let orphan = take(&store, &activity("a", 2)).await;
    force_delete(&store, "a").await;

    assert_taken_away(&store, &orphan).await;
    let abandoned = store.abandon_work_item(&orphan.token, None, false).await;
    assert_refused(&abandoned, "giving back an activity whose instance was deleted");
    store.assert_no_turn("the refused ack told nobody").await;
    assert!(store.history("a").await.is_empty(), "the instance stays deleted");
    let instances = store.admin().list_instances().await.expect("instances can be listed");
    assert!(instances.is_empty(), "the instance stays deleted, but there is {instances:?}");

    running_with(&store, "a", &[2]).await;
    assert_taken_away(&store, &orphan).await;
    store.assert_no_turn("the refused ack did not reach the next instance of the name").await;
    let job = take(&store, &activity("a", 2)).await;
    assert_eq!(job.attempt, 1, "it is another activity, though it has the same name");
    finish(&store, &job).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 2)], "the instance hears of its own activity");
    assert_queue_stays_empty(&store).await;
}

/// Deleting an instance with everything below it takes the activities of its children away too.
pub async fn test_deletion_takes_activities_of_children_along<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("parent").mail(start_child("child", "parent", 2))).await;
    let turn = store.fetch("child").await;
    let first = Ack::first("child").child_of("parent");
    store.ack(&turn.token, first.scheduling(activity("child", 2)).scheduling(activity("child", 3))).await;
    let running = take(&store, &activity("child", 2)).await;
    force_delete(&store, "parent").await;

    assert_taken_away(&store, &running).await;
    assert_queue_stays_empty(&store).await;
}

/// Deleting several instances at once takes the activities of all of them away, and of no other.
pub async fn test_atomic_deletion_takes_activities_of_all_along<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["a", "b", "c"] {
        running_with(&store, instance, &[2, 3]).await;
    }
    let (first, second) = (take(&store, &activity("a", 2)).await, take(&store, &activity("a", 3)).await);
    let third = take(&store, &activity("b", 2)).await;
    let deleted = store.admin().delete_instances_atomic(&["a".to_owned(), "b".to_owned()], true).await;
    deleted.expect("both can be deleted by force");

    for job in [&first, &second, &third] {
        assert_taken_away(&store, job).await;
    }
    for id in [2, 3] {
        let job = take(&store, &activity("c", id)).await;
        finish(&store, &job).await;
    }
    assert_queue_stays_empty(&store).await;
}

/// A deletion that is refused takes nothing away.
pub async fn test_refused_deletion_leaves_activities_alone<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2, 3]).await;
    let running = take(&store, &activity("a", 2)).await;
    let refused = store.admin().delete_instance("a", false).await;
    assert!(refused.is_err(), "an instance that runs is deleted by force only");
    let refused = store.admin().delete_instances_atomic(&["a".to_owned()], false).await;
    assert!(refused.is_err(), "an instance that runs is deleted by force only");

    store.renew_work_item_lock(&running.token, store.lock()).await.expect("nothing was taken away");
    let waiting = take(&store, &activity("a", 3)).await;
    finish(&store, &running).await;
    finish(&store, &waiting).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 2), completed("a", 3)], "both results reach the instance");
}

/// Pruning an execution takes its activities away; those of the current one stay.
pub async fn test_pruned_execution_takes_its_activities_along<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2, 3]).await;
    let running = take(&store, &activity("a", 2)).await;
    store.step(Ack::of("a", 1).continuing(4)).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::first_of("a", 2).scheduling(activity_of("a", 2, 2))).await;

    let options = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
    let pruned = store.admin().prune_executions("a", options).await.expect("the first execution has ended");
    assert_eq!(pruned.executions_deleted, 1, "the first execution has ended");
    assert_taken_away(&store, &running).await;
    let current = take(&store, &activity_of("a", 2, 2)).await;
    store.ack_work_item(&current.token, None).await.expect("the lease is valid");
    assert_queue_stays_empty(&store).await;
}

/// An activity whose instance is not there can be run and finished; that makes no instance and hinders nobody.
pub async fn test_activity_of_unknown_instance_can_be_finished<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("nobody", 2)).await;
    running_with(&store, "a", &[2]).await;
    let orphan = take(&store, &activity("nobody", 2)).await;
    finish(&store, &orphan).await;
    store.assert_no_turn("an instance that does not exist has no turn").await;
    assert!(store.history("nobody").await.is_empty(), "a completion makes no instance");

    let job = take(&store, &activity("a", 2)).await;
    finish(&store, &job).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 2)], "mail for nobody does not stand in the way");
    assert_queue_stays_empty(&store).await;
}
