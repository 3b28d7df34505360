//! The engine's tests: data in, text out, no time passes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that meets something unexpected should stop right there"
)]

mod support;

mod api_data;
mod api_paths;
mod compat;
mod histories;
mod lessons;
mod micro;
mod traces;

mod combinators;
mod counts;
mod extremes;
mod foreign;
mod foreign_last;
mod foreign_tokio;
mod hostile;
mod models;
mod panics;
mod people;
mod people_history;
mod people_in_logs;
mod people_state;
mod resident;
mod spinning;
mod threads;
mod waiting;
mod waiting_for_nothing;
mod waiting_summary;

mod coverage;
mod mutants;
mod program;
mod properties;
mod properties_older;
mod reference;
