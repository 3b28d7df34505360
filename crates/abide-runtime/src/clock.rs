//! The machine's clock, with timers that cost little.

use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Sleep, Timestamp};

/// The machine's clock; waiting is tokio's, which needs its runtime and no thread of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokioClock {
    system: SystemClock,
}

impl Clock for TokioClock {
    fn wall(&self) -> Timestamp {
        self.system.wall()
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(monotonic.saturating_sub(self.system.monotonic())))
    }
}
