//! What a fetch and a renewal tell of the state of an orchestration: whether there still is something to do.

use super::activities::{
    activity_of, assert_queue_stays_empty, assert_taken_away, finish, identifier_of, running_with, take,
};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, activity, completed, identifier};

/// An activity of an instance that runs is handed out, once, and its result reaches the instance.
pub async fn test_fetch_returns_running_state_for_active_orchestration<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2]).await;
    let job = take(&store, &activity("a", 2)).await;
    assert_eq!(job.attempt, 1, "nobody had it before");
    store.assert_no_work("it is leased").await;

    finish(&store, &job).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 2)], "the instance hears of it");
    assert_queue_stays_empty(&store).await;
}

/// Ends the execution of an instance that has an activity running and one waiting, and takes both back; those of another
/// instance stay.
async fn assert_end_takes_activities_back(store: &Subject<'_>, end: impl FnOnce(Ack) -> Ack) {
    running_with(store, "a", &[2, 3]).await;
    let running = take(store, &activity("a", 2)).await;
    running_with(store, "b", &[2]).await;
    store.step(end(Ack::of("a", 1)).cancelling(identifier("a", 2)).cancelling(identifier("a", 3))).await;

    let other = take(store, &activity("b", 2)).await;
    assert_eq!(other.attempt, 1, "nobody had it before");
    finish(store, &other).await;
    assert_taken_away(store, &running).await;
    assert_queue_stays_empty(store).await;
}

/// After the commit that completes an instance and lists its activities, none of them is handed out.
pub async fn test_fetch_returns_terminal_state_when_orchestration_completed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert_end_takes_activities_back(&store, |turn| turn.completing(4)).await;
    store.fetch("b").await;
    store.assert_no_turn("the refused acks told the completed instance nothing").await;
}

/// After the commit that fails an instance and lists its activities, none of them is handed out.
pub async fn test_fetch_returns_terminal_state_when_orchestration_failed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert_end_takes_activities_back(&store, |turn| turn.failing(4)).await;
    store.fetch("b").await;
    store.assert_no_turn("the refused acks told the failed instance nothing").await;
}

/// After the commit that continues an instance as new and lists its activities, none of them is handed out; those of the
/// next execution are, though they have the same numbers.
pub async fn test_fetch_returns_terminal_state_when_orchestration_continued_as_new<F: ProviderFactory>(
    factory: &F,
) {
    let store = Subject::new(factory).await;
    assert_end_takes_activities_back(&store, |turn| turn.continuing(4)).await;

    let (first, second) = (store.try_fetch().await, store.try_fetch().await);
    let next = [first, second].into_iter().flatten().find(|turn| turn.item.instance == "a");
    let next = next.expect("the next execution can start");
    assert_eq!(next.item.messages.len(), 1, "the refused acks told the instance nothing");
    store.ack(&next.token, Ack::first_of("a", 2).scheduling(activity_of("a", 2, 2))).await;
    take(&store, &activity_of("a", 2, 2)).await;
    store.assert_no_work("there is only one activity of the next execution").await;
}

/// While its instance runs, the lease on an activity is renewed, and lasts as long as was asked.
pub async fn test_renew_returns_running_when_orchestration_active<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2]).await;
    let job = take(&store, &activity("a", 2)).await;
    for _ in 0..3 {
        let renewed = store.renew_work_item_lock(&job.token, store.lock() * 3).await;
        renewed.expect("the instance runs, and the lease is valid");
        store.expire_leases().await;
        store.assert_no_work("the lease was renewed").await;
    }
    store.step(Ack::of("a", 1).signalled(3)).await;
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    renewed.expect("a turn that does not list the activity leaves its lease alone");
    finish(&store, &job).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 2)], "the instance hears of it");
}

/// When its instance has completed and taken it back, the lease on an activity cannot be renewed.
pub async fn test_renew_returns_terminal_when_orchestration_completed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2]).await;
    let job = take(&store, &activity("a", 2)).await;
    store.renew_work_item_lock(&job.token, store.lock() * 2).await.expect("the instance runs");
    store.step(Ack::of("a", 1).completing(3).cancelling(identifier("a", 2))).await;

    for _ in 0..2 {
        assert_taken_away(&store, &job).await;
    }
    assert_queue_stays_empty(&store).await;
    store.assert_no_turn("the refused acks told the instance nothing").await;
}

/// The end of an execution removes no activity that its commit does not list: it may still run, be renewed and finish.
pub async fn test_end_of_execution_takes_back_only_what_is_listed<F: ProviderFactory>(factory: &F) {
    for end in [Ack::completing, Ack::failing, Ack::continuing] {
        let store = Subject::new(factory).await;
        running_with(&store, "a", &[2, 3, 4]).await;
        let running = take(&store, &activity("a", 2)).await;
        store.step(end(Ack::of("a", 1), 5).cancelling(identifier_of("a", 1, 3))).await;

        let waiting = take(&store, &activity("a", 4)).await;
        store.renew_work_item_lock(&running.token, store.lock()).await.expect("it was not listed");
        finish(&store, &running).await;
        finish(&store, &waiting).await;
        assert_queue_stays_empty(&store).await;
    }
}
