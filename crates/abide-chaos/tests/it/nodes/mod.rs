//! Nodes that share a PostgreSQL database: killed, stopped, and cut off from it.
//!
//! A few seconds each in a normal run; `ABIDE_STORM_SECONDS=60` is the full length (`cargo xtask torture nodes`). Without a server
//! they are skipped, which is said.

mod clocks;
mod cut_off;
mod killed;
mod restarted;
mod starts;
mod two;
