//! The values of labels, kept few.
//!
//! Each combination of values is a series that an exporter keeps for ever. Values that users choose (names, versions, tags)
//! are therefore limited: when there are too many, or one is too long, the rest are `other`. Numbers become ranges.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use metrics::SharedString;

/// How many different values one label may have.
const MOST: usize = 1_000;

/// How long one may be, in bytes.
const LONGEST: usize = 256;

/// What values beyond that are called.
const OTHER: &str = "other";

/// The values that one label has had. They are kept, so that a known one costs no allocation.
#[derive(Debug, Default)]
pub(super) struct Values {
    known: RwLock<BTreeSet<Arc<str>>>,
}

impl Values {
    /// The value as it is reported.
    pub(super) fn limit(&self, value: &str) -> SharedString {
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(value) {
            return SharedString::from_shared(Arc::clone(known));
        }
        if value.len() > LONGEST {
            return SharedString::const_str(OTHER);
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have been here in between.
        if let Some(known) = known.get(value) {
            return SharedString::from_shared(Arc::clone(known));
        }
        if known.len() >= MOST {
            return SharedString::const_str(OTHER);
        }
        let value: Arc<str> = value.into();
        known.insert(Arc::clone(&value));
        SharedString::from_shared(value)
    }
}

/// How often an activity had been tried before.
pub(super) const fn attempts(retry_attempt: u32) -> &'static str {
    match retry_attempt {
        0 => "0",
        1 => "1",
        2 => "2",
        3.. => "3+",
    }
}

/// How many turns an execution took.
pub(super) const fn turns(turn_count: u64) -> &'static str {
    match turn_count {
        0..=5 => "1-5",
        6..=10 => "6-10",
        11..=50 => "11-50",
        51.. => "50+",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thousand_and_first_value_is_another() {
        let values = Values::default();
        for n in 0..MOST {
            assert_eq!(&*values.limit(&n.to_string()), n.to_string().as_str());
        }
        assert_eq!(&*values.limit("one more"), "other");
        assert_eq!(&*values.limit("0"), "0", "known ones stay");
    }

    #[test]
    fn long_values_are_not_kept() {
        let values = Values::default();
        assert_eq!(&*values.limit(&"x".repeat(257)), "other");
        assert_eq!(values.limit(&"x".repeat(256)).len(), 256);
    }

    #[test]
    fn threads_agree_on_what_is_known() {
        let values = Values::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..2 * MOST {
                        let _value = values.limit(&n.to_string());
                    }
                });
            }
        });
        assert_eq!(values.known.read().unwrap().len(), MOST);
    }

    #[test]
    fn numbers_become_ranges() {
        assert_eq!([0, 1, 2, 3, u32::MAX].map(attempts), ["0", "1", "2", "3+", "3+"]);
        assert_eq!(
            [0, 1, 5, 6, 10, 11, 50, 51, u64::MAX].map(turns),
            ["1-5", "1-5", "1-5", "6-10", "6-10", "11-50", "11-50", "50+", "50+"]
        );
    }
}
