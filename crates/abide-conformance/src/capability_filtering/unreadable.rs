//! Instances whose history cannot be read: whom they are shown to, and how they end.

use abide_model::{AppErrorKind, ErrorDetails, EventKind, ExecutionStatus};

use super::probes::{assert_nothing_passes, fetch_with, only, pinned_with_mail, with_mail};
use crate::support::{Ack, Subject, Turn, assert_refused, signal};
use crate::{Hook, ProviderFactory};

/// The event with which a runtime ends an instance whose history it cannot read: far behind anything recorded.
const POISON_EVENT: u64 = 99_999;

fn giving_up(instance: &str) -> Ack {
    let details = ErrorDetails::Application {
        kind: AppErrorKind::OrchestrationFailed,
        message: "the history cannot be read".to_owned(),
        retryable: false,
    };
    let mut ack = Ack::of(instance, 1).event(POISON_EVENT, EventKind::OrchestrationFailed { details });
    ack.metadata.status = Some(ExecutionStatus::Failed.as_str().to_owned());
    ack.metadata.output = Some("the history cannot be read".to_owned());
    ack
}

/// A leased instance whose history could not be read comes without it and says why, with its messages.
fn assert_unreadable(turn: &Turn, data: &str) {
    let item = &turn.item;
    assert!(item.history_error.is_some(), "the history cannot be read, and the item must say so");
    assert!(
        item.history.is_empty(),
        "a history that cannot be read is not shown in part: {:?}",
        item.history
    );
    assert_eq!(item.messages, [signal(&item.instance, data)], "its messages come all the same");
}

/// An unreadable instance is leased, with a word about its history, by those who pass; to others it is not there.
pub async fn test_fetch_corrupted_history_filtered_vs_unfiltered<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "9.0.1").await;
    factory.corrupt_instance_history("a").await;
    assert_nothing_passes(&store, &only("1.0.0"), "its pin is not supported").await;

    let turn = store.fetch("a").await;
    assert_unreadable(&turn, "wake up");
    assert_eq!(turn.attempt, 1, "being skipped is no attempt");
    store.assert_no_turn("it is leased, readable or not").await;
    store.renew_orchestration_item_lock(&turn.token, store.lock()).await.expect("the lease is valid");
    store.abandon_orchestration_item(&turn.token, None, true).await.expect("the lease is valid");

    assert_nothing_passes(&store, &only("1.0.0"), "its pin is not supported").await;
    let turn = fetch_with(&store, &only("9.0.1"), "a").await;
    assert_unreadable(&turn, "wake up");
    assert_eq!(turn.attempt, 1, "the first lease was given back as if not taken");
}

/// A lease on an unreadable instance is an attempt like any other.
pub async fn test_fetch_deserialization_error_increments_attempt_count<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "1.0.0").await;
    factory.corrupt_instance_history("a").await;

    for attempt in 1..=4 {
        let turn = store.fetch("a").await;
        assert_unreadable(&turn, "wake up");
        assert_eq!(turn.attempt, attempt, "every lease counts");
        if factory.hooks().has(Hook::CountAttempts) {
            assert_eq!(factory.get_max_attempt_count("a").await, attempt, "the store keeps the count");
        }
        if attempt % 2 == 1 {
            store.abandon_orchestration_item(&turn.token, None, false).await.expect("the lease is valid");
        } else {
            store.expire_leases().await;
        }
    }
}

/// An unreadable instance comes again and again until it was tried too often, and can then be ended.
pub async fn test_fetch_deserialization_error_eventually_reaches_poison<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "1.0.0").await;
    factory.corrupt_instance_history("a").await;
    let max_attempts = 10;
    for attempt in 1..=max_attempts {
        let turn = store.fetch("a").await;
        assert_eq!(turn.attempt, attempt, "every lease counts");
        store.abandon_orchestration_item(&turn.token, None, false).await.expect("the lease is valid");
    }

    let turn = store.fetch("a").await;
    assert!(turn.attempt > max_attempts, "it was tried too often, and the lease says so");
    assert_unreadable(&turn, "wake up");
    store.ack(&turn.token, giving_up("a")).await;
    store.assert_no_turn("it has ended, and its message was consumed").await;
    store.post(signal("a", "too late")).await;
    assert_eq!(store.fetch("a").await.attempt, 1, "what counts is a message, not an instance");
}

/// The filter comes before the history: what is skipped is not read, so that it cannot fail either.
pub async fn test_fetch_filter_applied_before_history_deserialization<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    with_mail(&store, &[("unreadable", Some("9.0.1")), ("healthy", Some("1.0.0"))]).await;
    factory.corrupt_instance_history("unreadable").await;

    let turn = fetch_with(&store, &only("1.0.0"), "healthy").await;
    assert_eq!(turn.item.history_error, None, "it is not its history that cannot be read");
    assert!(!turn.item.history.is_empty(), "its history comes with it");
    for _ in 0..3 {
        assert_nothing_passes(&store, &only("1.0.0"), "its pin is not supported").await;
    }
    let turn = store.fetch("unreadable").await;
    assert_unreadable(&turn, "wake up");
    assert_eq!(turn.attempt, 1, "being skipped is no attempt");
}

/// A commit appends without reading: an instance can be ended although nothing of its history can be read.
pub async fn test_ack_appends_event_to_corrupted_history<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "1.0.0").await;
    factory.corrupt_instance_history("a").await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, giving_up("a")).await;

    assert_refused(&store.try_ack(&turn.token, giving_up("a")).await, "an ack with a token that was used");
    store.assert_no_turn("its message was consumed").await;
    assert!(store.read("a").await.is_err(), "appending does not mend what was there");

    store.post(signal("a", "too late")).await;
    let turn = store.fetch("a").await;
    assert_unreadable(&turn, "too late");
    assert_refused(&store.try_ack(&turn.token, giving_up("a")).await, "appending the same event again");
    store.ack(&turn.token, Ack::of("a", 1)).await;
}
