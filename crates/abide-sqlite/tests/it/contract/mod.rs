//! The contract of `docs/spec/store.md`, section by section, in memory and on a file, under a clock that the test moves.
//!
//! A call that must change nothing is checked by comparing every row of every table before and after.

mod enqueueing;
mod readiness;

mod batches;
mod ending;
mod fused;

mod changes;
mod commits;
mod costs;
mod kv;
mod pruning;
mod revoking;
mod status;

mod sessions;
mod tags;
mod work;

mod clock;
mod due;
mod many;
mod told;
