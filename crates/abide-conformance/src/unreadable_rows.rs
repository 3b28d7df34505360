//! Rows that cannot be read harm nobody else.
//!
//! They may have been written by a newer version, which another node understands. So they are kept, tried again,
//! and put aside only after more than ten attempts.

use std::time::Duration;

use abide_model::{ErrorDetails, EventKind, PoisonMessageType, WorkItem};
use abide_provider::{Ability, ParentLink, Rejection};

use crate::batches::calls::{assert_rejected_as, commit, lease, under};
use crate::batches::started_by;
use crate::suite::area;
use crate::support::{
    Ack, Subject, VERSION, activity, assert_refused, identifier, queue_message, signal, start, start_child,
};
use crate::{Hook, ProviderFactory};

area! {
    unreadable_rows;
    test_unreadable_message_blocks_no_other_instance: Need::Hook(Hook::CorruptQueues);
    test_unreadable_message_blocks_no_other_message: Need::Hook(Hook::CorruptQueues);
    test_unreadable_start_gives_no_turn: Need::Hook(Hook::CorruptQueues);
    test_unreadable_message_is_not_consumed_by_others:
        Need::Hook(Hook::CorruptQueues), Need::Hook(Hook::CountAttempts);
    test_unreadable_message_is_put_aside_after_ten_attempts:
        Need::Hook(Hook::CorruptQueues), Need::Hook(Hook::CountAttempts);
    test_unreadable_work_blocks_no_other_work: Need::Hook(Hook::CorruptQueues);
    test_unreadable_work_is_put_aside_and_told_after_ten_attempts: Need::Hook(Hook::CorruptQueues);
    test_unreadable_work_can_be_taken_back: Need::Hook(Hook::CorruptQueues), Administration;
    test_unreadable_history_is_an_error_with_the_lease_held: Need::Hook(Hook::CorruptHistory);
    test_unreadable_history_counts_attempts: Need::Hook(Hook::CorruptHistory);
    test_unreadable_history_blocks_no_other_instance: Need::Hook(Hook::CorruptHistory);
    test_unreadable_history_is_corrupt_under_a_lease: Need::Hook(Hook::CorruptHistory);
    test_instance_with_an_unreadable_history_can_be_ended: Need::Hook(Hook::CorruptHistory);
    test_parent_is_known_although_the_history_is_unreadable:
        Need::Hook(Hook::CorruptHistory), Need::Ability(Ability::Incarnations);
}

/// How long a row may be hidden between two attempts, in all: the pauses may grow, up to a minute each.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Longer than a row is hidden between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(61);

/// An instance whose mail cannot be read does not keep others from their turns, not even for one call.
pub async fn test_unreadable_message_blocks_no_other_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("bad").await;
    store.create("good").await;
    store.post(signal("bad", "damaged")).await;
    store.post(start("new and bad")).await;
    factory.corrupt_queued_messages("bad").await;
    factory.corrupt_queued_messages("new and bad").await;
    store.post(signal("good", "one")).await;
    let turn = store.fetch("good").await;
    assert_eq!(turn.signals(), ["one"]);
    store.ack(&turn.token, Ack::of("good", 1).signalled(2)).await;
    store.assert_no_turn("nobody else has mail that can be read").await;
    store.post(start("new and good")).await;
    store.fetch("new and good").await;
}

/// A message that cannot be read is left out; the others of its instance are handed out, in order, and the turn is
/// committed.
pub async fn test_unreadable_message_blocks_no_other_message<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "damaged")).await;
    factory.corrupt_queued_messages("a").await;
    store.post(signal("a", "one")).await;
    store.post(queue_message("a", "two")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [signal("a", "one"), queue_message("a", "two")]);
    assert_eq!(turn.attempt, 1, "attempts are each message's own");
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    store.post(signal("a", "three")).await;
    assert_eq!(store.fetch("a").await.signals(), ["three"]);
}

/// An instance whose start cannot be read has no turn, whatever other mail waits for it, until there is a start
/// that can.
pub async fn test_unreadable_start_gives_no_turn<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    factory.corrupt_queued_messages("a").await;
    store.post(signal("a", "early")).await;
    store.assert_no_turn("the start cannot be read").await;
    assert!(store.history("a").await.is_empty(), "there is no instance");
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [signal("a", "early"), start("a")]);
}

/// The ack of a turn consumes what was handed out, so a message that was left out stays and has its attempt
/// counted.
pub async fn test_unreadable_message_is_not_consumed_by_others<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "damaged")).await;
    factory.corrupt_queued_messages("a").await;
    store.post(signal("a", "one")).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    let attempts = factory.get_max_attempt_count("a").await;
    assert!(attempts >= 1, "the message that cannot be read is gone, or its attempt was not counted");
    store.assert_no_turn("no message can be read").await;
}

