//! Leases on activities that last longer by renewal.

use crate::ProviderFactory;
use crate::instance_locking::{assert_powerless_over_work, beyond, finish, lease_all_work};
use crate::support::{Ack, Job, Subject, activity, assert_refused, completed};

/// A renewed lease is still held when its first time is over, and can be renewed again and finished.
pub async fn test_worker_lock_renewal_success<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    for _ in 0..3 {
        store.pass(store.lock() / 2).await;
        let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
        renewed.expect("a lease that is held can be renewed");
        store.assert_no_work("the lease was renewed").await;
    }
    finish(&store, "a", &job).await;
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)], "the activity is finished, once");
    store.expire_leases().await;
    store.assert_no_work("the activity is finished").await;
}

/// A token that was never given out renews nothing: the lease that there is ends in its time.
pub async fn test_worker_lock_renewal_invalid_token<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let job = store.fetch_work().await;
    for token in ["no-such-token", "", "a"] {
        let renewed = store.renew_work_item_lock(token, store.lock() * 4).await;
        assert_refused(&renewed, "a renewal with a token that was never given out");
    }
    store.expire_leases().await;
    let again = store.fetch_work().await;
    assert_ne!(again.token, job.token, "the lease ended in its time");
    assert_eq!(again.attempt, 2, "the lease that ran out was an attempt");
}

/// A lease that ran out cannot be renewed: not while nobody has it, and not when another one does.
pub async fn test_worker_lock_renewal_after_expiration<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let late = store.fetch_work().await;
    store.expire_leases().await;
    let renewed = store.renew_work_item_lock(&late.token, store.lock() * 4).await;
    assert_refused(&renewed, "renewing a lease that ran out");

    let held = store.fetch_work().await;
    assert_eq!(held.item, late.item, "a refused renewal locks nothing");
    let renewed = store.renew_work_item_lock(&late.token, store.lock() * 4).await;
    assert_refused(&renewed, "renewing a lease that another one has");
    store.expire_leases().await;
    let again = store.fetch_work().await;
    assert_eq!(again.attempt, 3, "a refused renewal extended the lease of another one");
    assert_powerless_over_work(&store, &held.token, "a", "the lease ran out").await;
}

/// A renewal makes a lease last as long as it asks from now on, and not for ever.
pub async fn test_worker_lock_renewal_extends_timeout<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let job = store.fetch_work().await;
    let renewed = store.renew_work_item_lock(&job.token, store.lock() * 3).await;
    renewed.expect("a lease that is held can be renewed");
    store.pass(store.lock() * 2).await;
    store.assert_no_work("the renewed lease is not over").await;

    store.pass(beyond(store.lock())).await;
    let again = store.fetch_work().await;
    assert_eq!(again.item, job.item, "the renewed lease is over");
    assert_eq!(again.attempt, 2, "a renewed lease is one attempt");
    assert_powerless_over_work(&store, &job.token, "a", "the renewed lease ran out").await;
}

/// An activity that is finished cannot be renewed, and does not come back.
pub async fn test_worker_lock_renewal_after_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    finish(&store, "a", &job).await;
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    assert_refused(&renewed, "renewing the lease of an activity that is finished");
    assert_powerless_over_work(&store, &job.token, "a", "the activity is finished").await;
    store.expire_leases().await;
    store.assert_no_work("the activity is finished").await;
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)], "one completion was sent");
}

/// A renewal is of one lease: those of other activities end in their time, also of the same instance.
pub async fn test_worker_lock_renewal_extends_one_lease_only<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    store.post_work(activity("a", 3)).await;
    let jobs = lease_all_work(&store).await;
    let renewed = store.renew_work_item_lock(&jobs[0].token, store.lock() * 4).await;
    renewed.expect("a lease that is held can be renewed");
    store.expire_leases().await;
    let leasable: Vec<u64> = lease_all_work(&store).await.iter().map(Job::id).collect();
    assert_eq!(leasable, [3], "the lease that was renewed goes on, the other one is over");
    finish(&store, "a", &jobs[0]).await;
}
