//! Acks of activities that may not be.

use abide_model::WorkItem;

use crate::ProviderFactory;
use crate::instance_locking::{assert_powerless_over_work, finish};
use crate::support::{
    Ack, Subject, activity, assert_refused, cancel, completed, queue_message, signal, start, timer,
};

/// A token that the store never gave out for an activity is refused by ack, abandon and renew, and the lease that there
/// is goes on.
pub async fn test_invalid_lock_token_on_work<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    assert_powerless_over_work(&store, "no-such-token", "a", "nothing is leased").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    let job = store.fetch_work().await;
    assert_eq!(job.attempt, 1, "a wrong token counts for nothing");
    for token in ["no-such-token", "", "a", turn.token.as_str(), &format!("{}x", job.token)] {
        assert_powerless_over_work(&store, token, "a", "this token was never given out for an activity")
            .await;
        store.assert_no_work("a wrong token ended the lease").await;
    }
    finish(&store, "a", &job).await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(3)).await;
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)], "a wrong token sent a completion");
}

/// An activity ends with `ActivityCompleted` or `ActivityFailed`. Anything else is refused for good: the activity stays
/// leased, nothing is sent, and it can still be finished.
pub async fn test_wrong_completion_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    let child = WorkItem::SubOrchCompleted {
        parent_instance: "a".to_owned(),
        parent_execution_id: 1,
        parent_id: 2,
        result: "done".to_owned(),
    };
    for item in [
        timer("a", 2, 1),
        signal("a", "done"),
        queue_message("a", "done"),
        cancel("a"),
        start("a"),
        activity("a", 2),
        child,
    ] {
        let acked = store.ack_work_item(&job.token, Some(item.clone())).await;
        assert_refused(&acked, &format!("finishing an activity with {item:?}"));
        store.assert_no_turn("a refused ack sends nothing").await;
        store.assert_no_work("a refused ack does not end the lease, and enqueues nothing").await;
    }
    finish(&store, "a", &job).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [completed("a", 2)],
        "after refused acks the right one is accepted, and sends one completion"
    );
    store.expire_leases().await;
    store.assert_no_work("the activity is finished").await;
}

/// A completion goes to the instance that asked for the activity. One for another instance is refused for good: the
/// activity stays leased, and nobody is told.
pub async fn test_completion_for_another_instance_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("b").await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    for other in ["b", "nobody", ""] {
        let acked = store.ack_work_item(&job.token, Some(completed(other, 2))).await;
        assert_refused(&acked, &format!("finishing an activity of 'a' with a completion for '{other}'"));
        store.assert_no_turn("a refused ack tells nobody").await;
        store.assert_no_work("a refused ack does not end the lease").await;
    }
    finish(&store, "a", &job).await;
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)], "the right one is accepted");
    store.assert_no_turn("nobody else was told").await;
}

/// Work is activities, and mail is everything else: each queue refuses for good what belongs to the other.
pub async fn test_each_queue_refuses_what_belongs_to_the_other<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    for item in [start("b"), signal("a", "hello"), queue_message("a", "hello"), cancel("a"), completed("a", 2)] {
        let enqueued = store.enqueue_for_worker(item.clone()).await;
        assert_refused(&enqueued, &format!("enqueueing {item:?} for workers"));
    }
    let enqueued = store.enqueue_for_orchestrator(activity("a", 2), None).await;
    assert_refused(&enqueued, "enqueueing an activity for an instance");
    store.assert_no_turn("what was refused is mail for nobody").await;
    store.assert_no_work("what was refused is work for nobody").await;
}
