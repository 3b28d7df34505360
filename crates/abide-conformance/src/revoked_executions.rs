//! Activities of an execution that are taken back together, in parts.

use std::time::Duration;

use abide_model::{ExecutionStatus, WorkItem};
use abide_provider::{
    Ability, InstanceLease, LeaseWork, REVOKE_BATCH, Rejection, RevokeWork, RevokedWork, StolenBecause,
    StoreError, TagFilter, WorkLease,
};
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};

use crate::ProviderFactory;
use crate::batches::calls::{assert_rejected_as, commit, jobs, lease, lease_all_jobs, under};
use crate::factory::real_time;
use crate::suite::area;
use crate::support::{Ack, Subject, activity, activity_with, assert_refused, cancel, signal, worker};

area! {
    revoked_executions;
    test_activities_of_an_execution_are_taken_back_in_parts: Need::Ability(Ability::RevokedExecutions);
    test_one_call_takes_back_at_most_a_batch: Need::Ability(Ability::RevokedExecutions);
    test_other_executions_and_instances_keep_their_activities: Need::Ability(Ability::RevokedExecutions);
    test_taking_back_needs_a_valid_lease: Need::Ability(Ability::RevokedExecutions);
    test_taking_back_does_not_end_the_lease: Need::Ability(Ability::RevokedExecutions);
    test_leased_activity_is_taken_back_with_its_execution: Need::Ability(Ability::RevokedExecutions);
    test_holder_hears_why_its_execution_lost_its_activities:
        Need::Ability(Ability::RevokedExecutions), Need::Ability(Ability::PushedCancellations);
}

/// Within which real time word must have come.
const PROMPTLY: Duration = Duration::from_secs(10);

const ENDED: StolenBecause = StolenBecause::OrchestrationEnded { status: ExecutionStatus::Failed };

/// Activities go in the order of their events, with and without tags and sessions, as many as the call
/// allows. It says whether others may be left.
pub async fn test_activities_of_an_execution_are_taken_back_in_parts<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let first = Ack::first("a")
        .scheduling(activity("a", 2))
        .scheduling(activity_with("a", 3, Some("s"), None))
        .scheduling(activity_with("a", 4, None, Some("gpu")))
        .scheduling(activity("a", 5))
        .scheduling(activity_with("a", 6, Some("s"), Some("gpu")));
    store.begin(first).await;
    let turn = canceled_turn(&store, "a").await;
    assert_eq!(revoke(&store, &turn, 1, 2).await, RevokedWork { count: 2, more: true });
    assert_eq!(revoke(&store, &turn, 1, 2).await, RevokedWork { count: 2, more: true });
    let everything =
        LeaseWork { tags: TagFilter::any(), session: Some(worker("me", store.lock())), ..jobs(&store, 10) };
    let left = lease_all_jobs(&store, everything).await;
    assert_eq!(ids(&left), [6], "activities 2 to 5 were taken back");
    assert_eq!(revoke(&store, &turn, 1, 2).await, RevokedWork { count: 1, more: false });
    assert_eq!(revoke(&store, &turn, 1, 2).await, RevokedWork { count: 0, more: false });
}

/// However many are asked for, one call takes back no more than [`REVOKE_BATCH`].
pub async fn test_one_call_takes_back_at_most_a_batch<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let all = u64::from(REVOKE_BATCH) + 4;
    store.begin((2..2 + all).fold(Ack::first("a"), |ack, id| ack.scheduling(activity("a", id)))).await;
    let turn = canceled_turn(&store, "a").await;
    let revoked = revoke(&store, &turn, 1, u32::MAX).await;
    assert_eq!(revoked, RevokedWork { count: REVOKE_BATCH, more: true });
    assert_eq!(revoke(&store, &turn, 1, u32::MAX).await, RevokedWork { count: 4, more: false });
    store.assert_no_work("all activities were taken back").await;
}

