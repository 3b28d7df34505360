//! Renewing the locks of sessions.

use super::workers::{NEVER_IDLE, Worker, claim_empty, post_in, renew_sessions};
use crate::ProviderFactory;
use crate::support::{Subject, assert_refused};

/// A session whose lock is valid is renewed, counted, and kept from others for as long as was asked.
pub async fn test_renew_session_lock_active(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").leasing_for(store.lock() * 8);
    let other = Worker::new(&store, "other");
    post_in(&store, "s", [1, 2]).await;
    owner.take(1).await;
    assert_eq!(owner.renew_sessions(store.lock() * 4).await, 1, "it owns one session");

    store.expire_leases().await;
    other.finds_nothing("the session was renewed").await;
    assert_eq!(owner.renew_sessions(store.lock()).await, 1, "the session is still its own");
    owner.take(2).await;
}

/// A renewal counts from now and lasts as long as it says: past the end of the first lock, and no longer.
pub async fn test_session_lock_renewal_extends_past_original_timeout(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").owning_for(store.lock() * 2);
    let other = Worker::new(&store, "other");
    claim_empty(&store, owner, "s", 1).await;
    post_in(&store, "s", [2]).await;

    store.pass(store.lock()).await;
    assert_eq!(owner.renew_sessions(store.lock() * 2).await, 1, "the lock is still valid");
    store.expire_leases().await;
    other.finds_nothing("the first lock is over, the renewed one is not").await;
    store.expire_leases().await;
    let job = other.take(2).await;
    assert_eq!(job.attempt, 1, "nobody had it before");
}

/// Where there is nothing to renew, nothing is renewed, and that is no error.
pub async fn test_renew_session_lock_no_sessions(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let lock = store.lock();
    assert_eq!(renew_sessions(&store, &["owner"], lock, NEVER_IDLE).await, 0, "the store is empty");

    post_in(&store, "s", [1]).await;
    assert_eq!(
        renew_sessions(&store, &["owner"], lock, NEVER_IDLE).await,
        0,
        "an activity that waits does not make a session"
    );
    Worker::new(&store, "owner").take(1).await;
    assert_eq!(
        renew_sessions(&store, &["other"], lock, NEVER_IDLE).await,
        0,
        "the session is somebody else's"
    );
    assert_eq!(renew_sessions(&store, &[], lock, NEVER_IDLE).await, 0, "nobody was named");
    assert_eq!(renew_sessions(&store, &["owner"], lock, NEVER_IDLE).await, 1, "its owner has it");
}

/// A session whose lock is over is not renewed, even by its last owner: it is free, and stays free.
pub async fn test_renew_session_lock_after_expiry_returns_zero(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner");
    claim_empty(&store, owner, "s", 1).await;
    post_in(&store, "s", [2]).await;
    store.expire_leases().await;

    assert_eq!(owner.renew_sessions(store.lock() * 8).await, 0, "the lock is over");
    Worker::new(&store, "other").take(2).await;
    assert_eq!(owner.renew_sessions(store.lock()).await, 0, "the session has a new owner");
}

/// One call renews for many owners, and counts all their sessions.
pub async fn test_renew_session_lock_counts_sessions_of_all_owners(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (first, second) = (Worker::new(&store, "first"), Worker::new(&store, "second"));
    claim_empty(&store, first, "s", 1).await;
    claim_empty(&store, first, "t", 2).await;
    claim_empty(&store, second, "u", 3).await;
    claim_empty(&store, Worker::new(&store, "third"), "v", 4).await;

    let owners = ["first", "absent", "second"];
    let renewed = renew_sessions(&store, &owners, store.lock() * 4, NEVER_IDLE).await;
    assert_eq!(renewed, 3, "two sessions of the first, one of the second, and not that of the third");

    for (session, id) in ["s", "t", "u", "v"].iter().zip(11..) {
        post_in(&store, session, [id]).await;
    }
    store.expire_leases().await;
    let other = Worker::new(&store, "other");
    other.take(14).await;
    other.finds_nothing("the sessions of both owners were renewed").await;
    first.take(11).await;
    first.take(12).await;
    second.take(13).await;
}

/// Renewing the sessions of one owner does nothing for those of another.
pub async fn test_renew_session_lock_leaves_other_owners_alone(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    claim_empty(&store, owner, "s", 1).await;
    claim_empty(&store, other, "t", 2).await;
    assert_eq!(owner.renew_sessions(store.lock() * 4).await, 1, "it owns one of the two");

    post_in(&store, "t", [3]).await;
    store.expire_leases().await;
    owner.take(3).await;
    assert_eq!(other.renew_sessions(store.lock()).await, 0, "its session ran out and was taken over");
}

/// Renewing a session does not renew the leases on its activities.
pub async fn test_renew_session_lock_leaves_activity_locks_alone(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner");
    post_in(&store, "s", [1]).await;
    let lost = owner.take(1).await;
    assert_eq!(owner.renew_sessions(store.lock() * 4).await, 1, "it owns one session");

    store.expire_leases().await;
    let renewed = store.renew_work_item_lock(&lost.token, store.lock()).await;
    assert_refused(&renewed, "the renewal of a lease that ran out");
    assert_eq!(owner.take(1).await.attempt, 2, "the activity comes again");
}
