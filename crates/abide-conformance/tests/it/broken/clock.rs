//! A clock that can be bent for one call: how a bug does now what was allowed earlier.

use std::cell::Cell;
use std::time::Duration;

use abide_model::{Clock, Sleep, Timestamp};
use futures_util::FutureExt;

thread_local! {
    /// What this thread takes for the time, if not what the clock says.
    static BENT: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// Another clock, unless time is bent.
pub(super) struct BentClock<C>(pub(super) C);

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

/// Makes a call as if it were another time. The call must not wait.
pub(super) fn at<T>(time: Timestamp, call: impl Future<Output = T>) -> T {
    BENT.set(Some(time));
    let answer = call.now_or_never();
    BENT.set(None);
    answer.expect("the model answers at once")
}
