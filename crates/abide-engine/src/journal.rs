//! The stream of events: what history still holds, then what this turn writes.

use std::collections::VecDeque;

use abide_model::{ErrorDetails, Event, EventId, EventKind, Timestamp};

use crate::fault::{self, Fault};
use crate::policy::{Leniency, Policy};
use crate::turn::Identity;

/// A turn mostly appends no more. Room for four, which a vector makes by itself, is more than allocators have at hand (ADR 15).
const MOSTLY_APPENDED: usize = 3;
const _: () = assert!(MOSTLY_APPENDED * size_of::<Event>() <= 1_032);

/// The events of one execution, read and written in one direction.
///
/// Events that were read are gone: a resident execution holds no history.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    unread: VecDeque<Event>,
    last: Option<EventId>,
    last_time_ms: u64,
    appended: Vec<Event>,
    read: u64,
}

impl Journal {
    /// Adds recorded events behind those that are still unread.
    pub(crate) fn extend(&mut self, history: Vec<Event>) {
        if self.unread.is_empty() {
            self.unread = history.into();
        } else {
            self.unread.extend(history);
        }
    }

    /// The next recorded event.
    pub(crate) fn peek(&self) -> Option<&Event> {
        self.unread.front()
    }

    /// Whether what is unread holds the end of the execution. Looked for from behind, where it is.
    pub(crate) fn ends(&self) -> bool {
        self.unread.iter().rev().any(Event::is_terminal)
    }

    /// The failure that what is unread ends with, if it does.
    pub(crate) fn failure(&self) -> Option<&ErrorDetails> {
        self.unread.iter().rev().find_map(|event| {
            if let EventKind::OrchestrationFailed { details } = &event.kind { Some(details) } else { None }
        })
    }

    /// Takes the next recorded event, if it can follow the one before.
    pub(crate) fn take(&mut self, who: &Identity, policy: Policy) -> Result<Option<Event>, Fault> {
        let Some(event) = self.unread.front() else { return Ok(None) };
        let id = EventId::new(event.event_id);
        if self.last.is_some_and(|last| id <= last) {
            return Err(fault::out_of_order(event, self.last));
        }
        let is_ours = event.execution_id == who.execution_id && event.instance_id == who.instance;
        if !is_ours && !policy.allows(Leniency::EventIdentity) {
            return Err(fault::of_another_execution(event, who));
        }
        self.last = Some(id);
        self.last_time_ms = event.timestamp_ms;
        self.read = self.read.saturating_add(1);
        let event = self.unread.pop_front();
        if self.unread.is_empty() {
            // A resident execution holds no history, and no room for one.
            self.unread = VecDeque::new();
        }
        Ok(event)
    }

    /// Gives up on the rest of the history; numbering goes on behind it.
    pub(crate) fn skip_rest(&mut self) -> VecDeque<Event> {
        let rest = std::mem::take(&mut self.unread);
        self.last = self.last.max(rest.iter().map(|event| EventId::new(event.event_id)).max());
        rest
    }

    /// The id the next event will have.
    pub(crate) fn next_id(&self) -> Result<EventId, Fault> {
        match self.last {
            None => Ok(EventId::FIRST),
            Some(last) => last.next().ok_or_else(fault::history_full),
        }
    }

    /// Numbers a new event. It is part of the journal once it is [kept](Self::keep).
    pub(crate) fn compose(&mut self, who: &Identity, now: Timestamp, entry: Entry) -> Result<Event, Fault> {
        let id = self.next_id()?;
        let Entry { kind, source } = entry;
        let event = Event::recorded(id.get(), who.instance.as_str(), who.execution_id, now, kind);
        self.last = Some(id);
        self.last_time_ms = now.as_millis();
        Ok(match source {
            Some(source) => event.with_source(source.get()),
            None => event,
        })
    }

    pub(crate) fn keep(&mut self, event: Event) {
        if self.appended.capacity() == 0 {
            self.appended.reserve_exact(MOSTLY_APPENDED);
        }
        self.appended.push(event);
    }

    /// Appends an event.
    pub(crate) fn append(&mut self, who: &Identity, now: Timestamp, entry: Entry) -> Result<(), Fault> {
        let event = self.compose(who, now, entry)?;
        self.keep(event);
        Ok(())
    }

    /// Whether the execution has no events at all, recorded or new.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none() && self.unread.is_empty()
    }

    /// When the last event was recorded.
    pub(crate) const fn last_time_ms(&self) -> u64 {
        self.last_time_ms
    }

    /// How many events were taken from history since the last call.
    pub(crate) fn take_read_count(&mut self) -> u64 {
        std::mem::take(&mut self.read)
    }

    /// What was appended since the last call.
    pub(crate) fn take_appended(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.appended)
    }
}

/// An event to be appended.
#[derive(Debug)]
pub(crate) struct Entry {
    kind: EventKind,
    source: Option<EventId>,
}

impl Entry {
    pub(crate) const fn new(kind: EventKind) -> Self {
        Self { kind, source: None }
    }

    /// An event that answers or cancels another.
    pub(crate) const fn about(source: EventId, kind: EventKind) -> Self {
        Self { kind, source: Some(source) }
    }
}
