//! Instances with activities, and what it means that one is gone.

use abide_model::{ScheduledActivityIdentifier, WorkItem};
use abide_provider::TagFilter;

use crate::support::{Ack, Job, Subject, activity, assert_refused, completed, worker};

/// An instance that runs and has asked for these activities.
pub(super) async fn running_with(store: &Subject<'_>, instance: &str, ids: &[u64]) {
    let first = ids.iter().fold(Ack::first(instance), |turn, id| turn.scheduling(activity(instance, *id)));
    store.begin(first).await;
}

/// An activity of any execution.
pub(super) fn activity_of(instance: &str, execution: u64, id: u64) -> WorkItem {
    let mut item = activity(instance, id);
    if let WorkItem::ActivityExecute { execution_id, .. } = &mut item {
        *execution_id = execution;
    }
    item
}

/// Names an activity of any execution.
pub(super) fn identifier_of(instance: &str, execution: u64, id: u64) -> ScheduledActivityIdentifier {
    ScheduledActivityIdentifier { instance: instance.to_owned(), execution_id: execution, activity_id: id }
}

/// Takes this activity, which must come first.
pub(super) async fn take(store: &Subject<'_>, item: &WorkItem) -> Job {
    let job = store.fetch_work().await;
    assert_eq!(job.item, *item, "this activity must come first");
    job
}

fn instance_of(job: &Job) -> &str {
    let WorkItem::ActivityExecute { instance, .. } = &job.item else {
        panic!("this is no activity: {:?}", job.item);
    };
    instance
}

/// Finishes an activity.
pub(super) async fn finish(store: &Subject<'_>, job: &Job) {
    let acked = store.ack_work_item(&job.token, Some(completed(instance_of(job), job.id()))).await;
    acked.unwrap_or_else(|error| panic!("{:?} could not be acked: {error}", job.item));
}

/// Whoever holds the activity can do nothing with it any more.
pub(super) async fn assert_taken_away(store: &Subject<'_>, job: &Job) {
    let what = format!("activity {} of '{}', which was taken away", job.id(), instance_of(job));
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    assert_refused(&renewed, &format!("renewing {what}"));
    let acked = store.ack_work_item(&job.token, Some(completed(instance_of(job), job.id()))).await;
    assert_refused(&acked, &format!("an ack of {what}"));
    let removed = store.ack_work_item(&job.token, None).await;
    assert_refused(&removed, &format!("an ack without completion of {what}"));
}

/// There is no activity, with any tag and in any session, neither now nor when every lease and every delay of these
/// tests is over.
pub(super) async fn assert_queue_stays_empty(store: &Subject<'_>) {
    assert_queue_is_empty(store).await;
    store.expire_leases().await;
    assert_queue_is_empty(store).await;
}

async fn assert_queue_is_empty(store: &Subject<'_>) {
    let anybody = worker("anybody", store.lock());
    let job = store.try_fetch_work_as(Some(&anybody), &TagFilter::any()).await;
    assert!(job.is_none(), "every activity was taken away or finished, but this was fetched: {job:?}");
}
