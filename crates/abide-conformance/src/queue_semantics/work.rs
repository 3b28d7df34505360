//! The queue of activities.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use abide_model::{ErrorDetails, WorkItem};
use abide_provider::{Provider, TagFilter};

use crate::ProviderFactory;
use crate::instance_locking::{
    assert_powerless, assert_powerless_over_work, beyond, finish, give_back_work, lease_all_work,
    put_off_work,
};
use crate::support::{Ack, Job, Subject, activity, assert_refused, beside, completed, signal};

/// Activities are handed out in the order of enqueueing, whoever enqueued them; one that is given back returns to its
/// place.
pub async fn test_worker_queue_fifo_ordering<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("z").await;
    store.post_work(activity("z", 9)).await;
    store.begin(Ack::first("a").scheduling(activity("a", 3)).scheduling(activity("a", 4))).await;
    store.post_work(activity("b", 5)).await;
    store.post_work(activity("a", 2)).await;
    let expected = [activity("z", 9), activity("a", 3), activity("a", 4), activity("b", 5), activity("a", 2)];
    let jobs = lease_all_work(&store).await;
    let items: Vec<WorkItem> = jobs.iter().map(|job| job.item.clone()).collect();
    assert_eq!(items, expected, "activities are handed out in the order of enqueueing");

    // Back in another order: the place is that of enqueueing.
    for number in [3, 1, 4] {
        give_back_work(&store, &jobs[number]).await;
    }
    store.post_work(activity("c", 6)).await;
    let items: Vec<WorkItem> = lease_all_work(&store).await.into_iter().map(|job| job.item).collect();
    let expected = [activity("a", 3), activity("b", 5), activity("a", 2), activity("c", 6)];
    assert_eq!(items, expected, "what is given back keeps its place");
}

/// What is fetched is leased, not removed: it comes back unless it is acked, and only the ack removes it.
pub async fn test_worker_peek_lock_semantics<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    assert_eq!(job.item, activity("a", 2), "what was enqueued is handed out");
    store.assert_no_work("the only activity is leased").await;
    store.expire_leases().await;
    let again = store.fetch_work().await;
    assert_eq!(again.item, job.item, "an activity that nobody finished comes back");
    store.assert_no_turn("nobody finished it, so the instance hears nothing").await;

    finish(&store, "a", &again).await;
    store.assert_no_work("the activity is finished").await;
    store.expire_leases().await;
    store.assert_no_work("the activity is finished, and does not come back").await;
}

/// Finishing an activity removes it and tells its instance, both or neither.
pub async fn test_worker_ack_atomicity<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3))).await;
    let jobs = lease_all_work(&store).await;
    finish(&store, "a", &jobs[0]).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 2)], "one completion, of the activity that was finished");
    store.ack(&turn.token, Ack::of("a", 1)).await;

    // The first one again: neither is there anything to remove, nor is anything sent.
    let repeated = store.ack_work_item(&jobs[0].token, Some(completed("a", 2))).await;
    assert_refused(&repeated, "finishing an activity a second time");
    store.assert_no_turn("a refused ack sends nothing").await;
    store.expire_leases().await;
    let late = store.ack_work_item(&jobs[1].token, Some(completed("a", 3))).await;
    assert_refused(&late, "finishing an activity whose lease ran out");
    store.assert_no_turn("a refused ack sends nothing").await;
    let left: Vec<u64> = lease_all_work(&store).await.iter().map(Job::id).collect();
    assert_eq!(left, [3], "a refused ack removes nothing, and an ack that was answered removed its activity");
}

/// Whoever loses a lease by its time loses it for good: the work and the mail go to the next one, and the lost token has
/// no power over them.
pub async fn test_lost_lock_token_handling<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    store.post(signal("a", "mail")).await;
    let (lost_turn, lost_job) = (store.fetch("a").await, store.fetch_work().await);
    store.expire_leases().await;
    let (turn, job) = (store.fetch("a").await, store.fetch_work().await);
    assert_eq!(
        turn.item.messages, lost_turn.item.messages,
        "the next one gets the mail of the one who lost it"
    );
    assert_eq!(job.item, lost_job.item, "the next one gets the activity of the one who lost it");

    assert_powerless_over_work(&store, &lost_job.token, "a", "another one has the activity").await;
    assert_powerless(&store, &lost_turn.token, "a", "another one has the instance").await;
    store.assert_no_work("the lost token ended the new lease").await;
    store.assert_no_turn("the lost token ended the new lease").await;
    finish(&store, "a", &job).await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(3)).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [completed("a", 2)],
        "the one who has the activity finishes it, once"
    );
}

