//! What all engine tests share: a script of turns, and one `check` that runs it every way it can be run.
//!
//! `check` runs a script with a resident execution and again with a cold one per turn, demands the same
//! decisions, replays the final history in silence, and compares what happened with the expected text. The
//! engine's signature is known to [`Given`], [`run_cold`] and [`drive::through`]: who runs, a turn in one call,
//! and a turn step by step. `drive` is for tests whose script is not only turns.

mod batch;
pub(crate) mod cases;
pub(crate) mod disagree;
pub(crate) mod drive;
pub(crate) mod mail;
pub(crate) mod past;
pub(crate) mod print;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use abide_engine::model::{Event, KvEntry, PruneOptions, PruneResult, Timestamp, WorkItem};
use abide_engine::{
    Execution, FnOrchestration, Identity, OrchestrationContext, OrchestrationHandler, Outcome, TurnInput,
    TurnOutput, run_turn,
};
use expect_test::Expect;

pub(crate) type Code = Arc<dyn OrchestrationHandler>;

/// The instance all scripts are about.
pub(crate) const INSTANCE: &str = "i";

/// An async closure as code to run.
pub(crate) fn code<F, Fut>(f: F) -> Code
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    Arc::new(FnOrchestration(f))
}

/// Who runs in scripts: execution `execution_id` of [`INSTANCE`].
pub(crate) fn identity(execution_id: u64) -> Identity {
    Identity {
        instance: INSTANCE.to_owned(),
        execution_id,
        orchestration: "N".to_owned(),
        version: "1.0.0".to_owned(),
    }
}

/// What a script starts from.
#[derive(Clone, Default)]
pub(crate) struct Given {
    pub(crate) history: Vec<Event>,
    pub(crate) kv: BTreeMap<String, KvEntry>,
    pub(crate) execution_id: Option<u64>,
}

impl Given {
    pub(crate) fn execution(execution_id: u64) -> Self {
        Self { execution_id: Some(execution_id), ..Self::default() }
    }

    pub(crate) fn history(history: Vec<Event>) -> Self {
        Self { history, ..Self::default() }
    }

    /// Key-value state that previous executions left: key, value, time.
    pub(crate) fn kv(entries: &[(&str, &str, u64)]) -> Self {
        let entry = |value: &str, last_updated_at_ms| KvEntry { value: value.to_owned(), last_updated_at_ms };
        let kv = entries.iter().map(|(key, value, at)| ((*key).to_owned(), entry(value, *at))).collect();
        Self { kv, ..Self::default() }
    }

    fn who(&self) -> Identity {
        identity(self.execution_id.unwrap_or(1))
    }

    /// An execution that has not begun: what was recorded of it is not replayed yet.
    pub(crate) fn fresh(&self, code: &Code) -> Execution {
        Execution::new(self.who(), self.kv.clone(), Arc::clone(code))
    }

    /// An execution that replayed what was recorded before, and then `more`.
    pub(crate) fn cold(&self, code: &Code, more: Vec<Event>) -> Execution {
        let mut execution = self.fresh(code);
        execution.replay([self.history.clone(), more].concat()).unwrap();
        execution
    }
}

/// One turn of a script: its messages, in queue order.
pub(crate) type Turn = Vec<WorkItem>;

/// Runs `turns` from nothing and compares what happens with `expected`.
#[track_caller]
pub(crate) fn check(code: Code, turns: Vec<Turn>, expected: Expect) {
    check_from(&Given::default(), code, turns, expected);
}

/// Runs `turns` from `given` and compares what happens with `expected`.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "scripts are written in place")]
pub(crate) fn check_from(given: &Given, code: Code, turns: Vec<Turn>, expected: Expect) {
    let resident = run_resident(given, &code, &turns);
    let cold = run_cold(given, &code, &turns);
    for (resident, cold) in resident.iter().zip(&cold) {
        assert_eq!(decisions(resident), decisions(cold), "a resident execution decides what a cold one does");
    }
    expected.assert_eq(&print::turns(&resident));
    batch::assert_invariant(given, &code, &turns, &resident);
    assert_silent(given, &code, &resident);
}

