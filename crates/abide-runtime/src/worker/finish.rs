//! Making the result of an activity durable.

use std::sync::Arc;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{FinishedWork, Operation, Rejection, StoreError};
use futures_util::FutureExt;
use tracing::{debug, error};

use super::Worker;
use super::activity::Activity;
use crate::dispatch::GiveBack;
use crate::insist::Told;

/// A result that the store will not take is tried again after this time.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// Whether a result counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is durable, or was before.
    Yes,
    /// It came too late: nobody waits for it, or somebody else's counts.
    TooLate,
    /// It could not be written: the activity was handed back and runs again.
    No,
}

impl Worker {
    /// Tells the orchestration how its activity ended, however often that takes.
    pub(super) async fn finish(&self, activity: &Activity, completion: WorkItem) -> Taken {
        let store = Arc::clone(&self.core.store);
        let finished = FinishedWork { token: activity.token.clone(), completion: Some(completion) };
        let call = move || {
            let (store, finished) = (Arc::clone(&store), finished.clone());
            async move {
                let none = || Err(StoreError::unknown(Operation::FinishWork, "the provider gave no answer"));
                store.finish_work(vec![finished]).await.pop().unwrap_or_else(none)
            }
            .boxed()
        };
        match self.core.insist(Operation::FinishWork, call).await {
            Told::Done(()) => {
                self.core.pulse.committed(self.core.clock.monotonic());
                self.core.new_mail.notify_one();
                Taken::Yes
            }
            Told::Refused { error, perhaps_applied } => match error.rejection() {
                // A try whose answer was lost may have ended the lease: then this refuses what is done.
                Some(Rejection::LeaseLost) if perhaps_applied => Taken::Yes,
                Some(Rejection::LeaseLost) => {
                    debug!(target: "abide::runtime", %error, "the result of an activity came too late");
                    Taken::TooLate
                }
                Some(_) | None => {
                    self.refused(activity, &error).await;
                    Taken::No
                }
            },
            Told::GivenUp => {
                self.hand_back(activity, GiveBack::UNTRIED).await;
                Taken::No
            }
        }
    }

    async fn refused(&self, activity: &Activity, error: &StoreError) {
        error!(target: "abide::runtime", %error, "the store does not take the result of an activity; it will run again");
        let back = match error.rejection() {
            // Nothing else can be wrong with the activity itself.
            Some(Rejection::Corrupt | Rejection::Invalid) => GiveBack::tried(AFTER_REFUSAL),
            Some(_) | None => GiveBack::untried(AFTER_REFUSAL),
        };
        self.hand_back(activity, back).await;
    }
}
