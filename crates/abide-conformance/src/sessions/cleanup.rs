//! Forgetting sessions that nobody owns and nobody needs.
//!
//! Nobody can see whether a session that is over was forgotten, except by the count.

use std::time::Duration;

use super::workers::{NEVER_IDLE, Worker, claim_empty, clean_up, finish, post_in};
use crate::ProviderFactory;
use crate::support::Subject;

/// A session whose lock is over and that has no activity queued is forgotten, once.
pub async fn test_cleanup_removes_expired_no_items(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner");
    assert_eq!(clean_up(&store, store.lock()).await, 0, "the store is empty");
    claim_empty(&store, owner, "s", 1).await;
    claim_empty(&store, owner, "t", 2).await;
    store.expire_leases().await;

    assert_eq!(clean_up(&store, Duration::ZERO).await, 2, "both sessions are over and empty");
    assert_eq!(clean_up(&store, Duration::ZERO).await, 0, "they are forgotten already");
}

/// A session with an activity that waits, is leased or is hidden is kept, though its lock is over.
pub async fn test_cleanup_keeps_sessions_with_pending_items(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").leasing_for(store.lock() * 8);
    post_in(&store, "leased", [1]).await;
    let leased = owner.take(1).await;
    post_in(&store, "hidden", [2]).await;
    let hidden = owner.take(2).await;
    let given_back = store.abandon_work_item(&hidden.token, Some(store.lock() * 3), false).await;
    given_back.expect("a held lease can be given back");
    claim_empty(&store, owner, "empty", 3).await;
    claim_empty(&store, owner, "waiting", 4).await;
    post_in(&store, "waiting", [5]).await;
    store.expire_leases().await;

    assert_eq!(clean_up(&store, Duration::ZERO).await, 1, "only one session has nothing queued");
    let waiting = Worker::new(&store, "next").take(5).await;
    finish(&store, &waiting).await;
    finish(&store, &leased).await;
    assert_eq!(clean_up(&store, Duration::ZERO).await, 1, "one is empty and over now, the other was claimed");
}

/// A session whose lock is valid is kept, however idle it is, and stays with its owner.
pub async fn test_cleanup_keeps_active_sessions(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner").owning_for(store.lock() * 3);
    claim_empty(&store, owner, "s", 1).await;
    assert_eq!(clean_up(&store, Duration::ZERO).await, 0, "the session has an owner");
    store.expire_leases().await;
    assert_eq!(clean_up(&store, Duration::ZERO).await, 0, "the session still has an owner");

    post_in(&store, "s", [2]).await;
    Worker::new(&store, "other").finds_nothing("the session has an owner").await;
    assert_eq!(owner.renew_sessions(store.lock()).await, 1, "the session is still known");
    owner.take(2).await;
}

/// A session that is over is forgotten at once: the idle time does not prolong it.
pub async fn test_cleanup_ignores_the_idle_time_of_expired_sessions(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    claim_empty(&store, Worker::new(&store, "owner"), "s", 1).await;
    assert_eq!(clean_up(&store, NEVER_IDLE).await, 0, "the session has an owner");
    store.expire_leases().await;
    assert_eq!(clean_up(&store, NEVER_IDLE).await, 1, "nobody owns the session, and nothing of it is queued");
}

/// A session that was forgotten is claimed anew by whoever takes the next activity of its name.
pub async fn test_cleanup_then_new_item_recreates_session(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (former, next) = (Worker::new(&store, "former"), Worker::new(&store, "next"));
    claim_empty(&store, former, "s", 1).await;
    store.expire_leases().await;
    assert_eq!(clean_up(&store, Duration::ZERO).await, 1, "the session is over and empty");

    post_in(&store, "s", [2, 3]).await;
    let job = next.take(2).await;
    assert_eq!(job.attempt, 1, "nobody had it before");
    former.finds_nothing("the session has a new owner").await;
    assert_eq!(next.renew_sessions(store.lock()).await, 1, "it is a session like any other");
    next.take(3).await;
}
