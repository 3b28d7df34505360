//! Step 1: the asks of the last poll meet the record.

use std::collections::{BTreeMap, VecDeque};

use abide_model::reason::DROPPED_FUTURE;
use abide_model::{Action, Event, EventId, EventKind, PayloadTooLarge, PruneOptions};

use crate::ask::payload::Admission;
use crate::ask::record::{Place, record};
use crate::ask::{Ask, Family, compare, effect, limit, payload};
use crate::cancel::{CHILD_DROPPED, cancellation};
use crate::execution::Execution;
use crate::fault::{self, Fault};
use crate::journal::Entry;
use crate::ledger::OpenAsk;
use crate::policy::{Leniency, Policy};
use crate::role::{Asked, Role, role};
use crate::tape::{Answered, Bound, Dropped};
use crate::token::Token;
use crate::turn::StatusUpdate;

/// What the code asked for and no event stands for yet.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    asks: VecDeque<Ask>,
    /// Dropped futures, by the event that records their ask.
    drops: BTreeMap<EventId, Family>,
    /// Dropped futures whose ask is itself among the pending ones.
    unbound: BTreeMap<Token, Family>,
    /// Drops that may be recorded, but need not be (see [`Leniency::AdditionalDrop`]).
    tolerated: BTreeMap<EventId, Family>,
}

/// Whether an ask set anything in motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    Yes,
    No,
}

