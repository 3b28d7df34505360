//! How an execution ends.
//!
//! The outcome is decided first (the code returned, panicked, continued as new; a cancel came; the engine
//! gave up), recorded second: what is still open is cancelled, ascending, and the terminal event is the last
//! of its execution. A parent always hears of it.

use abide_model::reason::{
    TERMINAL, TERMINAL_CANCELLED, TERMINAL_COMPLETED, TERMINAL_CONTINUED_AS_NEW, TERMINAL_FAILED,
};
use abide_model::{AppErrorKind, ErrorDetails, Event, EventId, EventKind, INITIAL_EXECUTION_ID, WorkItem};

use crate::ask::{Family, limit, payload};
use crate::cancel::cancellation;
use crate::execution::{Execution, Progress};
use crate::fault::{self, Difference, Fault};
use crate::journal::Entry;
use crate::ledger::OpenAsk;
use crate::policy::Leniency;
use crate::role::{Arrival, Asked, Role, role};
use crate::tape::Next;
use crate::turn::Outcome;
use crate::window::Foreign;

/// Who started this execution and is told how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentLink {
    pub(crate) instance: String,
    pub(crate) id: u64,
    /// Unknown in histories older than 0.1.30.
    pub(crate) execution_id: Option<u64>,
}

/// A decided outcome.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    verdict: Verdict,
    decided_by: DecidedBy,
}

/// Who decided it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DecidedBy {
    /// The code, or something that arrived for it: history must say the same.
    Code,
    /// The engine, because code and history do not fit: what history says is beside the point.
    Engine,
}

#[derive(Debug, Clone)]
enum Verdict {
    Completed(String),
    Failed(ErrorDetails),
    Cancelled { reason: String },
    ContinuedAsNew(Next),
}

impl Ending {
    const fn by_code(verdict: Verdict) -> Self {
        Self { verdict, decided_by: DecidedBy::Code }
    }

    pub(crate) const fn failed(details: ErrorDetails) -> Self {
        Self::by_code(Verdict::Failed(details))
    }

    pub(crate) const fn cancelled(reason: String) -> Self {
        Self::by_code(Verdict::Cancelled { reason })
    }

    pub(crate) fn returned(returned: Result<String, String>) -> Self {
        match returned {
            Ok(output) => Self::by_code(Verdict::Completed(output)),
            Err(message) => Self::failed(ErrorDetails::orchestration_failed(message)),
        }
    }

    pub(crate) const fn continued(next: Next) -> Self {
        Self::by_code(Verdict::ContinuedAsNew(next))
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match &self.verdict {
            Verdict::Completed(output) => Outcome::Completed { output: output.clone() },
            Verdict::Failed(details) => Outcome::Failed { details: details.clone() },
            Verdict::Cancelled { reason } => Outcome::Failed { details: ErrorDetails::cancelled(reason) },
            Verdict::ContinuedAsNew(next) => {
                Outcome::ContinuedAsNew { input: next.input.clone(), version: next.version.clone() }
            }
        }
    }

    /// The event that records it.
    fn event(&self) -> EventKind {
        match &self.verdict {
            Verdict::Completed(output) => EventKind::OrchestrationCompleted { output: output.clone() },
            Verdict::Failed(details) => EventKind::OrchestrationFailed { details: details.clone() },
            Verdict::Cancelled { reason } => {
                EventKind::OrchestrationFailed { details: ErrorDetails::cancelled(reason) }
            }
            Verdict::ContinuedAsNew(next) => {
                EventKind::OrchestrationContinuedAsNew { input: next.input.clone() }
            }
        }
    }

    /// What the code ended with, and what it is called in a message; nothing for a cancellation.
    fn payload(&self) -> Option<(&'static str, &str)> {
        match &self.verdict {
            Verdict::Completed(output) => Some(("output of the orchestration", output)),
            Verdict::Failed(ErrorDetails::Application { message, .. }) => {
                Some(("error of the orchestration", message))
            }
            Verdict::ContinuedAsNew(next) => Some(("input of the next execution", &next.input)),
            Verdict::Failed(
                ErrorDetails::Infrastructure { .. }
                | ErrorDetails::Configuration { .. }
                | ErrorDetails::Poison { .. },
            )
            | Verdict::Cancelled { .. } => None,
        }
    }

    /// Why no handler can have the version of the successor, if so.
    fn version_violation(&self) -> Option<String> {
        match &self.verdict {
            Verdict::ContinuedAsNew(next) => limit::version_violation(next.version.as_deref()),
            Verdict::Completed(_) | Verdict::Failed(_) | Verdict::Cancelled { .. } => None,
        }
    }

