//! Enqueueing a message.

use abide_provider::{MessageId, Start};

use crate::support::*;

fn visible_at(store: &Store, number: u64) -> Option<u64> {
    store.dump().messages[&number].visible_at
}

#[test]
fn numbers_are_shared_by_messages_and_work_and_start_at_one() {
    let store = Store::new();
    store.enqueue(signal("a", "1"));
    store.enqueue_work(activity("a", 2));
    store.enqueue(signal("b", "3"));
    let dump = store.dump();
    assert_eq!(dump.messages.keys().collect::<Vec<_>>(), [&1, &3]);
    assert_eq!(dump.work.keys().collect::<Vec<_>>(), [&2]);
}

#[test]
fn mailboxes_are_numbered_in_the_order_of_their_creation() {
    let store = Store::new();
    store.enqueue(signal("b", ""));
    store.enqueue(queue_message("dropped", ""));
    store.enqueue_work(activity("a", 2));
    let dump = store.dump();
    assert_eq!(dump.instances["b"].incarnation, 1);
    assert_eq!(dump.instances["a"].incarnation, 2);
    assert!(!dump.instances["a"].is_instance);
}

#[test]
fn a_timer_is_visible_at_its_fire_time() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.enqueue(timer("a", 2, BEGIN + 5_000));
    store.enqueue(timer("a", 3, BEGIN));
    assert_eq!(visible_at(&store, 2), Some(BEGIN + 5_000));
    assert_eq!(visible_at(&store, 3), None);
}

#[test]
fn everything_else_is_visible_now_or_after_its_delay() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.enqueue_delayed(start("a"), seconds(2));
    store.enqueue_delayed(start("a"), seconds(0));
    assert_eq!([1, 2, 3].map(|number| visible_at(&store, number)), [None, Some(BEGIN + 2_000), None]);
}

#[test]
fn now_does_not_depend_on_the_clock() {
    let store = Store::new();
    store.enqueue_delayed(start("a"), seconds(0));
    store.enqueue(start("b"));
    store.clock.set_back(seconds(10));
    assert_eq!(store.lease_with(lease_instances(9)).len(), 2);
}

#[test]
fn a_delayed_timer_is_visible_at_the_later_of_both() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.enqueue_delayed(timer("a", 2, BEGIN + 5_000), seconds(2));
    store.enqueue_delayed(timer("a", 3, BEGIN + 1_000), seconds(2));
    assert_eq!(visible_at(&store, 2), Some(BEGIN + 5_000));
    assert_eq!(visible_at(&store, 3), Some(BEGIN + 2_000));
}

#[test]
fn a_queue_message_for_nobody_is_dropped_and_takes_no_number() {
    let store = Store::new();
    store.enqueue(queue_message("a", "lost"));
    store.enqueue(signal("a", "kept"));
    store.enqueue(queue_message("a", "lost too"));
    assert_eq!(store.mail(), [1]);
}

#[test]
fn a_queue_message_behind_a_start_is_kept_even_if_that_cannot_be_seen_yet() {
    let store = Store::new();
    store.enqueue_delayed(start("a"), seconds(60));
    store.enqueue(queue_message("a", "early"));
    store.enqueue(continue_as_new("b"));
    store.enqueue(queue_message("b", "early"));
    assert_eq!(store.mail(), [1, 2, 3, 4]);
}

#[test]
fn a_queue_message_for_an_instance_is_kept() {
    let store = Store::with_instance("a");
    store.enqueue(queue_message("a", "hello"));
    assert_eq!(store.lease().messages.len(), 1);
}

#[test]
fn an_activity_is_no_message_and_a_message_is_no_activity() {
    let store = Store::new();
    assert!(!store.try_enqueue(activity("a", 2), None).unwrap_err().retryable);
    let refused = at_once(abide_provider::Provider::enqueue_for_worker(&*store.provider, start("a")));
    assert!(!refused.unwrap_err().retryable);
    assert_eq!(store.dump(), abide_memory::Dump::default());
}

#[test]
fn a_request_with_a_known_key_does_nothing() {
    let store = Store::new();
    store.enqueue_once(start("a"), 1);
    store.enqueue_once(start("a"), 1);
    store.enqueue_once(start("a"), 2);
    assert_eq!(store.mail(), [1, 2]);
}

#[test]
fn a_key_is_forgotten_after_an_hour() {
    let store = Store::new();
    store.enqueue_once(start("a"), 1);
    store.advance(millis(3_599_999));
    store.enqueue_once(start("a"), 1);
    assert_eq!(store.mail(), [1]);
    store.advance(millis(1));
    assert_eq!(store.dump().request_keys.len(), 0);
    store.enqueue_once(start("a"), 1);
    assert_eq!(store.mail(), [1, 2]);
    assert_eq!(store.dump().request_keys.into_values().collect::<Vec<_>>(), [BEGIN + 3_600_000]);
}

#[test]
fn a_start_is_answered_like_the_first_for_an_hour() {
    let store = Store::new();
    assert_eq!(store.start_once("a", 1), Start::Created);
    let again = || [store.start_once("a", 1), store.start_once("a", 2)];
    let before = store.state();
    assert_eq!(again(), [Start::Created, Start::Exists], "it waits in the queue");
    assert_eq!(store.state(), before, "nothing more was sent");
    let lease = store.lease();
    store.commit(TurnBuilder::starting(1).under(&lease));
    store.advance(millis(3_599_999));
    assert_eq!(again(), [Start::Created, Start::Exists], "it runs");
    store.advance(millis(1));
    assert_eq!(again(), [Start::Exists, Start::Exists], "that it did it itself is forgotten");
    assert_eq!(store.mail(), [0; 0]);
}

#[test]
fn enqueueing_never_makes_an_instance() {
    let store = Store::new();
    store.enqueue(start("a"));
    assert!(!store.dump().instances["a"].is_instance);
    let lease = store.lease();
    assert_eq!((lease.position.incarnation, lease.position.execution_id), (1, 0));
    assert_eq!(lease.messages[0].id, MessageId(1));
}
