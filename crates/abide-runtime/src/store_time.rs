//! What time it is for the store, whose clock alone counts: that of a node may be wrong.
//!
//! Nobody knows it exactly. What is recorded is not ahead of it, or it would go back on the next node; what timers are shown by is not
//! behind it, or they would be early.

use std::time::Duration;

use abide_model::{Clock, Timestamp};
use abide_provider::{InstanceLease, WorkLease};

/// When a lease was handed over, in monotonic time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HandedOver {
    /// Not before this: then the poll began that the store answered in.
    pub(crate) since: Duration,
    /// Not after this.
    pub(crate) by: Duration,
}

/// What the store said at a lease, and when that was here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreTime {
    said: Option<Timestamp>,
    /// By how much it may have been later.
    slack: Duration,
    handed_over: HandedOver,
}

impl StoreTime {
    /// What a lease on an instance says.
    pub(crate) const fn of_instance(lease: &InstanceLease, handed_over: HandedOver) -> Self {
        Self { said: lease.store_time, slack: lease.store_time_slack, handed_over }
    }

    /// What a lease on an activity says.
    pub(crate) const fn of_work(lease: &WorkLease, handed_over: HandedOver) -> Self {
        Self { said: lease.store_time, slack: lease.store_time_slack, handed_over }
    }

    /// What it said, plus what has passed since; if it says nothing, the clock of this node must do.
    pub(crate) fn now(self, clock: &dyn Clock) -> Timestamp {
        let passed = clock.monotonic().saturating_sub(self.handed_over.by);
        self.said.map_or_else(|| clock.wall(), |said| said.saturating_add(passed))
    }

    /// The latest that it can be. What was asked for before and is counted from here is not early.
    pub(crate) fn at_most(self, clock: &dyn Clock) -> Timestamp {
        let passed = clock.monotonic().saturating_sub(self.handed_over.since);
        let passed = passed.saturating_add(self.slack);
        self.said.map_or_else(|| clock.wall_rounded_up(), |said| said.saturating_add(passed))
    }
}
