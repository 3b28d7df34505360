//! Word of leases that were taken away.

use std::time::Duration;

use abide_model::{EventKind, ExecutionStatus, PruneOptions};
use abide_provider::{Ability, StolenBecause, StolenLease, StolenLeases, WorkLease};
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};

use crate::ProviderFactory;
use crate::batches::calls::{
    assert_rejected, commit, jobs, lease, lease_all_jobs, lease_job, try_commit, try_finish, under,
};
use crate::factory::real_time;
use crate::suite::area;
use crate::support::{Ack, Subject, activity, assert_refused, completed, event, identifier, signal};

area! {
    pushed_cancellations;
    test_revoked_activity_is_told_as_dropped: Need::Ability(Ability::PushedCancellations);
    test_end_of_an_execution_is_told: Need::Ability(Ability::PushedCancellations);
    test_activity_dropped_by_the_last_turn_is_told_as_dropped: Need::Ability(Ability::PushedCancellations);
    test_every_stolen_lease_is_told: Need::Ability(Ability::PushedCancellations);
    test_everyone_who_listens_is_told: Need::Ability(Ability::PushedCancellations);
    test_only_stolen_leases_are_told: Need::Ability(Ability::PushedCancellations);
    test_refused_commit_tells_nothing: Need::Ability(Ability::PushedCancellations);
    test_activity_pruned_by_a_commit_is_told:
        Need::Ability(Ability::PushedCancellations), Need::Ability(Ability::PruneWithCommit);
    test_activity_of_a_pruned_execution_is_told: Need::Ability(Ability::PushedCancellations), Administration;
    test_activity_of_a_deleted_instance_is_told: Need::Ability(Ability::PushedCancellations), Administration;
}

/// Within which real time word must have come.
const PROMPTLY: Duration = Duration::from_secs(10);

/// Whoever runs an activity that a turn takes back is told: which lease, and that its future was dropped. The lease
/// is lost.
pub async fn test_revoked_activity_is_told_as_dropped<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    let [job] = running(&store, "a", [2]).await;
    store.step(Ack::of("a", 1).cancelling(identifier("a", 2))).await;
    assert_eq!(next(&mut stolen).await, told(&job, StolenBecause::Dropped));
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    assert_refused(&renewed, "renewing a stolen lease");
}

/// An activity that is taken back because its execution ended is told how that ended.
pub async fn test_end_of_an_execution_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    for (status, instance) in [
        (ExecutionStatus::Completed, "completed"),
        (ExecutionStatus::Failed, "failed"),
        (ExecutionStatus::ContinuedAsNew, "continued"),
    ] {
        let [job] = running(&store, instance, [2]).await;
        let end = match status {
            ExecutionStatus::ContinuedAsNew => Ack::of(instance, 1).continuing(3),
            ExecutionStatus::Completed | ExecutionStatus::Failed | ExecutionStatus::Running => {
                Ack::of(instance, 1).ending(3, status, "over")
            }
        };
        store.step(end.cancelling(identifier(instance, 2))).await;
        assert_eq!(next(&mut stolen).await, told(&job, StolenBecause::OrchestrationEnded { status }));
    }
}

/// Of the activities that the last turn takes back, those whose future the code had dropped are told so: their
/// cancellation was recorded with that reason.
pub async fn test_activity_dropped_by_the_last_turn_is_told_as_dropped<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    let [dropped, alive] = running(&store, "a", [2, 3]).await;
    let cancelled = |id: u64, source: u64, reason: &str| {
        let kind = EventKind::ActivityCancelRequested { reason: reason.to_owned() };
        let mut event = event("a", 1, id, kind);
        event.source_event_id = Some(source);
        event
    };
    let mut end = Ack::of("a", 1).cancelling(identifier("a", 2)).cancelling(identifier("a", 3));
    end.events = vec![cancelled(4, 2, "dropped_future"), cancelled(5, 3, "orchestration_terminal_failed")];
    store.step(end.failing(6)).await;

    let mut heard = vec![next(&mut stolen).await, next(&mut stolen).await];
    heard.sort_by_key(|lease| lease.token != dropped.token);
    let ended = StolenBecause::OrchestrationEnded { status: ExecutionStatus::Failed };
    assert_eq!(heard, [told(&dropped, StolenBecause::Dropped), told(&alive, ended)]);
}

/// Every lease that one commit takes away is told, each once.
pub async fn test_every_stolen_lease_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    let running = running(&store, "a", [2, 3, 4, 5]).await;
    let cancelling = (2..=5).fold(Ack::of("a", 1), |turn, id| turn.cancelling(identifier("a", id)));
    store.step(cancelling).await;
    let mut heard = Vec::new();
    for _ in &running {
        heard.push(next(&mut stolen).await.token);
    }
    let mut expected = running.map(|job| job.token);
    heard.sort();
    expected.sort();
    assert_eq!(heard, expected);
    assert_nothing_before(&store, &mut stolen).await;
}

/// Everyone who listens hears everything from then on; one who has stopped is in nobody's way.
pub async fn test_everyone_who_listens_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut first = listen(&store);
    let gone = listen(&store);
    let [before, after] = running(&store, "a", [2, 3]).await;
    drop(gone);
    store.step(Ack::of("a", 1).cancelling(identifier("a", 2))).await;
    assert_eq!(next(&mut first).await, told(&before, StolenBecause::Dropped));

    let mut second = listen(&store);
    store.step(Ack::of("a", 1).cancelling(identifier("a", 3))).await;
    assert_eq!(next(&mut first).await, told(&after, StolenBecause::Dropped));
    assert_eq!(next(&mut second).await, told(&after, StolenBecause::Dropped), "from now on, not from before");
}

