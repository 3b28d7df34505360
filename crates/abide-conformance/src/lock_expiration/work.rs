//! Leases on activities that end by time, by ack or by abandon.

use std::time::Duration;

use abide_provider::TagFilter;

use crate::ProviderFactory;
use crate::instance_locking::{
    assert_powerless_over_work, beyond, finish, give_back_work, lease_all_work, put_off_work,
};
use crate::support::{Ack, Job, Subject, activity, assert_refused, completed};

/// A lease on an activity keeps others away for its time and not longer; then it is handed out again, under another token.
pub async fn test_worker_lock_expires_after_timeout<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    store.pass(store.lock() / 2).await;
    store.assert_no_work("half of the lease's time is left").await;
    store.expire_leases().await;
    let again = store.fetch_work().await;
    assert_eq!(again.item, job.item, "an activity whose lease ran out comes again");
    assert_ne!(again.token, job.token, "another lease has another token");
    store.assert_no_work("the activity is leased again").await;
    assert_powerless_over_work(&store, &job.token, "a", "the lease ran out").await;
    finish(&store, "a", &again).await;
}

/// An activity that is given back without a delay can be leased at once, under another token; a delay of zero is none.
pub async fn test_abandon_work_item_releases_lock<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = store.fetch_work().await;
    store.assert_no_work("the activity is leased").await;
    give_back_work(&store, &job).await;
    let again = store.fetch_work().await;
    assert_eq!(again.item, job.item, "what is given back comes again");
    assert_ne!(again.token, job.token, "another lease has another token");
    assert_eq!(again.attempt, 2, "giving back is an attempt");

    assert_powerless_over_work(&store, &job.token, "a", "the lease was given back").await;
    store.assert_no_work("the token of the first lease ended the second").await;
    put_off_work(&store, &again, Duration::ZERO).await;
    let third = store.fetch_work().await;
    finish(&store, "a", &third).await;
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)], "the activity is finished once");
}

/// An activity that is given back with a delay is hidden for that long, and then comes again.
pub async fn test_abandon_work_item_with_delay<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let job = store.fetch_work().await;
    let delay = store.lock() * 2;
    put_off_work(&store, &job, delay).await;
    store.assert_no_work("the activity is hidden").await;
    assert_powerless_over_work(&store, &job.token, "a", "the lease was given back").await;
    store.expire_leases().await;
    store.assert_no_work("the delay is longer than the lease was").await;

    store.pass(beyond(store.lock())).await;
    let again = store.fetch_work().await;
    assert_eq!(again.item, job.item, "the delay is over");
    assert_eq!(again.attempt, 2, "giving back is an attempt");
}

/// An activity whose lease ran out cannot be finished: its instance hears nothing from the late one, and one word from
/// the one who has it then.
pub async fn test_worker_ack_fails_after_lock_expiry<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let late = store.fetch_work().await;
    store.expire_leases().await;
    let acked = store.ack_work_item(&late.token, Some(completed("a", 2))).await;
    assert_refused(&acked, "finishing an activity whose lease ran out");
    store.assert_no_turn("the refused ack sends no completion").await;

    let held = store.fetch_work().await;
    assert_eq!(held.item, late.item, "the refused ack does not remove the activity");
    assert_eq!(held.attempt, 2, "the lease that ran out was an attempt");
    assert_powerless_over_work(&store, &late.token, "a", "another one has the lease").await;
    store.assert_no_turn("the refused ack sends no completion").await;
    finish(&store, "a", &held).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [completed("a", 2)],
        "the one who has the lease finishes the activity, once"
    );
    store.expire_leases().await;
    store.assert_no_work("the activity is finished").await;
}

/// A lease on an activity that ran out cannot be given back, even if nobody else has it: the activity is neither hidden
/// nor forgiven.
pub async fn test_expired_work_lease_cannot_be_abandoned<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let late = store.fetch_work().await;
    store.expire_leases().await;
    let abandoned = store.abandon_work_item(&late.token, Some(store.lock() * 4), true).await;
    assert_refused(&abandoned, "giving back a lease that ran out");
    let again = store.fetch_work().await;
    assert_eq!(again.item, late.item, "a refused abandon hid the activity");
    assert_eq!(again.attempt, 2, "the lease that ran out was an attempt");
}

/// A lease on an activity lasts as long as its own fetch asked for, whatever others asked for.
pub async fn test_work_lease_lasts_as_long_as_asked<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    store.post_work(activity("a", 3)).await;
    let tags = TagFilter::default_only();
    let long = store.fetch_work_item(store.lock() * 4, Duration::ZERO, None, &tags).await;
    let (item, token, attempt) = long.expect("fetching work succeeds").expect("there is work");
    let long = Job { item, token, attempt };
    let short = store.fetch_work().await;
    assert_eq!((long.id(), short.id()), (2, 3), "activities are handed out in order");
    store.expire_leases().await;
    let leasable: Vec<u64> = lease_all_work(&store).await.iter().map(Job::id).collect();
    assert_eq!(leasable, [3], "the short lease is over, the long one is not");
    finish(&store, "a", &long).await;
    assert_powerless_over_work(&store, &short.token, "a", "the short lease ran out").await;
}
