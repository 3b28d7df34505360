//! The lock of a session and the lease on an activity of it end independently.

use super::workers::{INSTANCE, NEVER_IDLE, Worker, claim_empty, finish, post_in, renew_sessions};
use crate::ProviderFactory;
use crate::support::{Job, Subject, assert_refused, completed};

async fn assert_lease_is_lost(store: &Subject<'_>, job: &Job) {
    let acked = store.ack_work_item(&job.token, Some(completed(INSTANCE, job.id()))).await;
    assert_refused(&acked, "an ack of a lease that ran out");
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    assert_refused(&renewed, "the renewal of a lease that ran out");
    let abandoned = store.abandon_work_item(&job.token, None, false).await;
    assert_refused(&abandoned, "giving back a lease that ran out");
}

/// When the lock of a session is over, anybody may claim it, and not before.
pub async fn test_session_claimable_after_lock_expiry(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (first, second) = (Worker::new(&store, "first"), Worker::new(&store, "second"));
    claim_empty(&store, first, "s", 1).await;
    post_in(&store, "s", [2, 3]).await;
    second.finds_nothing("the session has an owner").await;

    store.expire_leases().await;
    let job = second.take(2).await;
    assert_eq!(job.attempt, 1, "nobody had it before");
    first.finds_nothing("the session has a new owner").await;
    second.take(3).await;
}

/// Who claims an expired session is its only owner from then on, also against its former one.
pub async fn test_session_takeover_after_lock_expiry(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (former, next) = (Worker::new(&store, "former"), Worker::new(&store, "next"));
    claim_empty(&store, former, "s", 1).await;
    store.expire_leases().await;
    claim_empty(&store, next, "s", 2).await;

    post_in(&store, "s", [3]).await;
    former.finds_nothing("the session was taken over").await;
    assert_eq!(former.renew_sessions(store.lock()).await, 0, "its former owner has nothing to renew");
    assert_eq!(next.renew_sessions(store.lock()).await, 1, "its new owner has");
    next.take(3).await;
}

/// The former owner of an expired session may claim it again like anybody else.
pub async fn test_original_worker_reclaims_expired_session(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    claim_empty(&store, owner, "s", 1).await;
    store.expire_leases().await;

    post_in(&store, "s", [2, 3]).await;
    owner.take(2).await;
    other.finds_nothing("the session was claimed again").await;
    assert_eq!(owner.renew_sessions(store.lock()).await, 1, "the session is its own again");
    owner.take(3).await;
}

/// The lease on an activity runs out while its session is still locked: it comes again, to the owner alone.
pub async fn test_activity_lock_expires_session_lock_valid_same_worker_refetches(
    factory: &dyn ProviderFactory,
) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").owning_for(store.lock() * 4);
    let other = Worker::new(&store, "other");
    post_in(&store, "s", [1]).await;
    let lost = owner.take(1).await;
    owner.finds_nothing("it is leased").await;

    store.expire_leases().await;
    other.finds_nothing("the session is still locked").await;
    let again = owner.take(1).await;
    assert_eq!(again.attempt, 2, "the lease that ran out counts");
    assert_ne!(again.token, lost.token, "each lease has a token of its own");
    assert_lease_is_lost(&store, &lost).await;
    finish(&store, &again).await;
}

/// An activity whose session expired comes again only when its own lease is over, and then to the new owner.
pub async fn test_session_lock_expires_new_owner_gets_redelivery(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let former = Worker::new(&store, "former").leasing_for(store.lock() * 2);
    let next = Worker::new(&store, "next").owning_for(store.lock() * 4);
    post_in(&store, "s", [1, 2]).await;
    let lost = former.take(1).await;

    store.expire_leases().await;
    next.take(2).await;
    next.finds_nothing("the other activity is still leased, though its session was taken over").await;

    store.expire_leases().await;
    former.finds_nothing("the session has a new owner").await;
    let again = next.take(1).await;
    assert_eq!(again.attempt, 2, "the lease that ran out counts");
    assert_lease_is_lost(&store, &lost).await;
    finish(&store, &again).await;
}

/// The owner of an expired session that still runs an activity of it gets the session back with the next one.
pub async fn test_session_lock_expires_same_worker_reacquires(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").leasing_for(store.lock() * 3);
    let other = Worker::new(&store, "other");
    post_in(&store, "s", [1, 2, 3]).await;
    let running = owner.take(1).await;

    store.expire_leases().await;
    assert_eq!(owner.renew_sessions(store.lock()).await, 0, "the lock of the session is over");
    let next = owner.take(2).await;
    assert_eq!(next.attempt, 1, "nobody had it before");
    other.finds_nothing("the session was claimed again").await;
    finish(&store, &running).await;
    finish(&store, &next).await;
    owner.take(3).await;
}