/// A message that cannot be read is tried more than ten times, then put aside. Its instance can be leased all the
/// time for other mail, and never for this.
pub async fn test_unreadable_message_is_put_aside_after_ten_attempts<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "damaged")).await;
    factory.corrupt_queued_messages("a").await;
    let mut most = 0;
    for _ in rounds(&store) {
        store.assert_no_turn("no message can be read").await;
        let attempts = factory.get_max_attempt_count("a").await;
        if attempts == 0 {
            break;
        }
        assert!(attempts >= most, "attempts are counted, and were {most} before: {attempts}");
        assert!(attempts <= most + 1, "one look is one attempt, and there were {most} before: {attempts}");
        most = attempts;
        store.pass(store.lock()).await;
    }
    let attempts = factory.get_max_attempt_count("a").await;
    assert_eq!(attempts, 0, "after {most} attempts and {PATIENCE:?} the message is still in the queue");
    assert!((10..=11).contains(&most), "it was put aside after {most} attempts, not after more than ten");
    store.post(signal("a", "one")).await;
    assert_eq!(store.fetch("a").await.signals(), ["one"]);
}

/// An activity that cannot be read does not keep workers from others, not even for one call.
pub async fn test_unreadable_work_blocks_no_other_work<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("bad", 2)).await;
    store.post_work(activity("bad", 3)).await;
    factory.corrupt_queued_work("bad").await;
    store.post_work(activity("good", 2)).await;
    store.post_work(activity("good", 3)).await;
    assert_eq!(store.fetch_work().await.item, activity("good", 2));
    assert_eq!(store.fetch_work().await.item, activity("good", 3));
    store.assert_no_work("nothing else can be read").await;
    store.post_work(activity("bad", 4)).await;
    assert_eq!(store.fetch_work().await.item, activity("bad", 4), "only the row is bad, not the instance");
}

/// An activity that cannot be read is tried more than ten times, then put aside, and its instance is told that it
/// failed, as poison. Work that can be read is served all the time.
pub async fn test_unreadable_work_is_put_aside_and_told_after_ten_attempts<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    factory.corrupt_queued_work("a").await;
    let mut told = None;
    for round in rounds(&store) {
        store.assert_no_work("the activity cannot be read").await;
        told = store.try_fetch().await;
        if told.is_some() {
            break;
        }
        if round % 10 == 0 {
            store.post_work(activity("other", round + 1)).await;
            let job = store.fetch_work().await;
            assert_eq!(job.item, activity("other", round + 1));
            store.ack_work_item(&job.token, None).await.expect("the lease is held");
        }
        store.pass(store.lock()).await;
    }
    let told = told.unwrap_or_else(|| panic!("after {PATIENCE:?} the instance still waits for its activity"));
    assert_poison(&told.item.messages);
    store.ack(&told.token, Ack::of("a", 1).failing(3)).await;
    store.pass(LONGEST_PAUSE).await;
    store.assert_no_work("the activity was put aside").await;
    store.assert_no_turn("the instance was told once").await;
}

#[track_caller]
fn assert_poison(messages: &[WorkItem]) {
    let [WorkItem::ActivityFailed { instance, execution_id: 1, id: 2, details }] = messages else {
        panic!("the instance is told that activity 2 failed, but this came: {messages:?}");
    };
    assert_eq!(instance, "a");
    let ErrorDetails::Poison { attempt_count, max_attempts, message_type, .. } = details else {
        panic!("an activity that nobody can read is poison: {details:?}");
    };
    assert!(*attempt_count > 10, "it was tried {attempt_count} times only");
    assert!(attempt_count > max_attempts, "{attempt_count} attempts are not more than {max_attempts}");
    let PoisonMessageType::Activity { instance, execution_id: 1, activity_id: 2, .. } = message_type else {
        panic!("the activity is named: {message_type:?}");
    };
    assert_eq!(instance, "a");
}

/// A turn can take an activity back although it cannot be read: it is gone, and nobody is told of it any more.
pub async fn test_unreadable_work_can_be_taken_back<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    factory.corrupt_queued_work("a").await;
    store.assert_no_work("the activity cannot be read").await;
    let depths = store.admin().get_queue_depths().await.expect("the queues can be counted");
    assert_eq!(depths.worker_queue, 1, "the activity is kept for somebody who can read it");
    store.step(Ack::of("a", 1).completing(3).cancelling(identifier("a", 2))).await;
    let depths = store.admin().get_queue_depths().await.expect("the queues can be counted");
    assert_eq!(depths.worker_queue, 0, "the activity was taken back");
    store.pass(LONGEST_PAUSE).await;
    store.assert_no_work("the activity was taken back").await;
    store.assert_no_turn("nobody waits for the activity").await;
}

