//! What the model promises: its stored form, its texts, and its arithmetic.
//!
//! `wire` is the contract with histories and queues that other builds wrote; a snapshot that changes
//! there is a broken store somewhere. The rest are the small laws of the types that everyone computes with.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod cases;
mod wire;

mod codec;
mod errors;
mod ids;
mod retry;
mod select;
mod status;
mod threads;
mod time;
mod version;
