//! A session that is not used is not renewed; what counts as use.

use super::workers::{INSTANCE, Worker, finish, post_in, renew_sessions};
use crate::ProviderFactory;
use crate::support::{Job, Subject, assert_refused, completed};

/// Somebody who claims two sessions, `"used"` and `"idle"`, holds an activity of each, and does nothing for twice the lock
/// time. Both sessions are locked for as long again.
async fn two_sessions_at_rest(store: &Subject<'_>) -> (Job, Job) {
    let owner = owner_of_two(store);
    post_in(store, "used", [1]).await;
    let used = owner.take(1).await;
    post_in(store, "idle", [2]).await;
    let idle = owner.take(2).await;
    store.pass(store.lock() * 2).await;
    (used, idle)
}

fn owner_of_two<'s>(store: &'s Subject<'s>) -> Worker<'s> {
    Worker::new(store, "owner").owning_for(store.lock() * 4).leasing_for(store.lock() * 16)
}

/// The session `"used"` was just used, and `"idle"` was not: a renewal tells them apart.
async fn assert_only_one_was_used(store: &Subject<'_>) {
    let renewed = renew_sessions(store, &["owner"], store.lock() * 8, store.lock()).await;
    assert_eq!(renewed, 1, "of the two sessions one was used within the idle time");

    post_in(store, "used", [11]).await;
    post_in(store, "idle", [12]).await;
    store.pass(store.lock()).await;
    store.expire_leases().await;
    let other = Worker::new(store, "other");
    other.take(12).await;
    other.finds_nothing("the session that was used was renewed").await;
    owner_of_two(store).take(11).await;
}

/// A session that was not used within the idle time is neither renewed nor counted; it keeps the lock it has.
pub async fn test_renew_session_lock_skips_idle(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").owning_for(store.lock() * 3).leasing_for(store.lock() * 8);
    let other = Worker::new(&store, "other");
    post_in(&store, "s", [1]).await;
    owner.take(1).await;
    store.pass(store.lock() * 2).await;

    assert_eq!(renew_sessions(&store, &["owner"], store.lock() * 8, store.lock()).await, 0, "it was idle");
    post_in(&store, "s", [2]).await;
    other.finds_nothing("the lock is still valid, though it was not renewed").await;
    store.expire_leases().await;
    other.take(2).await;
}

/// Finishing an activity is use of its session.
pub async fn test_ack_updates_session_last_activity(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (used, _idle) = two_sessions_at_rest(&store).await;
    finish(&store, &used).await;
    assert_only_one_was_used(&store).await;
}

/// Renewing the lease on an activity is use of its session.
pub async fn test_renew_work_item_updates_session_last_activity(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (used, _idle) = two_sessions_at_rest(&store).await;
    let renewed = store.renew_work_item_lock(&used.token, store.lock()).await;
    renewed.expect("the lease is valid");
    assert_only_one_was_used(&store).await;
}

/// Taking an activity is use of its session.
pub async fn test_taking_more_work_updates_session_last_activity(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let _held = two_sessions_at_rest(&store).await;
    post_in(&store, "used", [3]).await;
    owner_of_two(&store).take(3).await;
    assert_only_one_was_used(&store).await;
}

/// A call that is refused is no use of a session.
pub async fn test_refused_calls_are_no_use_of_a_session(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").owning_for(store.lock() * 6);
    post_in(&store, "s", [1]).await;
    let lost = owner.take(1).await;
    store.pass(store.lock() * 2).await;

    let renewed = store.renew_work_item_lock(&lost.token, store.lock()).await;
    assert_refused(&renewed, "the renewal of a lease that ran out");
    let acked = store.ack_work_item(&lost.token, Some(completed(INSTANCE, 1))).await;
    assert_refused(&acked, "the ack of a lease that ran out");
    Worker::new(&store, "other").finds_nothing("the session has an owner").await;
    assert_eq!(renew_sessions(&store, &["owner"], store.lock(), store.lock()).await, 0, "it was idle");
}
