//! Step 3: one thing arrives, is recorded, and is delivered to the code.
//!
//! An event that comes from history and a message that comes from the inbox are delivered by the same
//! lines; the inbox only decides whether a message becomes an event at all.

use std::sync::Arc;

use abide_model::{ErrorDetails, Event, EventId, EventKind, PruneResult};

use crate::ask::Family;
use crate::ending::{Ending, ParentLink};
use crate::execution::{Execution, Progress};
use crate::fault::{self, Fault};
use crate::journal::Entry;
use crate::ledger::{OpenAsk, Standing};
use crate::notice::Notice;
use crate::policy::Leniency;
use crate::program::Program;
use crate::role::{Arrival, Asked, Role, role};
use crate::tape::Answer;

impl Execution {
    /// Step 3 of the loop.
    pub(crate) fn take_arrival(&mut self) -> Result<Progress, Fault> {
        let Some(event) = self.journal.peek() else { return self.take_live_arrival() };
        let role = role(event);
        let begins = matches!(role, Role::Arrival(Arrival::Start) | Role::Terminal);
        if self.program.is_none() && !begins {
            return Err(fault::starts_wrongly(event));
        }
        match role {
            Role::Arrival(_) => {
                if let Some(event) = self.journal.take(&self.who, self.policy)? {
                    self.reset_idle_polls();
                    self.deliver(event)?;
                }
            }
            Role::Ask(Asked::State) if self.policy.allows(Leniency::UnaskedState) => {
                if matches!(event.kind, EventKind::KeyValueSet { .. }) {
                    self.tape.skip_write();
                }
                self.skip_event()?;
            }
            Role::Ask(_) => return Err(fault::not_asked(event)),
            Role::Drop { source, .. } => self.take_unmatched_drop(source)?,
            Role::Cleanup { .. } => self.skip_event()?,
            Role::Terminal => return Ok(self.meet_recorded_end()),
        }
        Ok(Progress::Again)
    }

    /// A recorded drop is next, and the code has no drop pending.
    fn take_unmatched_drop(&mut self, source: Option<EventId>) -> Result<(), Fault> {
        if !source.is_some_and(|source| self.pending.forgive(source)) {
            return self.journal.peek().map_or(Ok(()), |event| Err(fault::not_dropped(event, &[])));
        }
        self.skip_event()
    }

    /// History is over: in a turn, the next thing comes from the host, the execution before, or the inbox.
    fn take_live_arrival(&mut self) -> Result<Progress, Fault> {
        if self.live.is_none() {
            return Ok(Progress::Rest);
        }
        if self.program.is_some() {
            if let Some(what) = self.tape.window().foreign() {
                return Err(fault::foreign(what));
            }
            if !self.ledger.has_awaited() {
                return Err(fault::waits_for_nothing());
            }
        }
        while self.host_calls.front().is_some_and(|(id, _)| !self.ledger.is_awaited(*id)) {
            self.host_calls.pop_front();
        }
        if !self.host_calls.is_empty() {
            return Ok(Progress::AwaitHost);
        }
        if let Some((name, data)) = self.carried.pop_front() {
            self.record_arrival(Entry::new(EventKind::QueueEventDelivered { name, data }))?;
            return Ok(Progress::Again);
        }
        self.take_mail()
    }

    /// Records something that arrived, then delivers it.
    pub(crate) fn record_arrival(&mut self, entry: Entry) -> Result<(), Fault> {
        self.reset_idle_polls();
        let Some(live) = &self.live else { return Ok(()) };
        let event = self.journal.compose(&self.who, live.now, entry)?;
        self.journal.keep(event.clone());
        self.deliver(event)
    }

