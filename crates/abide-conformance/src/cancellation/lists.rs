//! Which activities a commit takes back.

use abide_provider::TagFilter;

use super::activities::{
    activity_of, assert_queue_stays_empty, assert_taken_away, finish, identifier_of, running_with, take,
};
use crate::ProviderFactory;
use crate::support::{
    Ack, Job, Subject, activity, activity_with, assert_refused, completed, identifier, signal, worker,
};

/// An activity that waits and is listed by a commit is never handed out; others are.
pub async fn test_cancelled_activities_deleted_from_worker_queue<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2, 3, 4]).await;
    store.step(Ack::of("a", 1).cancelling(identifier("a", 3))).await;

    for id in [2, 4] {
        let job = take(&store, &activity("a", id)).await;
        assert_eq!(job.attempt, 1, "taking another back is no attempt");
        finish(&store, &job).await;
    }
    assert_queue_stays_empty(&store).await;
    let turn = store.fetch("a").await;
    assert_eq!(
        turn.item.messages,
        [completed("a", 2), completed("a", 4)],
        "nothing is told of what was taken back"
    );
}

/// Taking back what is not there is no error and changes nothing: never enqueued, finished, or taken back before.
pub async fn test_cancelling_nonexistent_activities_is_idempotent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2, 3, 4]).await;
    let finished = take(&store, &activity("a", 2)).await;
    finish(&store, &finished).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).cancelling(identifier("a", 3))).await;

    let gone = [identifier("a", 2), identifier("a", 3), identifier("a", 3), identifier("a", 77)];
    let elsewhere = [identifier_of("a", 9, 4), identifier("nobody", 4)];
    let listing = gone.into_iter().chain(elsewhere);
    let turn = listing.fold(Ack::of("a", 1).signalled(5).mail(signal("a", "more")), Ack::cancelling);
    store.step(turn).await;

    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3, 4, 5], "the rest of the commit is written");
    assert_eq!(store.fetch("a").await.signals(), ["more"], "the rest of the commit is written");
    take(&store, &activity("a", 4)).await;
    store.assert_no_work("what was taken back or finished stays away").await;
}

/// One commit takes back many, and only those: waiting and running ones alike.
pub async fn test_batch_cancellation_deletes_multiple_activities<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let ids: Vec<u64> = (2..=21).collect();
    running_with(&store, "a", &ids).await;
    let mut running = Vec::new();
    for id in 2..=5 {
        running.push(take(&store, &activity("a", id)).await);
    }
    // Every other one.
    let listed = ids.iter().filter(|id| *id % 2 == 0);
    store.step(listed.fold(Ack::of("a", 1), |turn, id| turn.cancelling(identifier("a", *id)))).await;

    for job in &running {
        if job.id() % 2 == 0 {
            assert_taken_away(&store, job).await;
        } else {
            finish(&store, job).await;
        }
    }
    for id in ids.into_iter().filter(|id| id % 2 == 1 && *id > 5) {
        let job = take(&store, &activity("a", id)).await;
        finish(&store, &job).await;
    }
    assert_queue_stays_empty(&store).await;
}

/// A commit enqueues before it takes back: what is in both lists is not there afterwards.
pub async fn test_same_activity_in_worker_items_and_cancelled_is_noop<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let turn = Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3));
    store.begin(turn.cancelling(identifier("a", 2))).await;

    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3], "both are recorded");
    let job = take(&store, &activity("a", 3)).await;
    finish(&store, &job).await;
    assert_queue_stays_empty(&store).await;
}

/// Takes the activity with this tag.
async fn take_tagged(store: &Subject<'_>, tag: &str) -> Job {
    let job = store.try_fetch_work_as(None, &TagFilter::tags([tag])).await;
    job.unwrap_or_else(|| panic!("the activity with the tag {tag} can be taken"))
}

