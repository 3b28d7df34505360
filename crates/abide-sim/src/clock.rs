//! Time that passes when everybody waits.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_model::{Clock, Sleep, Timestamp};
use tokio::time::Instant;

/// A clock on tokio's time.
///
/// Where that is paused, as in [`simulate`](crate::simulate) or under `#[tokio::test(start_paused = true)]`, time stands still
/// while any task can run, and jumps to the next timer when all of them wait. Where it is not, this is a clock that starts in
/// 2030.
///
/// It is made and asked within the runtime whose time it tells.
///
/// ```
/// use std::time::Duration;
///
/// use abide_model::Clock as _;
/// use abide_sim::{Offset, VirtualClock, simulate};
///
/// simulate(Duration::MAX, async {
///     let clock = VirtualClock::new();
///     clock.sleep(Duration::from_secs(3600)).await; // takes no time at all
///     assert_eq!(clock.monotonic(), Duration::from_secs(3600));
///     assert_eq!(clock.wall(), VirtualClock::EPOCH.saturating_add(Duration::from_secs(3600)));
///
///     clock.set_offset(Offset::Behind(Duration::from_secs(60))); // somebody corrected the machine's clock
///     assert_eq!(clock.wall(), VirtualClock::EPOCH.saturating_add(Duration::from_secs(3540)));
///     assert_eq!(clock.monotonic(), Duration::from_secs(3600));
/// });
/// ```
#[derive(Debug, Clone)]
pub struct VirtualClock {
    started: Instant,
    /// Of this clock and its clones.
    offset: Arc<Mutex<Offset>>,
}

/// By how much a wall clock is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// It shows a later time.
    Ahead(Duration),
    /// It shows an earlier time.
    Behind(Duration),
}

impl Offset {
    /// A clock that is right.
    pub const NONE: Self = Self::Ahead(Duration::ZERO);
}

impl VirtualClock {
    /// What the wall shows when a clock is made: the beginning of 2030, UTC.
    pub const EPOCH: Timestamp = Timestamp::from_millis(1_893_456_000_000);

    /// A clock that starts now, and shows [`VirtualClock::EPOCH`].
    #[must_use]
    pub fn new() -> Self {
        Self { started: Instant::now(), offset: Arc::new(Mutex::new(Offset::NONE)) }
    }

    /// The clock of another machine: the same time passes, but its wall shows another.
    #[must_use]
    pub fn skewed(&self, by: Offset) -> Self {
        Self { started: self.started, offset: Arc::new(Mutex::new(by)) }
    }

    /// From now on the wall of this clock, and of its clones, is wrong by this much. No time passes.
    pub fn set_offset(&self, offset: Offset) {
        *self.offset.lock().unwrap_or_else(PoisonError::into_inner) = offset;
    }

    /// Waits this long.
    #[must_use]
    pub fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until(self.monotonic().saturating_add(duration))
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for VirtualClock {
    fn wall(&self) -> Timestamp {
        // A reading rounds down, or a timer would be early.
        let passed = u64::try_from(self.monotonic().as_millis()).unwrap_or(u64::MAX);
        let right = Self::EPOCH.saturating_add(Duration::from_millis(passed));
        match *self.offset.lock().unwrap_or_else(PoisonError::into_inner) {
            Offset::Ahead(by) => right.saturating_add(by),
            Offset::Behind(by) => right.saturating_sub(by),
        }
    }

    fn wall_rounded_up(&self) -> Timestamp {
        let right = Duration::from_millis(Self::EPOCH.as_millis()).saturating_add(self.monotonic());
        let shown = match *self.offset.lock().unwrap_or_else(PoisonError::into_inner) {
            Offset::Ahead(by) => right.saturating_add(by),
            Offset::Behind(by) => right.saturating_sub(by),
        };
        Timestamp::EPOCH.saturating_add(shown)
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        match self.started.checked_add(monotonic) {
            Some(deadline) => Box::pin(tokio::time::sleep_until(deadline)),
            None => Box::pin(pending()),
        }
    }
}
