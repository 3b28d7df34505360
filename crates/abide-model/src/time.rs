//! A point in time, as it is recorded.
//!
//! Recorded times are whole milliseconds. Rounding is therefore a decision, and it is made here once:
//! a deadline rounds up, because a timer may be late but never early.
//!
//! Deliberately absent: asking what time it is. That is what a [`Clock`](crate::Clock) is for.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch, between zero and `i64::MAX`, which is what every store can hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch, before which there is nothing.
    pub const EPOCH: Self = Self(0);

    /// The last representable time, some 292 million years away: never.
    pub const MAX: Self = Self(i64::MAX.unsigned_abs());

    /// The given number of milliseconds after the epoch, or [`Timestamp::MAX`] if that is later.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        if millis > Self::MAX.0 { Self::MAX } else { Self(millis) }
    }

    /// Milliseconds after the epoch.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The first whole millisecond that is at least `duration` later.
    #[must_use]
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self::from_millis(self.0.saturating_add(millis_rounded_up(duration)))
    }

    /// The last whole millisecond that is at least `duration` earlier.
    #[must_use]
    pub fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis_rounded_up(duration)))
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

fn millis_rounded_up(duration: Duration) -> u64 {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).unwrap_or(u64::MAX)
}

impl From<SystemTime> for Timestamp {
    /// The millisecond that `time` falls into; the epoch if it is before that.
    fn from(time: SystemTime) -> Self {
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self::from_millis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<Timestamp> for SystemTime {
    /// The same time, or the end of the year 9999 if the platform cannot represent it.
    fn from(timestamp: Timestamp) -> Self {
        const END_OF_YEAR_9999: Duration = Duration::from_secs(253_402_300_799);

        UNIX_EPOCH
            .checked_add(Duration::from_millis(timestamp.0))
            .or_else(|| UNIX_EPOCH.checked_add(END_OF_YEAR_9999))
            .unwrap_or(UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    /// Milliseconds after the epoch, as in the stored events.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