/// A fetch of an instance whose history cannot be read says so, hands out its mail, and holds the lease.
pub async fn test_unreadable_history_is_an_error_with_the_lease_held<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2)).await;
    store.post(signal("a", "next")).await;
    factory.corrupt_instance_history("a").await;
    let turn = store.fetch("a").await;
    assert!(turn.item.history_error.is_some(), "the history cannot be read, and nobody says so");
    assert!(turn.item.history.is_empty(), "what cannot be read is not handed out: {:?}", turn.item.history);
    assert_eq!(turn.signals(), ["next"], "the mail can be read");
    assert_eq!(turn.item.execution_id, 1);
    store.assert_no_turn("the instance is leased").await;
    let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock() * 3).await;
    renewed.expect("the lease is held");
    store.expire_leases().await;
    store.assert_no_turn("the lease was renewed").await;
    assert_refused(&store.read("a").await, "reading an unreadable history");
    assert_refused(&store.read_with_execution("a", 1).await, "reading an unreadable history");
}

/// Every lease on an instance whose history cannot be read is an attempt, so that it ends as poison some day.
pub async fn test_unreadable_history_counts_attempts<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "next")).await;
    factory.corrupt_instance_history("a").await;
    for attempt in 1..=12 {
        let turn = store.fetch("a").await;
        assert_eq!(turn.attempt, attempt);
        assert!(turn.item.history_error.is_some());
        if attempt % 2 == 0 {
            store.abandon_orchestration_item(&turn.token, None, false).await.expect("the lease is held");
        } else {
            store.expire_leases().await;
        }
    }
}

/// An instance whose history cannot be read does not keep others from their turns.
pub async fn test_unreadable_history_blocks_no_other_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("bad").await;
    store.create("good").await;
    store.post(signal("bad", "next")).await;
    factory.corrupt_instance_history("bad").await;
    store.post(signal("good", "next")).await;
    let mut turns = Vec::new();
    for _ in 0..2 {
        turns.push(store.try_fetch().await.expect("two instances have mail, but nothing was fetched"));
    }
    turns.sort_by(|one, other| one.item.instance.cmp(&other.item.instance));
    assert!(turns[0].item.history_error.is_some(), "{:?}", turns[0]);
    assert_eq!(turns[1].item.instance, "good");
    assert_eq!(turns[1].item.history_error, None);
    assert_eq!(turns[1].item.history, store.history("good").await);
}

/// Reading an unreadable history under a lease is refused as corrupt, which is not a lost lease: the lease holds.
pub async fn test_unreadable_history_is_corrupt_under_a_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2)).await;
    store.post(signal("a", "next")).await;
    factory.corrupt_instance_history("a").await;
    let leased = lease(&store, "a").await;
    let history = store.read_history_after(&leased, 0).await;
    assert_rejected_as(&history, Rejection::Corrupt, "reading an unreadable history");
    store.read_kv_snapshot(&leased).await.expect("the values are not the history");
    commit(&store, under(&leased, Ack::of("a", 1).failing(99_999))).await;
    store.assert_no_turn("the instance was ended under its lease").await;
}

/// An instance whose history cannot be read can be ended: a commit reads nothing of what is there.
pub async fn test_instance_with_an_unreadable_history_can_be_ended<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let value = EventKind::KeyValueSet { key: "k".to_owned(), value: "v".to_owned(), last_updated_at_ms: 1 };
    store.begin(Ack::first("a").event(2, value)).await;
    store.post(signal("a", "next")).await;
    factory.corrupt_instance_history("a").await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).failing(99_999).mail(start("successor"))).await;
    store.fetch("successor").await;
    let value = store.get_kv_value("a", "k").await.expect("the values are not the history");
    assert_eq!(value.as_deref(), Some("v"));
    store.assert_no_turn("the mail was consumed").await;
}

/// Who waits for an instance is known although its history cannot be read, so that they can be told of its end.
pub async fn test_parent_is_known_although_the_history_is_unreadable<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let parent = ParentLink { instance: "parent".to_owned(), execution_id: Some(1), event_id: Some(3) };
    store.create("parent").await;
    store.post(start_child("child", "parent", 3)).await;
    let first = lease(&store, "child").await;
    let turn = Ack::of("child", 1).named("Child", VERSION).child_of("parent").event(1, started_by(&parent));
    commit(&store, under(&first, turn)).await;
    store.post(signal("child", "next")).await;
    factory.corrupt_instance_history("child").await;
    let leased = lease(&store, "child").await;
    assert_eq!(leased.parent, Some(parent));
    assert_eq!(leased.orchestration_name, "Child");
    assert_eq!((leased.position.execution_id, leased.position.last_event_id), (1, 1));
}

/// As many looks, a lease's time apart, as fit into the time that a row may be hidden in all.
fn rounds(store: &Subject<'_>) -> std::ops::Range<u64> {
    let looks = PATIENCE.as_millis() / store.lock().as_millis().max(1);
    0..u64::try_from(looks).expect("a number of looks") + 1
}