/// How far step 1 came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Everything is recorded, or belongs further down in the history of an older pin.
    AsFarAsPossible,
    /// Asks are unrecorded, history is over, and without a turn nothing may be written.
    HistoryIsOver,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.asks.is_empty() && self.drops.is_empty()
    }

    /// Adds the asks of a poll behind those that are still unrecorded.
    pub(crate) fn add(&mut self, asks: Vec<Ask>) {
        if self.asks.is_empty() {
            self.asks = asks.into();
        } else {
            self.asks.extend(asks);
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Gives back the room of a large fan-out once it is recorded.
    fn let_go(&mut self) {
        if self.asks.is_empty() {
            self.asks = VecDeque::new();
        }
    }

    /// Whether a recorded drop is one that need not have been recorded.
    pub(crate) fn forgive(&mut self, source: EventId) -> bool {
        self.tolerated.remove(&source).is_some()
    }
}

impl Execution {
    /// Takes note of the futures that were dropped in a poll.
    pub(crate) fn note_drops(&mut self, drops: Vec<Dropped>) {
        for Dropped { token, bound, family, answered, .. } in drops {
            let Some(id) = bound else {
                self.pending.unbound.insert(token, family);
                continue;
            };
            self.note_bound_drop(id, family, answered);
        }
    }

    fn note_bound_drop(&mut self, id: EventId, family: Family, answered: Answered) {
        self.ledger.abandon(id);
        match family {
            // A timer that nobody waits for leaves no record: it is taken out of the queue, that is all.
            Family::Timer => {
                if answered == Answered::No
                    && let Some(ask) = self.ledger.cancel(id)
                    && let Some(live) = &mut self.live
                {
                    live.effects.take_back(&self.who, id, &ask, CHILD_DROPPED);
                }
            }
            // Nothing to take back: a prune that nobody waits for is not done.
            Family::Prune => {
                self.ledger.cancel(id);
            }
            Family::Activity | Family::Child | Family::Wait if answered == Answered::Yes => {
                if self.live.is_none() && self.policy.allows(Leniency::AdditionalDrop) {
                    self.pending.tolerated.insert(id, family);
                }
            }
            Family::Activity | Family::Child | Family::Wait | Family::Dequeue => {
                self.pending.drops.insert(id, family);
            }
        }
    }

    /// Step 1 of the loop.
    pub(crate) fn settle_asks(&mut self) -> Result<Settled, Fault> {
        let settled = self.settle_pending();
        self.pending.let_go();
        self.tape.wake_bound();
        settled
    }

    fn settle_pending(&mut self) -> Result<Settled, Fault> {
        while !self.pending.is_empty() {
            let Some(event) = self.journal.peek() else {
                if self.live.is_none() {
                    return Ok(Settled::HistoryIsOver);
                }
                self.record_asks()?;
                continue;
            };
            let matched = match role(event) {
                Role::Ask(_) => self.match_ask()?,
                Role::Drop { family, source } => self.match_drop(family, source)?,
                Role::Arrival(_) => self.pass_over_pending()?,
                Role::Cleanup { .. } | Role::Terminal => self.meet_the_end()?,
            };
            if !matched {
                break;
            }
        }
        Ok(Settled::AsFarAsPossible)
    }

    /// Compares the oldest ask with the next event. `false`: this event belongs to a later poll.
    fn match_ask(&mut self) -> Result<bool, Fault> {
        let Some(event) = self.journal.peek() else { return Ok(false) };
        if self.pending.asks.is_empty() {
            // Only drops are left. The reference recorded them at the end of the turn, behind later asks.
            let is_late = self.policy.allows(Leniency::LateBinding);
            return if is_late { Ok(false) } else { Err(self.unrecorded(event)) };
        }
        let Some(ask) = take_matching(&mut self.pending.asks, event, self.policy) else { return Ok(false) };
        let differences = compare::differences(&ask, event, self.policy);
        if !differences.is_empty() {
            return Err(fault::asks_differ(&ask, event, &differences));
        }
        if let Some(event) = self.journal.take(&self.who, self.policy)? {
            self.open(ask.token, &event);
        }
        Ok(true)
    }

    /// Looks for the recorded drop among those the code made.
    fn match_drop(&mut self, family: Family, source: Option<EventId>) -> Result<bool, Fault> {
        let Some(event) = self.journal.peek() else { return Ok(false) };
        let Some(source) = source else { return Err(fault::no_source(event)) };
        let strict = !self.policy.allows(Leniency::AdditionalDrop);
        // Ours are recorded behind the asks of their poll, ascending; the reference's anywhere later.
        let in_order = self.pending.asks.is_empty() && self.pending.drops.keys().next() == Some(&source);
        if strict && !in_order {
            return Err(match self.pending.asks.front() {
                Some(ask) => fault::additional_ask(ask, event),
                None => fault::not_dropped(event, &self.pending_drops()),
            });
        }
        let made = self.pending.drops.remove(&source).or_else(|| self.pending.tolerated.remove(&source));
        if made.is_none() && !strict {
            // The reference wrote the drops of all polls of a turn at its end: this one may be yet to come.
            return Ok(false);
        }
        if made != Some(family) {
            return Err(fault::not_dropped(event, &self.pending_drops()));
        }
        self.journal.take(&self.who, self.policy)?;
        self.ledger.cancel(source);
        Ok(true)
    }

    /// An arrival is next although asks are unrecorded.
    fn pass_over_pending(&self) -> Result<bool, Fault> {
        if self.policy.allows(Leniency::LateBinding) {
            return Ok(false);
        }
        self.journal.peek().map_or(Ok(false), |event| Err(self.unrecorded(event)))
    }

    /// The end is next although asks are unrecorded: right if the first of them broke a limit.
    fn meet_the_end(&mut self) -> Result<bool, Fault> {
        if self.policy.allows(Leniency::EarlyReturn) {
            self.pending.clear();
            return Ok(true);
        }
        if let Some(message) = self.pending.asks.front().and_then(|ask| self.refused_then(ask)) {
            self.break_limit(message);
            return Ok(true);
        }
        self.journal.peek().map_or(Ok(false), |event| Err(self.unrecorded(event)))
    }

    /// Why the end that history goes on with was decided by this ask, if so.
    fn refused_then(&self, ask: &Ask) -> Option<String> {
        limit::violation(ask, &self.who.instance).or_else(|| {
            let recorded = self.journal.failure()?;
            payload::ended_by(ask, recorded).then(|| recorded.display_message())
        })
    }

    fn unrecorded(&self, event: &Event) -> Fault {
        match self.pending.asks.front() {
            Some(ask) => fault::additional_ask(ask, event),
            // Code that ends drops what it holds: that it ended is the better explanation.
            None if self.ending.is_some() => fault::ended_differently(&self.outcome(), event),
            None => fault::additional_drop(&self.pending_drops(), event),
        }
    }

    fn pending_drops(&self) -> Vec<(EventId, Family)> {
        self.pending.drops.iter().map(|(id, family)| (*id, *family)).collect()
    }

    /// Writes everything that is pending: asks in the order they were made, then drops, ascending.
    fn record_asks(&mut self) -> Result<(), Fault> {
        while let Some(ask) = self.pending.asks.pop_front() {
            if let Some(message) = limit::violation(&ask, &self.who.instance) {
                self.break_limit(message);
                return Ok(());
            }
            let turn_bytes = self.live.as_ref().map_or(0, |live| live.payload_bytes);
            match payload::admit(&ask, self.max_payload_bytes, turn_bytes) {
                Admission::Admitted => self.record_ask(ask)?,
                Admission::Refused(too_large) => self.record_refused(ask, &too_large)?,
                Admission::FailsExecution(message) => {
                    self.break_limit(message);
                    return Ok(());
                }
            }
        }
        for (id, family) in std::mem::take(&mut self.pending.drops) {
            self.record_drop(id, family)?;
        }
        Ok(())
    }

    fn record_ask(&mut self, ask: Ask) -> Result<(), Fault> {
        let Some(live) = &mut self.live else { return Err(fault::internal("an ask outside of a turn")) };
        let place = Place { execution_id: self.who.execution_id, id: self.journal.next_id()?, now: live.now };
        let (token, retry) = (ask.token, ask.retry());
        live.payload_bytes = live.payload_bytes.saturating_add(payload::bytes(&ask));
        let recorded = record(ask, place);
        if let Some(work) = effect::work(&recorded, place.id, &self.who) {
            live.effects.set_in_motion(place.id, work);
        }
        if let Some(step) = retry {
            live.effects.note_retry(place.id, step);
        }
        if let EventKind::CustomStatusUpdated { status } = &recorded.kind {
            live.custom_status = Some(status.clone().map_or(StatusUpdate::Reset, StatusUpdate::Set));
        }
        let event = self.journal.compose(&self.who, live.now, Entry::new(recorded.kind))?;
        self.open(token, &event);
        self.journal.keep(event);
        Ok(())
    }

    /// Records an ask whose input is too large: with a placeholder for the input, and nothing is set in
    /// motion. It fails as soon as everything else that the code asked for in this poll is recorded.
    fn record_refused(&mut self, mut ask: Ask, too_large: &PayloadTooLarge) -> Result<(), Fault> {
        let Some(live) = &mut self.live else { return Err(fault::internal("an ask outside of a turn")) };
        let Some((family, _)) = ask.waits_for() else {
            return Err(fault::internal("a refused ask without an answer"));
        };
        let place = Place { execution_id: self.who.execution_id, id: self.journal.next_id()?, now: live.now };
        live.refused.push_back((place.id, payload::failure(family, too_large)));
        payload::refuse(&mut ask, too_large);
        let token = ask.token;
        let event = self.journal.compose(&self.who, live.now, Entry::new(record(ask, place).kind))?;
        self.open_as(token, &event, Started::No);
        self.journal.keep(event);
        Ok(())
    }

    fn record_drop(&mut self, id: EventId, family: Family) -> Result<(), Fault> {
        let Some(live) = &mut self.live else { return Err(fault::internal("a drop outside of a turn")) };
        if let Some(entry) = cancellation(id, family, DROPPED_FUTURE) {
            self.journal.append(&self.who, live.now, entry)?;
        }
        if let Some(ask) = self.ledger.cancel(id) {
            live.effects.take_back(&self.who, id, &ask, CHILD_DROPPED);
        }
        Ok(())
    }

    /// Opens a recorded ask: from here on an answer for it can arrive.
    fn open(&mut self, token: Token, event: &Event) {
        self.open_as(token, event, Started::Yes);
    }

    fn open_as(&mut self, token: Token, event: &Event, started: Started) {
        let Role::Ask(Asked::Opens(family, child)) = role(event) else { return };
        // A child that was never started is not cancelled either.
        let child = if started == Started::Yes { child } else { "" };
        let id = EventId::new(event.event_id);
        let dropped = self.pending.unbound.remove(&token).is_some();
        let waiting = (!dropped).then_some(token);
        self.ledger.open(id, OpenAsk { family, token: waiting, child: child.to_owned() });
        if let EventKind::HistoryPruneRequested { keep_last, completed_before } = event.kind {
            self.host_calls.push_back((id, PruneOptions { keep_last, completed_before }));
        }
        if dropped {
            self.note_bound_drop(id, family, Answered::No);
        } else {
            let due_ms = if let EventKind::TimerCreated { fire_at_ms } = event.kind { fire_at_ms } else { 0 };
            self.tape.bind(token, Bound { id, since_ms: event.timestamp_ms, due_ms });
        }
    }
}

/// Takes the ask that the event should record: the oldest one, except that consecutive clears of single
/// keys may have been recorded in any order.
fn take_matching(asks: &mut VecDeque<Ask>, event: &Event, policy: Policy) -> Option<Ask> {
    if policy.allows(Leniency::ClearOrder)
        && let EventKind::KeyValueCleared { key: cleared } = &event.kind
    {
        let run = asks.iter().take_while(|ask| matches!(ask.action, Action::ClearKeyValue { .. }));
        let place = run
            .enumerate()
            .find(|(_, ask)| matches!(&ask.action, Action::ClearKeyValue { key } if key == cleared))
            .map(|(place, _)| place);
        if let Some(place) = place {
            return asks.remove(place);
        }
    }
    asks.pop_front()
}
