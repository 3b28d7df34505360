//! The bugs, planted in the model in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod clock;
mod model;
mod on_the_model;
mod table;
