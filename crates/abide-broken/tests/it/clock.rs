//! Clocks that a test moves, and that a bug bends.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::{Clock, Sleep, Timestamp};

thread_local! {
    /// What this thread takes for the time, if not what the clock says.
    static BENT: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// This thread takes another time for the true one.
pub(crate) fn bend(time: Option<Timestamp>) {
    BENT.set(time);
}

/// Another clock, unless time is bent.
pub(crate) struct BentClock<C>(pub(crate) C);

impl<C: Clock> Clock for BentClock<C> {
    fn wall(&self) -> Timestamp {
        BENT.get().unwrap_or_else(|| self.0.wall())
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        self.0.sleep_until(monotonic)
    }
}

/// Time stands still until it is advanced.
#[derive(Debug, Clone)]
pub(crate) struct ManualClock(Arc<Mutex<Timestamp>>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::from_millis(1_700_000_000_000))))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = now.saturating_add(by);
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.wall().as_millis())
    }

    fn sleep_until(&self, _monotonic: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}
