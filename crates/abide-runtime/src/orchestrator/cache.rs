//! Instances that just ran, kept in memory.
//!
//! What is kept is a copy: the store decides whether it is current. It is bounded by an estimate of its size, and the one
//! that was not used for the longest time goes first.
//!
//! Whoever runs a turn takes the instance out and puts it back once the turn is committed. The next step may be done before it is
//! back, because the store tells everybody at once: so it is known who is away, and one can wait for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_engine::Execution;
use abide_model::{Event, EventKind, INITIAL_EVENT_ID, KvEntry, Timestamp};
use abide_provider::Position;
use tokio::sync::oneshot;

use super::weight::Weight;

/// No instance counts for more than this share of the limit.
const HEAVIEST_SHARE: usize = 4;

/// An execution that can be fed its next messages. It is large, and handed on in a box.
#[derive(Debug)]
pub(crate) struct Resident {
    pub(crate) execution: Execution,
    /// Up to where it has seen its history.
    pub(crate) position: Position,
    pub(crate) weight: Weight,
    pub(crate) life: Life,
    /// That it is out of the cache; `None` while it is in there.
    pub(crate) away: Option<Away>,
}

// More than allocators have at hand (ADR 15) would be felt with every instance that begins.
const _: () = assert!(size_of::<Resident>() <= 1_032);

/// What the cache has of an instance.
#[derive(Debug)]
pub(crate) enum Found {
    /// It is taken out.
    Here(Box<Resident>),
    /// It is in use, and the receiver hears when that is over.
    InUse(oneshot::Receiver<()>),
    Nothing,
}

/// What is told about an execution when it ends, and about its children when they do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Life {
    /// When it began, in milliseconds since the epoch.
    pub(crate) started_at_ms: u64,
    pub(crate) turns: u64,
    /// Whether it has, or ever had, a value in its key-value store.
    pub(crate) has_values: bool,
    /// The time of its latest event, in milliseconds since the epoch.
    latest_at_ms: u64,
    /// Its children that have not answered: what they run, and since when.
    children: BTreeMap<u64, (String, u64)>,
}

/// A child that answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered {
    pub(crate) orchestration: String,
    pub(crate) outcome: &'static str,
    pub(crate) seconds: f64,
}

impl Life {
    /// Of an execution that begins with these values.
    pub(crate) fn beginning_with(values: &BTreeMap<String, KvEntry>) -> Self {
        Self { has_values: !values.is_empty(), ..Self::default() }
    }

    /// Takes note of events that were committed, or are about to be, by turns that are told of elsewhere.
    pub(crate) fn relive(&mut self, history: &[Event]) {
        for event in history {
            let _told_elsewhere = self.note(event);
        }
        // All events of a turn carry its time.
        let turns = history.chunk_by(|a, b| a.timestamp_ms == b.timestamp_ms).count();
        self.turns = self.turns.saturating_add(u64::try_from(turns).unwrap_or(u64::MAX));
    }

    /// A time for its next turn: not before its latest event. What time it is for the store is an estimate, and that of another node
    /// may have been a little ahead of ours.
    pub(crate) fn not_before_latest(&self, now: Timestamp) -> Timestamp {
        now.max(Timestamp::from_millis(self.latest_at_ms))
    }

    /// Takes note of an event; says which child it is the answer of.
    pub(crate) fn note(&mut self, event: &Event) -> Option<Answered> {
        self.latest_at_ms = self.latest_at_ms.max(event.timestamp_ms);
        self.has_values |= matches!(event.kind, EventKind::KeyValueSet { .. });
        if event.event_id == INITIAL_EVENT_ID {
            self.started_at_ms = event.timestamp_ms;
        }
        if let EventKind::SubOrchestrationScheduled { name, .. } = &event.kind {
            self.children.insert(event.event_id, (name.clone(), event.timestamp_ms));
            return None;
        }
        let outcome = child_outcome(&event.kind)?;
        let (orchestration, since) = self.children.remove(&event.source_event_id?)?;
        let took = Duration::from_millis(event.timestamp_ms.saturating_sub(since));
        Some(Answered { orchestration, outcome, seconds: took.as_secs_f64() })
    }
}

/// How a child ended, if the event says so.
fn child_outcome(kind: &EventKind) -> Option<&'static str> {
    if matches!(kind, EventKind::SubOrchestrationCompleted { .. }) {
        Some("success")
    } else if matches!(kind, EventKind::SubOrchestrationFailed { .. }) {
        Some("failed")
    } else if matches!(kind, EventKind::SubOrchestrationCancelRequested { .. }) {
        Some("cancelled")
    } else {
        None
    }
}

