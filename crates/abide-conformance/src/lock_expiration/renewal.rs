//! Leases on instances that last longer by renewal.

use crate::ProviderFactory;
use crate::instance_locking::{beyond, give_back, lease_all};
use crate::support::{Ack, Subject, assert_refused, signal};

/// A renewed lease is still held when its first time is over, and can be renewed again and committed.
pub async fn test_orchestration_lock_renewal_success<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    for _ in 0..3 {
        store.pass(store.lock() / 2).await;
        let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock()).await;
        renewed.expect("a lease that is held can be renewed");
        store.assert_no_turn("the lease was renewed").await;
    }
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "the holder of a renewed lease can commit");
    store.expire_leases().await;
    store.assert_no_turn("the mail was consumed").await;
}

/// A renewal makes a lease last as long as it asks from now on, and not for ever.
pub async fn test_orchestration_lock_renewal_extends_timeout<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    let extension = store.lock() * 3;
    let renewed = store.renew_orchestration_item_lock(&turn.token, extension).await;
    renewed.expect("a lease that is held can be renewed");
    store.pass(store.lock() * 2).await;
    store.assert_no_turn("the renewed lease is not over").await;

    store.pass(beyond(store.lock())).await;
    let again = store.fetch("a").await;
    assert_eq!(again.signals(), ["mail"], "the renewed lease is over");
    assert_eq!(again.attempt, 2, "a renewed lease is one attempt");
    assert_ne!(again.token, turn.token, "another lease has another token");
}

/// A token that was never given out renews nothing: the lease that there is ends in its time.
pub async fn test_orchestration_lock_renewal_invalid_token<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    for token in ["no-such-token", "", "a"] {
        let renewed = store.renew_orchestration_item_lock(token, store.lock() * 4).await;
        assert_refused(&renewed, "a renewal with a token that was never given out");
    }
    store.expire_leases().await;
    let again = store.fetch("a").await;
    assert_ne!(again.token, turn.token, "the lease ended in its time");
    assert_eq!(again.attempt, 2, "the lease that ran out was an attempt");
}

/// A lease that ran out cannot be renewed: not while nobody has it, and not when another one does.
pub async fn test_orchestration_lock_renewal_after_expiration<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let lost = store.fetch("a").await;
    store.expire_leases().await;
    let renewed = store.renew_orchestration_item_lock(&lost.token, store.lock() * 4).await;
    assert_refused(&renewed, "renewing a lease that ran out");

    let held = store.fetch("a").await;
    assert_eq!(held.signals(), ["mail"], "a refused renewal locks nothing");
    let renewed = store.renew_orchestration_item_lock(&lost.token, store.lock() * 4).await;
    assert_refused(&renewed, "renewing a lease that another one has");
    store.expire_leases().await;
    let again = store.fetch("a").await;
    assert_eq!(again.attempt, 3, "a refused renewal extended the lease of another one");
    assert_refused(
        &store.try_ack(&held.token, Ack::of("a", 1).signalled(2)).await,
        "committing under a lease that ran out",
    );
}

/// A lease that ended with its commit cannot be renewed, and the next one is not touched.
pub async fn test_orchestration_lock_renewal_after_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock() * 4).await;
    assert_refused(&renewed, "renewing a lease that was committed");
    store.post(signal("a", "next")).await;
    let next = store.fetch("a").await;
    assert_eq!(next.signals(), ["next"], "a refused renewal locks nothing");
    let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock() * 4).await;
    assert_refused(&renewed, "renewing a lease that was committed");
    store.expire_leases().await;
    assert_eq!(store.fetch("a").await.attempt, 2, "a refused renewal extended the next lease");
}

/// A lease that was given back cannot be renewed.
pub async fn test_orchestration_lock_renewal_after_abandon<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    give_back(&store, &turn).await;
    let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock() * 4).await;
    assert_refused(&renewed, "renewing a lease that was given back");
    assert_eq!(store.fetch("a").await.signals(), ["mail"], "a refused renewal locks nothing");
}

/// A renewal is of one lease: those of other instances end in their time.
pub async fn test_orchestration_lock_renewal_extends_one_lease_only<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("a", "mail")).await;
    store.post(signal("b", "mail")).await;
    let turns = lease_all(&store).await;
    let renewed = store.renew_orchestration_item_lock(&turns["a"].token, store.lock() * 4).await;
    renewed.expect("a lease that is held can be renewed");
    store.expire_leases().await;
    let names: Vec<_> = lease_all(&store).await.into_keys().collect();
    assert_eq!(names, ["b"], "the lease that was renewed goes on, the other one is over");
    store.ack(&turns["a"].token, Ack::of("a", 1).signalled(2)).await;
}
