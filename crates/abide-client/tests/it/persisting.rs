//! A message that is sent until the store has it, and never twice.

use std::collections::BTreeSet;

use abide_client::ClientError;
use abide_provider::Ability;

use crate::support::{Fault, World, is_timeout, millis, seconds, text};

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_a_while_gets_the_message_once() {
    let faults = [Fault::NotApplied, Fault::Unknown, Fault::HangAfter, Fault::Panic, Fault::Unknown];
    let world = World::new();
    world.store.writes.plan(faults);

    world.client.raise_event("a", "go", "").await.unwrap();

    assert_eq!(world.store.writes.calls(), faults.len() + 1);
    world.client.start_orchestration("a", "Order", "").await.unwrap();
    assert_eq!(world.mail("a").await.len(), 2, "the signal, and the start that makes it visible");
}

#[tokio::test(start_paused = true)]
async fn every_way_to_send_is_repeated_with_its_key() {
    let world = World::new();
    let client = &world.client;
    let trouble = || world.store.writes.plan([Fault::NotApplied]);
    trouble();
    client.start_orchestration("a", "Order", "").await.unwrap();
    trouble();
    client.start_orchestration_versioned("a", "Order", "1.0.0", "").await.unwrap();
    trouble();
    client.start_orchestration_typed("a", "Order", 1).await.unwrap();
    trouble();
    client.start_orchestration_versioned_typed("a", "Order", "1.0.0", 1).await.unwrap();
    trouble();
    let _started = client.start("b", "Order").await.unwrap();
    trouble();
    client.raise_event("a", "go", "").await.unwrap();
    trouble();
    client.raise_event_typed("a", "go", &1).await.unwrap();
    trouble();
    client.enqueue_event("a", "inbox", "").await.unwrap();
    trouble();
    client.enqueue_event_typed("a", "inbox", &1).await.unwrap();
    trouble();
    client.cancel_instance("a", "").await.unwrap();

    let keys = world.store.keys.lock().unwrap().clone();
    let (pairs, rest) = keys.as_chunks::<2>();
    assert!(rest.is_empty());
    assert!(pairs.iter().all(|[first, again]| first == again), "{keys:?}");
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 10, "each message has a key of its own");
}

#[tokio::test(start_paused = true)]
async fn a_store_without_keys_is_not_told_again_when_the_answer_was_lost() {
    let world = World::without_ability(Ability::KeyedRequests);
    world.past().started("a").await;
    world.store.writes.plan([Fault::Unknown]);

    let sent = world.client.raise_event("a", "go", "").await;

    let Err(ClientError::Provider(error)) = &sent else { panic!("{sent:?}") };
    assert!(error.is_retryable(), "whether to send it again is the caller's decision");
    assert_eq!(text(sent), "enqueue_once: connection lost");
    assert_eq!(world.mail("a").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_keys_is_told_again_when_it_wrote_nothing() {
    let world = World::without_ability(Ability::KeyedRequests);
    world.past().started("a").await;
    world.store.writes.plan([Fault::NotApplied; 3]);

    world.client.raise_event("a", "go", "").await.unwrap();

    assert_eq!(world.mail("a").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_keys_that_hangs_gives_a_timeout() {
    let world = World::without_ability(Ability::KeyedRequests);
    world.store.writes.plan([Fault::Hang]);

    let sent = world.client.raise_event("a", "go", "").await;

    assert!(is_timeout(&sent));
    assert_eq!(world.now(), seconds(5));
    assert_eq!(world.store.writes.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final() {
    let world = World::new();
    world.store.writes.plan([Fault::NotApplied, Fault::Refused]);

    let sent = world.client.raise_event("a", "go", "").await;

    let Err(ClientError::Provider(error)) = sent else { panic!("{sent:?}") };
    assert!(!error.is_retryable());
    assert_eq!(error.to_string(), "enqueue_once: no");
    assert_eq!(world.store.writes.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_reported_after_ten_seconds() {
    let world = World::new();
    world.store.writes.last(Some(Fault::NotApplied));

    let sent = world.client.raise_event("a", "go", "").await;

    let Err(ClientError::Provider(error)) = sent else { panic!("{sent:?}") };
    assert!(error.is_retryable());
    assert!(world.now() > seconds(9) && world.now() <= seconds(10), "{:?}", world.now());
    // Pauses of 5 to 10, 10 to 20, … 320 to 640, and then 500 to 1,000 milliseconds.
    assert!((16..=26).contains(&world.store.writes.calls()), "{}", world.store.writes.calls());
}

#[tokio::test(start_paused = true)]
async fn an_outage_shorter_than_that_is_not_noticed() {
    let world = World::new();
    world.store.writes.last(Some(Fault::Unknown));

    let outage = async {
        world.at(seconds(8)).await;
        world.store.writes.last(None);
    };
    let (sent, ()) = tokio::join!(biased; world.client.start_orchestration("a", "Order", ""), outage);

    sent.unwrap();
    assert_eq!(world.mail("a").await.len(), 1, "the answers were lost, not the message");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_gives_a_timeout_after_ten_seconds() {
    let world = World::new();
    world.store.writes.last(Some(Fault::Hang));

    let sent = world.client.raise_event("a", "go", "").await;

    assert!(is_timeout(&sent));
    assert_eq!(world.now(), seconds(10));
    assert_eq!(world.store.writes.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn patience_can_be_chosen() {
    let world = World::new().asked_by(|client| client.retry_for(seconds(2)).call_timeout(millis(300)));
    world.store.writes.last(Some(Fault::Hang));

    assert!(is_timeout(&world.client.raise_event("a", "go", "").await));

    assert!(world.now() > seconds(1) && world.now() <= seconds(2), "{:?}", world.now());
}

#[tokio::test(start_paused = true)]
async fn no_patience_is_one_attempt_in_full() {
    let world = World::new().asked_by(|client| client.retry_for(seconds(0)));
    world.store.writes.plan([Fault::NotApplied, Fault::Hang]);

    assert!(world.client.raise_event("a", "go", "").await.is_err());
    assert_eq!((world.store.writes.calls(), world.now()), (1, seconds(0)));

    assert!(is_timeout(&world.client.raise_event("a", "go", "").await));
    assert_eq!((world.store.writes.calls(), world.now()), (2, seconds(5)));
}

#[tokio::test(start_paused = true)]
async fn endless_patience_ends_before_the_store_forgets_the_key() {
    let world = World::new().asked_by(|client| client.retry_for(std::time::Duration::MAX));
    world.store.writes.last(Some(Fault::NotApplied));

    assert!(world.client.raise_event("a", "go", "").await.is_err());

    assert!(world.now() > seconds(29 * 60) && world.now() <= seconds(30 * 60), "{:?}", world.now());
}
