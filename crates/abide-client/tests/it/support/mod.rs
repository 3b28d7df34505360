//! What the tests speak in.

mod admin;
mod clock;
mod faults;
mod past;
mod world;
mod wrapper;

pub(crate) use admin::AdminFault;
pub(crate) use clock::{Numbers, VirtualClock};
pub(crate) use faults::Fault;
pub(crate) use past::Past;
pub(crate) use world::World;
pub(crate) use wrapper::{Telling, Wrapper};

use std::collections::BTreeMap;
use std::time::Duration;

use abide_client::ClientError;

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A value that has no JSON form: a map whose keys are no texts.
pub(crate) fn without_json() -> BTreeMap<Vec<u8>, u8> {
    BTreeMap::from([(vec![1], 1)])
}

pub(crate) fn is_timeout<T>(answer: &Result<T, ClientError>) -> bool {
    matches!(answer, Err(ClientError::Timeout))
}

/// The text of the error that a call must have ended with.
pub(crate) fn text<T: std::fmt::Debug, E: std::fmt::Display>(answer: Result<T, E>) -> String {
    answer.expect_err("a call that fails").to_string()
}
