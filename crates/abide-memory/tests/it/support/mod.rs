//! What the tests speak in.

mod clock;
mod items;
mod store;
mod turns;

pub(crate) use clock::{Counter, ManualClock};
pub(crate) use items::*;
pub(crate) use store::{BEGIN, LEASE, Store, at_once, lease_instances, lease_work};
pub(crate) use turns::TurnBuilder;

use std::time::Duration;

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
