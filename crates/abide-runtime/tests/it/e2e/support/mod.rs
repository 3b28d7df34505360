//! What every scenario is written with: a world to run it in, a node to run it on, and a way to read what happened.

mod file;
mod log;
mod look;
mod node;
mod past;
pub(crate) mod postgres;
mod steps;
mod third_party;
mod trace;
mod world;

pub(crate) use self::file::Folder;
pub(crate) use self::log::Log;
pub(crate) use self::look::Left;
pub(crate) use self::node::Node;
pub(crate) use self::past::Past;
pub(crate) use self::steps::Steps;
pub(crate) use self::third_party::{Filter, ThirdParty};
pub(crate) use self::trace::{names, trace};
pub(crate) use self::world::{
    Place, World, in_real_time, on_every_store, on_own_stores, on_postgres, on_required_only, virtually,
};

use std::time::Duration;

/// Longer than anything takes that is not broken. Soon over in virtual time.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

pub(crate) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
