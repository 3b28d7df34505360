//! Tests of the runtime, over stores in memory and on disk.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]
#![allow(
    clippy::mem_forget,
    clippy::unchecked_time_subtraction,
    clippy::wildcard_enum_match_arm,
    reason = "a future that must not be dropped is forgotten; times are in order; one kind of event is looked for"
)]

mod recorder;
mod support;

mod blocking;
mod cancellation;
mod counts;
mod crowd;
mod describing;
mod e2e;
mod faults;
mod fused;
mod health;
mod historic;
mod instrumented;
mod lessons;
mod liveness;
mod metrics;
mod options;
mod payloads;
mod pruning;
mod registry;
mod silence;
mod smoke;
mod threads;
mod timers;
mod worker;
