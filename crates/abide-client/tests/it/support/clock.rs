//! Tokio's paused time as a clock, and numbers that count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_model::{Clock, Entropy, Sleep, Timestamp};
use tokio::time::Instant;

/// When every test begins.
const BEGIN: Timestamp = Timestamp::from_millis(1_000_000);

/// Time that jumps to the next sleeper when nobody has anything to do. Under a paused runtime only.
#[derive(Debug, Clone)]
pub(crate) struct VirtualClock(Instant);

impl VirtualClock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for VirtualClock {
    fn wall(&self) -> Timestamp {
        BEGIN.saturating_add(self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(monotonic.saturating_sub(self.monotonic())))
    }
}

/// 1, 2, 3, …
#[derive(Debug, Default)]
pub(crate) struct Numbers(AtomicU64);

impl Entropy for Numbers {
    fn next_u64(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}
