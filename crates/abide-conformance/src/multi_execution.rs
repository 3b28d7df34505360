//! Executions of one instance keep apart.

use crate::ProviderFactory;
use crate::instance_locking::lease_all_work;
use crate::suite::area;
use crate::support::{Ack, Job, Subject, activity, continue_as_new, event, signal};

area! {
    multi_execution;
    test_execution_isolation;
    test_latest_execution_detection;
    test_execution_id_sequencing;
    test_continue_as_new_creates_new_execution;
    test_execution_history_persistence;
    test_mail_survives_continue_as_new;
    test_work_outlives_its_execution;
}

/// Each execution has its own events: what is appended to one is in no other, though their ids are the same.
pub async fn test_execution_isolation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("other").await;
    store.begin(Ack::first("a").signalled(2).signalled(3)).await;
    continue_as_new_into(&store, "a", 2).await;
    let first = store.read_with_execution("a", 1).await.expect("an execution can be read");
    store.step(Ack::of("a", 2).signalled(2)).await;

    let after = store.read_with_execution("a", 1).await.expect("an execution can be read");
    assert_eq!(after, first, "a commit of the second execution changed the first");
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3, 4], "the first execution has its events and its end");
    assert_eq!(store.event_ids("a", 2).await, [1, 2], "the second execution has its own events");
    let second = store.read_with_execution("a", 2).await.expect("an execution can be read");
    assert!(second.iter().all(|event| event.execution_id == 2), "events of another execution: {second:?}");
    assert!(store.event_ids("a", 3).await.is_empty(), "there is no third execution");
    assert_eq!(store.event_ids("other", 1).await, [1], "another instance has its own executions");
    assert!(store.event_ids("other", 2).await.is_empty(), "another instance has its own executions");
}

/// `read` and a lease show the latest execution, and nothing of those before it.
pub async fn test_latest_execution_detection<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2)).await;
    for execution_id in 2..=3 {
        continue_as_new_into(&store, "a", execution_id).await;
        let latest = store.read_with_execution("a", execution_id).await.expect("an execution can be read");
        assert_eq!(latest.len(), 1, "the new execution has its start");
        assert_eq!(store.history("a").await, latest, "reading gives the latest execution");
    }
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.execution_id, 3, "a lease is on the latest execution");
    assert_eq!(turn.item.history, store.history("a").await, "a lease carries the latest history");
    assert!(
        turn.item.history.iter().all(|event| event.execution_id == 3),
        "a lease carries events of the latest execution only"
    );
    store.ack(&turn.token, Ack::of("a", 3).signalled(2)).await;
    assert_eq!(store.event_ids("a", 3).await, [1, 2], "a commit of the latest execution is appended to it");

    let past = vec![event("seeded", 1, 1, crate::support::started())];
    store.append_with_execution("seeded", 1, past).await.expect("a past can be appended");
    let later = vec![event("seeded", 2, 1, crate::support::started())];
    store.append_with_execution("seeded", 2, later.clone()).await.expect("a past can be appended");
    assert_eq!(store.history("seeded").await, later, "an appended execution is the latest too");
}

/// A lease names the execution that is current: the one that ended until its successor's first commit, then that one.
pub async fn test_execution_id_sequencing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    for execution_id in 1..=4 {
        store.post(signal("a", "mail")).await;
        let turn = store.fetch("a").await;
        assert_eq!(turn.item.execution_id, execution_id, "a lease names the current execution");
        store.ack(&turn.token, Ack::of("a", execution_id).continuing(2)).await;
        let next = store.fetch("a").await;
        assert_eq!(next.item.execution_id, execution_id, "the successor has no commit yet");
        assert_eq!(next.item.history.len(), 2, "the history is still that of the one that ended");
        store.ack(&next.token, Ack::first_of("a", execution_id + 1)).await;
    }
    for execution_id in 1..=4 {
        assert_eq!(
            store.event_ids("a", execution_id).await,
            [1, 2],
            "each execution has its start and its end"
        );
    }
    assert_eq!(store.event_ids("a", 5).await, [1], "the last execution has its start");
    assert!(store.event_ids("a", 6).await.is_empty(), "there is no sixth execution");
    if let Some(admin) = store.as_management_capability() {
        let executions = admin.list_executions("a").await.expect("executions can be listed");
        assert_eq!(executions, [1, 2, 3, 4, 5], "all executions are listed, ascending");
    }
}

