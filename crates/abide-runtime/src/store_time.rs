//! What time it is for the store, whose clock alone counts: that of a node may be wrong.

use std::time::Duration;

use abide_model::{Clock, Timestamp};

/// What the store said at a lease, and when that was here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreTime {
    said: Option<Timestamp>,
    granted: Duration,
}

impl StoreTime {
    /// Of a lease that was granted at the monotonic time `granted`.
    pub(crate) const fn of(said: Option<Timestamp>, granted: Duration) -> Self {
        Self { said, granted }
    }

    /// What it said, plus what has passed since; if it says nothing, the clock of this node must do.
    pub(crate) fn now(self, clock: &dyn Clock) -> Timestamp {
        let passed = clock.monotonic().saturating_sub(self.granted);
        self.said.map_or_else(|| clock.wall(), |said| said.saturating_add(passed))
    }
}
