//! Calls that are dropped before they have answered.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use abide_provider::{FinishedWork, TagFilter};

use super::calls::{
    Written, assert_written_everywhere, commit, instances, jobs, lease, lease_all, lease_job, names, signals,
    under, writing_everywhere,
};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, activity, activity_with, completed, signal, start};

/// How often a call is polled before it is dropped, at most: enough for those that answer at once, and for some
/// that do not.
const POLLS: usize = 6;

/// A lease call that is dropped, at whatever point, loses nothing: what it may have leased is leased again, at the
/// latest when that lease has run out.
pub async fn test_dropping_lease_calls_loses_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    store.post(start("b")).await;
    store.post_work(activity("a", 2)).await;
    for polls in 0..POLLS {
        drop_after(polls, store.lease_instances(instances(&store, 10))).await;
        drop_after(polls, store.fetch_orchestration_item(store.lock(), Duration::ZERO, None)).await;
        drop_after(polls, store.lease_work(jobs(&store, 10))).await;
        settle(&store).await;
        let leases = lease_all(&store).await;
        assert_eq!(names(&leases), ["a", "b"], "a call was dropped after {polls} polls");
        let job = lease_job(&store).await;
        assert_eq!(job.item, activity("a", 2), "a call was dropped after {polls} polls");
        for leased in leases {
            let given_back = store.abandon_orchestration_item(&leased.token, None, true).await;
            given_back.expect("the lease is held");
        }
        store.abandon_work_item(&job.token, None, true).await.expect("the lease is held");
    }
}

/// A commit that is dropped, at whatever point, has happened as a whole or not at all.
pub async fn test_dropping_a_commit_leaves_all_or_nothing<F: ProviderFactory>(factory: &F) {
    for polls in 0..POLLS {
        let store = Subject::new(factory).await;
        store.create("a").await;
        store.post(signal("a", "next")).await;
        let leased = lease(&store, "a").await;
        let before = Written::of(&store, "a").await;
        drop_after(polls, store.commit_turns(vec![under(&leased, writing_everywhere("a", 2))])).await;
        settle(&store).await;

        if Written::of(&store, "a").await == before {
            let again = lease(&store, "a").await;
            assert_eq!(signals(&again.messages), ["next"], "what was not committed consumed nothing");
            store.assert_no_work("what was not committed scheduled nothing").await;
            commit(&store, under(&again, writing_everywhere("a", 2))).await;
        }
        assert_written_everywhere(&store, "a", 2).await;
    }
}

/// An activity whose end is dropped, at whatever point, is finished with its completion delivered, or not finished
/// at all.
pub async fn test_dropping_the_end_of_an_activity_leaves_all_or_nothing<F: ProviderFactory>(factory: &F) {
    for polls in 0..POLLS {
        let store = Subject::new(factory).await;
        store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
        let job = lease_job(&store).await;
        let finished = FinishedWork { token: job.token, completion: Some(completed("a", 2)) };
        drop_after(polls, store.finish_work(vec![finished])).await;
        settle(&store).await;

        match store.try_fetch_work().await {
            None => assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)]),
            Some(again) => {
                assert_eq!(again.item, activity("a", 2));
                store.assert_no_turn("what was not finished is not told").await;
            }
        }
    }
}

/// Polls a call so many times and drops it, whether or not it has answered.
async fn drop_after<T>(polls: usize, call: impl Future<Output = T>) {
    let mut call = pin!(call);
    for _ in 0..polls {
        let has_answered = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_ready())).await;
        if has_answered {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Lets the store come to rest: what it still does for calls that were dropped is done, and their leases are over.
async fn settle(store: &Subject<'_>) {
    store.post_work(activity_with("witness", 2, None, Some("witness"))).await;
    let witness = store.try_fetch_work_as(None, &TagFilter::tags(["witness"])).await;
    let witness = witness.expect("there is work, but nothing was fetched");
    store.ack_work_item(&witness.token, None).await.expect("the lease is held");
    store.expire_leases().await;
}
