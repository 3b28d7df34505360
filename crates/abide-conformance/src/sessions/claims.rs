//! Taking an activity of a session claims it: whom that lets in, and whom it keeps out.

use abide_provider::TagFilter;

use super::workers::{INSTANCE, Worker, finish, in_session, post_in};
use crate::ProviderFactory;
use crate::support::{Subject, assert_refused, completed, worker};

/// A session that nobody owns is claimed by whoever takes its first activity.
pub async fn test_session_item_claimable_when_no_session(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (first, second) = (Worker::new(&store, "first"), Worker::new(&store, "second"));
    post_in(&store, "s", [1, 2]).await;

    let job = first.take(1).await;
    assert_eq!(job.item, in_session("s", 1), "the activity came back changed");
    assert_eq!(job.attempt, 1, "nobody had it before");
    second.finds_nothing("the session was claimed with its first activity").await;
    assert_eq!(first.renew_sessions(store.lock()).await, 1, "the session belongs to who claimed it");
    assert_eq!(second.renew_sessions(store.lock()).await, 0, "the session belongs to nobody else");
}

/// The owner of a session gets all its activities, also while it still runs earlier ones.
pub async fn test_session_affinity_same_worker(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let owner = Worker::new(&store, "owner");
    post_in(&store, "s", [1, 2]).await;

    let first = owner.take(1).await;
    let second = owner.take(2).await;
    assert_ne!(first.token, second.token, "each lease has a token of its own");
    finish(&store, &first).await;
    post_in(&store, "s", [3]).await;
    let third = owner.take(3).await;
    finish(&store, &second).await;
    finish(&store, &third).await;
    owner.finds_nothing("everything was finished").await;
}

/// While a session has an owner, nobody else gets its activities, with or without sessions of their own.
pub async fn test_session_affinity_blocks_other_worker(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    post_in(&store, "s", [1, 2]).await;
    owner.take(1).await;

    other.finds_nothing("the session has an owner").await;
    store.assert_no_work("the session has an owner, and the caller takes no sessions").await;
    let any = store.try_fetch_work_as(Some(&worker("other", store.lock())), &TagFilter::any()).await;
    assert!(any.is_none(), "the filter for tags does not open a session: {any:?}");
    assert_eq!(other.renew_sessions(store.lock()).await, 0, "asking in vain claims nothing");

    let job = owner.take(2).await;
    assert_eq!(job.attempt, 1, "only its owner had the activity");
}

/// Sessions do not hinder each other: each goes to its own owner.
pub async fn test_different_sessions_different_workers(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (first, second) = (Worker::new(&store, "first"), Worker::new(&store, "second"));
    post_in(&store, "s", [1]).await;
    post_in(&store, "t", [2]).await;
    first.take(1).await;
    second.take(2).await;

    post_in(&store, "s", [3]).await;
    post_in(&store, "t", [4]).await;
    second.take(4).await;
    second.finds_nothing("the other session is not its own").await;
    first.take(3).await;
    first.finds_nothing("everything is leased").await;
}

/// A session belongs to an owner, not to a caller: workers that share an owner share its sessions.
pub async fn test_shared_worker_id_any_caller_can_fetch_owned_session(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (slot, other_slot) = (Worker::new(&store, "node"), Worker::new(&store, "node"));
    let stranger = Worker::new(&store, "node-2");
    post_in(&store, "s", [1, 2, 3]).await;

    let first = slot.take(1).await;
    let second = other_slot.take(2).await;
    stranger.finds_nothing("the session belongs to another node").await;
    assert_eq!(slot.renew_sessions(store.lock()).await, 1, "it is one session, however many callers use it");
    finish(&store, &second).await;
    finish(&store, &first).await;
    other_slot.take(3).await;
}

/// A session stays with its owner when its last activity is finished: what comes next goes there too.
pub async fn test_session_outlives_its_activities(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    post_in(&store, "s", [1]).await;
    let job = owner.take(1).await;
    finish(&store, &job).await;

    post_in(&store, "s", [2]).await;
    other.finds_nothing("the session has an owner, though it had nothing to do").await;
    let job = owner.take(2).await;
    store.ack_work_item(&job.token, None).await.expect("a held activity can be removed without a word");
    post_in(&store, "s", [3]).await;
    other.finds_nothing("the session has an owner, though it had nothing to do").await;
    owner.take(3).await;
}

/// A fetch that may not have an activity leaves it as it is: no lease, and no attempt counted.
pub async fn test_skipped_session_item_keeps_its_attempts(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    post_in(&store, "s", [1, 2]).await;
    owner.take(1).await;

    for _ in 0..3 {
        other.finds_nothing("the session has an owner").await;
        store.assert_no_work("the session has an owner, and the caller takes no sessions").await;
    }
    let job = owner.take(2).await;
    assert_eq!(job.attempt, 1, "being skipped is no attempt");
    finish(&store, &job).await;
}

/// An activity that is given back comes again, to the owner of its session, with one more attempt.
pub async fn test_abandoned_session_item_retryable(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    post_in(&store, "s", [1]).await;
    let job = owner.take(1).await;
    assert_eq!(job.attempt, 1, "nobody had it before");

    store.abandon_work_item(&job.token, None, false).await.expect("a held lease can be given back");
    other.finds_nothing("giving an activity back does not give up its session").await;
    let again = owner.take(1).await;
    assert_eq!(again.attempt, 2, "the lease that was given back counts");
    assert_eq!(again.item, job.item, "the activity came back changed");

    let stale = store.ack_work_item(&job.token, Some(completed(INSTANCE, 1))).await;
    assert_refused(&stale, "an ack with the token that was given back");
    finish(&store, &again).await;
}

/// Given back with `ignore_attempt`, it comes again as if it had not been taken; its session stays claimed.
pub async fn test_abandoned_session_item_ignore_attempt(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    post_in(&store, "s", [1]).await;
    for _ in 0..3 {
        let job = owner.take(1).await;
        assert_eq!(job.attempt, 1, "earlier leases were not to count");
        store.abandon_work_item(&job.token, None, true).await.expect("a held lease can be given back");
        other.finds_nothing("giving an activity back does not give up its session").await;
    }

    let job = owner.take(1).await;
    store.abandon_work_item(&job.token, None, false).await.expect("a held lease can be given back");
    assert_eq!(owner.take(1).await.attempt, 2, "only the last lease counts");
}

/// Given back with a delay, it is hidden from everybody; then it is still for the owner of its session alone.
pub async fn test_abandoned_session_item_with_delay_stays_in_its_session(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let long = store.lock() * 4;
    let (owner, other) = (Worker::new(&store, "owner").owning_for(long), Worker::new(&store, "other"));
    post_in(&store, "s", [1, 2]).await;
    let job = owner.take(1).await;

    store
        .abandon_work_item(&job.token, Some(store.lock()), false)
        .await
        .expect("a held lease can be given back");
    owner.take(2).await;
    owner.finds_nothing("it is hidden for a while").await;
    store.expire_leases().await;
    other.finds_nothing("its session still has an owner").await;
    assert_eq!(owner.take(1).await.attempt, 2, "the lease that was given back counts");
}
