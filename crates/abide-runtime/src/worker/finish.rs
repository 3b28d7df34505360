//! Making the result of an activity durable.

use std::sync::Arc;
use std::time::Duration;

use abide_model::{PayloadTooLarge, WorkItem};
use abide_provider::{FinishedWork, Operation, Rejection, StoreError, transfer_time};
use futures_util::FutureExt;
use tracing::{debug, error};

use super::Worker;
use super::activity::Activity;
use crate::dispatch::GiveBack;
use crate::insist::Told;
use crate::orchestrator::Fused;
use crate::payload_size;
use crate::store_call::PATIENCE;
use crate::task_state::TaskState;

/// A result that the store will not take is tried again after this time.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// Whether a result counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is durable, or was before.
    Yes,
    /// It could not be written; a failure was, in its place.
    AsFailure,
    /// It came too late: nobody waits for it, or somebody else's counts.
    TooLate,
    /// It could not be written: the activity was handed back and runs again.
    No,
}

impl Worker {
    /// Tells the orchestration what its activity returned. If the store will never take that, the activity has failed: running
    /// it again would give the same.
    pub(super) async fn finish_with(
        &self,
        activity: &Activity,
        task: &TaskState,
        result: Result<String, String>,
    ) -> Taken {
        let size = result.as_ref().map_or_else(String::len, String::len);
        if let Err(problem) = self.check_size(activity, &result) {
            error!(target: "abide::runtime", instance_id = %activity.instance, activity_name = %activity.name,
                activity_id = activity.id, size, "{problem}; the activity fails");
            return Box::pin(self.fail(activity, problem.to_string())).await;
        }
        let completion = activity.completion(result);
        let fused = if activity.is_suspect() {
            // A crash of the turn would count as one of the activity.
            Fused::No
        } else {
            self.turns.fuse(&activity.finished_step(task), &completion).await
        };
        match fused {
            Fused::Done => return Taken::Yes,
            Fused::TooLate => return Taken::TooLate,
            Fused::GivenUp => return Box::pin(self.given_up(activity)).await,
            Fused::No => {}
        }
        match self.try_finish(activity, completion).await {
            Ok(taken) => taken,
            Err(error) if error.rejection() == Some(Rejection::Invalid) => {
                let problem = format!(
                    "the result of activity '{}' ({size} bytes) cannot be stored: {error}",
                    activity.name
                );
                error!(target: "abide::runtime", instance_id = %activity.instance, %error, size,
                    "the store does not take the result of an activity; it fails");
                Box::pin(self.fail(activity, problem)).await
            }
            Err(error) => Box::pin(self.refused(activity, &error)).await,
        }
    }

    /// Checks a result before it is sent anywhere. One that is too large is so in every run.
    fn check_size(
        &self,
        activity: &Activity,
        result: &Result<String, String>,
    ) -> Result<(), PayloadTooLarge> {
        let (what, text) = match result {
            Ok(output) => ("result", output),
            Err(message) => ("error", message),
        };
        let limit = self.core.settings.max_payload_bytes;
        PayloadTooLarge::check(text.len(), limit, || format!("{what} of activity '{}'", activity.name))
    }

    /// Records a failure in place of a result that cannot be recorded.
    async fn fail(&self, activity: &Activity, problem: String) -> Taken {
        match self.finish(activity, activity.completion(Err(problem))).await {
            Taken::Yes | Taken::AsFailure => Taken::AsFailure,
            other @ (Taken::TooLate | Taken::No) => other,
        }
    }

    /// Tells the orchestration how its activity ended, however often that takes.
    pub(super) async fn finish(&self, activity: &Activity, completion: WorkItem) -> Taken {
        match self.try_finish(activity, completion).await {
            Ok(taken) => taken,
            Err(error) => Box::pin(self.refused(activity, &error)).await,
        }
    }

    /// The error is a refusal: the store will not take this, and the lease is still held.
    async fn try_finish(&self, activity: &Activity, completion: WorkItem) -> Result<Taken, StoreError> {
        let store = Arc::clone(&self.core.store);
        let patience = PATIENCE.saturating_add(transfer_time(payload_size::of_item(&completion)));
        let finished = FinishedWork { token: activity.token.clone(), completion: Some(completion) };
        let call = move || {
            let (store, finished) = (Arc::clone(&store), finished.clone());
            async move {
                let none = || Err(StoreError::unknown(Operation::FinishWork, "the provider gave no answer"));
                store.finish_work(vec![finished]).await.pop().unwrap_or_else(none)
            }
            .boxed()
        };
        self.core.wait_for_last_fetches().await;
        match self.core.insist_within(patience, Operation::FinishWork, call).await {
            Told::Done(()) => {
                self.core.pulse.committed(self.core.clock.monotonic());
                self.core.new_mail.notify_one();
                Ok(Taken::Yes)
            }
            Told::Refused { error, perhaps_applied } => match error.rejection() {
                // A try whose answer was lost may have ended the lease: then this refuses what is done.
                Some(Rejection::LeaseLost) if perhaps_applied => Ok(Taken::Yes),
                Some(Rejection::LeaseLost) => {
                    debug!(target: "abide::runtime", %error, "the result of an activity came too late");
                    Ok(Taken::TooLate)
                }
                Some(_) | None => Err(error),
            },
            Told::GivenUp => Ok(Box::pin(self.given_up(activity)).await),
        }
    }

    async fn given_up(&self, activity: &Activity) -> Taken {
        self.hand_back(activity, GiveBack::UNTRIED).await;
        Taken::No
    }

    async fn refused(&self, activity: &Activity, error: &StoreError) -> Taken {
        error!(target: "abide::runtime", %error, "the store does not take the result of an activity; it will run again");
        let back = match error.rejection() {
            // Nothing else can be wrong with the activity itself.
            Some(Rejection::Corrupt | Rejection::Invalid) => GiveBack::tried(AFTER_REFUSAL),
            Some(_) | None => GiveBack::untried(AFTER_REFUSAL),
        };
        self.hand_back(activity, back).await;
        Taken::No
    }
}
