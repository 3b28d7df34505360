//! The test itself, tried on the model: beside itself it differs nowhere, however it numbers, and what lies is caught.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod agreeing;
mod lying;
mod model;
