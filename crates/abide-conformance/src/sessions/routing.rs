//! Who gets which activity, while nothing expires.

use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{LeaseWork, SessionFetchConfig, TagFilter, WorkLease};

use super::workers::{INSTANCE, Worker, finish, in_session, post_in};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, activity, activity_with, worker};

/// Activities without a session go to whoever asks first, and to anybody else when they come back.
pub async fn test_non_session_items_fetchable_by_any_worker(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (first, second) = (Worker::new(&store, "first"), Worker::new(&store, "second"));
    for id in 1..=3 {
        store.post_work(activity(INSTANCE, id)).await;
    }

    assert_eq!(store.fetch_work().await.id(), 1, "a worker without sessions takes what has none");
    let held = first.take(2).await;
    second.take(3).await;

    store.abandon_work_item(&held.token, None, false).await.expect("a held lease can be given back");
    let again = second.take(2).await;
    assert_eq!(again.attempt, 2, "the first lease counts, whoever had it");
}

/// A worker that takes sessions gets everything: activities without a session and of any free session, oldest first.
pub async fn test_some_session_returns_all_items(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let only = Worker::new(&store, "only");
    store.post_work(activity(INSTANCE, 1)).await;
    post_in(&store, "s", [2]).await;
    post_in(&store, "t", [3]).await;
    store.post_work(activity(INSTANCE, 4)).await;
    post_in(&store, "s", [5]).await;

    for id in 1..=5 {
        only.take(id).await;
    }
    only.finds_nothing("everything is leased").await;
}

/// A worker that takes no sessions gets no activity of any, whether the session is free, owned or new.
pub async fn test_none_session_skips_session_items(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_in(&store, "free", [1]).await;
    store.post_work(activity(INSTANCE, 2)).await;

    assert_eq!(store.fetch_work().await.id(), 2, "the activity of a session is skipped, the next one is not");
    store.assert_no_work("what is left belongs to a session").await;

    let owner = Worker::new(&store, "owner");
    let job = owner.take(1).await;
    assert_eq!(job.attempt, 1, "being skipped is no attempt");
    post_in(&store, "free", [3]).await;
    store.assert_no_work("the session has an owner").await;
    owner.take(3).await;
}

/// Activities without a session come with sessions too, and taking them claims nothing.
pub async fn test_non_session_items_returned_with_session_config(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let only = Worker::new(&store, "only");
    store.post_work(activity(INSTANCE, 1)).await;

    let job = only.take(1).await;
    assert_eq!(job.item, activity(INSTANCE, 1), "the activity came back changed");
    assert_eq!(only.renew_sessions(store.lock()).await, 0, "an activity without a session claims none");
}

/// Activities with and without sessions wait in one line; each worker gets the first that it may have.
pub async fn test_mixed_session_and_non_session_items(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (first, second) = (Worker::new(&store, "first"), Worker::new(&store, "second"));
    post_in(&store, "s", [1]).await;
    store.post_work(activity(INSTANCE, 2)).await;
    post_in(&store, "s", [3]).await;
    post_in(&store, "t", [4]).await;
    store.post_work(activity(INSTANCE, 5)).await;

    first.take(1).await;
    second.take(2).await;
    second.take(4).await;
    first.take(3).await;
    assert_eq!(store.fetch_work().await.id(), 5, "the one without a session is for everybody");
    first.finds_nothing("everything is leased").await;
}

/// Activities of one session are taken in the order in which they were enqueued.
pub async fn test_session_items_processed_in_order(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let only = Worker::new(&store, "only");
    let ids = [7, 3, 9, 1, 5];
    post_in(&store, "s", ids).await;

    for id in ids {
        let job = only.take(id).await;
        assert_eq!(job.item, in_session("s", id), "the activity came back changed");
        finish(&store, &job).await;
    }
    only.finds_nothing("everything was finished").await;
}

/// A session is the same for all instances: whoever owns it gets the activities that any of them asks for in it.
pub async fn test_session_is_shared_by_all_instances(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    store.post_work(activity_with("x", 1, Some("s"), None)).await;
    store.post_work(activity_with("y", 2, Some("s"), None)).await;

    owner.take(1).await;
    other.finds_nothing("the session is owned, though by way of another instance").await;
    owner.take(2).await;
}

