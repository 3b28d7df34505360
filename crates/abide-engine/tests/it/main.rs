//! The engine's tests: data in, text out, no time passes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that meets something unexpected should stop right there"
)]

mod support;

mod coverage;
mod mutants;
mod program;
mod properties;
mod smoke;
