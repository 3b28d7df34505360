//! The client on the model under virtual time, on SQLite under real time, and on a store that fails as it is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that meets something unexpected should stop right there"
)]

mod support;

mod bad_input;
mod errors;
mod sending;
mod starting;

mod persisting;

mod querying;
mod waiting;
mod waiting_in_trouble;

mod deleting;
mod managing;

mod on_stores;

mod api;
