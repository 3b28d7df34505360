//! Processes that run orchestrations, killed and stopped for real.
//!
//! `storm.rs` kills workers again and again under load, `stopped.rs` stops one beyond its lease, `ending.rs` ends them in good
//! order, `restart.rs` measures how soon a killed worker continues. `nodes/` tests the same on a server.
//! `deploys/` replaces builds by others that cannot run what is in flight. `deletion/` deletes very large
//! instances. `rules.rs` shows that the checker finds what is broken.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod deletion;
mod deploys;
mod ending;
mod nodes;
mod restart;
mod rules;
mod stopped;
mod storm;
mod support;
