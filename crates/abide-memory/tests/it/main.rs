//! The rules of `docs/spec/store.md`, paragraph by paragraph, under a clock that the tests move.
//!
//! `support` has the clock, the items, and a store whose answers come at once. Each other file is a section of that
//! page.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod support;

mod enqueueing;
mod readiness;

mod batches;
mod ending;
mod leasing;

mod appending;
mod committing;
mod fused;
mod kv;
mod mail_of_turns;
mod pruning;

mod sessions;
mod work;

mod reading;
mod unreadable;

mod threads;
mod told;
mod waiting;

mod dumps;
