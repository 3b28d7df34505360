//! Pruning that comes with a commit: by a policy, when an execution continues as new; and of what an execution that is not
//! there yet could not prune itself.

use abide_engine::{Identity, Outcome, TurnOutput};
use abide_model::{PruneOptions, Timestamp};
use abide_provider::{Committed, Turn, TurnCommit};
use tracing::{info, warn};

use super::Orchestrator;
use super::commit::{CommitEnd, commit};

/// Whose idea it was that the commit prunes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pruning {
    /// A policy's, or the code's that has its answer: if the store refuses it, the turn is committed without.
    Automatic,
    /// The code's own, or nobody's.
    NotAutomatic,
}

/// What is pruned when code asks for it in the middle of a turn.
///
/// In the first turn of an execution the store does not know it yet: its predecessor is the current one, counts as kept, and
/// must not go before the turn is committed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// At once; `None` if there is nothing.
    pub(super) now: Option<PruneOptions>,
    /// When the turn is committed.
    pub(super) with_commit: Option<PruneOptions>,
}

impl Share {
    /// What an execution asks for while this one is the store's current one; zero if there is none.
    pub(super) fn of(options: PruneOptions, current: u64, execution_id: u64) -> Self {
        if current == execution_id {
            return Self { now: Some(options), with_commit: None };
        }
        let before = options.kept().saturating_sub(1);
        let now = PruneOptions { keep_last: Some(before.max(1)), ..options.clone() };
        Self {
            now: (current > 0).then_some(now),
            with_commit: (current > 0 && before == 0).then_some(options),
        }
    }
}

impl Orchestrator {
    /// Has the commit prune what the turn left to it; else, if a policy says so. Not if the code said what to prune with it.
    pub(super) fn prune_with_commit(
        &self,
        who: &Identity,
        output: &mut TurnOutput,
        rest: Option<PruneOptions>,
        now: Timestamp,
    ) -> Pruning {
        if output.prune.is_some() {
            return Pruning::NotAutomatic;
        }
        output.prune = rest.or_else(|| self.by_policy(who, output, now));
        if output.prune.is_some() { Pruning::Automatic } else { Pruning::NotAutomatic }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(keep_last: u32) -> PruneOptions {
        PruneOptions { keep_last: Some(keep_last), completed_before: Some(7) }
    }

    #[test]
    fn an_execution_that_the_store_knows_prunes_at_once() {
        assert_eq!(Share::of(keep(1), 4, 4), Share { now: Some(keep(1)), with_commit: None });
        assert_eq!(Share::of(keep(3), 4, 4), Share { now: Some(keep(3)), with_commit: None });
    }

    #[test]
    fn one_that_it_does_not_know_yet_counts_itself_and_leaves_its_predecessor_to_the_commit() {
        assert_eq!(Share::of(keep(3), 4, 5), Share { now: Some(keep(2)), with_commit: None });
        assert_eq!(Share::of(keep(1), 4, 5), Share { now: Some(keep(1)), with_commit: Some(keep(1)) });
        assert_eq!(Share::of(keep(0), 4, 5), Share { now: Some(keep(1)), with_commit: Some(keep(0)) });
    }

    #[test]
    fn the_first_one_has_nothing_to_prune() {
        assert_eq!(Share::of(keep(1), 0, 1), Share { now: None, with_commit: None });
    }
}
