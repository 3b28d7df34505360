//! Telling people what a committed turn did: the code's own lines, the engine's remarks, and the counters.

use abide_engine::{Identity, LineLevel, LogLine, Notice, Outcome, TurnOutput};
use abide_model::{
    AppErrorKind, ConfigErrorKind, ErrorDetails, Event, EventKind, ExecutionStatus, INITIAL_EVENT_ID,
    INITIAL_EXECUTION_ID,
};
use abide_provider::Committed;
use tracing::{debug, error, info, trace, warn};

use super::cache::{Answered, Life};
use crate::core::Core;
use crate::reminders::Topic;

/// What is to be told once a turn is committed.
#[derive(Debug)]
pub(crate) struct Told {
    lines: Vec<LogLine>,
    notices: Vec<Notice>,
    started_by: Option<&'static str>,
    ended: Option<Ended>,
    children: Vec<Answered>,
    goes_on: bool,
}

#[derive(Debug)]
struct Ended {
    status: ExecutionStatus,
    details: Option<ErrorDetails>,
    seconds: f64,
    turns: u64,
    events: u64,
}

impl Told {
    /// What there is to tell of a turn whose execution has now `events` events.
    pub(crate) fn of(output: &TurnOutput, life: &Life, events: u64) -> Self {
        let started = output.events.first().is_some_and(|event| event.event_id == INITIAL_EVENT_ID);
        let first_execution =
            output.events.first().is_some_and(|event| event.execution_id == INITIAL_EXECUTION_ID);
        let ends = output.events.iter().rev().find(|event| event.is_terminal());
        Self {
            lines: output.lines.clone(),
            notices: output.notices.clone(),
            started_by: started.then_some(if first_execution { "client" } else { "continueAsNew" }),
            ended: ends.map(|end| Ended {
                status: output.outcome.status(),
                details: failure(end),
                seconds: seconds_between(life.started_at_ms, end.timestamp_ms),
                turns: life.turns,
                events,
            }),
            children: Vec::new(),
            goes_on: matches!(output.outcome, Outcome::Running | Outcome::ContinuedAsNew { .. }),
        }
    }

    /// The end of an execution whose history cannot be read: nothing else is known of it.
    pub(crate) fn of_unreadable_end(details: ErrorDetails) -> Self {
        let (status, details) = (ExecutionStatus::Failed, Some(details));
        Self {
            lines: Vec::new(),
            notices: Vec::new(),
            started_by: None,
            ended: Some(Ended { status, details, seconds: 0.0, turns: 0, events: 0 }),
            children: Vec::new(),
            goes_on: false,
        }
    }

    /// The same, with children that answered.
    pub(crate) fn with_children(mut self, children: Vec<Answered>) -> Self {
        self.children = children;
        self
    }

    /// Whether the execution goes on.
    pub(crate) const fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Counts what the turn comes to. Called before it is handed to the store: whoever sees an outcome there, sees it counted.
    pub(crate) fn count(&self, core: &Core, who: &Identity) {
        if let Some(by) = self.started_by {
            core.metrics.record_orchestration_start(&who.orchestration, &who.version, by);
            core.metrics.increment_active_orchestrations();
        }
        for Answered { orchestration, outcome, .. } in &self.children {
            core.metrics.record_suborchestration_call(&who.orchestration, orchestration, outcome);
        }
        if let Some(ended) = &self.ended {
            count_end(core, who, ended);
        }
    }

    /// Takes back what was counted: the store did not take the turn.
    pub(crate) fn withdraw(&self, core: &Core) {
        let metrics = &core.metrics;
        if self.started_by.is_some() {
            metrics.withdraw_orchestration_start();
            metrics.decrement_active_orchestrations();
        }
        for _ in &self.children {
            metrics.withdraw_suborchestration_call();
        }
        if let Some(ended) = &self.ended
            && let Some(status) = status_label(ended.status)
        {
            metrics.withdraw_orchestration_end(status, ended.details.as_ref().map(error_type));
            metrics.increment_active_orchestrations();
        }
    }

    /// Tells of a turn that is committed, and was counted before.
    pub(crate) fn tell_counted(&self, core: &Core, who: &Identity, committed: &Committed) {
        for line in &self.lines {
            print(who, line);
        }
        for notice in &self.notices {
            remark(core, who, notice);
        }
        for Answered { orchestration, outcome, seconds } in &self.children {
            core.metrics.record_suborchestration_duration(
                &who.orchestration,
                orchestration,
                *seconds,
                outcome,
            );
        }
        if let Some(ended) = &self.ended {
            measure_end(core, who, ended);
            tell_failure(who, ended);
        }
        if let Some(pruned) = &committed.pruned {
            core.metrics.record_executions_pruned(pruned.executions_deleted);
        }
    }
}

