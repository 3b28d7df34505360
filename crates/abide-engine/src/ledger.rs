//! Which asks exist, which are open, and who still waits for them.
//!
//! Kept for the whole life of a resident execution, so it is small: nine bytes for an ask that is closed.

use std::collections::BTreeMap;

use abide_model::EventId;

use crate::ask::Family;
use crate::tape::Token;

/// An ask that has no answer yet.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    pub(crate) family: Family,
    /// The future that waits; `None` once it was dropped.
    pub(crate) token: Option<Token>,
    /// A cancellation is recorded: it is not cancelled again.
    pub(crate) cancelled: bool,
    /// The instance of a child, as recorded; empty for the others.
    pub(crate) child: String,
}

/// How an ask stands when an answer comes for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits for this answer.
    Open,
    /// It had its answer.
    Closed,
    /// It waits, or waited, for another kind of answer.
    Other(Family),
    /// It was never made.
    Unknown,
}

/// All asks of an execution.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Every ask that has an answer, ascending, and beside it its family.
    ids: Vec<EventId>,
    families: Vec<Family>,
    open: BTreeMap<EventId, OpenAsk>,
    /// How many open asks have a future that waits.
    awaited: usize,
}

impl Ledger {
    pub(crate) fn open(&mut self, id: EventId, ask: OpenAsk) {
        self.ids.push(id);
        self.families.push(ask.family);
        self.awaited = self.awaited.saturating_add(usize::from(ask.token.is_some()));
        self.open.insert(id, ask);
    }

    /// How the ask with this id stands towards an answer for `family`.
    pub(crate) fn standing(&self, id: EventId, family: Family) -> Standing {
        let known = self.ids.binary_search(&id).ok().and_then(|place| self.families.get(place));
        match known {
            None => Standing::Unknown,
            Some(other) if *other != family => Standing::Other(*other),
            Some(_) if self.open.contains_key(&id) => Standing::Open,
            Some(_) => Standing::Closed,
        }
    }

    /// Closes an ask: it has its answer.
    pub(crate) fn close(&mut self, id: EventId) -> Option<OpenAsk> {
        let closed = self.open.remove(&id)?;
        self.awaited = self.awaited.saturating_sub(usize::from(closed.token.is_some()));
        Some(closed)
    }

    /// Notes that nobody waits for this ask any more.
    pub(crate) fn abandon(&mut self, id: EventId) {
        if let Some(ask) = self.open.get_mut(&id)
            && ask.token.take().is_some()
        {
            self.awaited = self.awaited.saturating_sub(1);
        }
    }

    /// Notes that a cancellation is recorded; gives the ask if it was open and not cancelled before.
    pub(crate) fn cancel(&mut self, id: EventId) -> Option<&OpenAsk> {
        self.abandon(id);
        let ask = self.open.get_mut(&id)?;
        if std::mem::replace(&mut ask.cancelled, true) { None } else { Some(ask) }
    }

    /// Whether anybody waits for anything.
    pub(crate) const fn has_awaited(&self) -> bool {
        self.awaited > 0
    }

    pub(crate) fn is_awaited(&self, id: EventId) -> bool {
        self.open.get(&id).is_some_and(|ask| ask.token.is_some())
    }

    /// Everything that is open and not cancelled, ascending; nothing is open afterwards.
    pub(crate) fn close_all(&mut self) -> impl Iterator<Item = (EventId, OpenAsk)> + use<> {
        self.awaited = 0;
        std::mem::take(&mut self.open).into_iter().filter(|(_, ask)| !ask.cancelled)
    }
}
