//! The contract's own behaviour: its defaults on a store that has only the required methods, its filters and
//! errors, and every documented name and signature.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that meets something unexpected should stop right there"
)]

mod administration;
mod fake;
mod items;

mod admin;
mod commits;
mod errors;
mod filters;
mod leases;
mod listeners;
mod looking;
mod messages;
mod past;
mod work;

mod api_traits;
mod api_values;
