//! Virtual time, seeded chance and watched tasks.
//!
//! A file per part. Everything runs in virtual time; nothing here sleeps in real time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod clock;
mod entropy;
mod simulating;
mod tasks;