/// When both are over, anybody gets the activity and with it the session; its former holder can do nothing more.
pub async fn test_both_locks_expire_different_worker_claims(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (former, next) = (Worker::new(&store, "former"), Worker::new(&store, "next"));
    store.create(INSTANCE).await;
    post_in(&store, "s", [1, 2]).await;
    let lost = former.take(1).await;

    store.expire_leases().await;
    let again = next.take(1).await;
    assert_eq!(again.attempt, 2, "the lease that ran out counts");
    former.finds_nothing("the session has a new owner").await;
    assert_lease_is_lost(&store, &lost).await;
    store.assert_no_turn("a refused ack tells the instance nothing").await;

    finish(&store, &again).await;
    let turn = store.fetch(INSTANCE).await;
    assert_eq!(turn.item.messages, [completed(INSTANCE, 1)], "the instance hears of it once");
}

/// Losing a session does not end the lease on an activity of it: it can still be renewed and acked.
pub async fn test_session_lock_expires_activity_lock_valid_ack_succeeds(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let former = Worker::new(&store, "former").leasing_for(store.lock() * 3);
    let next = Worker::new(&store, "next");
    store.create(INSTANCE).await;
    post_in(&store, "s", [1, 2]).await;
    let running = former.take(1).await;

    store.expire_leases().await;
    let renewed = store.renew_work_item_lock(&running.token, store.lock() * 2).await;
    renewed.expect("the lease on the activity holds, though nobody has the session");
    next.take(2).await;
    let renewed = store.renew_work_item_lock(&running.token, store.lock()).await;
    renewed.expect("the lease on the activity holds, whoever has the session");
    finish(&store, &running).await;
    let turn = store.fetch(INSTANCE).await;
    assert_eq!(turn.item.messages, [completed(INSTANCE, 1)], "the instance hears of the activity");
    former.finds_nothing("the session has a new owner").await;
    assert_eq!(
        next.renew_sessions(store.lock()).await,
        1,
        "the ack of another does not take the session away"
    );
}

/// The lock of a session lasts as long as the fetch said that claimed it, however long the activity is leased.
pub async fn test_session_lock_lasts_as_long_as_the_fetch_says(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let long = store.lock() * 8;
    let brief = Worker::new(&store, "brief").leasing_for(long);
    let patient = Worker::new(&store, "patient").owning_for(store.lock() * 3);
    let other = Worker::new(&store, "other").owning_for(long).leasing_for(long);
    post_in(&store, "s", [1, 2]).await;
    post_in(&store, "t", [3]).await;
    brief.take(1).await;
    patient.take(3).await;
    other.finds_nothing("both sessions have an owner").await;

    store.expire_leases().await;
    other.take(2).await;
    other.finds_nothing("the lease on its activity ran out, but the session is locked for longer").await;

    store.pass(store.lock() * 2).await;
    let job = other.take(3).await;
    assert_eq!(job.attempt, 2, "the lease that ran out counts");
}

/// Every activity that is taken locks the session anew, from now on.
pub async fn test_taking_more_work_extends_the_session_lock(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").owning_for(store.lock() * 2).leasing_for(store.lock() * 8);
    let other = Worker::new(&store, "other");
    post_in(&store, "s", [1, 2, 3]).await;
    owner.take(1).await;
    store.expire_leases().await;
    owner.take(2).await;

    store.expire_leases().await;
    other.finds_nothing("the lock is counted from the last activity taken, not from the first").await;
    store.expire_leases().await;
    other.take(3).await;
}

/// Finishing an activity of an expired session does not make the session anybody's again.
pub async fn test_ack_after_session_expiry_does_not_revive_the_session(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let former = Worker::new(&store, "former").leasing_for(store.lock() * 4);
    let next = Worker::new(&store, "next");
    post_in(&store, "s", [1, 2]).await;
    let running = former.take(1).await;
    store.expire_leases().await;

    store.renew_work_item_lock(&running.token, store.lock()).await.expect("the lease on the activity holds");
    finish(&store, &running).await;
    assert_eq!(
        renew_sessions(&store, &["former"], store.lock(), NEVER_IDLE).await,
        0,
        "neither a renewal nor an ack of an activity extends a session, least of all one that is over"
    );
    next.take(2).await;
}
