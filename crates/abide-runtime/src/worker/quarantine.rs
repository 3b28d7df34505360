//! Activities that were under way in too many crashes: they are held, and everything else of their instance goes on.

use std::sync::Arc;

use abide_provider::{BlockKind, HoldWork, Operation, Rejection};
use futures_util::FutureExt;
use tracing::{debug, error};

use super::Worker;
use super::activity::Activity;
use crate::block_log::Line;
use crate::dispatch::Attempt;
use crate::insist::Told;

impl Worker {
    /// Holds an activity until an operator retries it, or its orchestration cancels it.
    pub(super) async fn quarantine(&self, activity: &Activity) {
        self.core.chances.handed_back(activity.key(), Attempt::DoesNotCount);
        let crashes = activity.attempt.saturating_sub(1);
        let detail = format!(
            "activity '{}' (event {}) was under way in {crashes} crashes; it is quarantined until it is retried or canceled",
            activity.name, activity.id
        );
        let build = self.core.settings.build_id.clone();
        let request = HoldWork { token: activity.token.clone(), detail: detail.clone(), build };
        let store = Arc::clone(&self.core.store);
        let call = move || {
            let (store, request) = (Arc::clone(&store), request.clone());
            async move { store.hold_work(request).await }.boxed()
        };
        match self.core.insist(Operation::HoldWork, call).await {
            Told::Done(()) => {
                self.core.chances.forget(activity.key());
                self.core.blocked.note();
                self.tell_of_quarantine(activity, &detail);
            }
            // A try whose answer was lost ended the lease.
            Told::Refused { error, perhaps_applied: true }
                if error.rejection() == Some(Rejection::LeaseLost) =>
            {
                self.core.chances.forget(activity.key());
                self.core.blocked.note();
                self.tell_of_quarantine(activity, &detail);
            }
            Told::Refused { error, .. } => {
                debug!(target: "abide::runtime", instance_id = %activity.instance, %error, "the activity was not held");
            }
            Told::GivenUp => {}
        }
    }

    fn tell_of_quarantine(&self, activity: &Activity, detail: &str) {
        let build = &self.core.settings.build_id;
        let now = self.core.clock.monotonic();
        let orchestration = &activity.orchestration_name;
        match self.core.blocks.next(orchestration, BlockKind::Quarantine, now) {
            Line::Say { withheld_before } => {
                error!(target: "abide::runtime", instance_id = %activity.instance, activity_name = %activity.name,
                    activity_id = activity.id, orchestration_name = %orchestration,
                    version = %activity.orchestration_version, build = %build, withheld_before,
                    "activity quarantined; its orchestration continues: {detail}");
            }
            Line::SayThatMoreAreCounted => {
                debug!(target: "abide::runtime", instance_id = %activity.instance, "quarantined: {detail}");
                error!(target: "abide::runtime", orchestration_name = %orchestration, build = %build,
                    "more blocks of this kind are not logged for a minute; a count follows");
            }
            Line::Withhold => {
                debug!(target: "abide::runtime", instance_id = %activity.instance, "quarantined: {detail}");
            }
        }
    }
}
