//! When something happened for the first time, by number: written by orchestrations and activities, without a lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::clock;

/// Two moments of each of so many things.
#[derive(Debug)]
pub(crate) struct Notes {
    base: Instant,
    moments: Vec<[AtomicU64; 2]>,
    /// How often anything was noted, also again.
    total: AtomicU64,
    audience: Audience,
}

/// Who gets to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    ThisProcess,
    /// Whoever reads what this process prints, too.
    Others,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Begun,
    Resumed,
}

impl Moment {
    const fn index(self) -> usize {
        match self {
            Self::Begun => 0,
            Self::Resumed => 1,
        }
    }

    /// As it goes from one process to another.
    const fn word(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Resumed => "resumed",
        }
    }
}

impl Notes {
    pub(crate) fn new(count: u64) -> Self {
        let moments = (0..count).map(|_| Default::default()).collect();
        Self { base: clock::now(), moments, total: AtomicU64::new(0), audience: Audience::ThisProcess }
    }

    /// Each is printed as well, for another process to [`hear`](Self::hear).
    pub(crate) fn aloud(count: u64) -> Self {
        Self { audience: Audience::Others, ..Self::new(count) }
    }

    /// Notes what another process printed, as of now.
    pub(crate) fn hear(&self, line: &str) {
        let moments = [Moment::Begun, Moment::Resumed];
        if let Some((word, which)) = line.split_once(' ')
            && let Some(moment) = moments.into_iter().find(|moment| moment.word() == word)
        {
            self.note(which, moment);
        }
    }

    /// Code is run again to be replayed, so only the first time counts. What has no number here is not noted.
    pub(crate) fn note(&self, which: &str, moment: Moment) {
        let Some(cell) = which.parse().ok().and_then(|which: usize| self.moments.get(which)) else { return };
        self.total.fetch_add(1, Relaxed);
        let nanos = u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // It is noted already if this fails.
        cell[moment.index()].compare_exchange(0, nanos.max(1), Relaxed, Relaxed).ok();
        if self.audience == Audience::Others {
            println!("{} {which}", moment.word());
        }
    }

    pub(crate) fn at(&self, which: u64, moment: Moment) -> Option<Instant> {
        let cell = self.moments.get(usize::try_from(which).ok()?)?;
        let nanos = cell[moment.index()].load(Relaxed);
        (nanos > 0).then(|| self.base + Duration::from_nanos(nanos))
    }

    pub(crate) fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// For how many of them it has come.
    pub(crate) fn count(&self, moment: Moment) -> u64 {
        let noted = self.moments.iter().filter(|cell| cell[moment.index()].load(Relaxed) > 0);
        u64::try_from(noted.count()).unwrap_or(u64::MAX)
    }

    /// In the order of their numbers, those that have come.
    pub(crate) fn all(&self, moment: Moment) -> Vec<Instant> {
        (0..).take(self.moments.len()).filter_map(|which| self.at(which, moment)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_time_counts_and_strangers_are_ignored() {
        let notes = Notes::new(2);
        notes.note("1", Moment::Begun);
        let first = notes.at(1, Moment::Begun).unwrap();
        notes.note("1", Moment::Begun);
        notes.note("7", Moment::Begun);
        notes.note("a word", Moment::Resumed);
        assert_eq!(notes.at(1, Moment::Begun), Some(first));
        assert_eq!((notes.count(Moment::Begun), notes.count(Moment::Resumed)), (1, 0));
        assert_eq!(notes.all(Moment::Begun), [first]);
    }
    #[test]
    fn what_another_process_says_is_noted() {
        let notes = Notes::new(2);
        for line in ["begun 1", "resumed 0", "ready", "begun many", "gone 1"] {
            notes.hear(line);
        }
        assert!(notes.at(1, Moment::Begun).is_some() && notes.at(0, Moment::Resumed).is_some());
        assert_eq!((notes.count(Moment::Begun), notes.count(Moment::Resumed)), (1, 1));
    }
}