/// Runs `turns` and gives what each decided.
pub(crate) fn run(code: &Code, turns: &[Turn]) -> Vec<TurnOutput> {
    run_resident(&Given::default(), code, turns)
}

/// The events of all turns.
pub(crate) fn history_of(turns: &[TurnOutput]) -> Vec<Event> {
    turns.iter().flat_map(|turn| turn.events.clone()).collect()
}

/// One execution is fed turn after turn.
pub(crate) fn run_resident(given: &Given, code: &Code, turns: &[Turn]) -> Vec<TurnOutput> {
    let mut execution = given.cold(code, Vec::new());
    turns.iter().enumerate().map(|(number, turn)| take_turn(&mut execution, number, turn)).collect()
}

/// Every turn is one call that begins by replaying what was committed before.
pub(crate) fn run_cold(given: &Given, code: &Code, turns: &[Turn]) -> Vec<TurnOutput> {
    let mut history = given.history.clone();
    let mut outputs = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        let input = TurnInput {
            identity: given.who(),
            history: history.clone(),
            mail: drive::mail(turn.clone()),
            kv: given.kv.clone(),
            now: time_of(number),
        };
        let output = run_turn(input, Arc::clone(code), prune).expect("the turn can begin");
        history.extend(output.events.clone());
        outputs.push(output);
    }
    outputs
}

/// Every turn is a second later than the one before.
pub(crate) fn time_of(turn: usize) -> Timestamp {
    Timestamp::from_millis(1_000 * (u64::try_from(turn).unwrap() + 1))
}

fn take_turn(execution: &mut Execution, number: usize, turn: &Turn) -> TurnOutput {
    drive::through(execution, turn.clone(), time_of(number), prune)
}

/// The host of scripts prunes all but what is to be kept of three executions of ten events, and cannot
/// prune by time.
fn prune(options: &PruneOptions) -> Result<PruneResult, String> {
    match options {
        PruneOptions { keep_last: Some(keep), completed_before: None } => {
            let deleted = u64::from(3_u32.saturating_sub(*keep));
            Ok(PruneResult {
                instances_processed: 1,
                executions_deleted: deleted,
                events_deleted: 10 * deleted,
            })
        }
        PruneOptions { .. } => Err("this host cannot prune by time".to_owned()),
    }
}

/// What a turn decided, without what it cost.
pub(crate) fn decisions(output: &TurnOutput) -> TurnOutput {
    TurnOutput { stats: abide_engine::TurnStats::default(), ..output.clone() }
}

/// Replaying what was committed appends nothing, says nothing, and stands where it stood.
#[track_caller]
fn assert_silent(given: &Given, code: &Code, turns: &[TurnOutput]) {
    if given.history.is_empty() && history_of(turns).is_empty() {
        return;
    }
    let mut execution = given.cold(code, history_of(turns));
    assert_eq!(execution.mismatch(), None, "the code fits the history it made");
    let again = take_turn(&mut execution, turns.len(), &Vec::new());
    assert_eq!(again.events, vec![], "replay appends nothing");
    assert_eq!(again.lines, vec![], "replay says nothing");
    assert_eq!((again.worker_items, again.orchestrator_items), (vec![], vec![]), "replay does nothing");
    if let Some(last) = turns.last() {
        assert_eq!(again.waiting, last.waiting, "replay waits for the same");
        assert_eq!(forget_version(again.outcome), forget_version(last.outcome.clone()));
    }
}

/// The version a successor was asked to run under is not recorded.
pub(crate) fn forget_version(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::ContinuedAsNew { input, .. } => Outcome::ContinuedAsNew { input, version: None },
        other @ (Outcome::Running | Outcome::Completed { .. } | Outcome::Failed { .. }) => other,
    }
}