/// Only activities of that execution of that instance go.
pub async fn test_other_executions_and_instances_keep_their_activities<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("b").scheduling(activity("b", 2))).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    store.post_work(of_execution(activity("a", 2), 2)).await;
    let turn = canceled_turn(&store, "a").await;
    assert_eq!(revoke(&store, &turn, 1, 10).await, RevokedWork { count: 1, more: false });
    let left = lease_all_jobs(&store, jobs(&store, 10)).await;
    let left: Vec<_> = left.into_iter().map(|job| job.item).collect();
    assert_eq!(left, [activity("b", 2), of_execution(activity("a", 2), 2)]);
}

/// A token that is none, and one whose lease ran out, take nothing back.
pub async fn test_taking_back_needs_a_valid_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let turn = canceled_turn(&store, "a").await;
    store.expire_leases().await;
    let too_late = try_revoke(&store, &turn.token, 1, 10).await;
    assert_rejected_as(&too_late, Rejection::LeaseLost, "taking back under a lease that ran out");
    let unknown = try_revoke(&store, "lock_nobody", 1, 10).await;
    assert_rejected_as(&unknown, Rejection::LeaseLost, "taking back under a token of nobody");
    assert_eq!(ids(&lease_all_jobs(&store, jobs(&store, 10)).await), [2], "nothing was taken back");
}

/// The turn goes on afterwards, with all of its mail.
pub async fn test_taking_back_does_not_end_the_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let turn = canceled_turn(&store, "a").await;
    revoke(&store, &turn, 1, 10).await;
    store.assert_no_turn("the instance is still leased").await;
    commit(&store, under(&turn, Ack::of("a", 1).failing(3))).await;
    store.assert_no_turn("its mail was consumed").await;
}

/// Whoever runs an activity finds out at the latest when it renews its lease, and its result is refused.
pub async fn test_leased_activity_is_taken_back_with_its_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = lease_all_jobs(&store, jobs(&store, 1)).await.pop().expect("an activity is queued");
    let turn = canceled_turn(&store, "a").await;
    assert_eq!(revoke(&store, &turn, 1, 10).await.count, 1);
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    assert_refused(&renewed, "renewing a lease on an activity that was taken back");
    store.expire_leases().await;
    store.assert_no_work("it was taken back").await;
}

/// The holder of a lease that is taken away hears the reason that the call gave.
pub async fn test_holder_hears_why_its_execution_lost_its_activities<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut stolen =
        store.stolen_leases().expect("a store that pushes cancellations lets its callers listen");
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = lease_all_jobs(&store, jobs(&store, 1)).await.pop().expect("an activity is queued");
    let turn = canceled_turn(&store, "a").await;
    revoke(&store, &turn, 1, 10).await;
    let heard = match select(stolen.next(), Box::pin(real_time(PROMPTLY))).await {
        Either::Left((lease, _)) => lease.expect("who listens is told until the store is gone"),
        Either::Right(_) => panic!("a lease was taken away, and nobody was told"),
    };
    assert_eq!((heard.token, heard.because), (job.token, ENDED));
}

/// A lease on an instance that runs and is canceled.
async fn canceled_turn(store: &Subject<'_>, instance: &str) -> InstanceLease {
    store.post(signal(instance, "before")).await;
    store.post(cancel(instance)).await;
    lease(store, instance).await
}

async fn try_revoke(
    store: &Subject<'_>,
    token: &str,
    execution_id: u64,
    limit: u32,
) -> Result<RevokedWork, StoreError> {
    let revoke = RevokeWork { token: token.to_owned(), execution_id, limit, because: ENDED };
    store.revoke_work(revoke).await
}

async fn revoke(store: &Subject<'_>, turn: &InstanceLease, execution_id: u64, limit: u32) -> RevokedWork {
    let revoked = try_revoke(store, &turn.token, execution_id, limit).await;
    revoked.unwrap_or_else(|error| panic!("activities could not be taken back: {error}"))
}

/// The same activity, of another execution.
fn of_execution(mut item: WorkItem, other: u64) -> WorkItem {
    if let WorkItem::ActivityExecute { execution_id, .. } = &mut item {
        *execution_id = other;
    }
    item
}

fn ids(leases: &[WorkLease]) -> Vec<u64> {
    let id = |lease: &WorkLease| {
        if let WorkItem::ActivityExecute { id, .. } = &lease.item {
            *id
        } else {
            panic!("no activity: {:?}", lease.item)
        }
    };
    leases.iter().map(id).collect()
}
