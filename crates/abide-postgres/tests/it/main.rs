//! The PostgreSQL store under test.
//!
//! Everything here needs a server: `cargo xtask test` starts one. Without one a test says that it is skipped, and passes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod alone;
mod backup;
mod broken;
mod conformance;
mod continued;
mod described;
mod differential;
mod durable;
mod errors;
mod flat;
mod handed;
mod hosts;
mod idle;
mod large;
mod large_leases;
mod locked;
mod near;
mod neighbours;
mod node_panics;
mod nodes;
mod one_connection;
mod opening;
mod plans;
mod pooler;
mod removal;
mod roles;
mod serving;
mod silent_server;
mod stalled_commits;
mod support;
mod texts;
#[cfg(feature = "tls")]
mod tls;
mod transactions;
mod upgrade;
