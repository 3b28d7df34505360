//! Which asks exist, which are open, and who still waits for them.
//!
//! Kept for the whole life of a resident execution, so it is small: ten bytes for an ask that is not open.

use std::collections::BTreeMap;

use abide_model::EventId;

use crate::ask::Family;
use crate::token::Token;

/// An ask that has no answer yet, and was not taken back.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    pub(crate) family: Family,
    /// The future that waits; `None` once it was dropped.
    pub(crate) token: Option<Token>,
    /// The instance of a child, as recorded; empty for the others, and for a child that was refused.
    pub(crate) child: String,
}

/// How an ask stands when an answer comes for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits for this answer.
    Open,
    /// It was taken back, but the answer may have been on its way.
    Cancelled,
    /// It had its answer.
    Closed,
    /// It waits, or waited, for another kind of answer.
    Other(Family),
    /// It was never made.
    Unknown,
}

/// What is remembered of every ask.
#[derive(Debug, Clone, Copy)]
struct Mark {
    family: Family,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Cancelled,
    Closed,
}

/// All asks of an execution.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Every ask that has an answer, ascending, and beside it what became of it.
    ids: Vec<EventId>,
    marks: Vec<Mark>,
    open: BTreeMap<EventId, OpenAsk>,
    /// How many open asks have a future that waits.
    awaited: usize,
}

impl Ledger {
    pub(crate) fn open(&mut self, id: EventId, ask: OpenAsk) {
        self.ids.push(id);
        self.marks.push(Mark { family: ask.family, state: State::Open });
        self.awaited = self.awaited.saturating_add(usize::from(ask.token.is_some()));
        self.open.insert(id, ask);
    }

    /// How the ask with this id stands towards an answer for `family`.
    pub(crate) fn standing(&self, id: EventId, family: Family) -> Standing {
        let known = self.ids.binary_search(&id).ok().and_then(|place| self.marks.get(place));
        match known {
            None => Standing::Unknown,
            Some(mark) if mark.family != family => Standing::Other(mark.family),
            Some(mark) => match mark.state {
                State::Open => Standing::Open,
                State::Cancelled => Standing::Cancelled,
                State::Closed => Standing::Closed,
            },
        }
    }

    /// Closes an ask, which has its answer; gives what waited for it.
    pub(crate) fn close(&mut self, id: EventId) -> Option<OpenAsk> {
        self.leave_open(id, State::Closed)
    }

    /// Notes that an ask is taken back; gives it if it was open.
    pub(crate) fn cancel(&mut self, id: EventId) -> Option<OpenAsk> {
        self.leave_open(id, State::Cancelled)
    }

    /// Notes that nobody waits for this ask any more.
    pub(crate) fn abandon(&mut self, id: EventId) {
        if let Some(ask) = self.open.get_mut(&id)
            && ask.token.take().is_some()
        {
            self.forget_awaited();
        }
    }

    /// Whether anybody waits for anything.
    pub(crate) const fn has_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// How many open asks have a future that waits.
    pub(crate) fn awaited_count(&self) -> u64 {
        u64::try_from(self.awaited).unwrap_or(u64::MAX)
    }

    /// The open asks that have a future that waits, ascending.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = (EventId, &OpenAsk, Token)> {
        self.open.iter().filter_map(|(id, ask)| ask.token.map(|token| (*id, ask, token)))
    }

    pub(crate) fn is_awaited(&self, id: EventId) -> bool {
        self.open.get(&id).is_some_and(|ask| ask.token.is_some())
    }

    /// Whether this activity is open, and no other activity or child is.
    pub(crate) fn is_only_work(&self, activity: EventId) -> bool {
        let is_work = |family| matches!(family, Family::Activity | Family::Child);
        self.open.get(&activity).is_some_and(|ask| ask.family == Family::Activity)
            && self.open.iter().all(|(id, ask)| *id == activity || !is_work(ask.family))
    }

    /// Everything that is open, ascending; nothing is open afterwards.
    pub(crate) fn close_all(&mut self) -> BTreeMap<EventId, OpenAsk> {
        self.awaited = 0;
        std::mem::take(&mut self.open)
    }

    fn leave_open(&mut self, id: EventId, state: State) -> Option<OpenAsk> {
        if let Ok(place) = self.ids.binary_search(&id)
            && let Some(mark) = self.marks.get_mut(place)
            && mark.state != State::Closed
        {
            mark.state = state;
        }
        let left = self.open.remove(&id)?;
        if left.token.is_some() {
            self.forget_awaited();
        }
        Some(left)
    }

    fn forget_awaited(&mut self) {
        debug_assert!(self.awaited > 0, "an awaited ask was counted when it was opened");
        self.awaited = self.awaited.saturating_sub(1);
    }
}
