//! The machine's clock, with timers that cost little.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Sleep, Timestamp};

/// The machine's clock; waiting is tokio's, which needs its runtime and no thread of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokioClock {
    system: SystemClock,
}

impl TokioClock {
    /// `None` where the tokio runtime was built without timers.
    pub(crate) fn try_new() -> Option<Self> {
        let clock = Self::default();
        // Tokio offers no other way to ask.
        let probe = catch_unwind(AssertUnwindSafe(|| clock.sleep_until(Duration::ZERO)));
        probe.is_ok().then_some(clock)
    }
}

impl Clock for TokioClock {
    fn wall(&self) -> Timestamp {
        self.system.wall()
    }

    fn wall_rounded_up(&self) -> Timestamp {
        self.system.wall_rounded_up()
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(monotonic.saturating_sub(self.system.monotonic())))
    }
}
