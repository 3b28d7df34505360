//! Telling operators of blocked instances: log lines, at first each and then as a count; and what health says.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use abide_provider::{BlockKind, BlockedCounts, BlockedInstance};

/// So many lines per orchestration, kind and minute.
const LINES_PER_MINUTE: u32 = 10;

const MINUTE: Duration = Duration::from_secs(60);

/// So many orchestrations and kinds are told apart. Beyond that they share one count.
const MOST_KEYS: usize = 1_000;

/// How many blocks were logged, by orchestration and kind.
#[derive(Debug, Default)]
pub(crate) struct BlockLog(Mutex<BTreeMap<(String, BlockKind), Window>>);

#[derive(Debug, Clone, Copy)]
struct Window {
    since: Duration,
    lines: u32,
    withheld: u64,
}

/// Blocks of one minute that no line told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Withheld {
    /// Of which orchestration or activity.
    pub(crate) name: String,
    pub(crate) kind: BlockKind,
    pub(crate) count: u64,
}

/// What to say about one more block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// The block itself, and how many of the minute before were withheld.
    Say { withheld_before: u64 },
    /// Nothing but that further ones are counted: this is the first that is withheld.
    SayThatMoreAreCounted,
    /// Nothing.
    Withhold,
}

impl BlockLog {
    /// One more instance of this orchestration is blocked.
    pub(crate) fn next(&self, orchestration: &str, kind: BlockKind, now: Duration) -> Line {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = (orchestration.to_owned(), kind);
        if windows.len() >= MOST_KEYS && !windows.contains_key(&key) {
            key.0 = String::new();
        }
        let window = windows.entry(key).or_insert(Window { since: now, lines: 0, withheld: 0 });
        let mut withheld_before = 0;
        if now.saturating_sub(window.since) >= MINUTE {
            withheld_before = window.withheld;
            *window = Window { since: now, lines: 0, withheld: 0 };
        }
        if window.lines < LINES_PER_MINUTE {
            window.lines += 1;
            return Line::Say { withheld_before };
        }
        window.withheld = window.withheld.saturating_add(1);
        if window.withheld == 1 { Line::SayThatMoreAreCounted } else { Line::Withhold }
    }

    /// How many blocks were withheld, of the minutes that are over.
    pub(crate) fn take_counts(&self, now: Duration) -> Vec<Withheld> {
        self.take_counts_if(|window| now.saturating_sub(window.since) >= MINUTE)
    }

    /// How many blocks were withheld. To be called when the runtime ends.
    pub(crate) fn take_last_counts(&self) -> Vec<Withheld> {
        self.take_counts_if(|_| true)
    }

    fn take_counts_if(&self, is_over: impl Fn(&Window) -> bool) -> Vec<Withheld> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = Vec::new();
        windows.retain(|(name, kind), window| {
            let is_over = is_over(window);
            if is_over && window.withheld > 0 {
                counts.push(Withheld { name: name.clone(), kind: *kind, count: window.withheld });
            }
            !is_over
        });
        counts
    }
}

/// What is blocked in the store, as of the last count.
#[derive(Debug, Default)]
pub(crate) struct Blocked(Mutex<LastCount>);

#[derive(Debug, Default)]
struct LastCount {
    counts: BlockedCounts,
    /// This node has blocked something since.
    is_outdated: bool,
}

impl Blocked {
    /// This node has blocked something.
    pub(crate) fn note(&self) {
        self.lock().is_outdated = true;
    }

    pub(crate) fn set(&self, counts: BlockedCounts) {
        *self.lock() = LastCount { counts, is_outdated: false };
    }

    /// Whether something may be blocked. While nothing is, nothing is counted.
    pub(crate) fn is_suspected(&self) -> bool {
        let last = self.lock();
        last.is_outdated || last.counts.oldest.is_some()
    }

    /// How many instances and activities are blocked, and the oldest of them.
    pub(crate) fn summary(&self) -> (u64, Option<BlockedInstance>) {
        let last = self.lock();
        (last.counts.by_kind.iter().map(|(_, count)| count).sum(), last.counts.oldest.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LastCount> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_are_told_in_a_minute_and_the_others_are_counted() {
        let log = BlockLog::default();
        let now = Duration::from_secs(5);
        let next = |now| log.next("Order", BlockKind::Panic, now);
        for _ in 0..LINES_PER_MINUTE {
            assert_eq!(next(now), Line::Say { withheld_before: 0 });
        }
        assert_eq!(next(now), Line::SayThatMoreAreCounted);
        assert_eq!(next(now), Line::Withhold);
        assert_eq!(log.next("Order", BlockKind::Corrupt, now), Line::Say { withheld_before: 0 });
        assert_eq!(next(now + MINUTE), Line::Say { withheld_before: 2 });
        assert_eq!(next(now + MINUTE), Line::Say { withheld_before: 0 });
        assert_eq!(log.take_last_counts(), []);
    }

    #[test]
    fn what_was_withheld_is_told_when_the_minute_is_over_also_if_nothing_follows() {
        let log = BlockLog::default();
        let now = Duration::from_secs(5);
        for _ in 0..LINES_PER_MINUTE + 3 {
            log.next("Order", BlockKind::Panic, now);
        }
        assert_eq!(log.take_counts(now + MINUTE / 2), []);
        let withheld = Withheld { name: "Order".to_owned(), kind: BlockKind::Panic, count: 3 };
        assert_eq!(log.take_counts(now + MINUTE), [withheld]);
        assert_eq!(log.take_last_counts(), []);
    }
}
