//! Counting by key, in bounded memory.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many keys are remembered.
const REMEMBERED: usize = 10_000;

/// How often each key was counted.
#[derive(Debug)]
pub(crate) struct Tally<Key> {
    counts: Mutex<BTreeMap<Key, u32>>,
}

impl<Key> Default for Tally<Key> {
    fn default() -> Self {
        Self { counts: Mutex::default() }
    }
}

impl<Key: Ord> Tally<Key> {
    /// Counts once more; says how often now, or `None` if there is no room to remember another key.
    pub(crate) fn add(&self, key: Key) -> Option<u32> {
        let mut counts = self.lock();
        if counts.len() >= REMEMBERED && !counts.contains_key(&key) {
            return None;
        }
        let count = counts.entry(key).or_default();
        *count = count.saturating_add(1);
        Some(*count)
    }

    /// Counts so many times more. If there is no room for another key, it forgets all others: for counts that save
    /// work, and that nothing depends on.
    pub(crate) fn add_times(&self, key: Key, times: u32) {
        let mut counts = self.lock();
        if counts.len() >= REMEMBERED && !counts.contains_key(&key) {
            counts.clear();
        }
        let count = counts.entry(key).or_default();
        *count = count.saturating_add(times);
    }

    /// Counts once less.
    pub(crate) fn take_back<Known: Ord + ?Sized>(&self, key: &Known)
    where
        Key: Borrow<Known>,
    {
        let mut counts = self.lock();
        let Some(count) = counts.get_mut(key) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(key);
        }
    }

    /// Whether it was counted at all.
    pub(crate) fn is_counted<Known: Ord + ?Sized>(&self, key: &Known) -> bool
    where
        Key: Borrow<Known>,
    {
        self.lock().contains_key(key)
    }

    /// Starts anew.
    pub(crate) fn forget<Known: Ord + ?Sized>(&self, key: &Known)
    where
        Key: Borrow<Known>,
    {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, u32>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_counted_by_itself() {
        let tally = Tally::<String>::default();
        assert_eq!(tally.add("a".to_owned()), Some(1));
        assert_eq!(tally.add("a".to_owned()), Some(2));
        assert_eq!(tally.add("b".to_owned()), Some(1));
        tally.take_back("a");
        assert_eq!(tally.add("a".to_owned()), Some(2));
        tally.forget("a");
        assert_eq!(tally.add("a".to_owned()), Some(1));
    }

    #[test]
    fn what_was_not_counted_is_not_owed() {
        let tally = Tally::<String>::default();
        tally.take_back("a");
        assert_eq!(tally.add("a".to_owned()), Some(1));
        tally.take_back("a");
        tally.take_back("a");
        assert_eq!(tally.add("a".to_owned()), Some(1));
    }

    #[test]
    fn memory_is_bounded_and_one_too_many_resets_none() {
        let tally = Tally::default();
        for key in 0..REMEMBERED {
            assert_eq!(tally.add(key), Some(1));
        }
        assert_eq!(tally.add(REMEMBERED), None, "one too many");
        assert_eq!(tally.add(0), Some(2), "known");
        tally.forget(&0);
        assert_eq!(tally.add(REMEMBERED), Some(1), "there is room again");
    }

    #[test]
    fn memory_is_bounded_where_one_too_many_resets_all() {
        let tally = Tally::default();
        for key in 0..=REMEMBERED {
            tally.add_times(key, 16);
        }
        assert!(!tally.is_counted(&0));
        assert!(tally.is_counted(&REMEMBERED));
    }
}
