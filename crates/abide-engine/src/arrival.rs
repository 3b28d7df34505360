//! Step 3: one thing arrives, is recorded, and is delivered to the code.
//!
//! An event that comes from history and a message that comes from the inbox are delivered by the same
//! lines; the inbox only decides whether a message becomes an event at all.

use std::sync::Arc;

use abide_model::{Event, EventId, EventKind};

use crate::ask::Family;
use crate::ending::{Ending, ParentLink};
use crate::execution::{Execution, Progress};
use crate::fault::{self, Fault};
use crate::journal::Entry;
use crate::ledger::Standing;
use crate::news::{News, news};
use crate::notice::Notice;
use crate::policy::Leniency;
use crate::program::Program;
use crate::role::{Arrival, Asked, Role, role};
use crate::token::Token;

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
                    self.poll_before_binding()?;
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

    /// Under an older pin the code sees what arrived before its earlier asks are bound: the reference delivered
    /// a whole batch, and polled after each message, before it recorded anything.
    fn poll_before_binding(&mut self) -> Result<(), Fault> {
        let is_late = self.policy.allows(Leniency::LateBinding) && self.ending.is_none();
        if is_late && self.wants_poll()? {
            self.poll();
        }
        Ok(())
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
        if self.program.is_some()
            && let Some(what) = self.tape.window().foreign()
        {
            return Err(fault::foreign(what));
        }
        if let Some((id, failure)) = self.take_refused() {
            self.record_arrival(Entry::about(id, failure))?;
            return Ok(Progress::Again);
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

    /// Takes the oldest refused ask that the code still waits for, with its failure.
    fn take_refused(&mut self) -> Option<(EventId, EventKind)> {
        let live = self.live.as_mut()?;
        while let Some((id, failure)) = live.refused.pop_front() {
            if self.ledger.is_awaited(id) {
                return Some((id, failure));
            }
        }
        None
    }

    /// Records something that arrived, then delivers it.
    pub(crate) fn record_arrival(&mut self, entry: Entry) -> Result<(), Fault> {
        self.reset_idle_polls();
        let Some(live) = &self.live else { return Err(fault::internal("an arrival outside of a turn")) };
        let event = self.journal.compose(&self.who, live.now, entry)?;
        self.journal.keep(event.clone());
        self.deliver(event)
    }

    /// Delivers what a recorded event says, wherever it came from.
    fn deliver(&mut self, event: Event) -> Result<(), Fault> {
        let Role::Arrival(arrival) = role(&event) else {
            return Err(fault::internal("something arrived that is no arrival"));
        };
        let token = match (arrival, &self.program) {
            (Arrival::Start, Some(_)) => return Err(fault::starts_again(&event)),
            (Arrival::Start, None) => {
                self.parent = ParentLink::of(&event.kind);
                None
            }
            (Arrival::Cancel | Arrival::Signal | Arrival::QueueMessage | Arrival::Answer(_), None) => {
                return Err(fault::starts_wrongly(&event));
            }
            (Arrival::Cancel | Arrival::Signal | Arrival::QueueMessage, Some(_)) => None,
            (Arrival::Answer(family), Some(_)) => self.close_answered(&event, family)?,
        };
        match news(event.kind) {
            Some(News::Start { input, status }) => self.start(input, status),
            Some(News::Cancel { reason }) => self.end(Ending::cancelled(reason)),
            Some(News::Signal { name, data }) => self.signal(name, data),
            Some(News::QueueMessage { name, data }) => self.tape.enqueue(&name, data),
            Some(News::Answer(answer)) => {
                if let Some(token) = token {
                    self.tape.answer(token, answer);
                }
            }
            Some(News::SystemFailure(details)) => {
                // If nobody waits, the future was dropped: not even this error matters any more.
                if token.is_some() {
                    self.end(Ending::failed(details));
                }
            }
            None => return Err(fault::internal("an arrival brings nothing")),
        }
        Ok(())
    }

    /// The execution begins.
    fn start(&mut self, input: String, status: Option<String>) {
        self.tape.begin(self.policy.codec(), status);
        self.program = Some(Program::new(Arc::clone(&self.code), Arc::clone(&self.tape), input));
    }

    /// A signal goes to the oldest wait for it, or to nobody.
    fn signal(&mut self, name: String, data: String) {
        if let Some(id) = self.tape.signal(&name, data) {
            self.ledger.close(id);
        } else if self.live.is_some() {
            self.notices.push(Notice::SignalWithoutWait { name });
        }
    }

    /// Closes the ask that an event answers; gives the future that waits for it, unless it was dropped.
    fn close_answered(&mut self, event: &Event, family: Family) -> Result<Option<Token>, Fault> {
        let Some(source) = event.source_event_id.map(EventId::new) else {
            let tolerated = self.policy.allows(Leniency::MissingSource);
            return if tolerated { Ok(None) } else { Err(fault::no_source(event)) };
        };
        match self.ledger.standing(source, family) {
            Standing::Open | Standing::Cancelled => {}
            Standing::Other(asked) => return Err(fault::wrong_kind(event, family, asked)),
            standing @ (Standing::Closed | Standing::Unknown) => {
                return Err(fault::not_open(event, standing));
            }
        }
        if let Ok(place) = self.host_calls.binary_search_by_key(&source, |(id, _)| *id) {
            self.host_calls.remove(place);
        }
        Ok(self.ledger.close(source).and_then(|ask| ask.token))
    }
}
