//! Pruning by policy: decided when an execution continues as new, done by the commit in which it does.

use abide_engine::{Identity, Outcome, TurnOutput};
use abide_model::Timestamp;
use abide_provider::{Committed, Turn, TurnCommit};
use tracing::{info, warn};

use super::Orchestrator;
use super::commit::{CommitEnd, commit};

/// Whose idea it was to prune.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pruning {
    /// A policy's.
    Automatic,
    /// The code's own, or nobody's.
    NotAutomatic,
}

impl Orchestrator {
    /// Has the commit prune, if a policy says so and the code has nothing of its own to say.
    pub(super) fn prune_by_policy(&self, who: &Identity, output: &mut TurnOutput, now: Timestamp) -> Pruning {
        let continues = matches!(output.outcome, Outcome::ContinuedAsNew { .. });
        if !continues || !output.auto_prune || output.prune.is_some() {
            return Pruning::NotAutomatic;
        }
        let registered = self.core.orchestrations.auto_prune(&who.orchestration, &who.version);
        let policy = self.core.settings.auto_prune.policy_for(&who.orchestration, registered);
        output.prune = policy.and_then(|policy| policy.options(who.execution_id, now));
        if output.prune.is_some() { Pruning::Automatic } else { Pruning::NotAutomatic }
    }

    /// Commits. What a policy prunes must not keep an orchestration from going on: if the store refuses that, it goes on without.
    pub(super) async fn commit_pruning(
        &self,
        who: &Identity,
        turn: TurnCommit,
        pruning: Pruning,
    ) -> CommitEnd {
        let without = match pruning {
            Pruning::NotAutomatic => return commit(&self.core, turn).await,
            Pruning::Automatic => {
                TurnCommit { turn: Turn { prune: None, ..turn.turn.clone() }, ..turn.clone() }
            }
        };
        match commit(&self.core, turn).await {
            CommitEnd::Refused(error) => {
                warn!(target: "abide::runtime", instance_id = %who.instance, orchestration_name = %who.orchestration, %error,
                    "earlier executions could not be pruned; it continues without");
                self.core.metrics.record_auto_prune_refused();
                commit(&self.core, without).await
            }
            CommitEnd::Done(committed) => {
                tell(who, &committed);
                CommitEnd::Done(committed)
            }
            end @ (CommitEnd::NotOurs | CommitEnd::Outdated | CommitEnd::GivenUp) => end,
        }
    }
}

fn tell(who: &Identity, committed: &Committed) {
    let Some(pruned) = &committed.pruned else { return };
    if pruned.executions_deleted > 0 {
        info!(target: "abide::runtime", instance_id = %who.instance, orchestration_name = %who.orchestration,
            executions = pruned.executions_deleted, events = pruned.events_deleted, "earlier executions were pruned");
    }
}