/// Continuing as new is two commits: one ends the execution and sends the successor's message, one begins the successor.
pub async fn test_continue_as_new_creates_new_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.step(Ack::of("a", 1).signalled(2).continuing(3)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3], "the commit ends the first execution");
    assert!(store.event_ids("a", 2).await.is_empty(), "the successor begins with its own commit");

    let turn = store.fetch("a").await;
    assert_eq!(
        turn.item.messages,
        [continue_as_new("a")],
        "the successor's message is mail of the same instance"
    );
    store.ack(&turn.token, Ack::first_of("a", 2).signalled(2)).await;
    assert_eq!(store.event_ids("a", 2).await, [1, 2], "the successor has its own events");
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3], "the successor changed its predecessor");
    store.assert_no_turn("the successor's message was consumed").await;
    if let Some(admin) = store.as_management_capability() {
        let ended = admin.get_execution_info("a", 1).await.expect("the first execution exists");
        assert_eq!(
            (ended.status.as_str(), ended.output.as_deref()),
            ("ContinuedAsNew", Some("next")),
            "the first execution continued as new"
        );
        let current = admin.get_execution_info("a", 2).await.expect("the second execution exists");
        assert_eq!(current.status, "Running", "the successor is running");
    }
}

/// The histories of earlier executions stay as they were, event for event.
pub async fn test_execution_history_persistence<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2)).await;
    let mut kept = Vec::new();
    for execution_id in 1..=3 {
        continue_as_new_into(&store, "a", execution_id + 1).await;
        kept.push(store.read_with_execution("a", execution_id).await.expect("an execution can be read"));
    }
    store.step(Ack::of("a", 4).completing(2)).await;
    for (execution_id, history) in (1..).zip(kept) {
        assert!(history.len() >= 2, "an execution that ended has a history: {history:?}");
        let now = store.read_with_execution("a", execution_id).await.expect("an execution can be read");
        assert_eq!(now, history, "the history of execution {execution_id} changed after its end");
    }
}

/// Mail that came before the successor began is not lost: what the last turn did not lease is leased with or after the
/// successor's message.
pub async fn test_mail_survives_continue_as_new<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    store.post(signal("a", "during the last turn")).await;
    store.ack(&turn.token, Ack::of("a", 1).continuing(2)).await;
    store.post(signal("a", "before the successor")).await;

    let turn = store.fetch("a").await;
    assert_eq!(
        turn.item.messages,
        [signal("a", "during the last turn"), continue_as_new("a"), signal("a", "before the successor")],
        "mail is handed out in the order of enqueueing, whichever execution it was meant for"
    );
    store.ack(&turn.token, Ack::first_of("a", 2)).await;
    store.assert_no_turn("the batch was consumed").await;
}

/// The end of an execution removes none of its activities: only a cancellation does.
pub async fn test_work_outlives_its_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3))).await;
    let leased = store.fetch_work().await;
    continue_as_new_into(&store, "a", 2).await;
    store.step(Ack::of("a", 2).completing(2)).await;
    let queued: Vec<u64> = lease_all_work(&store).await.iter().map(Job::id).collect();
    assert_eq!(queued, [3], "an activity that was not cancelled is still queued");
    let renewed = store.renew_work_item_lock(&leased.token, store.lock()).await;
    renewed.expect("an activity that was not cancelled is still leased");
}

/// Ends the current execution, whatever its events, and begins this one.
pub(crate) async fn continue_as_new_into(store: &Subject<'_>, instance: &str, execution_id: u64) {
    let last = store.history(instance).await.last().map_or(0, abide_model::Event::event_id);
    store.step(Ack::of(instance, execution_id - 1).continuing(last + 1)).await;
    let turn = store.fetch(instance).await;
    assert_eq!(turn.item.messages, [continue_as_new(instance)], "the successor's message was sent");
    store.ack(&turn.token, Ack::first_of(instance, execution_id)).await;
}
