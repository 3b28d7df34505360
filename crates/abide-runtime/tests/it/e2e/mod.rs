//! Behaviours, end to end: over stores in memory, with the required methods only, over a SQLite file and over PostgreSQL.
//!
//! `index.md` has every sentence of the specification and the test that shows it; `index.rs` checks that it is complete.

pub(crate) mod support;

mod index;

mod cancelling;
mod children;
mod client;
mod collisions;
mod composition;
mod continuing;
mod detached;
mod dropping;
mod futures;
mod guarantees;
mod kv;
mod leases;
mod limits;
mod logs;
mod micro;
mod pins;
mod poison;
mod sessions;
mod shutdown;
mod status;
mod stopping;
mod tables;
mod tags;
mod timing;
mod traces;
mod versions;
mod worker;
mod wrappers;
