//! Calls whose future is dropped before it is ready: a node that shuts down does that at any point.
//!
//! Each test drops one call after no poll at all, the next after one, and so on. Whether the call was done is the store's
//! affair; that it was done as a whole or not at all is not.

use std::time::Duration;

use abide_provider::TagFilter;

use crate::ProviderFactory;
use crate::instance_locking::{lease_all, lease_all_work};
use crate::support::{
    Ack, Job, POLLS, Subject, activity, completed, drop_after, Looks, signal,
};

/// A fetch that is dropped loses no message and leaves no lease beyond its time.
pub async fn test_dropped_fetch_loses_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = create_one_for_each(&store).await;
    for name in &names {
        store.post(signal(name, "precious")).await;
    }
    for polls in POLLS {
        drop_after(polls, store.fetch_orchestration_item(store.lock(), Duration::ZERO, None)).await;
    }

    let mut looks = Looks::at(&store);
    let turns = loop {
        looks.next("a dropped fetch lost the mail of an instance").await;
        let turns = lease_all(&store).await;
        if names.iter().all(|name| turns.contains_key(name)) {
            break turns;
        }
    };
    for turn in turns.values() {
        assert_eq!(turn.signals(), ["precious"], "a dropped fetch lost mail");
    }
}

/// A fetch that is dropped loses no activity and leaves no lease beyond its time.
pub async fn test_dropped_work_fetch_loses_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = create_one_for_each(&store).await;
    for name in &names {
        store.post_work(activity(name, 2)).await;
    }
    let tags = TagFilter::default_only();
    for polls in POLLS {
        drop_after(polls, store.fetch_work_item(store.lock(), Duration::ZERO, None, &tags)).await;
    }

    let mut looks = Looks::at(&store);
    let jobs = loop {
        looks.next("a dropped fetch lost work").await;
        let jobs = lease_all_work(&store).await;
        if jobs.len() >= names.len() {
            break jobs;
        }
    };
    let items: Vec<_> = jobs.into_iter().map(|job| job.item).collect();
    let expected: Vec<_> = names.iter().map(|name| activity(name, 2)).collect();
    assert_eq!(items, expected, "a dropped fetch changed the work");
}

/// A commit that is dropped is written as a whole, or its batch comes back.
pub async fn test_dropped_ack_is_all_or_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = create_one_for_each(&store).await;
    for name in &names {
        store.post(signal(name, "precious")).await;
    }
    let turns = lease_all(&store).await;
    for (polls, name) in POLLS.zip(&names) {
        let ack = Ack::of(name, 1).signalled(2).scheduling(activity(name, 3));
        drop_after(polls, store.try_ack(&turns[name].token, ack)).await;
    }

    let mut looks = Looks::at(&store);
    let back = loop {
        looks.next("a dropped commit took its mail, but did not append its events").await;
        let back = lease_all(&store).await;
        let mut is_decided = true;
        for name in &names {
            is_decided &= back.contains_key(name) || store.event_ids(name, 1).await != [1];
        }
        if is_decided {
            break back;
        }
    };
    let work: Vec<_> = lease_all_work(&store).await.into_iter().map(|job| job.item).collect();
    for name in &names {
        let (ids, is_enqueued) = (store.event_ids(name, 1).await, work.contains(&activity(name, 3)));
        if let Some(turn) = back.get(name) {
            assert_eq!(turn.signals(), ["precious"], "the mail came back, but not as it was");
            assert_eq!(ids, [1], "the commit of '{name}' was dropped, its mail came back, but not as it was");
            assert!(!is_enqueued, "the commit of '{name}' was dropped, but its activity was enqueued");
        } else {
            assert_eq!(ids, [1, 2, 3], "the commit of '{name}' took its mail, but did not append its events");
            assert!(is_enqueued, "the commit of '{name}' took its mail, but did not enqueue its activity");
        }
    }
}

/// An activity whose ack is dropped is finished and its instance told, or it comes back.
pub async fn test_dropped_work_ack_is_all_or_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = create_one_for_each(&store).await;
    for name in &names {
        store.post_work(activity(name, 2)).await;
    }
    let jobs = lease_all_work(&store).await;
    for ((polls, name), job) in POLLS.zip(&names).zip(jobs) {
        let Job { token, .. } = job;
        drop_after(polls, store.ack_work_item(&token, Some(completed(name, 2)))).await;
    }

    let mut looks = Looks::at(&store);
    let (back, told) = loop {
        looks.next("an activity is gone, and its instance was not told").await;
        let back: Vec<_> = lease_all_work(&store).await.into_iter().map(|job| job.item).collect();
        let told = lease_all(&store).await;
        let is_decided = |name: &String| back.contains(&activity(name, 2)) || told.contains_key(name);
        if names.iter().all(is_decided) {
            break (back, told);
        }
    };
    for (name, turn) in told {
        let told_once = [completed(&name, 2)];
        assert_eq!(turn.item.messages, told_once, "an activity that finished once is told of once");
        let is_back = back.contains(&activity(&name, 2));
        assert!(!is_back, "the instance '{name}' was told, but the activity runs again");
    }
}

/// A message whose enqueueing is dropped is sent once or not at all; one that was answered for is sent.
pub async fn test_dropped_enqueue_is_all_or_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = create_one_for_each(&store).await;
    let mut answered = Vec::new();
    for (polls, name) in POLLS.zip(&names) {
        let sent = drop_after(polls, store.enqueue_for_orchestrator(signal(name, "once"), None)).await;
        answered.extend(sent.map(|sent| {
            sent.unwrap_or_else(|error| panic!("a message could not be enqueued: {error}"));
            name.clone()
        }));
    }

    let turns = lease_all(&store).await;
    for turn in turns.values() {
        assert_eq!(turn.signals(), ["once"], "one call sends one message");
    }
    for name in answered {
        assert!(turns.contains_key(&name), "the message for '{name}' was accepted, but is not there");
    }
}

/// An instance for each number of polls.
pub(crate) async fn create_one_for_each(store: &Subject<'_>) -> Vec<String> {
    let names: Vec<String> = POLLS.map(|polls| format!("after-{polls}-polls")).collect();
    for name in &names {
        store.create(name).await;
    }
    names
}