    /// Whether the recorded failure is that this end was too large, or had no valid version.
    fn was_refused(&self, recorded: &ErrorDetails) -> bool {
        self.payload().is_some_and(|(what, text)| payload::end_was_refused(what, text, recorded))
            || self
                .version_violation()
                .is_some_and(|message| *recorded == ErrorDetails::orchestration_failed(message))
    }

    /// Fails instead, if what the code ended with is too large to be recorded, or has no valid version.
    fn within(self, limit: usize) -> Self {
        if let Some(message) = self.version_violation() {
            return Self::failed(ErrorDetails::orchestration_failed(message));
        }
        let limit = match self.verdict {
            Verdict::Failed(_) => limit.max(payload::LEAST_ERROR_BYTES),
            Verdict::Completed(_) | Verdict::Cancelled { .. } | Verdict::ContinuedAsNew(_) => limit,
        };
        let violation = self.payload().and_then(|(what, text)| payload::end_violation(what, text, limit));
        violation.map_or(self, |message| Self::failed(ErrorDetails::orchestration_failed(message)))
    }

    /// The reason recorded for activities and children that the end cancels, and the one children are told.
    const fn reasons(&self) -> (&'static str, &'static str) {
        match self.verdict {
            Verdict::Completed(_) => (TERMINAL_COMPLETED, "parent completed"),
            // The second is what an execution ends with that is canceled without its code.
            Verdict::Cancelled { .. }
            | Verdict::Failed(ErrorDetails::Application { kind: AppErrorKind::Cancelled { .. }, .. }) => {
                (TERMINAL_CANCELLED, "parent canceled")
            }
            Verdict::Failed(_) => (TERMINAL_FAILED, "parent failed"),
            Verdict::ContinuedAsNew(_) => (TERMINAL_CONTINUED_AS_NEW, "parent continued as new"),
        }
    }

    /// Whether a later mismatch does not replace it: a panic is the better explanation than the mismatch it
    /// causes, and so is the first mismatch.
    const fn stands(&self) -> bool {
        match self.decided_by {
            DecidedBy::Engine => true,
            DecidedBy::Code => matches!(
                self.verdict,
                Verdict::Failed(ErrorDetails::Application { kind: AppErrorKind::Panicked, .. })
            ),
        }
    }
}

impl Execution {
    /// Fixes the outcome, unless it is fixed.
    pub(crate) fn end(&mut self, ending: Ending) {
        if self.ending.is_none() {
            self.ending = Some(ending);
        }
        self.put_program_away();
    }

    /// The engine gives up on this execution.
    ///
    /// If history already says how it ended, that stands, and the fault is only remembered. Otherwise the
    /// rest of the history still counts for what is open: it must be cancelled.
    pub(crate) fn fail(&mut self, Fault { details, difference }: Fault) {
        self.put_program_away();
        self.pending.clear();
        let rest = self.journal.skip_rest();
        if let Some(outcome) = rest.iter().find_map(recorded_outcome) {
            // The engine may have given up for the same reason when that end was recorded.
            if !matches!(&outcome, Outcome::Failed { details: then } if *then == details) {
                self.mismatch.get_or_insert_with(|| Box::new(details));
            }
            self.ended = Some(outcome);
            return;
        }
        for event in rest {
            self.absorb(&event);
        }
        if self.live.is_none() {
            self.mismatch.get_or_insert_with(|| Box::new(details.clone()));
        }
        if !self.ending.as_ref().is_some_and(Ending::stands) {
            let without_payloads =
                || Box::new(Difference { event_id: None, summary: details.display_message() });
            self.difference = Some(difference.unwrap_or_else(without_payloads));
        }
        self.overrule(Ending { verdict: Verdict::Failed(details), decided_by: DecidedBy::Engine });
    }

    /// Replaces what the code decided, unless that is the better explanation.
    fn overrule(&mut self, ending: Ending) {
        if !self.ending.as_ref().is_some_and(Ending::stands) {
            self.ending = Some(ending);
        }
        self.put_program_away();
    }

    /// An ask of the last poll breaks a limit: whatever else the code decided in that poll, it fails.
    pub(crate) fn break_limit(&mut self, message: String) {
        self.pending.clear();
        self.overrule(Ending::failed(fault::limit(message).details));
    }