/// The executions that are kept.
#[derive(Debug)]
pub(crate) struct Cache {
    limit: usize,
    kept: Arc<Mutex<Kept>>,
}

/// Says that an instance is in use, until it is dropped.
#[derive(Debug)]
pub(crate) struct Away {
    instance: String,
    number: u64,
    kept: Arc<Mutex<Kept>>,
}

impl Drop for Away {
    fn drop(&mut self) {
        let over = lock(&self.kept).no_longer_away(&self.instance, self.number);
        drop(over);
    }
}

/// Who uses an instance, and who waits for it. They hear of the end by their channel being closed.
#[derive(Debug)]
struct Use {
    number: u64,
    waiting: Vec<oneshot::Sender<()>>,
}

#[derive(Debug, Default)]
struct Kept {
    residents: BTreeMap<String, Place>,
    by_age: BTreeMap<u64, String>,
    away: BTreeMap<String, Use>,
    /// Numbers places and uses.
    next: u64,
    weight: usize,
}

#[derive(Debug)]
struct Place {
    age: u64,
    /// What it counts for.
    weight: usize,
    resident: Box<Resident>,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: Arc::default() }
    }

    /// Takes an instance out, if it is there and as wanted. Whoever takes it puts it back, or leaves it to be replayed.
    pub(crate) fn take_if(&self, instance: &str, wanted: impl FnOnce(&Resident) -> bool) -> Found {
        let mut kept = lock(&self.kept);
        if let Some(in_use) = kept.away.get_mut(instance) {
            let (over, hear) = oneshot::channel();
            in_use.waiting.push(over);
            return Found::InUse(hear);
        }
        let Some(mut place) = kept.residents.remove(instance) else { return Found::Nothing };
        if !wanted(&place.resident) {
            kept.residents.insert(instance.to_owned(), place);
            return Found::Nothing;
        }
        kept.by_age.remove(&place.age);
        kept.weight = kept.weight.saturating_sub(place.weight);
        place.resident.away = Some(self.note_use(&mut kept, instance).0);
        drop(kept);
        Found::Here(place.resident)
    }

    /// Notes that an instance is in use from now on; whoever waited for an earlier use waits no longer.
    pub(crate) fn in_use(&self, instance: &str) -> Away {
        let (away, earlier) = self.note_use(&mut lock(&self.kept), instance);
        drop(earlier);
        away
    }

    fn note_use(&self, kept: &mut Kept, instance: &str) -> (Away, Option<Use>) {
        let number = kept.number();
        let earlier = kept.away.insert(instance.to_owned(), Use { number, waiting: Vec::new() });
        (Away { instance: instance.to_owned(), number, kept: Arc::clone(&self.kept) }, earlier)
    }

    /// Keeps an instance, and lets go of others until all fit. Destructors of user code run after the lock is released.
    pub(crate) fn put(&self, instance: String, mut resident: Box<Resident>) {
        if self.limit == 0 {
            return;
        }
        let away = resident.away.take();
        // However much an instance went through, it is kept: replaying a long history for every turn is worse than a bound
        // that is kept roughly, and most of what it went through its code has let go of.
        let weight = resident.weight.total().min(self.limit / HEAVIEST_SHARE);
        let mut kept = lock(&self.kept);
        let age = kept.number();
        kept.weight = kept.weight.saturating_add(weight);
        kept.by_age.insert(age, instance.clone());
        let replaced = kept.residents.insert(instance, Place { age, weight, resident });
        if let Some(old) = &replaced {
            kept.by_age.remove(&old.age);
            kept.weight = kept.weight.saturating_sub(old.weight);
        }
        let evicted = kept.evict_down_to(self.limit);
        drop(kept);
        drop((away, evicted, replaced));
    }

    /// How many are kept.
    pub(crate) fn len(&self) -> usize {
        lock(&self.kept).residents.len()
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    fn number(&mut self) -> u64 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    fn no_longer_away(&mut self, instance: &str, number: u64) -> Option<Use> {
        let is_it = self.away.get(instance).is_some_and(|in_use| in_use.number == number);
        if is_it { self.away.remove(instance) } else { None }
    }

    fn evict_down_to(&mut self, limit: usize) -> Vec<Place> {
        let mut evicted = Vec::new();
        while self.weight > limit
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            if let Some(place) = self.residents.remove(&oldest) {
                self.weight = self.weight.saturating_sub(place.weight);
                evicted.push(place);
            }
        }
        evicted
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
