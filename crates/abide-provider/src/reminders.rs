//! Telling people of something once a minute, in bounded memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So long nothing is said of the same topic again.
const PAUSE: Duration = Duration::from_secs(60);

/// So many topics are remembered. With more of them within a minute, some are told of more often.
const REMEMBERED: usize = 10_000;

/// What was told of in the last minute, and when.
#[derive(Debug)]
pub struct Reminders<T> {
    told: Mutex<BTreeMap<T, Duration>>,
}

impl<T> Default for Reminders<T> {
    fn default() -> Self {
        Self { told: Mutex::default() }
    }
}

impl<T: Ord> Reminders<T> {
    /// Whether to tell of it now, by the monotonic clock.
    pub fn is_due(&self, topic: T, now: Duration) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Duration| now.saturating_sub(*at) < PAUSE;
        if told.get(&topic).is_some_and(is_recent) {
            return false;
        }
        if told.len() >= REMEMBERED {
            told.retain(|_, at| is_recent(at));
        }
        if told.len() >= REMEMBERED {
            told.clear();
        }
        told.insert(topic, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_topic_is_told_of_once_a_minute() {
        let (reminders, at) = (Reminders::default(), Duration::from_secs);
        assert!(reminders.is_due("a", at(0)));
        assert!(!reminders.is_due("a", at(59)));
        assert!(reminders.is_due("b", at(59)));
        assert!(reminders.is_due("a", at(60)));
        assert!(!reminders.is_due("a", at(61)));
    }

    #[test]
    fn memory_is_bounded() {
        let reminders = Reminders::default();
        for number in 0..3 * REMEMBERED {
            assert!(reminders.is_due(number, Duration::ZERO));
        }
        assert!(reminders.told.lock().unwrap().len() <= REMEMBERED);
    }
}