    /// Goes on when the outcome is decided and all asks are settled.
    pub(crate) fn conclude(&mut self) -> Result<Progress, Fault> {
        let Some(event) = self.journal.peek() else {
            if self.live.is_none() {
                return Ok(Progress::Rest);
            }
            if let Some(what) = self.foreign_deed() {
                self.fail(fault::foreign(what));
            }
            self.record_end();
            return Ok(Progress::Again);
        };
        match role(event) {
            Role::Terminal => return Ok(self.meet_recorded_end()),
            Role::Cleanup { .. } => {}
            Role::Ask(_) | Role::Drop { .. } | Role::Arrival(_) => {
                if !self.may_skip_history() {
                    return Err(fault::ended_differently(&self.outcome(), event));
                }
            }
        }
        self.skip_event()?;
        Ok(Progress::Again)
    }

    /// Whether history may go on although the outcome is decided.
    fn may_skip_history(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| match (&ending.verdict, ending.decided_by) {
            (_, DecidedBy::Engine) => true,
            // In a history that does not end, the messages of the rest would be lost to the successor.
            (Verdict::ContinuedAsNew(_), DecidedBy::Code) => {
                self.policy.allows(Leniency::EarlyReturn) && self.journal.ends()
            }
            (Verdict::Completed(_) | Verdict::Failed(_) | Verdict::Cancelled { .. }, DecidedBy::Code) => {
                self.policy.allows(Leniency::EarlyReturn)
            }
        })
    }

    /// What was done to the execution from outside before the code ended: such an ask or drop did not count,
    /// although the code may believe it did. (A wake did nothing that the end does not make void.)
    fn foreign_deed(&self) -> Option<Foreign> {
        self.tape.window().foreign().filter(|what| match what {
            Foreign::Ask | Foreign::Poll | Foreign::Drop => true,
            Foreign::Wake => false,
        })
    }

    /// Passes over an event that has no effect, except on what is open.
    pub(crate) fn skip_event(&mut self) -> Result<(), Fault> {
        if let Some(event) = self.journal.take(&self.who, self.policy)? {
            self.absorb(&event);
        }
        Ok(())
    }

    /// The next event says how the execution ended.
    pub(crate) fn meet_recorded_end(&mut self) -> Progress {
        let Some(event) = self.journal.peek() else { return Progress::Rest };
        let Some(recorded) = recorded_outcome(event) else { return Progress::Rest };
        let agrees = match (&self.ending, &recorded) {
            // The version of a successor is not recorded.
            (Some(ending), Outcome::ContinuedAsNew { input, .. }) => matches!(
                &ending.verdict, Verdict::ContinuedAsNew(next) if next.input == *input
            ),
            // The engine gave up then, for a reason that replay cannot see (foreign asynchrony).
            (Some(_), Outcome::Failed { details: ErrorDetails::Configuration { .. } }) => true,
            // What the code ended with was too large then.
            (Some(ending), Outcome::Failed { details }) if ending.was_refused(details) => true,
            (Some(ending), recorded) => ending.outcome() == *recorded,
            // An execution can be failed from outside (poison, a commit that could not be made), but nobody
            // else completes or continues it.
            (None, Outcome::Failed { .. }) => true,
            (None, Outcome::Completed { .. } | Outcome::ContinuedAsNew { .. } | Outcome::Running) => false,
        };
        if !agrees && !self.policy.allows(Leniency::EarlyReturn) {
            let fault = fault::ended_differently(&self.outcome(), event);
            self.mismatch.get_or_insert_with(|| Box::new(fault.details));
        }
        self.put_program_away();
        let rest = self.journal.skip_rest();
        if let Some(event) = rest.get(1)
            && !self.policy.allows(Leniency::RowsAfterEnd)
        {
            self.mismatch.get_or_insert_with(|| Box::new(fault::after_the_end(event).details));
        }
        self.ended = Some(recorded);
        Progress::Again
    }

    /// Records the end: what is still open is cancelled, then the terminal event, then whoever waits is told.
    ///
    /// If not even the end fits into the history, everybody is told all the same.
    fn record_end(&mut self) {
        let Some(live) = &mut self.live else { return };
        let Some(ending) = self.ending.take() else { return };
        let mut ending = ending.within(self.max_payload_bytes);
        let (recorded_reason, told_reason) = ending.reasons();
        let mut written = Ok(());
        for (id, ask) in self.ledger.close_all() {
            let reason = match ask.family {
                Family::Activity | Family::Child => recorded_reason,
                Family::Wait | Family::Dequeue | Family::Timer | Family::Prune => TERMINAL,
            };
            if let Some(entry) = cancellation(id, ask.family, reason) {
                written = written.and_then(|()| self.journal.append(&self.who, live.now, entry));
            }
            live.effects.take_back(&self.who, id, &ask, told_reason);
        }
        let end = Entry::new(ending.event());
        written = written.and_then(|()| self.journal.append(&self.who, live.now, end));
        if let Err(Fault { details, .. }) = written {
            ending = Ending::failed(details);
        }
        self.tell_those_who_wait(ending);
    }

    /// Tells the parent, or starts the successor.
    fn tell_those_who_wait(&mut self, ending: Ending) {
        let outcome = ending.outcome();
        let answer = match ending.verdict {
            Verdict::Completed(result) => Ok(result),
            Verdict::Failed(details) => Err(details),
            Verdict::Cancelled { reason } => Err(ErrorDetails::cancelled(reason)),
            Verdict::ContinuedAsNew(next) => {
                self.start_successor(next);
                self.ended = Some(outcome);
                return;
            }
        };
        if let (Some(parent), Some(live)) = (self.parent.clone(), &mut self.live) {
            live.effects.answer(parent, answer);
        }
        self.ended = Some(outcome);
    }

    fn start_successor(&mut self, next: Next) {
        let Next { input, version, prune } = next;
        let start = self.successor(input, version);
        if let Some(live) = &mut self.live {
            live.prune = prune;
            live.effects.reply(start);
        }
    }

    /// The start of the next execution. No message is lost: what nobody read goes along, and what was
    /// carried here but not taken yet behind it.
    fn successor(&mut self, input: String, version: Option<String>) -> WorkItem {
        let mut carry_forward_events = self.tape.unread_messages();
        carry_forward_events.extend(self.carried.drain(..));
        WorkItem::ContinueAsNew {
            instance: self.who.instance.clone(),
            orchestration: self.who.orchestration.clone(),
            input,
            version,
            parent_instance: self.parent.as_ref().map(|parent| parent.instance.clone()),
            parent_id: self.parent.as_ref().map(|parent| parent.id),
            parent_execution_id: self.parent.as_ref().and_then(|parent| parent.execution_id),
            carry_forward_events,
            initial_custom_status: self.tape.status(),
        }
    }

    /// Keeps track of what is open while the code is not asked any more.
    fn absorb(&mut self, event: &Event) {
        match role(event) {
            Role::Ask(Asked::Opens(family, child)) => self
                .ledger
                .open(EventId::new(event.event_id), OpenAsk { family, token: None, child: child.to_owned() }),
            Role::Arrival(Arrival::Answer(_)) => {
                if let Some(source) = event.source_event_id {
                    self.ledger.close(EventId::new(source));
                }
            }
            Role::Drop { source, .. } | Role::Cleanup { source } => {
                if let Some(source) = source {
                    self.ledger.cancel(source);
                }
            }
            Role::Arrival(Arrival::Start) => {
                if self.parent.is_none() {
                    self.parent = ParentLink::of(&event.kind);
                }
            }
            // Which wait got which message only the code's polls could tell; nothing hangs on it any more.
            Role::Arrival(Arrival::Signal | Arrival::QueueMessage | Arrival::Cancel)
            | Role::Ask(Asked::Detached | Asked::State)
            | Role::Terminal => {}
        }
    }
}

