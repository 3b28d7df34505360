//! The demo, run as people run it: into a pipe, on a terminal, interrupted, with wrong arguments.
//!
//! Every test has a folder for temporary files of its own, and looks that it is empty afterwards and that no process is left.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod arguments;
#[path = "../../../abide/tests/it/database.rs"]
mod database;
mod interrupted;
mod lines;
mod places;
mod stores;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
