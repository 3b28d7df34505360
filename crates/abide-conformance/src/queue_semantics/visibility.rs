//! When a message can be seen.

use std::time::Duration;

use abide_model::{EventKind, WorkItem};

use crate::ProviderFactory;
use crate::batches::calls::{commit, lease, signals, under};
use crate::instance_locking::beyond;
use crate::support::{Ack, Subject, signal, timer};

/// A timer that a commit sends can be seen when it fires, and not before; other mail is not held up by it.
pub async fn test_timer_delayed_visibility<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let delay = store.lock() * 2;
    let fire_at_ms = time_after(&store, delay);
    let first = Ack::first("a").event(2, EventKind::TimerCreated { fire_at_ms });
    store.begin(first.mail(timer("a", 2, fire_at_ms))).await;
    store.assert_no_turn("the timer is not due").await;
    store.post(signal("a", "meanwhile")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [signal("a", "meanwhile")], "the timer is not due");
    store.ack(&turn.token, Ack::of("a", 1).signalled(3)).await;
    store.assert_no_turn("the timer is not due").await;

    store.pass(beyond(delay)).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [timer("a", 2, fire_at_ms)], "the timer is due");
    assert_eq!(turn.attempt, 1, "nobody saw it before");
    store.ack(&turn.token, Ack::of("a", 1).signalled(4)).await;
    store.assert_no_turn("a timer fires once").await;
}

/// A timer that is enqueued by a call can be seen when it fires, like one that a commit sends.
pub async fn test_enqueued_timer_waits_for_its_time<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let delay = store.lock() * 2;
    let fire_at_ms = time_after(&store, delay);
    store.post(timer("a", 2, fire_at_ms)).await;
    store.assert_no_turn("the timer is not due").await;
    store.expire_leases().await;
    store.assert_no_turn("the timer is not due").await;
    store.pass(beyond(delay)).await;
    assert_eq!(store.fetch("a").await.item.messages, [timer("a", 2, fire_at_ms)], "the timer is due");
}

/// The time that a turn counts its timers from may be behind the store's, and says by how much: they are hidden for so much longer.
/// Other mail is not.
pub async fn test_timers_of_a_turn_stay_hidden_for_its_slack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    let (delay, slack) = (store.lock(), store.lock() * 4);
    let fire_at_ms = time_after(&store, delay);
    let turn = Ack::of("a", 1).signalled(2).event(3, EventKind::TimerCreated { fire_at_ms });
    let mut sends = under(&leased, turn.mail(timer("a", 3, fire_at_ms)).mail(signal("a", "meanwhile")));
    sends.turn.timer_slack = slack;
    commit(&store, sends).await;

    let leased = lease(&store, "a").await;
    assert_eq!(signals(&leased.messages), ["meanwhile"], "other mail has no slack");
    commit(&store, under(&leased, Ack::of("a", 1).signalled(4))).await;
    store.pass(beyond(delay)).await;
    store.assert_no_turn("the timer is due, but for all its turn knew it may be early").await;

    store.pass(slack).await;
    let fired = store.fetch("a").await.item.messages;
    assert!(matches!(fired[..], [WorkItem::TimerFired { id: 3, .. }]), "the slack is over: {fired:?}");
}

/// A timer whose time has passed can be seen at once.
pub async fn test_timer_of_the_past_is_visible_at_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let fire_at_ms = store.now_ms() - 1_000;
    store.begin(Ack::first("a").mail(timer("a", 2, fire_at_ms))).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [timer("a", 2, fire_at_ms)], "the time of the timer is past");
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    store.post(timer("a", 3, 0)).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [timer("a", 3, 0)],
        "the time of the timer is long past"
    );
}

/// A message that is enqueued with a delay can be seen when that is over, and not before; without one, or with one of
/// zero, at once.
pub async fn test_delayed_message_waits_its_time<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let delay = store.lock() * 2;
    for (data, delay) in [("late", Some(delay)), ("zero", Some(Duration::ZERO)), ("none", None)] {
        let sent = store.enqueue_for_orchestrator(signal("a", data), delay).await;
        sent.expect("a message can be delayed");
    }
    let turn = store.fetch("a").await;
    assert_eq!(turn.signals(), ["zero", "none"], "one message is delayed, the others are not");
    store.ack(&turn.token, Ack::of("a", 1)).await;
    store.assert_no_turn("the message is delayed").await;
    store.expire_leases().await;
    store.assert_no_turn("the message is delayed for longer").await;

    store.pass(beyond(delay)).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.signals(), ["late"], "the delay is over");
    assert_eq!(turn.attempt, 1, "nobody saw it before");
}

/// A message that was hidden takes the place at which it was enqueued.
pub async fn test_hidden_message_keeps_its_place<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let delay = store.lock() * 2;
    let fire_at_ms = time_after(&store, delay);
    store.post(timer("a", 2, fire_at_ms)).await;
    let sent = store.enqueue_for_orchestrator(signal("a", "delayed"), Some(delay)).await;
    sent.expect("a message can be delayed");
    store.post(signal("a", "plain")).await;
    store.pass(beyond(delay)).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [timer("a", 2, fire_at_ms), signal("a", "delayed"), signal("a", "plain")],
        "a batch is in the order of enqueueing, not of becoming visible"
    );
}

/// The time by the store's clock when this much has passed.
fn time_after(store: &Subject<'_>, delay: Duration) -> u64 {
    store.now_ms() + u64::try_from(delay.as_millis()).expect("a delay of a test is short")
}
