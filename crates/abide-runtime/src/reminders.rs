//! Telling people of something once a minute, in bounded memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So long nothing is said of the same topic again.
const PAUSE: Duration = Duration::from_secs(60);

/// So many topics are remembered. With more of them within a minute, some are told of more often.
const REMEMBERED: usize = 10_000;

/// What may be told of again and again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    /// A lease of this instance could not be renewed.
    Renewal { instance: String },
    /// No execution waits for messages of this name.
    Unwaited { name: String },
    /// No live node serves an activity or orchestration of this name.
    Unserved { name: String },
}

/// What was told of in the last minute, and when.
#[derive(Debug, Default)]
pub(crate) struct Reminders {
    told: Mutex<BTreeMap<Topic, Duration>>,
}

impl Reminders {
    /// Whether to tell of it now.
    pub(crate) fn is_due(&self, topic: Topic, now: Duration) -> bool {
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

    fn unwaited(name: impl Into<String>) -> Topic {
        Topic::Unwaited { name: name.into() }
    }

    #[test]
    fn each_topic_is_told_of_once_a_minute() {
        let (reminders, at) = (Reminders::default(), Duration::from_secs);
        assert!(reminders.is_due(unwaited("a"), at(0)));
        assert!(!reminders.is_due(unwaited("a"), at(59)));
        assert!(reminders.is_due(unwaited("b"), at(59)));
        assert!(reminders.is_due(Topic::Renewal { instance: "a".to_owned() }, at(59)));
        assert!(reminders.is_due(unwaited("a"), at(60)));
        assert!(!reminders.is_due(unwaited("a"), at(61)));
    }

    #[test]
    fn memory_is_bounded() {
        let reminders = Reminders::default();
        for number in 0..3 * REMEMBERED {
            assert!(reminders.is_due(unwaited(number.to_string()), Duration::ZERO));
        }
        assert!(reminders.told.lock().unwrap().len() <= REMEMBERED);
    }
}
