//! The machine's clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use abide_model::{Clock, Sleep, Timestamp};

use crate::alarm::Until;

/// The machine's clock: wall time as the system has it, monotonic time since this value was made.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// Starts counting monotonic time from here.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
    fn wall(&self) -> Timestamp {
        SystemTime::now().into()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
    fn wall_rounded_up(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::EPOCH.saturating_add(since_epoch)
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        Box::pin(Until::new(self.started.checked_add(monotonic)))
    }
}
