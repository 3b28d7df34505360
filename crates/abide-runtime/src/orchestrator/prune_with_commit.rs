//! Pruning that comes with a commit: by a policy or by the code's own word when an execution continues as new, and of what its
//! first turn promised.
//!
//! No prune keeps an orchestration from going on. A store that refuses it is asked to commit without.

use std::sync::atomic::Ordering;

use abide_engine::{Identity, Outcome, TurnOutput};
use abide_model::{PruneOptions, Timestamp};
use abide_provider::{Committed, TurnCommit};
use tracing::{info, warn};

use super::commit::{Answer, CommitEnd, commit};
use super::prune::Promises;
use super::{Held, Orchestrator};

const NOT_PRUNED: &str = "earlier executions could not be pruned; it goes on without";

impl Orchestrator {
    /// What the commit of a turn prunes: what the turn promised, and what the code said for its end; if it said nothing, what a
    /// policy says.
    pub(super) fn prune_with_commit(
        &self,
        who: &Identity,
        output: &TurnOutput,
        promises: &Promises,
        now: Timestamp,
    ) -> Option<PruneOptions> {
        let at_its_end = output.prune.clone().or_else(|| self.by_policy(who, output, now));
        promises.and(at_its_end, who.execution_id)
    }

    fn by_policy(&self, who: &Identity, output: &TurnOutput, now: Timestamp) -> Option<PruneOptions> {
        let continues = matches!(output.outcome, Outcome::ContinuedAsNew { .. });
        if !continues || !output.auto_prune {
            return None;
        }
        let registered = self.core.orchestrations.auto_prune(&who.orchestration, &who.version);
        let policy = self.core.settings.auto_prune.policy_for(&who.orchestration, registered);
        policy.and_then(|policy| policy.options(who.execution_id, now))
    }

    /// Commits. If the store does not prune, it goes on without, and somebody hears of it.
    pub(super) async fn commit_pruning(&self, held: &Held, who: &Identity, turn: TurnCommit) -> CommitEnd {
        let incarnation = held.lease.position.incarnation;
        if turn.turn.prune.is_none() {
            return commit(&self.core, turn, incarnation).await;
        }
        Box::pin(self.commit_with_prune(who, turn, incarnation)).await
    }

    async fn commit_with_prune(&self, who: &Identity, turn: TurnCommit, incarnation: u64) -> CommitEnd {
        let mut without = turn.clone();
        without.turn.prune = None;
        match commit(&self.core, turn, incarnation).await {
            CommitEnd::Refused(error) => {
                let end = commit(&self.core, without, incarnation).await;
                // Else the prune was not what it refused.
                if matches!(end, CommitEnd::Done(_)) {
                    warn!(target: "abide::runtime", instance_id = %who.instance, orchestration_name = %who.orchestration,
                        %error, "{NOT_PRUNED}");
                    self.core.metrics.record_prune_refused();
                }
                end
            }
            CommitEnd::Done(written) => {
                if written.answer == Answer::Came {
                    self.tell_pruned(who, &written.committed);
                }
                CommitEnd::Done(written)
            }
            end @ (CommitEnd::NotOurs | CommitEnd::Outdated | CommitEnd::GivenUp) => end,
        }
    }

    pub(super) fn tell_pruned(&self, who: &Identity, committed: &Committed) {
        let was_told = self.prunes_nothing.swap(committed.pruned.is_none(), Ordering::Relaxed);
        let Some(pruned) = &committed.pruned else {
            self.core.metrics.record_prune_refused();
            // Most probably it never prunes.
            if !was_told {
                warn!(target: "abide::runtime", instance_id = %who.instance, orchestration_name = %who.orchestration,
                    "{NOT_PRUNED}");
            }
            return;
        };
        if pruned.executions_deleted > 0 {
            info!(target: "abide::runtime", instance_id = %who.instance, orchestration_name = %who.orchestration,
                executions = pruned.executions_deleted, events = pruned.events_deleted, "earlier executions were pruned");
        }
    }
}
