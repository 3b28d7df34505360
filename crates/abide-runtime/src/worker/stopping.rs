//! Why an activity is asked to stop.

use std::pin::pin;
use std::sync::Arc;

use abide_model::{Event, EventKind};
use abide_provider::Operation;
use futures_util::future::{Either, FutureExt, select};
use tokio_util::sync::CancellationToken;

use super::Worker;
use super::activity::Activity;
use crate::cancellation::{Cancellation, CancellationReason};
use crate::renewal::LeaseGuard;
use crate::store_call::{Called, PATIENCE};

/// By what an activity hears that it is to stop.
#[derive(Clone, Copy)]
pub(super) struct Signals<'run> {
    /// Raised where the store tells that it was taken away.
    pub(super) cancellation: &'run Cancellation,
    /// Where a renewal finds out.
    pub(super) lease: &'run LeaseGuard,
}

impl Worker {
    /// Waits for a reason to stop.
    pub(super) async fn signal(&self, activity: &Activity, signals: Signals<'_>) -> CancellationReason {
        let cancelled = pin!(self.cancelled(activity, signals));
        match select(cancelled, pin!(self.core.stop.ending.cancelled())).await {
            Either::Left((reason, _)) => reason,
            Either::Right(_) => CancellationReason::Shutdown,
        }
    }

    /// Waits until the store tells that the activity was taken away, or a renewal finds out.
    pub(super) async fn cancelled(&self, activity: &Activity, signals: Signals<'_>) -> CancellationReason {
        let Signals { cancellation, lease } = signals;
        let unwanted = pin!(self.unwanted(activity, lease.lost()));
        match select(pin!(cancellation.token().cancelled()), unwanted).await {
            Either::Left(_) => cancellation.reason().unwrap_or(CancellationReason::LeaseLost),
            Either::Right((reason, _)) => reason,
        }
    }

    /// Waits until a renewal finds the lease gone, and finds out why.
    pub(super) async fn unwanted(&self, activity: &Activity, lost: &CancellationToken) -> CancellationReason {
        lost.cancelled().await;
        self.why_gone(activity).await
    }

    /// Why the lease is gone, as far as the store can tell.
    pub(super) async fn why_gone(&self, activity: &Activity) -> CancellationReason {
        let store = Arc::clone(&self.core.store);
        let (instance, execution_id) = (activity.instance.clone(), activity.execution_id);
        let call = async move { store.read_with_execution(&instance, execution_id).await };
        match self.core.caller.call(Operation::ReadWithExecution, PATIENCE, call.boxed()).await {
            Called::Answered(Ok(history)) => why(&history, activity.id),
            Called::Answered(Err(_)) | Called::Unanswered(_) => CancellationReason::LeaseLost,
        }
    }
}

/// Why a lease is gone, by what the history says.
fn why(history: &[Event], activity_id: u64) -> CancellationReason {
    if history.is_empty() {
        return CancellationReason::InstanceDeleted;
    }
    let mut about_it = history.iter().filter(|event| event.source_event_id == Some(activity_id));
    let recorded = about_it.find_map(|event| {
        if let EventKind::ActivityCancelRequested { reason } = &event.kind {
            Some(CancellationReason::recorded(reason))
        } else {
            None
        }
    });
    recorded.unwrap_or(CancellationReason::LeaseLost)
}
