//! Calls that are dropped before they have answered.

use std::time::Duration;

use abide_provider::FinishedWork;

use super::calls::{
    Written, assert_written_everywhere, commit, instances, jobs, lease, lease_all, lease_all_jobs, lease_job,
    names, signals, try_lease, under, writing_everywhere,
};
use crate::ProviderFactory;
use crate::support::{
    Ack, Looks, POLLS, Subject, activity, completed, drop_after, signal, start,
};

/// A lease call that is dropped, at whatever point, loses nothing: what it may have leased is leased again, at the
/// latest when that lease has run out.
pub async fn test_dropping_lease_calls_loses_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    store.post(start("b")).await;
    store.post_work(activity("a", 2)).await;
    for polls in POLLS {
        drop_after(polls, store.lease_instances(instances(&store, 10))).await;
        drop_after(polls, store.fetch_orchestration_item(store.lock(), Duration::ZERO, None)).await;
        drop_after(polls, store.lease_work(jobs(&store, 10))).await;
        let mut looks = Looks::at(&store);
        let (turns, work) = loop {
            looks.next("a call that was dropped lost something").await;
            let (turns, work) = (lease_all(&store).await, lease_all_jobs(&store, jobs(&store, 10)).await);
            if turns.len() >= 2 && !work.is_empty() {
                break (turns, work);
            }
        };
        assert_eq!(names(&turns), ["a", "b"], "a call was dropped after {polls} polls");
        let items: Vec<_> = work.iter().map(|job| &job.item).collect();
        assert_eq!(items, [&activity("a", 2)], "a call was dropped after {polls} polls");
        for turn in turns {
            let given_back = store.abandon_orchestration_item(&turn.token, None, true).await;
            given_back.expect("the lease is held");
        }
        store.abandon_work_item(&work[0].token, None, true).await.expect("the lease is held");
    }
}

/// A commit that is dropped, at whatever point, has happened as a whole or not at all.
pub async fn test_dropping_a_commit_leaves_all_or_nothing<F: ProviderFactory>(factory: &F) {
    for polls in POLLS {
        let store = Subject::new(factory).await;
        store.create("a").await;
        store.post(signal("a", "next")).await;
        let leased = lease(&store, "a").await;
        let before = Written::of(&store, "a").await;
        drop_after(polls, store.commit_turns(vec![under(&leased, writing_everywhere("a", 2))])).await;
        let mut looks = Looks::at(&store);
        let back = loop {
            looks.next("a commit that was dropped wrote nothing and gave nothing back").await;
            let back = try_lease(&store).await.filter(|lease| lease.instance == "a");
            if back.is_some() || Written::of(&store, "a").await != before {
                break back;
            }
        };
        if let Some(again) = back {
            assert_eq!(signals(&again.messages), ["next"], "what was not committed consumed nothing");
            store.assert_no_work("what was not committed scheduled nothing").await;
            commit(&store, under(&again, writing_everywhere("a", 2))).await;
        }
        // What was looked for above may have been found, and leased.
        store.expire_leases().await;
        assert_written_everywhere(&store, "a", 2).await;
    }
}

/// An activity whose end is dropped, at whatever point, is finished with its completion delivered, or not finished
/// at all.
pub async fn test_dropping_the_end_of_an_activity_leaves_all_or_nothing<F: ProviderFactory>(factory: &F) {
    for polls in POLLS {
        let store = Subject::new(factory).await;
        store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
        let job = lease_job(&store).await;
        let finished = FinishedWork { token: job.token, completion: Some(completed("a", 2)) };
        drop_after(polls, store.finish_work(vec![finished])).await;
        let mut looks = Looks::at(&store);
        let end = loop {
            looks.next("an activity is gone, and its instance was not told").await;
            let again = store.try_fetch_work().await;
            let told = store.try_fetch().await;
            if again.is_some() || told.is_some() {
                break (again, told);
            }
        };
        match end {
            (None, told) => assert_eq!(told.expect("one of them").item.messages, [completed("a", 2)]),
            (Some(again), told) => {
                assert_eq!(again.item, activity("a", 2));
                assert!(told.is_none(), "what was not finished is not told");
            }
        }
    }
}
