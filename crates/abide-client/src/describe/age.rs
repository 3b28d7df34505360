//! Lengths of time, as people say them.

use std::fmt;
use std::time::Duration;

use abide_model::Timestamp;

/// A length of time in one unit, rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Age(pub(super) Duration);

impl Age {
    /// From `earlier` to `later`; nothing if it is the other way round.
    pub(super) const fn between(earlier: Timestamp, later: Timestamp) -> Self {
        Self(later.saturating_duration_since(earlier))
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..120 => write!(f, "{seconds} s"),
            120..7_200 => write!(f, "{} min", seconds / 60),
            7_200..172_800 => write!(f, "{} h", seconds / 3_600),
            _ => write!(f, "{} d", seconds / 86_400),
        }
    }
}
