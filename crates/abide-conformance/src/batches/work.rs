//! Leasing and finishing work.

use std::collections::BTreeSet;

use abide_model::WorkItem;
use abide_provider::{FinishedWork, LeaseWork, Rejection, TagFilter};

use super::calls::{
    activities, assert_rejected, assert_rejected_as, jobs, lease_all_jobs, lease_job, lease_jobs, try_finish,
};
use crate::ProviderFactory;
use crate::support::{
    Ack, Subject, activity, activity_with, assert_refused, beside, completed, signal, worker,
};

/// Lease calls give every activity that is queued, the oldest first, each once and with a token of its own, and
/// never more than were asked for.
pub async fn test_lease_work_gives_each_activity_once_and_the_oldest_first<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert!(lease_jobs(&store, jobs(&store, 3)).await.is_empty(), "the store is empty");
    for id in [7, 3, 9, 4, 5] {
        store.post_work(activity("a", id)).await;
    }
    let mut leases = lease_jobs(&store, jobs(&store, 2)).await;
    assert!(!leases.is_empty(), "five activities are queued, but none was leased");
    leases.extend(lease_all_jobs(&store, jobs(&store, 2)).await);

    assert_eq!(activities(&leases), [7, 3, 9, 4, 5], "in the order of enqueueing");
    let tokens: BTreeSet<&str> = leases.iter().map(|lease| lease.token.as_str()).collect();
    assert_eq!(tokens.len(), 5, "every lease has a token of its own");
    for lease in &leases {
        assert_eq!(lease.attempt, 1);
        let [id] = activities(std::slice::from_ref(lease))[..] else { panic!("one lease, one activity") };
        assert_eq!(lease.item, activity("a", id), "an activity is handed out as it was enqueued");
    }
    store.assert_no_work("every activity is leased").await;
}

/// A batch holds only activities whose tag is wanted; the others stay for those who want them.
pub async fn test_lease_work_respects_tags<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (id, tag) in [(2, None), (3, Some("gpu")), (4, Some("disk")), (5, None), (6, Some("gpu"))] {
        store.post_work(activity_with("a", id, None, tag)).await;
    }
    let wanting = |tags: TagFilter| LeaseWork { tags, ..jobs(&store, 10) };
    assert!(lease_all_jobs(&store, wanting(TagFilter::none())).await.is_empty(), "nothing is wanted");
    assert_eq!(activities(&lease_all_jobs(&store, wanting(TagFilter::tags(["gpu"]))).await), [3, 6]);
    assert_eq!(activities(&lease_all_jobs(&store, wanting(TagFilter::default_only())).await), [2, 5]);
    assert_eq!(activities(&lease_all_jobs(&store, wanting(TagFilter::any())).await), [4]);
}

/// A batch holds activities of sessions only if they are asked for, and of one session only for who owns it: taking
/// the first claims it.
pub async fn test_lease_work_respects_sessions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (id, session) in [(2, None), (3, Some("s")), (4, Some("s")), (5, Some("t"))] {
        store.post_work(activity_with("a", id, session, None)).await;
    }
    let owned = |owner: &str, limit: usize| LeaseWork {
        session: Some(worker(owner, store.lock())),
        ..jobs(&store, limit)
    };
    assert_eq!(activities(&lease_all_jobs(&store, jobs(&store, 10)).await), [2], "no session was asked for");
    assert_eq!(activities(&lease_jobs(&store, owned("me", 1)).await), [3], "the session is free");
    assert_eq!(
        activities(&lease_all_jobs(&store, owned("you", 10)).await),
        [5],
        "one session belongs to another worker, one is free"
    );
    assert_eq!(
        activities(&lease_all_jobs(&store, owned("me", 10)).await),
        [4],
        "the session is the caller's"
    );
}

/// A fetched activity is not leased, a leased one is not fetched, and either token is good for either form of ack.
pub async fn test_leases_and_fetches_of_work_exclude_each_other<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let fetched = store.fetch_work().await;
    assert!(lease_all_jobs(&store, jobs(&store, 10)).await.is_empty(), "the activity is fetched");
    store.post_work(activity("a", 3)).await;
    let leased = lease_job(&store).await;
    store.assert_no_work("both activities are taken").await;

    try_finish(&store, &fetched.token, Some(completed("a", 2)))
        .await
        .expect("a fetched activity is finished");
    let acked = store.ack_work_item(&leased.token, Some(completed("a", 3))).await;
    acked.expect("a leased activity is acked");
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 2), completed("a", 3)]);
    store.expire_leases().await;
    store.assert_no_work("both activities are done").await;
}

