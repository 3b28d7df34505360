//! Activities that somebody holds while they are finished or taken back.

use super::activities::{assert_queue_stays_empty, assert_taken_away, finish, running_with, take};
use crate::ProviderFactory;
use crate::support::{Ack, Job, Subject, activity, assert_refused, beside, completed, identifier, signal};

/// An instance whose activity 2 is held by somebody when the next turn takes it back.
async fn taken_back_while_held(store: &Subject<'_>) -> Job {
    running_with(store, "a", &[2]).await;
    let job = take(store, &activity("a", 2)).await;
    store.step(Ack::of("a", 1).cancelling(identifier("a", 2))).await;
    job
}

/// An ack without a completion removes the activity, and nobody is told.
pub async fn test_ack_work_item_none_deletes_without_enqueue<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2, 3]).await;
    let job = take(&store, &activity("a", 2)).await;
    store.ack_work_item(&job.token, None).await.expect("the lease is valid");

    store.assert_no_turn("there is no completion to hear of").await;
    assert_taken_away(&store, &job).await;
    let other = take(&store, &activity("a", 3)).await;
    finish(&store, &other).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 3)], "only the other one has a completion");
    assert_queue_stays_empty(&store).await;
}

/// An ack of an activity that was taken back is refused for good, and its completion does not reach the instance.
pub async fn test_ack_work_item_fails_when_entry_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let job = taken_back_while_held(&store).await;
    for completion in [Some(completed("a", 2)), None] {
        let acked = store.ack_work_item(&job.token, completion).await;
        assert_refused(&acked, "an ack of an activity that was taken back");
    }
    store.assert_no_turn("the refused completion must not be enqueued").await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "nothing is recorded");
    assert_queue_stays_empty(&store).await;
}

/// A renewal of an activity that was taken back is refused for good, and does not bring it back.
pub async fn test_renew_fails_when_entry_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let job = taken_back_while_held(&store).await;
    for _ in 0..2 {
        let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
        assert_refused(&renewed, "the renewal of an activity that was taken back");
    }
    assert_queue_stays_empty(&store).await;
}

/// An activity that was taken back cannot be given back either, and does not come again.
pub async fn test_abandon_work_item_fails_when_entry_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let job = taken_back_while_held(&store).await;
    let abandoned = store.abandon_work_item(&job.token, None, false).await;
    assert_refused(&abandoned, "giving back an activity that was taken away");
    let abandoned = store.abandon_work_item(&job.token, Some(store.lock()), true).await;
    assert_refused(&abandoned, "giving back an activity that was taken away");
    assert_queue_stays_empty(&store).await;
}

/// Whichever comes first wins: a completion that was enqueued before the cancelling commit is delivered.
pub async fn test_completion_before_cancellation_stays<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2]).await;
    store.post(signal("a", "wake up")).await;
    let turn = store.fetch("a").await;
    let job = take(&store, &activity("a", 2)).await;
    finish(&store, &job).await;

    store.ack(&turn.token, Ack::of("a", 1).signalled(3).cancelling(identifier("a", 2))).await;
    let next = store.fetch("a").await;
    assert_eq!(
        next.item.messages,
        [completed("a", 2)],
        "it was on its way when the turn took the activity back"
    );
    assert_queue_stays_empty(&store).await;
}

/// When both happen at once, one wins and the other is refused or finds nothing: a completion that was accepted is
/// delivered, one that was refused is not.
pub async fn test_completion_and_cancellation_at_once_one_wins<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for round in 0..20 {
        let instance = format!("round {round}");
        running_with(&store, &instance, &[2]).await;
        let job = take(&store, &activity(&instance, 2)).await;
        store.post(signal(&instance, "wake up")).await;
        let turn = store.fetch(&instance).await;

        let (shared, token, completion) = (store.shared(), job.token.clone(), completed(&instance, 2));
        let finishing = beside(async move { shared.ack_work_item(&token, Some(completion)).await });
        store.ack(&turn.token, Ack::of(&instance, 1).cancelling(identifier(&instance, 2))).await;
        let acked = finishing.await.expect("an ack does not panic");

        assert_taken_away(&store, &job).await;
        store.assert_no_work("it was finished or taken back").await;
        if acked.is_ok() {
            let next = store.fetch(&instance).await;
            assert_eq!(next.item.messages, [completed(&instance, 2)], "it was accepted, and comes once");
            store.ack(&next.token, Ack::of(&instance, 1)).await;
        } else {
            assert_refused(&acked, "an ack of an activity that was taken back");
        }
        store.assert_no_turn("there is nothing more to hear of").await;
    }
}
