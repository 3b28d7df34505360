//! Why an activity is asked to stop, as far as the store can tell.

use std::sync::Arc;

use abide_model::{Event, EventKind};
use abide_provider::Operation;
use futures_util::future::FutureExt;

use super::Worker;
use super::activity::Activity;
use crate::cancellation::CancellationReason;
use crate::pacing::Backoff;
use crate::store_call::{Called, PATIENCE};

/// So often a store that fails is asked.
const READS: u32 = 3;

impl Worker {
    /// Why the lease is gone.
    pub(super) async fn why_gone(&self, activity: &Activity) -> CancellationReason {
        let history = self.history_of(activity).await;
        history.map_or(CancellationReason::LeaseLost, |history| why(&history, activity.id))
    }

    /// The history of the execution that asked for an activity, if the store gives it.
    pub(super) async fn history_of(&self, activity: &Activity) -> Option<Vec<Event>> {
        let mut backoff = Backoff::default();
        for _ in 0..READS {
            let (store, instance) = (Arc::clone(&self.core.store), activity.instance.clone());
            let execution_id = activity.execution_id;
            let call = async move { store.read_with_execution(&instance, execution_id).await };
            match self.core.caller.call(Operation::ReadWithExecution, PATIENCE, call.boxed()).await {
                Called::Answered(Ok(history)) => return Some(history),
                Called::Answered(Err(error)) if error.is_retryable() => {}
                // Whoever is to stop does not wait for long.
                Called::Answered(Err(_)) | Called::Unanswered(_) => return None,
            }
            let delay = backoff.after_failure(&*self.core.entropy);
            let _given_up = self.core.caller.pause_unless_given_up(delay).await;
        }
        None
    }
}

/// Why a lease is gone, by what the history says.
pub(super) fn why(history: &[Event], activity_id: u64) -> CancellationReason {
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