/// An activity can be leased as soon as it is enqueued, by a call or by a commit.
pub async fn test_worker_item_immediate_visibility<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.assert_no_work("nothing was enqueued yet").await;
    store.post_work(activity("a", 2)).await;
    let job = store.fetch_work().await;
    assert_eq!(job.item, activity("a", 2), "enqueued work is visible at once");
    store.begin(Ack::first("b").scheduling(activity("b", 2))).await;
    assert_eq!(store.fetch_work().await.item, activity("b", 2), "committed work is visible at once");
}

/// Hidden activities do not hold up those behind them, and take their place again when their time comes.
pub async fn test_worker_delayed_visibility_skips_future_items<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    store.post_work(activity("a", 3)).await;
    let delay = store.lock() * 2;
    let hidden = store.fetch_work().await;
    assert_eq!(hidden.id(), 2, "the oldest activity comes first");
    put_off_work(&store, &hidden, delay).await;
    let next = store.fetch_work().await;
    assert_eq!(next.id(), 3, "what is hidden is passed over");
    store.assert_no_work("the other activity is hidden").await;

    give_back_work(&store, &next).await;
    store.pass(beyond(delay)).await;
    store.post_work(activity("a", 4)).await;
    let ids: Vec<u64> = lease_all_work(&store).await.iter().map(Job::id).collect();
    assert_eq!(ids, [2, 3, 4], "what was hidden takes its place again");
}

/// Of several acks with one token, however close, one is accepted, and one completion is sent.
pub async fn test_concurrent_work_acks_complete_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    let acks: Vec<_> = (0..8)
        .map(|_| {
            let (provider, token) = (store.shared(), job.token.clone());
            beside(async move { provider.ack_work_item(&token, Some(completed("a", 2))).await.is_ok() })
        })
        .collect();
    let mut accepted = 0;
    for ack in acks {
        accepted += usize::from(ack.await.expect("an ack answers, and does not panic"));
    }
    assert_eq!(accepted, 1, "one ack of eight with the same token must be accepted");
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)], "one completion is sent");
    store.expire_leases().await;
    store.assert_no_work("the activity is finished").await;
}

/// Workers that fetch at the same time get different activities, and together all of them.
pub async fn test_concurrent_workers_get_different_work<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let ids: BTreeSet<u64> = (2..18).collect();
    for id in &ids {
        store.post_work(activity("a", *id)).await;
    }
    let mut leased = Vec::new();
    for _round in 0..ids.len() / 4 {
        let workers: Vec<_> =
            (0..4).map(|_| beside(fetch_beside_others(store.shared(), store.lock()))).collect();
        for worker in workers {
            let job = worker.await.expect("a fetch answers, and does not panic");
            leased.push(job.expect("who lost one activity to another was told that there is nothing, but there is"));
        }
    }
    let distinct: BTreeSet<u64> = leased.iter().map(Job::id).collect();
    assert_eq!(leased.len(), distinct.len(), "an activity was leased twice");
    assert_eq!(distinct, ids, "an activity was leased to nobody");
    assert!(leased.iter().all(|job| job.attempt == 1), "those who got nothing count for nothing");
}

/// An activity comes out as it was put in, whichever way.
pub async fn test_work_arrives_as_sent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let item = WorkItem::ActivityExecute {
        instance: "a".to_owned(),
        execution_id: 7,
        id: 42,
        name: "Send mail".to_owned(),
        input: "{\"to\": \"somebody\"}".to_owned(),
        session_id: None,
        tag: None,
    };
    store.post_work(item.clone()).await;
    assert_eq!(store.fetch_work().await.item, item, "an activity came out changed");
    store.begin(Ack::first("b").work(item.clone())).await;
    assert_eq!(store.fetch_work().await.item, item, "a commit may enqueue work of any execution");
}

/// A failed activity tells its instance why, like one that completed.
pub async fn test_failed_activity_tells_its_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    let failed = WorkItem::ActivityFailed {
        instance: "a".to_owned(),
        execution_id: 1,
        id: 2,
        details: ErrorDetails::orchestration_failed("no money"),
    };
    store.ack_work_item(&job.token, Some(failed.clone())).await.expect("an activity may fail");
    assert_eq!(store.fetch("a").await.item.messages, [failed], "a failure is sent as it is");
    store.expire_leases().await;
    store.assert_no_work("the activity is finished").await;
}

/// One fetch that does not wait. A store in use by others may ask to try again.
async fn fetch_beside_others(provider: Arc<dyn Provider>, lock: Duration) -> Option<Job> {
    let tags = TagFilter::default_only();
    for _ in 0..100 {
        match provider.fetch_work_item(lock, Duration::ZERO, None, &tags).await {
            Ok(fetched) => return fetched.map(|(item, token, attempt)| Job { item, token, attempt }),
            Err(error) => assert!(error.is_retryable(), "a fetch failed for good: {error}"),
        }
        tokio::task::yield_now().await;
    }
    panic!("the store asked to try again, and again");
}
