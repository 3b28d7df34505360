//! A repeated request is done once.

use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{Ability, Enqueue, Rejection, RequestKey};

use crate::ProviderFactory;
use crate::batches::calls::assert_rejected_as;
use crate::suite::area;
use crate::support::{Ack, Subject, activity, beside, signal, start};

area! {
    keyed_requests;
    test_keyed_message_is_sent_like_any_other;
    test_repeated_request_is_sent_once: Need::Ability(Ability::KeyedRequests);
    test_requests_with_different_keys_are_all_sent: Need::Ability(Ability::KeyedRequests);
    test_repetition_is_known_after_the_message_was_consumed: Need::Ability(Ability::KeyedRequests);
    test_repetitions_at_the_same_time_send_once: Need::Ability(Ability::KeyedRequests);
    test_repetition_changes_no_delay: Need::Ability(Ability::KeyedRequests);
    test_refused_request_is_not_remembered: Need::Ability(Ability::KeyedRequests);
    test_messages_without_a_key_are_never_repetitions: Need::Ability(Ability::KeyedRequests);
}

/// Whether or not a store knows repetitions: a message that is sent with a key comes once, in its order, and after
/// its delay.
pub async fn test_keyed_message_is_sent_like_any_other<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    send(&store, start("a"), 1).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [start("a")]);
    store.ack(&turn.token, Ack::first("a")).await;
    let later = Enqueue { delay: Some(store.lock()), ..request(signal("a", "later"), 2) };
    store.enqueue_once(later).await.expect("a message is enqueued");
    store.assert_no_turn("the message is delayed").await;
    store.post(signal("a", "one")).await;
    send(&store, signal("a", "two"), 3).await;
    store.post(signal("a", "three")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.signals(), ["one", "two", "three"]);
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    store.pass(store.lock() + Duration::from_millis(200)).await;
    assert_eq!(store.fetch("a").await.signals(), ["later"]);
}

/// A request that is repeated with its key is done once, and every repetition succeeds.
pub async fn test_repeated_request_is_sent_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for _ in 0..3 {
        send(&store, start("a"), 1).await;
    }
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [start("a")]);
    for _ in 0..3 {
        send(&store, signal("a", "go"), 2).await;
    }
    store.ack(&turn.token, Ack::first("a")).await;
    assert_eq!(store.fetch("a").await.signals(), ["go"]);
}

/// A new key is a new request, even for the same message; keys are compared whole.
pub async fn test_requests_with_different_keys_are_all_sent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let (mut front, mut back) = ([0; 16], [0; 16]);
    front[0] = 1;
    back[15] = 1;
    for key in [[0; 16], front, back] {
        let request = Enqueue { item: signal("a", "same"), delay: None, key: RequestKey(key) };
        store.enqueue_once(request).await.expect("a message is enqueued");
    }
    assert_eq!(store.fetch("a").await.signals(), ["same", "same", "same"]);
}

/// A repetition is known as one although the message was read long ago.
pub async fn test_repetition_is_known_after_the_message_was_consumed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    send(&store, signal("a", "go"), 1).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    send(&store, signal("a", "go"), 1).await;
    store.assert_no_turn("the message was read, and this is a repetition").await;
    store.pass(store.lock() * 3).await;
    send(&store, signal("a", "go"), 1).await;
    store.assert_no_turn("a key is remembered for an hour").await;
    send(&store, signal("a", "go on"), 2).await;
    assert_eq!(store.fetch("a").await.signals(), ["go on"]);
}

/// Repetitions that race each other send one message.
pub async fn test_repetitions_at_the_same_time_send_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let provider = store.shared();
            beside(async move { provider.enqueue_once(request(signal("a", "go"), 1)).await })
        })
        .collect();
    for caller in callers {
        let answer = caller.await.expect("a caller does not panic");
        assert!(answer.is_ok(), "a repetition is no error: {answer:?}");
    }
    assert_eq!(store.fetch("a").await.signals(), ["go"]);
}

/// A repetition of a delayed request neither shortens the delay nor doubles the message.
pub async fn test_repetition_changes_no_delay<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let later = Enqueue { delay: Some(store.lock()), ..request(signal("a", "go"), 1) };
    store.enqueue_once(later.clone()).await.expect("a message is enqueued");
    store.assert_no_turn("the message is delayed").await;
    store.enqueue_once(Enqueue { delay: None, ..later.clone() }).await.expect("a repetition is no error");
    store.assert_no_turn("a repetition does nothing").await;
    store.pass(store.lock() + Duration::from_millis(200)).await;
    assert_eq!(store.fetch("a").await.signals(), ["go"]);
    store.enqueue_once(later).await.expect("a repetition is no error");
    store.pass(store.lock() + Duration::from_millis(200)).await;
    assert_eq!(store.fetch("a").await.signals(), ["go"], "only the lease ran out");
}

/// What is no message is refused and leaves nothing behind, not even its key.
pub async fn test_refused_request_is_not_remembered<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let refused = store.enqueue_once(request(activity("a", 2), 1)).await;
    assert_rejected_as(&refused, Rejection::Invalid, "an activity, which is no message");
    store.assert_no_turn("nothing was sent").await;
    store.assert_no_work("nothing was scheduled").await;
    send(&store, signal("a", "go"), 1).await;
    assert_eq!(store.fetch("a").await.signals(), ["go"]);
}

/// Messages that are sent without a key are all new, whatever keyed ones say the same.
pub async fn test_messages_without_a_key_are_never_repetitions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "go")).await;
    send(&store, signal("a", "go"), 1).await;
    store.post(signal("a", "go")).await;
    assert_eq!(store.fetch("a").await.signals(), ["go", "go", "go"]);
}

fn request(item: WorkItem, key: u8) -> Enqueue {
    Enqueue { item, delay: None, key: RequestKey([key; 16]) }
}

async fn send(store: &Subject<'_>, item: WorkItem, key: u8) {
    let sent = store.enqueue_once(request(item.clone(), key)).await;
    sent.unwrap_or_else(|error| panic!("{item:?} could not be enqueued: {error}"));
}
