//! Who takes a turn when, and what it leaves.

use abide_model::{Event, EventKind, Timestamp};

/// Turns that share a transaction.
pub(crate) const GROUP: u64 = 128;
pub(crate) const EVENTS_PER_TURN: i64 = 2;
/// The instance with the long history; all others are numbered after it.
pub(crate) const LONG_INSTANCE: i64 = 1;

/// Which instances take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// A few hundred at a time, each for some six turns; then another begins in its place.
    ShortLived,
    /// Tens of thousands that never end, each now and then: neighbours in a group are far apart in the key.
    LongLived,
}

impl Pattern {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ShortLived => "short-lived",
            Self::LongLived => "long-lived",
        }
    }

    /// How many instances are active; a power of two.
    const fn active(self) -> usize {
        match self {
            Self::ShortLived => 256,
            Self::LongLived => 32_768,
        }
    }

    /// The step from one turn's instance to the next one's. Odd, so that the walk visits everyone before it repeats
    /// anyone: a group has no instance twice.
    const fn stride(self) -> usize {
        match self {
            Self::ShortLived => 97,
            Self::LongLived => 20_249,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) instance: i64,
    pub(crate) first_event: i64,
}

/// An endless row of turns, the same in every run.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    pattern: Pattern,
    slots: Vec<Slot>,
    position: usize,
    next_instance: i64,
}

/// An active instance.
#[derive(Debug, Clone, Copy)]
struct Slot {
    next: Turn,
    turns_left: i64,
}

impl Traffic {
    pub(crate) fn new(pattern: Pattern) -> Self {
        let first = LONG_INSTANCE + 1;
        let mut traffic = Self { pattern, slots: Vec::new(), position: 0, next_instance: first };
        for _ in 0..pattern.active() {
            let mut slot = traffic.newcomer();
            // The first generation is in the middle of its life.
            slot.turns_left = slot.turns_left.min(1 + slot.next.instance % 8);
            if pattern == Pattern::LongLived {
                slot.turns_left = i64::MAX;
            }
            traffic.slots.push(slot);
        }
        traffic
    }

    pub(crate) fn turn(&mut self) -> Turn {
        self.position = (self.position + self.pattern.stride()) % self.pattern.active();
        let mut slot = self.slots[self.position];
        if slot.turns_left == 0 {
            slot = self.newcomer();
        }
        let turn = slot.next;
        slot.next.first_event += EVENTS_PER_TURN;
        slot.turns_left -= 1;
        self.slots[self.position] = slot;
        turn
    }

    /// A new instance, with four to eight turns to live.
    fn newcomer(&mut self) -> Slot {
        let instance = self.next_instance;
        self.next_instance += 1;
        Slot { next: Turn { instance, first_event: 1 }, turns_left: 4 + instance * 7 % 5 }
    }
}

/// What a turn leaves, as text of some 220 bytes per event. Encoded once: encoding is not the writer's work.
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) events: [String; 2],
    /// The same events as one array.
    pub(crate) turn: String,
}

impl Texts {
    pub(crate) fn new() -> Result<Self, serde_json::Error> {
        let completed = EventKind::ActivityCompleted { result: "y".repeat(40) };
        let scheduled = EventKind::ActivityScheduled {
            name: "charge".to_owned(),
            input: "x".repeat(28),
            session_id: None,
            tag: None,
        };
        let now = Timestamp::from_millis(1_700_000_000_000);
        let event = |id, kind| Event::recorded(id, "order-00001234", 1, now, kind);
        let [completed, scheduled] = [event(3, completed), event(4, scheduled)];
        Ok(Self {
            turn: serde_json::to_string(&[&completed, &scheduled])?,
            events: [serde_json::to_string(&completed)?, serde_json::to_string(&scheduled)?],
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn a_group_has_no_instance_twice() {
        for pattern in [Pattern::ShortLived, Pattern::LongLived] {
            let mut traffic = Traffic::new(pattern);
            for _ in 0..100 {
                let group: BTreeSet<i64> = (0..GROUP).map(|_| traffic.turn().instance).collect();
                assert_eq!(u64::try_from(group.len()), Ok(GROUP), "{pattern:?}");
            }
        }
    }

    #[test]
    fn the_events_of_an_instance_are_numbered_without_gaps() {
        let mut traffic = Traffic::new(Pattern::ShortLived);
        let mut next = BTreeMap::new();
        for _ in 0..10_000 {
            let turn = traffic.turn();
            let expected = next.entry(turn.instance).or_insert(1);
            assert_eq!(turn.first_event, *expected);
            *expected += EVENTS_PER_TURN;
        }
        let lives = u32::try_from(next.len()).unwrap_or_default();
        let turns_each = 10_000.0 / f64::from(lives);
        assert!((5.0..6.5).contains(&turns_each), "{turns_each}");
    }
}
