//! A clock that is wrong.

use std::time::Duration;

use abide::seams::{Clock, Sleep, Timestamp};
use abide_host::SystemClock;

/// The machine's clock, but for what it shows: as if somebody had set it wrong. What it measures is right.
#[derive(Debug, Clone)]
pub struct SkewedClock {
    system: SystemClock,
    ahead_ms: i64,
}

impl SkewedClock {
    /// One that is so many milliseconds ahead, or behind if there are fewer than none.
    #[must_use]
    pub fn ahead_by(ahead_ms: i64) -> Self {
        Self { system: SystemClock::new(), ahead_ms }
    }

    fn skewed(&self, right: Timestamp) -> Timestamp {
        Timestamp::from_millis(right.as_millis().saturating_add_signed(self.ahead_ms))
    }
}

impl Clock for SkewedClock {
    fn wall(&self) -> Timestamp {
        self.skewed(self.system.wall())
    }

    fn wall_rounded_up(&self) -> Timestamp {
        self.skewed(self.system.wall_rounded_up())
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic()
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        self.system.sleep_until(monotonic)
    }
}
