//! Attempts of messages.

use crate::ProviderFactory;
use crate::instance_locking::{beyond, give_back, lease_all, put_off};
use crate::support::{Ack, Subject, Turn, assert_refused, signal, start, start_of};

/// The first lease of a message is attempt one: of a start, of later mail, and of mail after a commit.
pub async fn orchestration_attempt_count_starts_at_one(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.attempt, 1, "the first lease of a start is attempt one");
    store.ack(&turn.token, Ack::first("a")).await;
    for id in 2..4 {
        store.post(signal("a", "mail")).await;
        let turn = store.fetch("a").await;
        assert_eq!(turn.attempt, 1, "mail that nobody leased before is at attempt one");
        store.ack(&turn.token, Ack::of("a", 1).signalled(id)).await;
    }
}

/// Each lease that ends without a commit is an attempt, whether it was given back or ran out. After a commit, new mail
/// counts from one.
pub async fn orchestration_attempt_count_increments_on_refetch(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    for expected in 1..=3 {
        let turn = store.fetch("a").await;
        assert_eq!(turn.attempt, expected, "giving back is an attempt");
        give_back(&store, &turn).await;
    }
    for expected in 4..=5 {
        let turn = store.fetch("a").await;
        assert_eq!(turn.attempt, expected, "a lease that ran out is an attempt");
        store.expire_leases().await;
    }
    let turn = store.fetch("a").await;
    assert_eq!(turn.attempt, 6, "a lease that ran out is an attempt");
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    store.post(signal("a", "new")).await;
    assert_eq!(store.fetch("a").await.attempt, 1, "attempts are of messages, not of instances");
}

/// Every message has its own count: leases of one leave the others where they are, in the same instance and in others.
pub async fn attempt_count_is_per_message(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("a", "old")).await;
    give_back(&store, &store.fetch("a").await).await;
    let old = store.fetch("a").await;
    assert_eq!(old.attempt, 2, "giving back is an attempt");
    let delay = store.lock() * 2;
    put_off(&store, &old, delay).await;

    store.post(signal("a", "new")).await;
    let new = store.fetch("a").await;
    assert_eq!(new.signals(), ["new"], "the other message is hidden");
    assert_eq!(new.attempt, 1, "a new message has its own count");
    store.ack(&new.token, Ack::of("a", 1).signalled(2)).await;
    store.post(signal("b", "other")).await;
    let other = store.fetch("b").await;
    assert_eq!(other.attempt, 1, "another instance's message has its own count");
    store.ack(&other.token, Ack::of("b", 1).signalled(2)).await;

    store.pass(beyond(delay)).await;
    let old = store.fetch("a").await;
    assert_eq!(old.signals(), ["old"], "the delay is over, and the other message was consumed");
    assert_eq!(old.attempt, 3, "the commit of another message forgave attempts of this one");
}

/// A lease given back with `ignore_attempt` was none: the next one has the same number.
pub async fn abandon_orchestration_item_ignore_attempt_decrements(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    for (expected, ignore_attempt) in [(1, false), (2, true), (2, true), (2, false), (3, true), (3, false)] {
        let turn = store.fetch("a").await;
        assert_eq!(turn.attempt, expected, "one attempt is given back, not more and not less");
        let abandoned = store.abandon_orchestration_item(&turn.token, None, ignore_attempt).await;
        abandoned.expect("a lease that is held can be given back");
    }
    let turn = store.fetch("a").await;
    assert_eq!(turn.attempt, 4, "attempts that were not ignored count");
    let delay = store.lock() * 2;
    let abandoned = store.abandon_orchestration_item(&turn.token, Some(delay), true).await;
    abandoned.expect("a lease that is held can be given back");
    store.assert_no_turn("an ignored attempt is delayed like any other").await;
    store.pass(beyond(delay)).await;
    assert_eq!(store.fetch("a").await.attempt, 4, "an attempt is ignored with a delay like without");
}

/// A batch reports the most attempts of any of its messages, be it the first or the last.
pub async fn max_attempt_count_across_message_batch(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("a", "often")).await;
    give_back_times(&store, "a", 2).await;
    store.post(signal("a", "new")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.signals(), ["often", "new"], "the batch has the old message and the new one");
    assert_eq!(turn.attempt, 3, "the first message has the most attempts");
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;

    let delay = store.lock() * 2;
    let sent = store.enqueue_for_orchestrator(signal("b", "hidden"), Some(delay)).await;
    sent.expect("a message can be delayed");
    store.post(signal("b", "often")).await;
    give_back_times(&store, "b", 3).await;
    store.pass(beyond(delay)).await;
    let turn = store.fetch("b").await;
    assert_eq!(
        turn.signals(),
        ["hidden", "often"],
        "the batch has both messages, in the order of enqueueing"
    );
    assert_eq!(turn.attempt, 4, "the last message has the most attempts");
}