/// An instance that fails is one line. A cancel is what somebody asked for, so it is no warning.
///
/// Errors are in the words of the code, or say what the runtime met. None repeats a payload but that of a mismatch, which shows
/// both asks in full: it is left to the instance's status.
fn tell_failure(who: &Identity, ended: &Ended) {
    macro_rules! at {
        ($print:ident, $details:ident $(, error = $error:expr)?; $what:literal) => {
            $print!(target: "abide::runtime", instance_id = %who.instance, execution_id = who.execution_id,
                orchestration_name = %who.orchestration, orchestration_version = %who.version,
                kind = $details.category() $(, error = %$error)?, $what)
        };
    }
    match &ended.details {
        None => {}
        Some(details @ ErrorDetails::Configuration { kind: ConfigErrorKind::Nondeterminism, .. }) => {
            at!(error, details;
                "the instance failed: its code does not do what its history says it did; its status says what differs");
        }
        Some(details @ ErrorDetails::Application { kind: AppErrorKind::Cancelled { .. }, .. }) => {
            at!(info, details, error = details; "the instance was canceled");
        }
        Some(details) => at!(warn, details, error = details; "the instance failed"),
    }
}

fn failure(end: &Event) -> Option<ErrorDetails> {
    if let EventKind::OrchestrationFailed { details } = &end.kind { Some(details.clone()) } else { None }
}

fn count_end(core: &Core, who: &Identity, ended: &Ended) {
    let metrics = &core.metrics;
    let Some(status) = status_label(ended.status) else { return };
    metrics.decrement_active_orchestrations();
    metrics.count_orchestration_end(&who.orchestration, &who.version, status, ended.turns);
    if ended.status == ExecutionStatus::ContinuedAsNew {
        metrics.record_continue_as_new(&who.orchestration, who.execution_id);
    }
    let Some(details) = &ended.details else { return };
    if matches!(details, ErrorDetails::Poison { .. }) {
        metrics.record_orchestration_poison();
    }
    metrics.record_orchestration_failure(
        &who.orchestration,
        &who.version,
        error_type(details),
        details.category(),
    );
}

fn measure_end(core: &Core, who: &Identity, ended: &Ended) {
    let Some(status) = status_label(ended.status) else { return };
    core.metrics.measure_orchestration_end(
        &who.orchestration,
        &who.version,
        status,
        ended.seconds,
        ended.turns,
        ended.events,
    );
}

/// How an end is called in metrics; `None` if it is none.
const fn status_label(status: ExecutionStatus) -> Option<&'static str> {
    match status {
        ExecutionStatus::Running => None,
        ExecutionStatus::Completed => Some("success"),
        ExecutionStatus::Failed => Some("failed"),
        ExecutionStatus::ContinuedAsNew => Some("continuedAsNew"),
    }
}

const fn error_type(details: &ErrorDetails) -> &'static str {
    match details {
        ErrorDetails::Infrastructure { .. } => "infrastructure_error",
        ErrorDetails::Configuration { .. } => "config_error",
        ErrorDetails::Application { .. } => "app_error",
        ErrorDetails::Poison { .. } => "poison",
    }
}

fn seconds_between(from_ms: u64, until_ms: u64) -> f64 {
    std::time::Duration::from_millis(until_ms.saturating_sub(from_ms)).as_secs_f64()
}

/// Prints a line of the code at its level.
fn print(who: &Identity, line: &LogLine) {
    macro_rules! at {
        ($print:ident $(, $field:ident = $value:expr)?) => {
            $print!(target: "abide::orchestration", instance_id = %who.instance, execution_id = who.execution_id,
                orchestration_name = %who.orchestration, orchestration_version = %who.version
                $(, $field = %$value)?, "{}", line.message)
        };
    }
    match &line.level {
        LineLevel::Error => at!(error),
        LineLevel::Warn => at!(warn),
        LineLevel::Info => at!(info),
        LineLevel::Debug => at!(debug),
        LineLevel::Trace => at!(trace),
        LineLevel::Custom(level) => at!(trace, level = level),
    }
}

/// Passes a remark of the engine on, as loud as it matters.
fn remark(core: &Core, who: &Identity, notice: &Notice) {
    macro_rules! at {
        ($print:ident) => {
            $print!(target: "abide::runtime", instance_id = %who.instance, execution_id = who.execution_id,
                orchestration_name = %who.orchestration, "{notice}")
        };
    }
    match notice {
        Notice::ChildIdTaken { .. }
        | Notice::Misrouted { .. }
        | Notice::InvalidPinnedVersion { .. }
        | Notice::WaitsForNothing => {
            at!(warn);
        }
        Notice::PanicAfterEnd { .. } => at!(error),
        Notice::SignalWithoutWait { name } => {
            let topic = Topic::Unwaited { name: name.clone() };
            if core.reminders.is_due(topic, core.clock.monotonic()) { at!(warn) } else { at!(debug) }
        }
        Notice::DuplicateStart { .. } => at!(info),
        Notice::StaleMessage { .. }
        | Notice::DuplicateMessage { .. }
        | Notice::DroppedTimerFired { .. }
        | Notice::MessageAfterEnd { .. } => at!(debug),
        _ => at!(debug),
    }
}
