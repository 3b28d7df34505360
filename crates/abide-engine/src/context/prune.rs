//! Pruning earlier executions of this instance.

use abide_model::{Action, PruneOptions, PruneResult};

use super::OrchestrationContext;
use crate::future::{DurableFuture, Undeliverable};
use crate::tape::Answer;

impl OrchestrationContext {
    /// Prunes earlier executions of this instance, now, without a worker. The current execution is never
    /// touched. A prune that fails is an error of the future, not of the orchestration; on replay nothing is
    /// pruned again.
    ///
    /// In the first turn of an execution its predecessor goes with the commit of that turn, and is counted before.
    /// Should the store refuse that for good, the predecessor stays, and the operator is told.
    #[expect(clippy::needless_pass_by_value, reason = "options are built where they are used")]
    pub fn prune_history(&self, options: PruneOptions) -> DurableFuture<Result<PruneResult, String>> {
        let token = self.ask(|_| Action::PruneHistory {
            scheduling_event_id: 0,
            keep_last: options.keep_last,
            completed_before: options.completed_before,
        });
        DurableFuture::of(&self.tape, token, pruned)
    }

    /// Lets automatic pruning run (the default) or not when this execution continues as new. It is not
    /// recorded: the code says it in every execution that wants it. Explicit calls always work.
    #[expect(clippy::fn_params_excessive_bools, reason = "the documented signature")]
    pub fn set_auto_prune(&self, enabled: bool) {
        self.tape.set_auto_prune(enabled);
    }
}

fn pruned(answer: Answer) -> Result<Result<PruneResult, String>, Undeliverable> {
    match answer {
        Answer::Pruned(result) => Ok(result),
        Answer::Ended(_) | Answer::Fired | Answer::Received(_) => {
            Err(Undeliverable("a prune got an answer of another kind".to_owned()))
        }
    }
}
