//! Leases on instances that end by time or by abandon.

use std::time::Duration;

use crate::ProviderFactory;
use crate::instance_locking::{assert_powerless, beyond, contend, give_back, lease_all, put_off};
use crate::support::{Ack, Subject, Turn, assert_refused, signal};

/// A lease keeps others away for its time and not longer; then its messages are handed out again, under another token.
pub async fn test_lock_expires_after_timeout<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "first")).await;
    store.post(signal("a", "second")).await;
    let turn = store.fetch("a").await;
    store.pass(store.lock() / 2).await;
    store.assert_no_turn("half of the lease's time is left").await;

    store.expire_leases().await;
    let again = store.fetch("a").await;
    assert_eq!(again.signals(), ["first", "second"], "a lease that ran out gives its messages back");
    assert_ne!(again.token, turn.token, "another lease has another token");
    assert_eq!(again.attempt, 2, "the lease that ran out was an attempt");
    store.assert_no_turn("the instance is leased again").await;
}

/// An instance that is given back without a delay can be leased at once, with the same mail; a delay of zero is none.
pub async fn test_abandon_releases_lock_immediately<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    for (expected_attempt, delay) in [(1, None), (2, Some(Duration::ZERO)), (3, None)] {
        let turn = store.fetch("a").await;
        assert_eq!(turn.signals(), ["mail"], "what is given back comes again");
        assert_eq!(turn.attempt, expected_attempt, "each lease that was given back is an attempt");
        store.assert_no_turn("the instance is leased").await;
        let abandoned = store.abandon_orchestration_item(&turn.token, delay, false).await;
        abandoned.expect("a lease that is held can be given back");
    }
    assert_eq!(store.event_ids("a", 1).await, [1], "giving back writes nothing");
}

/// An ack ends the lease, and the next one has its own full time.
pub async fn test_lock_renewal_on_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "first")).await;
    let first = store.fetch("a").await;
    store.pass(store.lock() * 3 / 4).await;
    store.ack(&first.token, Ack::of("a", 1).signalled(2)).await;
    store.post(signal("a", "second")).await;
    let second = store.fetch("a").await;
    assert_eq!(second.attempt, 1, "new mail is at attempt one");

    // The first lease would be over by now.
    store.pass(store.lock() / 2).await;
    store.assert_no_turn("the second lease ended with the time of the first").await;
    store.ack(&second.token, Ack::of("a", 1).signalled(3)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3], "both leases were committed");
}

/// However many try: nobody gets an instance before its own lease has run out, and then one of them does.
pub async fn test_concurrent_lock_attempts_respect_expiration<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("short").await;
    store.create("long").await;
    store.post(signal("short", "mail")).await;
    store.fetch("short").await;
    store.post(signal("long", "mail")).await;
    fetch_for(&store, store.lock() * 4).await.expect("the other instance has mail");
    let early = contend(&store, 8).await;
    assert!(early.is_empty(), "both instances are leased: {early:?}");

    store.expire_leases().await;
    let turns = contend(&store, 8).await;
    let names: Vec<_> = turns.iter().map(|turn| turn.item.instance.as_str()).collect();
    assert_eq!(names, ["short"], "one lease has run out, and one dispatcher gets what it had");
    assert_eq!(
        turns[0].attempt, 2,
        "the lease that ran out was an attempt, fetches that found nothing were none"
    );
}

/// Messages given back with a delay are hidden for that long, and come back together, in order.
pub async fn test_abandon_orchestration_item_with_delay<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("a", "first")).await;
    store.post(signal("a", "second")).await;
    let turn = store.fetch("a").await;
    let delay = store.lock() * 2;
    put_off(&store, &turn, delay).await;
    store.assert_no_turn("the messages are hidden").await;
    store.expire_leases().await;
    store.assert_no_turn("the delay is longer than the lease was").await;
    store.post(signal("b", "other")).await;
    assert_eq!(store.fetch("b").await.signals(), ["other"], "the delay is none of another instance");

    store.pass(beyond(delay)).await;
    let turns = lease_all(&store).await;
    assert_eq!(turns["a"].signals(), ["first", "second"], "the delay is over");
    assert_eq!(turns["a"].attempt, 2, "giving back is an attempt");
}

/// Giving a lease back ends it: the token is good for nothing more, and hides nothing any more.
pub async fn test_abandon_orchestration_item_ends_the_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    give_back(&store, &turn).await;
    assert_powerless(&store, &turn.token, "a", "the lease was given back").await;
    store.assert_no_work("a token that was given back enqueues nothing").await;
    let again = store.fetch("a").await;
    assert_eq!(again.signals(), ["mail"], "a token that was given back hid, took or sent mail");
    assert_eq!(again.attempt, 2, "a token that was given back took its attempt away");
}

/// A lease that ran out cannot be given back, even if nobody else has it: its messages are neither hidden nor forgiven.
pub async fn test_expired_lease_cannot_be_abandoned<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    store.expire_leases().await;
    let abandoned = store.abandon_orchestration_item(&turn.token, Some(store.lock() * 4), true).await;
    assert_refused(&abandoned, "giving back a lease that ran out");
    let again = store.fetch("a").await;
    assert_eq!(again.signals(), ["mail"], "a refused abandon hid the mail");
    assert_eq!(again.attempt, 2, "the lease that ran out was an attempt");
}

/// A lease lasts as long as its own fetch asked for, whatever others asked for.
pub async fn test_lease_lasts_as_long_as_asked<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("long").await;
    store.create("short").await;
    store.post(signal("long", "mail")).await;
    let long = fetch_for(&store, store.lock() * 4).await.expect("there is mail");
    store.post(signal("short", "mail")).await;
    let short = store.fetch("short").await;
    store.expire_leases().await;
    let again = store.fetch("short").await;
    assert_eq!(again.attempt, 2, "the short lease ran out, and was an attempt");
    store.assert_no_turn("the long lease is not over").await;
    store.ack(&long.token, Ack::of("long", 1).signalled(2)).await;
    assert_eq!(store.event_ids("long", 1).await, [1, 2], "the holder of the long lease can commit");
    assert_powerless(&store, &short.token, "short", "the short lease ran out").await;
}

/// Leases an instance for this long.
async fn fetch_for(store: &Subject<'_>, lease_for: Duration) -> Option<Turn> {
    let fetched = store.fetch_orchestration_item(lease_for, Duration::ZERO, None).await;
    let fetched = fetched.unwrap_or_else(|error| panic!("fetching an instance failed: {error}"));
    fetched.map(|(item, token, attempt)| Turn { item, token, attempt })
}
