//! Taking and ending leases, in the words of a test.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::atomicity::Observed;
use crate::support::{Ack, Job, Subject, Turn, activity, assert_refused, completed, signal};

/// More than any test puts into a store: a store that hands out the same thing for ever must not hang the suite.
const ENOUGH: usize = 200;

/// A little more than this much time, for stores whose clock is not ours.
pub(crate) fn beyond(duration: Duration) -> Duration {
    duration + Duration::from_millis(200)
}

/// Leases everything that can be leased now, by instance: between instances there is no order.
pub(crate) async fn lease_all(store: &Subject<'_>) -> BTreeMap<String, Turn> {
    let mut turns: BTreeMap<String, Turn> = BTreeMap::new();
    for _ in 0..ENOUGH {
        let Some(turn) = store.try_fetch().await else {
            return turns;
        };
        let name = turn.item.instance.clone();
        assert!(!turns.contains_key(&name), "'{name}' is leased, and was leased once more: {turn:?}");
        turns.insert(name, turn);
    }
    panic!("the store goes on handing out instances: {:?}", turns.keys());
}

/// Leases all activities that can be leased now, in order.
pub(crate) async fn lease_all_work(store: &Subject<'_>) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for _ in 0..ENOUGH {
        let Some(job) = store.try_fetch_work().await else {
            return jobs;
        };
        jobs.push(job);
    }
    panic!("the store goes on handing out activities: {jobs:?}");
}

/// Ends a lease on an instance at once; it was an attempt.
pub(crate) async fn give_back(store: &Subject<'_>, turn: &Turn) {
    let abandoned = store.abandon_orchestration_item(&turn.token, None, false).await;
    abandoned.unwrap_or_else(|error| panic!("a lease that is held can be given back: {error}"));
}

/// Ends a lease on an instance, and hides what it handed out.
pub(crate) async fn put_off(store: &Subject<'_>, turn: &Turn, delay: Duration) {
    let abandoned = store.abandon_orchestration_item(&turn.token, Some(delay), false).await;
    abandoned.unwrap_or_else(|error| panic!("a lease that is held can be given back: {error}"));
}

/// Ends a lease on an activity at once; it was an attempt.
pub(crate) async fn give_back_work(store: &Subject<'_>, job: &Job) {
    let abandoned = store.abandon_work_item(&job.token, None, false).await;
    abandoned.unwrap_or_else(|error| panic!("a lease that is held can be given back: {error}"));
}

/// Ends a lease on an activity, and hides it.
pub(crate) async fn put_off_work(store: &Subject<'_>, job: &Job, delay: Duration) {
    let abandoned = store.abandon_work_item(&job.token, Some(delay), false).await;
    abandoned.unwrap_or_else(|error| panic!("a lease that is held can be given back: {error}"));
}

/// Finishes a leased activity of the first execution.
pub(crate) async fn finish(store: &Subject<'_>, instance: &str, job: &Job) {
    let acked = store.ack_work_item(&job.token, Some(completed(instance, job.id()))).await;
    acked.unwrap_or_else(|error| panic!("a leased activity can be finished: {error}"));
}

/// A token that holds no lease on `instance` has no power over it: every use is refused for good, and changes nothing
/// that can be read. What it would have sent and hidden is for the caller to look for: there must be none.
pub(crate) async fn assert_powerless(store: &Subject<'_>, token: &str, instance: &str, why: &str) {
    let before = Observed::of(store, instance).await;
    let long = store.lock() * 4;
    let turn = Ack::of(instance, 1)
        .signalled(900)
        .scheduling(activity(instance, 901))
        .mail(signal(instance, "from the dead"))
        .completing(902);
    assert_refused(&store.try_ack(token, turn).await, &format!("an ack: {why};"));
    let abandoned = store.abandon_orchestration_item(token, Some(long), true).await;
    assert_refused(&abandoned, &format!("an abandon: {why};"));
    let renewed = store.renew_orchestration_item_lock(token, long).await;
    assert_refused(&renewed, &format!("a renewal: {why};"));
    assert_eq!(Observed::of(store, instance).await, before, "{why}, but its token changed something");
}

/// The same for activities.
pub(crate) async fn assert_powerless_over_work(store: &Subject<'_>, token: &str, instance: &str, why: &str) {
    let long = store.lock() * 4;
    let acked = store.ack_work_item(token, Some(completed(instance, 902))).await;
    assert_refused(&acked, &format!("an ack with a completion: {why};"));
    let acked = store.ack_work_item(token, None).await;
    assert_refused(&acked, &format!("an ack without a completion: {why};"));
    let abandoned = store.abandon_work_item(token, Some(long), true).await;
    assert_refused(&abandoned, &format!("an abandon: {why};"));
    let renewed = store.renew_work_item_lock(token, long).await;
    assert_refused(&renewed, &format!("a renewal: {why};"));
}
