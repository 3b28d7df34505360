//! Attempts that the store used up.
//!
//! A store counts every lease as an attempt, and what was attempted too often counts as poison. But a lease whose answer was
//! lost, or that ran out because it could not be renewed, was no attempt of anybody: however long such trouble lasts, it must
//! not end what it happens to. So a runtime that has met trouble does not take the store's count at its word. It tries what
//! was leased too often as many times again, and those tries do not count either that the store spoils, or that were given
//! back untried.
//!
//! A runtime that has met none takes the count at its word: what ends the process itself is not tried for ever.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::dispatch::Attempt;
use crate::tally::Tally;

/// What may be tried although it was leased too often.
#[derive(Debug, Default)]
pub(crate) struct Chances {
    met_trouble: AtomicBool,
    taken: Tally<Tried>,
}

/// What is tried.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tried {
    Instance(String),
    Activity { instance: String, execution_id: u64, id: u64 },
}

/// A name alone is an instance's.
impl From<&String> for Tried {
    fn from(instance: &String) -> Self {
        Self::Instance(instance.clone())
    }
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
    pub(crate) fn judge(&self, what: impl Into<Tried>, attempt: u32, most: u32) -> Verdict {
        if attempt <= most {
            return Verdict::Try;
        }
        if !self.met_trouble.load(Ordering::Relaxed) {
            return Verdict::Poison;
        }
        // Poison takes a chance too: if it is handed back instead of ended, it gets back what it took, and no more. What
        // there is no room to remember is tried until there is: what is remembered is decided before.
        let is_tried = self.taken.add(what.into()).is_none_or(|taken| taken <= most);
        if is_tried { Verdict::Try } else { Verdict::Poison }
    }

    /// It was handed back. If that does not count as a try, it took no chance.
    pub(crate) fn handed_back(&self, what: impl Into<Tried>, attempt: Attempt) {
        match attempt {
            Attempt::Counts => {}
            Attempt::DoesNotCount => self.taken.take_back(&what.into()),
        }
    }

    /// The store spoiled this try.
    pub(crate) fn spoiled(&self, what: impl Into<Tried>) {
        self.met_trouble();
        self.taken.take_back(&what.into());
    }

    /// It was tried with success, has ended, or waits for an operator.
    pub(crate) fn forget(&self, what: impl Into<Tried>) {
        self.taken.forget(&what.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn it() -> Tried {
        Tried::Instance("a/1/2".to_owned())
    }

    fn troubled() -> Chances {
        let chances = Chances::default();
        chances.met_trouble();
        chances
    }

    #[test]
    fn without_trouble_the_count_is_taken_at_its_word() {
        let chances = Chances::default();
        assert_eq!(chances.judge(it(), 10, 10), Verdict::Try);
        assert_eq!(chances.judge(it(), 11, 10), Verdict::Poison);
    }

    #[test]
    fn after_trouble_it_is_tried_as_often_again() {
        let chances = troubled();
        for attempt in 100..103 {
            assert_eq!(chances.judge(it(), attempt, 3), Verdict::Try);
        }
        assert_eq!(chances.judge(it(), 103, 3), Verdict::Poison);
        assert_eq!(chances.judge(it(), 104, 3), Verdict::Poison);
        let alike = Tried::Activity { instance: "a".to_owned(), execution_id: 1, id: 2 };
        assert_eq!(chances.judge(alike, 103, 3), Verdict::Try);
    }

    #[test]
    fn tries_that_the_store_spoils_do_not_count() {
        let chances = troubled();
        for attempt in 100..1_000 {
            assert_eq!(chances.judge(it(), attempt, 3), Verdict::Try);
            chances.spoiled(it());
        }
    }

    #[test]
    fn what_is_handed_back_untried_was_not_tried() {
        let chances = troubled();
        for _ in 0..100 {
            assert_eq!(chances.judge(it(), 4, 3), Verdict::Try);
            chances.handed_back(it(), Attempt::DoesNotCount);
        }
        for _ in 0..3 {
            assert_eq!(chances.judge(it(), 4, 3), Verdict::Try);
            chances.handed_back(it(), Attempt::Counts);
        }
        // Neither does it win a try by that.
        for _ in 0..100 {
            assert_eq!(chances.judge(it(), 4, 3), Verdict::Poison);
            chances.handed_back(it(), Attempt::DoesNotCount);
        }
    }

    #[test]
    fn very_many_do_not_give_each_other_chances_and_all_are_decided() {
        let (chances, activity) =
            (troubled(), |id| Tried::Activity { instance: "a".to_owned(), execution_id: 1, id });
        let mut undecided: Vec<u64> = (0..25_000).collect();
        let mut rounds = 0;
        while !undecided.is_empty() {
            undecided.retain(|id| {
                chances.judge(activity(*id), 100, 3) == Verdict::Try || {
                    chances.forget(activity(*id));
                    false
                }
            });
            rounds += 1;
            assert!(rounds <= 12, "{} are left", undecided.len());
        }
    }

    #[test]
    fn success_starts_anew() {
        let chances = troubled();
        assert_eq!(chances.judge(it(), 4, 1), Verdict::Try);
        chances.forget(it());
        assert_eq!(chances.judge(it(), 5, 1), Verdict::Try);
        assert_eq!(chances.judge(it(), 6, 1), Verdict::Poison);
    }
}
