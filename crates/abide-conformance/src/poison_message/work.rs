//! Attempts of activities.

use crate::ProviderFactory;
use crate::instance_locking::{beyond, finish, give_back_work, lease_all_work};
use crate::support::{Subject, activity, signal};

/// The first lease of an activity is attempt one.
pub async fn worker_attempt_count_starts_at_one(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    for id in 2..5 {
        store.post_work(activity("a", id)).await;
    }
    let jobs = lease_all_work(&store).await;
    assert_eq!(jobs.len(), 3, "each activity is handed out once");
    for job in jobs {
        assert_eq!(job.attempt, 1, "activity {} was never leased before", job.id());
    }
}

/// Each lease on an activity that runs out is an attempt.
pub async fn worker_attempt_count_increments_on_lock_expiry(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    for expected in 1..=4 {
        let job = store.fetch_work().await;
        assert_eq!(job.attempt, expected, "a lease that ran out is an attempt");
        store.assert_no_work("a fetch that finds nothing is no attempt").await;
        store.expire_leases().await;
    }
}

/// Each lease on an activity that is given back is an attempt, with a delay or without.
pub async fn test_worker_attempt_count_increments_on_abandon(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    for expected in 1..=3 {
        let job = store.fetch_work().await;
        assert_eq!(job.attempt, expected, "giving back is an attempt");
        give_back_work(&store, &job).await;
    }
    let job = store.fetch_work().await;
    let delay = store.lock();
    let abandoned = store.abandon_work_item(&job.token, Some(delay), false).await;
    abandoned.expect("a lease that is held can be given back");
    store.pass(beyond(delay)).await;
    assert_eq!(store.fetch_work().await.attempt, 5, "giving back with a delay is an attempt");
}

/// Every activity has its own count: leases of one leave the others where they are, also of the same instance.
pub async fn test_worker_attempt_count_is_per_activity(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    for _ in 0..2 {
        give_back_work(&store, &store.fetch_work().await).await;
    }
    store.post_work(activity("a", 3)).await;
    store.post_work(activity("b", 2)).await;
    let attempts: Vec<u32> = lease_all_work(&store).await.iter().map(|job| job.attempt).collect();
    assert_eq!(attempts, [3, 1, 1], "an activity was counted with another");
}

/// A lease given back with `ignore_attempt` was none: the next one has the same number.
pub async fn abandon_work_item_ignore_attempt_decrements(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    for (expected, ignore_attempt) in [(1, false), (2, true), (2, true), (2, false), (3, true), (3, false)] {
        let job = store.fetch_work().await;
        assert_eq!(job.attempt, expected, "one attempt is given back, not more and not less");
        let abandoned = store.abandon_work_item(&job.token, None, ignore_attempt).await;
        abandoned.expect("a lease that is held can be given back");
    }
    let job = store.fetch_work().await;
    assert_eq!(job.attempt, 4, "attempts that were not ignored count");
    let delay = store.lock() * 2;
    let abandoned = store.abandon_work_item(&job.token, Some(delay), true).await;
    abandoned.expect("a lease that is held can be given back");
    store.assert_no_work("an ignored attempt is delayed like any other").await;
    store.pass(beyond(delay)).await;
    assert_eq!(store.fetch_work().await.attempt, 4, "an attempt is ignored with a delay like without");
}

/// However often attempts are ignored: the next lease is attempt one, not zero, and the one after it two.
pub async fn ignore_attempt_never_goes_negative(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    store.post_work(activity("a", 2)).await;
    for _ in 0..4 {
        let (turn, job) = (store.fetch("a").await, store.fetch_work().await);
        assert_eq!((turn.attempt, job.attempt), (1, 1), "an ignored attempt leaves a count of zero");
        let abandoned = store.abandon_orchestration_item(&turn.token, None, true).await;
        abandoned.expect("a lease that is held can be given back");
        let abandoned = store.abandon_work_item(&job.token, None, true).await;
        abandoned.expect("a lease that is held can be given back");
    }
    let (turn, job) = (store.fetch("a").await, store.fetch_work().await);
    assert_eq!((turn.attempt, job.attempt), (1, 1), "an ignored attempt leaves a count of zero");
    store.expire_leases().await;
    let (turn, job) = (store.fetch("a").await, store.fetch_work().await);
    assert_eq!((turn.attempt, job.attempt), (2, 2), "a count below zero hides an attempt");
}

/// Renewing a lease is no attempt.
pub async fn test_worker_renewal_is_no_attempt(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let job = store.fetch_work().await;
    for _ in 0..3 {
        let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
        renewed.expect("a lease that is held can be renewed");
    }
    give_back_work(&store, &job).await;
    let again = store.fetch_work().await;
    assert_eq!(again.attempt, 2, "one lease is one attempt, however often it was renewed");
    finish(&store, "a", &again).await;
}
