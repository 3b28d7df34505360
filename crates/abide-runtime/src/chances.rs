//! Attempts that the store used up.
//!
//! A store counts every lease as an attempt, and what was attempted too often counts as poison. But a lease whose answer was
//! lost, or that ran out because it could not be renewed, was no attempt of anybody: however long such trouble lasts, it must
//! not end what it happens to. So a runtime that has met trouble does not take the store's count at its word. It tries what
//! was leased too often as many times again, and those tries do not count either that the store spoils.
//!
//! A runtime that has met none takes the count at its word: what ends the process itself is not tried for ever.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many are remembered; beyond that counting starts anew.
const REMEMBERED: usize = 10_000;

/// What may be tried although it was leased too often.
#[derive(Debug, Default)]
pub(crate) struct Chances {
    met_trouble: AtomicBool,
    given: Mutex<BTreeMap<String, u32>>,
}

/// Whether to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Try,
    Poison,
}

impl Chances {
    /// The store failed, or took a lease away: its counts are not to be trusted any more.
    pub(crate) fn met_trouble(&self) {
        self.met_trouble.store(true, Ordering::Relaxed);
    }

    /// What to do with something that the store has leased so often.
    pub(crate) fn judge(&self, what: &str, attempt: u32, most: u32) -> Verdict {
        if attempt <= most {
            return Verdict::Try;
        }
        if !self.met_trouble.load(Ordering::Relaxed) {
            return Verdict::Poison;
        }
        let mut given = self.lock();
        if given.len() >= REMEMBERED && !given.contains_key(what) {
            given.clear();
        }
        let count = given.entry(what.to_owned()).or_default();
        if *count >= most {
            return Verdict::Poison;
        }
        *count += 1;
        Verdict::Try
    }

    /// The store spoiled this try.
    pub(crate) fn spoiled(&self, what: &str) {
        self.met_trouble();
        if let Some(count) = self.lock().get_mut(what) {
            *count = count.saturating_sub(1);
        }
    }

    /// It was tried, with success.
    pub(crate) fn forget(&self, what: &str) {
        self.lock().remove(what);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_trouble_the_count_is_taken_at_its_word() {
        let chances = Chances::default();
        assert_eq!(chances.judge("a", 10, 10), Verdict::Try);
        assert_eq!(chances.judge("a", 11, 10), Verdict::Poison);
    }

    #[test]
    fn after_trouble_it_is_tried_as_often_again() {
        let chances = Chances::default();
        chances.met_trouble();
        for attempt in 100..103 {
            assert_eq!(chances.judge("a", attempt, 3), Verdict::Try);
        }
        assert_eq!(chances.judge("a", 103, 3), Verdict::Poison);
        assert_eq!(chances.judge("b", 103, 3), Verdict::Try);
    }

    #[test]
    fn tries_that_the_store_spoils_do_not_count() {
        let chances = Chances::default();
        chances.met_trouble();
        for attempt in 100..1_000 {
            assert_eq!(chances.judge("a", attempt, 3), Verdict::Try);
            chances.spoiled("a");
        }
    }

    #[test]
    fn success_starts_anew() {
        let chances = Chances::default();
        chances.spoiled("a");
        assert_eq!(chances.judge("a", 4, 1), Verdict::Try);
        chances.forget("a");
        assert_eq!(chances.judge("a", 5, 1), Verdict::Try);
        assert_eq!(chances.judge("a", 6, 1), Verdict::Poison);
    }
}
