//! Virtual time, seeded chance, watched tasks, gates, and a store that fails on demand.
//!
//! A file per part. Time is virtual, but for the contract (`contract.rs`), whose tests bring their own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod support;

mod clock;
mod entropy;
mod tasks;

mod gates;

mod batches;
mod contract;
mod every_method;
mod faults;
mod leases;
mod masks;
mod outages;
mod plans;
mod required_only;

mod simulating;
