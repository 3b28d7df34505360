//! Processes that run orchestrations, killed and stopped for real.
//!
//! `storm.rs` kills workers again and again under load, `stopped.rs` stops one beyond its lease, `ending.rs` ends them in good
//! order, `restart.rs` measures how soon one that was killed goes on. `rules.rs` shows that the checker finds what is broken.

mod ending;
mod restart;
mod rules;
mod stopped;
mod storm;
mod support;
