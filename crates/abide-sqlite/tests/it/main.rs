//! The SQLite store from the outside: what `docs/spec/store.md` and the design ask of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod support;

mod conformance;
mod contract;
mod differential;
mod flat;
mod lessons;
mod migrations;
mod plans;
mod poison;
mod removal;
mod routes;
mod stress;
mod waiting;

#[cfg(unix)]
mod crash;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod import;
#[cfg(unix)]
mod large_payloads;
#[cfg(unix)]
mod opening;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod trace;
#[cfg(unix)]
mod upgrade;