/// Only what was taken away is told: not activities that are finished, given back or run out, and not queued ones
/// that are taken back before anybody leased them.
pub async fn test_only_stolen_leases_are_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    let [finished, given_back, removed] = running(&store, "a", [2, 3, 4]).await;
    try_finish(&store, &finished.token, Some(completed("a", 2))).await.expect("the lease is held");
    store.abandon_work_item(&given_back.token, None, false).await.expect("the lease is held");
    try_finish(&store, &removed.token, None).await.expect("the lease is held");
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).cancelling(identifier("a", 3))).await;
    store.step(Ack::of("a", 1).scheduling(activity("a", 5)).cancelling(identifier("a", 2))).await;
    let ran_out = lease_job(&store).await;
    store.expire_leases().await;
    let again = lease_job(&store).await;
    assert_eq!(again.item, ran_out.item);
    store.step(Ack::of("a", 1).cancelling(identifier("a", 5))).await;
    assert_eq!(next(&mut stolen).await, told(&again, StolenBecause::Dropped), "only the lease that was held");
    assert_nothing_before(&store, &mut stolen).await;
}

/// A commit that is refused takes nothing away and tells nothing.
pub async fn test_refused_commit_tells_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    let [job] = running(&store, "a", [2]).await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    let wrong = Ack::of("a", 1).completing(1).cancelling(identifier("a", 2));
    assert_rejected(&try_commit(&store, under(&leased, wrong)).await, "an event that is recorded already");
    assert_nothing_before(&store, &mut stolen).await;
    store.renew_work_item_lock(&job.token, store.lock()).await.expect("the lease was not taken away");
}

/// An activity of an execution that a commit prunes is told as deleted.
pub async fn test_activity_pruned_by_a_commit_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    let [job] = running(&store, "a", [2]).await;
    store.step(Ack::of("a", 1).continuing(3)).await;
    let next_execution = lease(&store, "a").await;
    let mut pruning = under(&next_execution, Ack::first_of("a", 2));
    pruning.turn.prune = Some(PruneOptions { keep_last: Some(1), completed_before: None });
    commit(&store, pruning).await;
    assert_eq!(next(&mut stolen).await, told(&job, StolenBecause::InstanceDeleted));
}

/// An activity of an execution that is pruned from outside is told as deleted.
pub async fn test_activity_of_a_pruned_execution_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    let [job] = running(&store, "a", [2]).await;
    store.step(Ack::of("a", 1).continuing(3)).await;
    let next_execution = lease(&store, "a").await;
    commit(&store, under(&next_execution, Ack::first_of("a", 2))).await;
    let keep_one = PruneOptions { keep_last: Some(1), completed_before: None };
    store.admin().prune_executions("a", keep_one).await.expect("the first execution is pruned");
    assert_eq!(next(&mut stolen).await, told(&job, StolenBecause::InstanceDeleted));
}

/// An activity of an instance that is deleted is told as deleted; those of others are not.
pub async fn test_activity_of_a_deleted_instance_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen = listen(&store);
    let [job] = running(&store, "a", [2]).await;
    let [other] = running(&store, "b", [2]).await;
    store.admin().delete_instance("a", true).await.expect("the instance is deleted");
    assert_eq!(next(&mut stolen).await, told(&job, StolenBecause::InstanceDeleted));
    assert_nothing_before(&store, &mut stolen).await;
    store
        .renew_work_item_lock(&other.token, store.lock())
        .await
        .expect("another instance's activity runs on");
}

fn listen(store: &Subject<'_>) -> StolenLeases {
    store.stolen_leases().expect("a store that pushes cancellations lets its callers listen")
}

/// An instance whose activities are leased, in this order.
async fn running<const N: usize>(store: &Subject<'_>, instance: &str, ids: [u64; N]) -> [WorkLease; N] {
    store
        .begin(ids.iter().fold(Ack::first(instance), |turn, id| turn.scheduling(activity(instance, *id))))
        .await;
    let jobs = lease_all_jobs(store, jobs(store, 10)).await;
    jobs.try_into()
        .unwrap_or_else(|jobs| panic!("{N} activities are queued, and these were leased: {jobs:?}"))
}

fn told(job: &WorkLease, because: StolenBecause) -> StolenLease {
    StolenLease { token: job.token.clone(), because }
}

/// The next word that comes.
async fn next(stolen: &mut StolenLeases) -> StolenLease {
    let timeout = Box::pin(real_time(PROMPTLY));
    match select(stolen.next(), timeout).await {
        Either::Left((lease, _)) => lease.expect("who listens is told until the store is gone"),
        Either::Right(_) => panic!("a lease was taken away, and nobody was told"),
    }
}

/// Nothing was told so far: something is taken away now, and that is the first that is heard.
async fn assert_nothing_before(store: &Subject<'_>, stolen: &mut StolenLeases) {
    let [witness] = running(store, "witness", [2]).await;
    store.step(Ack::of("witness", 1).cancelling(identifier("witness", 2))).await;
    let heard = next(stolen).await;
    assert_eq!(heard, told(&witness, StolenBecause::Dropped), "something was told that was not taken away");
}
