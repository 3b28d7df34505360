//! The SQLite store from the outside: what `docs/spec/store.md` and the design ask of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod support;

mod contract;
mod differential;
mod flat;
mod lessons;
mod migrations;
mod plans;
mod poison;
mod waiting;

mod crash;
mod faults;
mod opening;
mod processes;
mod trace;