/// Names of sessions are compared as they are: case, spaces, signs and the empty name make different sessions.
pub async fn test_session_name_is_compared_exactly(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let names = ["s", "S", "s ", "s%", "s_", "'s'", "", "sé", "s::1"];
    for (name, id) in names.iter().zip(1..) {
        post_in(&store, name, [id, id + 100]).await;
    }
    store.assert_no_work("a session with an empty name is a session too").await;

    for (name, id) in names.iter().zip(1..) {
        let job = Worker::new(&store, &format!("owner of '{name}'")).take(id).await;
        assert_eq!(job.item, in_session(name, id), "the activity came back changed");
    }
    Worker::new(&store, "late").finds_nothing("every session has an owner").await;
    for (name, id) in names.iter().zip(101..) {
        Worker::new(&store, &format!("owner of '{name}'")).take(id).await;
    }
}

/// Activities that a turn enqueues keep their session, and its event says so.
pub async fn test_session_preserved_through_ack_orchestration_item(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let turn = Ack::first(INSTANCE).scheduling(in_session("s", 2)).scheduling(activity(INSTANCE, 3));
    let events = turn.events.clone();
    store.begin(turn).await;
    assert_eq!(store.history(INSTANCE).await, events, "the recorded events changed");

    assert_eq!(store.fetch_work().await.id(), 3, "the activity of the session is not for everybody");
    let owner = Worker::new(&store, "owner");
    let job = owner.take(2).await;
    assert_eq!(job.item, in_session("s", 2), "the activity came back changed");
    assert_eq!(owner.renew_sessions(store.lock()).await, 1, "taking it claims the session");
}

/// An activity must pass both: who may not have its tag does not get it, and does not claim its session either.
pub async fn test_session_item_with_unwanted_tag_claims_nothing(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (plain, other) = (Worker::new(&store, "plain"), Worker::new(&store, "other"));
    store.post_work(activity_with(INSTANCE, 1, Some("s"), Some("gpu"))).await;

    plain.finds_nothing("its tag is not wanted").await;
    assert_eq!(plain.renew_sessions(store.lock()).await, 0, "a session is claimed by taking, not by asking");

    let serving = worker("serving", store.lock());
    let tags = TagFilter::tags(["gpu"]);
    let job = store.try_fetch_work_as(Some(&serving), &tags).await;
    let job = job.expect("the tag is wanted and the session is free");
    assert_eq!(job.attempt, 1, "being skipped is no attempt");

    post_in(&store, "s", [2]).await;
    other.finds_nothing("the session is owned, also for activities without a tag").await;
    assert!(
        store.try_fetch_work_as(Some(&worker("other", store.lock())), &TagFilter::any()).await.is_none(),
        "a filter that takes every tag does not open somebody's session"
    );
}

fn id_of(lease: &WorkLease) -> u64 {
    let WorkItem::ActivityExecute { id, .. } = lease.item else {
        panic!("this is no activity: {:?}", lease.item);
    };
    id
}

/// Leases as much work as there is for this caller, up to four at a time.
async fn lease_all(store: &Subject<'_>, session: Option<SessionFetchConfig>) -> Vec<u64> {
    let tags = TagFilter::default_only();
    let request = LeaseWork { limit: 4, lease_for: store.lock(), wait: Duration::ZERO, session, tags, serving: None };
    let mut taken = Vec::new();
    // Bounded, because where what is leased is not kept from the next call, there is no end of it.
    for _ in 0..10 {
        let leases = store.lease_work(request.clone()).await.expect("finding nothing is no error");
        taken.extend(leases.iter().map(id_of));
    }
    taken
}

/// Leasing several activities at once minds and claims sessions like fetching one.
pub async fn test_lease_work_claims_sessions_like_a_fetch(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (owner, other) = (Worker::new(&store, "owner"), Worker::new(&store, "other"));
    post_in(&store, "s", [1, 2]).await;
    other.take(1).await;
    post_in(&store, "t", [3]).await;
    store.post_work(activity(INSTANCE, 4)).await;
    post_in(&store, "u", [5]).await;
    post_in(&store, "t", [6]).await;

    assert_eq!(lease_all(&store, None).await, [4], "without sessions, only what has none");
    let taken = lease_all(&store, Some(worker("owner", store.lock()))).await;
    assert_eq!(taken, [3, 5, 6], "everything but what belongs to somebody else, oldest first");
    assert_eq!(owner.renew_sessions(store.lock()).await, 2, "two sessions were claimed");
    post_in(&store, "u", [7]).await;
    other.take(2).await;
    other.finds_nothing("the other sessions were claimed").await;
    owner.take(7).await;
}