/// A lease from a lease call is renewed and abandoned like a fetched one, counts as an attempt if it runs out, and
/// is void then.
pub async fn test_lease_of_work_ends_like_a_fetch<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    let first = lease_job(&store).await;
    store.renew_work_item_lock(&first.token, store.lock() * 3).await.expect("the lease is held");
    store.expire_leases().await;
    store.assert_no_work("the lease was renewed").await;
    store.abandon_work_item(&first.token, None, true).await.expect("the lease is held");

    let second = lease_job(&store).await;
    assert_eq!(second.attempt, 1, "an abandoned lease that is ignored is no attempt");
    store.expire_leases().await;
    let third = lease_job(&store).await;
    assert_eq!(third.attempt, 2, "a lease that ran out is an attempt");
    let renewed = store.renew_work_item_lock(&second.token, store.lock()).await;
    assert_refused(&renewed, "renewing a lease that ran out");
    let finished = try_finish(&store, &second.token, None).await;
    assert_rejected_as(&finished, Rejection::LeaseLost, "finishing under a void lease");
    try_finish(&store, &third.token, None).await.expect("the lease is held");
    store.expire_leases().await;
    store.assert_no_work("the activity is done").await;
}

/// Every finished activity is taken for itself: one answer for each, in order, and one that is refused costs the
/// others nothing. Its completion reaches the instance once; without one, the work is removed without a word.
pub async fn test_finish_work_answers_each_in_order<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin((2..=5).fold(Ack::first("a"), |turn, id| turn.scheduling(activity("a", id)))).await;
    let leases = lease_all_jobs(&store, jobs(&store, 10)).await;
    assert_eq!(activities(&leases), [2, 3, 4, 5]);
    let finished = |place: usize, completion: Option<WorkItem>| FinishedWork {
        token: leases[place].token.clone(),
        completion,
    };
    let unknown = FinishedWork { token: "no-such-token".to_owned(), completion: Some(completed("a", 3)) };
    let batch = vec![
        finished(3, Some(completed("a", 5))),
        unknown,
        finished(2, None),
        finished(0, Some(completed("a", 2))),
    ];
    let answers = store.finish_work(batch).await;

    assert_eq!(answers.len(), 4, "one answer for each activity");
    assert!(answers[0].is_ok(), "the first activity is leased: {:?}", answers[0]);
    assert_rejected_as(&answers[1], Rejection::LeaseLost, "the second one, whose token is unknown");
    assert!(answers[2].is_ok(), "the third activity is leased: {:?}", answers[2]);
    assert!(answers[3].is_ok(), "the last activity is leased: {:?}", answers[3]);
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 5), completed("a", 2)], "in the order of the batch");

    store.expire_leases().await;
    assert_eq!(store.fetch_work().await.id(), 3, "the only activity that was not finished");
    store.assert_no_work("the others are removed").await;
}

/// Only the end of an activity finishes one. Anything else is refused, and the activity is still leased.
pub async fn test_finish_work_refuses_what_is_no_completion<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let leased = lease_job(&store).await;
    for wrong in [signal("a", "done"), activity("a", 3)] {
        assert_rejected(&try_finish(&store, &leased.token, Some(wrong.clone())).await, "this completion");
        store.assert_no_turn("a refused completion is not delivered").await;
        store.assert_no_work("a refused completion does not give the lease back").await;
    }
    store.renew_work_item_lock(&leased.token, store.lock()).await.expect("the lease is still held");
    try_finish(&store, &leased.token, Some(completed("a", 2))).await.expect("the lease is still held");
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)]);
}

/// Who holds no lease any more finishes nothing: the completion is not delivered, and the work stays where it is
/// now.
pub async fn test_finish_work_with_a_stale_token_changes_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let ran_out = lease_job(&store).await;
    store.expire_leases().await;
    let late = try_finish(&store, &ran_out.token, Some(completed("a", 2))).await;
    assert_rejected_as(&late, Rejection::LeaseLost, "finishing late, although nobody else has the lease");
    let again = lease_job(&store).await;
    assert_eq!(again.attempt, 2);
    let stale = try_finish(&store, &ran_out.token, Some(completed("a", 2))).await;
    assert_rejected_as(&stale, Rejection::LeaseLost, "finishing under a lease that ran out");
    store.assert_no_turn("a refused completion is not delivered").await;

    try_finish(&store, &again.token, Some(completed("a", 2))).await.expect("the new lease is held");
    let twice = try_finish(&store, &again.token, Some(completed("a", 2))).await;
    assert_rejected_as(&twice, Rejection::LeaseLost, "finishing twice");
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)], "delivered once");
}

/// Lease calls at the same time never lease the same activity.
pub async fn test_concurrent_lease_work_share_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let expected: Vec<u64> = (2..32).collect();
    for id in &expected {
        store.post_work(activity("a", *id)).await;
    }
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let provider = store.shared();
            let request = LeaseWork { lease_for: store.lock() * 20, ..jobs(&store, 3) };
            beside(async move {
                let mut leases = Vec::new();
                for _ in 0..8 {
                    leases.extend(provider.lease_work(request.clone()).await.expect("leasing works"));
                }
                leases
            })
        })
        .collect();
    let mut leases = Vec::new();
    for worker in workers {
        leases.extend(worker.await.expect("a worker does not panic"));
    }
    leases.extend(lease_all_jobs(&store, jobs(&store, 10)).await);
    let mut taken = activities(&leases);
    taken.sort_unstable();
    assert_eq!(taken, expected, "every activity is leased once");
    let tokens: BTreeSet<&str> = leases.iter().map(|lease| lease.token.as_str()).collect();
    assert_eq!(tokens.len(), expected.len(), "every lease has a token of its own");
}