/// An activity is found wherever it is: waiting, leased, with a lease that ran out, hidden, with a tag, in a session.
pub async fn test_cancelling_finds_activities_wherever_they_are<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let tags = ["lost", "leased", "hidden", "waiting"];
    let tagged = tags.iter().zip(2..).map(|(tag, id)| activity_with("a", id, None, Some(tag)));
    let turn = tagged.fold(Ack::first("a"), Ack::scheduling).scheduling(activity("a", 6));
    store.begin(turn.scheduling(activity_with("a", 7, Some("s"), None))).await;
    let lost = take_tagged(&store, "lost").await;
    store.expire_leases().await;
    let leased = take_tagged(&store, "leased").await;
    let hidden = take_tagged(&store, "hidden").await;
    let given_back = store.abandon_work_item(&hidden.token, Some(store.lock()), false).await;
    given_back.expect("the lease is valid");
    let owner = worker("owner", store.lock());
    let untagged = TagFilter::default_only();
    let plain = store.try_fetch_work_as(Some(&owner), &untagged).await.expect("one has no session");
    let of_session = store.try_fetch_work_as(Some(&owner), &untagged).await.expect("the session is free");

    store.step((2..=7).fold(Ack::of("a", 1), |turn, id| turn.cancelling(identifier("a", id)))).await;
    for job in [&lost, &leased, &hidden, &plain, &of_session] {
        assert_taken_away(&store, job).await;
    }
    assert_queue_stays_empty(&store).await;
    store.assert_no_turn("the refused acks told the instance nothing").await;
}

/// An activity is named by its instance, its execution and its number: one that differs in any of them stays.
pub async fn test_cancelling_names_instance_execution_and_activity<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let listed = activity_of("a", 2, 2);
    let others =
        [activity_of("a", 1, 2), activity_of("a", 2, 3), activity_of("b", 2, 2), activity_of("a", 22, 2)];
    store.create("a").await;
    store.post_work(listed).await;
    for item in &others {
        store.post_work(item.clone()).await;
    }
    store.step(Ack::of("a", 1).cancelling(identifier_of("a", 2, 2))).await;

    for item in &others {
        take(&store, item).await;
    }
    store.assert_no_work("what is left was taken back").await;
}

/// Thousands of activities are taken back by one commit, and those that it does not list stay in their order.
pub async fn test_cancelling_thousands_of_activities_in_one_commit<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let kept = [2, 700, 1_500, 2_502];
    let all: Vec<u64> = (2..=2_502).collect();
    running_with(&store, "a", &all).await;
    let listed = all.iter().filter(|id| !kept.contains(id));
    store.step(listed.fold(Ack::of("a", 1), |turn, id| turn.cancelling(identifier("a", *id)))).await;

    for id in kept {
        let job = take(&store, &activity("a", id)).await;
        finish(&store, &job).await;
    }
    assert_queue_stays_empty(&store).await;
}

/// A commit that is refused takes nothing back: what waits is handed out, and what runs goes on.
pub async fn test_cancelling_with_a_refused_commit_takes_nothing_back<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    running_with(&store, "a", &[2, 3]).await;
    let running = take(&store, &activity("a", 2)).await;
    store.post(signal("a", "wake up")).await;
    let turn = store.fetch("a").await;
    let listing = || Ack::of("a", 1).cancelling(identifier("a", 2)).cancelling(identifier("a", 3));

    assert_refused(&store.try_ack("no token", listing()).await, "a turn without a lease");
    let conflicting = store.try_ack(&turn.token, listing().signalled(1)).await;
    assert_refused(&conflicting, "a turn whose event is recorded already");
    let invalid = store.try_ack(&turn.token, listing().signalled(0)).await;
    assert_refused(&invalid, "a turn whose event has no number");

    store.renew_work_item_lock(&running.token, store.lock()).await.expect("it was not taken back");
    let waiting = take(&store, &activity("a", 3)).await;
    finish(&store, &running).await;
    finish(&store, &waiting).await;
    store.ack(&turn.token, Ack::of("a", 1)).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [completed("a", 2), completed("a", 3)], "both results reach the instance");
}