/// Ignoring an attempt is for the messages of that lease. A start that is hidden, because an earlier lease failed, keeps
/// what it has.
pub async fn orchestration_ignore_attempt_preserves_hidden_start(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    give_back_times(&store, "a", 2).await;
    let delay = store.lock() * 2;
    let turn = store.fetch("a").await;
    assert_eq!(turn.attempt, 3, "giving back is an attempt");
    put_off(&store, &turn, delay).await;

    let second = || start_of("a", "Second", Some("2.0.0"));
    store.post(second()).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [second()], "the first start is hidden");
    assert_eq!(turn.attempt, 1, "another start has its own count");
    let abandoned = store.abandon_orchestration_item(&turn.token, None, true).await;
    abandoned.expect("a lease that is held can be given back");
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [second()], "giving back uncovered a message that is hidden");
    assert_eq!(turn.attempt, 1, "the attempt was ignored");
    let abandoned = store.abandon_orchestration_item(&turn.token, None, true).await;
    abandoned.expect("a lease that is held can be given back");

    store.pass(beyond(delay)).await;
    let turn = store.fetch("a").await;
    assert_eq!(
        turn.item.messages,
        [start("a"), second()],
        "both starts are visible, in the order of enqueueing"
    );
    assert_eq!(turn.attempt, 4, "the hidden start keeps its three attempts");
}

/// A delay is for the messages of the lease that is given back. Mail that came meanwhile, or was not leased, is handed out
/// at once.
pub async fn orchestration_delayed_abandon_preserves_unlocked_rows(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    store.post(signal("a", "came meanwhile")).await;
    store.post(signal("b", "of another instance")).await;
    let delay = store.lock() * 2;
    put_off(&store, &turn, delay).await;

    let turns = lease_all(&store).await;
    let meanwhile = turns.get("a").expect("a delay hides what was leased, not what came meanwhile");
    assert_eq!(
        meanwhile.signals(),
        ["came meanwhile"],
        "the message that was leased is hidden, the other one is not"
    );
    assert_eq!(meanwhile.attempt, 1, "it was not part of the lease that was given back");
    let other = turns.get("b").expect("a delay hides nothing of another instance");
    assert_eq!(other.attempt, 1, "another instance's message has its own count");
    store.ack(&meanwhile.token, Ack::of("a", 1).signalled(2)).await;
    store.ack(&other.token, Ack::of("b", 1).signalled(2)).await;
    store.assert_no_turn("the message that was leased is hidden").await;

    store.pass(beyond(delay)).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.signals(), ["leased"], "the commit of other mail removed a hidden message");
    assert_eq!(turn.attempt, 2, "giving back with a delay is an attempt");
}

/// Ignoring an attempt gives one back to the messages of that lease, not to others that are visible by then.
pub async fn test_orchestration_ignore_attempt_is_for_its_batch_only(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "tried")).await;
    give_back_times(&store, "a", 2).await;
    let tried = store.fetch("a").await;
    assert_eq!(tried.attempt, 3, "giving back is an attempt");
    let delay = store.lock() / 2;
    put_off(&store, &tried, delay).await;
    store.post(signal("a", "fresh")).await;
    let fresh = store.fetch("a").await;
    assert_eq!(fresh.signals(), ["fresh"], "the other message is hidden");

    // Now the tried one is visible, but it is not what this lease is on.
    store.pass(store.lock() * 3 / 4).await;
    let abandoned = store.abandon_orchestration_item(&fresh.token, None, true).await;
    abandoned.expect("a lease that is held can be given back");
    let both = store.fetch("a").await;
    assert_eq!(both.signals(), ["tried", "fresh"], "both messages are visible, in the order of enqueueing");
    assert_eq!(both.attempt, 4, "an attempt of a message that was not leased was given back");
}

/// Renewing a lease is no attempt.
pub async fn test_orchestration_renewal_is_no_attempt(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    for _ in 0..3 {
        let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock()).await;
        renewed.expect("a lease that is held can be renewed");
        store.assert_no_turn("the instance is leased").await;
    }
    give_back(&store, &turn).await;
    assert_eq!(store.fetch("a").await.attempt, 2, "one lease is one attempt, however often it was renewed");
}

/// A commit that is refused is no attempt of its own: the lease is, when it ends.
pub async fn test_refused_ack_is_no_attempt(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    for _ in 0..3 {
        let refused = store.try_ack(&turn.token, Ack::of("a", 1).signalled(1)).await;
        assert_refused(&refused, "an event id that is taken");
    }
    give_back(&store, &turn).await;
    assert_eq!(store.fetch("a").await.attempt, 2, "one lease is one attempt, whatever was tried under it");
}

/// The count that is stored is the one that leases report.
pub async fn test_stored_attempt_count_is_the_reported_one(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    assert_eq!(factory.get_max_attempt_count("a").await, 0, "a message that nobody leased has no attempt");
    for expected in 1..=3 {
        let turn = store.fetch("a").await;
        assert_eq!(turn.attempt, expected, "each lease that was given back is an attempt");
        assert_eq!(factory.get_max_attempt_count("a").await, expected, "a lease that is held counts");
        give_back(&store, &turn).await;
        assert_eq!(factory.get_max_attempt_count("a").await, expected, "a lease that failed counts");
    }
    let turn = store.fetch("a").await;
    let abandoned = store.abandon_orchestration_item(&turn.token, None, true).await;
    abandoned.expect("a lease that is held can be given back");
    assert_eq!(factory.get_max_attempt_count("a").await, 3, "an attempt that is ignored does not count");
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(factory.get_max_attempt_count("a").await, 0, "what was consumed is gone");
}

/// Leases an instance and gives it back, so many times.
async fn give_back_times(store: &Subject<'_>, instance: &str, times: u32) {
    for _ in 0..times {
        let turn: Turn = store.fetch(instance).await;
        give_back(store, &turn).await;
    }
}
