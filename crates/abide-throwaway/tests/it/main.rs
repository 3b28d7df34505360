//! Servers that come, go, and are gone when their owner is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod owner;
mod server;
mod support;