    /// Delivers what a recorded event says, wherever it came from.
    fn deliver(&mut self, event: Event) -> Result<(), Fault> {
        let Role::Arrival(arrival) = role(&event) else { return Ok(()) };
        match (arrival, &self.program) {
            (Arrival::Start, Some(_)) => return Err(fault::starts_again(&event)),
            (Arrival::Cancel | Arrival::Signal | Arrival::QueueMessage | Arrival::Answer(_), None) => {
                return Err(fault::starts_wrongly(&event));
            }
            _ => {}
        }
        match arrival {
            Arrival::Start => self.start(event),
            Arrival::Cancel => self.cancelled(event),
            Arrival::Signal => self.signal(event),
            Arrival::QueueMessage => self.queue_message(event),
            Arrival::Answer(family) => return self.answer(event, family),
        }
        Ok(())
    }

    /// The execution begins.
    fn start(&mut self, event: Event) {
        self.parent = ParentLink::of(&event.kind);
        let EventKind::OrchestrationStarted { input, initial_custom_status, .. } = event.kind else { return };
        self.tape.begin(self.policy.codec(), initial_custom_status);
        self.program = Some(Program::new(Arc::clone(&self.code), Arc::clone(&self.tape), input));
    }

    /// A cancel came: the execution ends here, without another poll.
    fn cancelled(&mut self, event: Event) {
        if let EventKind::OrchestrationCancelRequested { reason } = event.kind {
            self.end(Ending::cancelled(reason));
        }
    }

    /// A signal came: it goes to the oldest wait for it, or to nobody.
    fn signal(&mut self, event: Event) {
        let EventKind::ExternalEvent { name, data } = event.kind else { return };
        if let Some(id) = self.tape.signal(&name, data) {
            self.ledger.close(id);
        } else if self.live.is_some() {
            self.notices.push(Notice::SignalWithoutWait { name });
        }
    }

    /// A queue message came: it stays until it is read.
    fn queue_message(&mut self, event: Event) {
        if let EventKind::QueueEventDelivered { name, data } = event.kind {
            self.tape.enqueue(&name, data);
        }
    }

    /// The answer to an ask came.
    fn answer(&mut self, event: Event, family: Family) -> Result<(), Fault> {
        let Some(source) = event.source_event_id.map(EventId::new) else {
            return if self.policy.allows(Leniency::MissingSource) {
                Ok(())
            } else {
                Err(fault::no_source(&event))
            };
        };
        match self.ledger.standing(source, family) {
            Standing::Open => {}
            Standing::Other(expected) => return Err(fault::wrong_kind(&event, expected)),
            standing @ (Standing::Closed | Standing::Unknown) => {
                return Err(fault::not_open(&event, standing));
            }
        }
        if family == Family::Prune {
            // Answers come in the order of the requests.
            if let Ok(place) = self.host_calls.binary_search_by_key(&source, |(id, _)| *id) {
                self.host_calls.remove(place);
            }
        }
        // Nobody waits: the future was dropped. That is recorded and changes nothing, not even if the
        // answer is an error no code may catch.
        let Some(OpenAsk { token: Some(token), .. }) = self.ledger.close(source) else { return Ok(()) };
        match read_answer(event.kind) {
            Ok(answer) => self.tape.answer(token, answer),
            Err(details) => self.end(Ending::failed(details)),
        }
        Ok(())
    }
}

/// What the code is told; `Err` for failures that it may not catch: the execution ends with the same.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "answers are told apart by their family; a timer has no data"
)]
fn read_answer(kind: EventKind) -> Result<Answer, ErrorDetails> {
    match kind {
        EventKind::ActivityCompleted { result } | EventKind::SubOrchestrationCompleted { result } => {
            Ok(Answer::Ended(Ok(result)))
        }
        EventKind::ActivityFailed { details } | EventKind::SubOrchestrationFailed { details } => {
            if details.is_system() { Err(details) } else { Ok(Answer::Ended(Err(details.display_message()))) }
        }
        EventKind::HistoryPruned { executions_deleted, events_deleted, error } => {
            let result = PruneResult { instances_processed: 1, executions_deleted, events_deleted };
            Ok(Answer::Pruned(error.map_or(Ok(result), Err)))
        }
        _ => Ok(Answer::Fired),
    }
}