impl ParentLink {
    /// The parent that a start names.
    pub(crate) fn of(start: &EventKind) -> Option<Self> {
        let EventKind::OrchestrationStarted { parent_instance, parent_id, parent_execution_id, .. } = start
        else {
            return None;
        };
        let (instance, id) = parent_instance.clone().zip(*parent_id)?;
        Some(Self { instance, id, execution_id: *parent_execution_id })
    }

    /// The message that tells the parent how its child ended. To an unknown execution it says the first.
    pub(crate) fn told(self, answer: Result<String, ErrorDetails>) -> WorkItem {
        let Self { instance: parent_instance, id: parent_id, execution_id } = self;
        let parent_execution_id = execution_id.unwrap_or(INITIAL_EXECUTION_ID);
        match answer {
            Ok(result) => {
                WorkItem::SubOrchCompleted { parent_execution_id, parent_instance, parent_id, result }
            }
            Err(details) => {
                WorkItem::SubOrchFailed { parent_execution_id, parent_instance, parent_id, details }
            }
        }
    }
}

/// What a terminal event says; `None` for any other.
#[expect(clippy::wildcard_enum_match_arm, reason = "only an end says how it ended")]
fn recorded_outcome(event: &Event) -> Option<Outcome> {
    match &event.kind {
        EventKind::OrchestrationCompleted { output } => Some(Outcome::Completed { output: output.clone() }),
        EventKind::OrchestrationFailed { details } => Some(Outcome::Failed { details: details.clone() }),
        EventKind::OrchestrationContinuedAsNew { input } => {
            Some(Outcome::ContinuedAsNew { input: input.clone(), version: None })
        }
        _ => None,
    }
}
