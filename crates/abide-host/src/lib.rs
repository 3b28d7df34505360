//! The machine behind the seams: its clock and its entropy.
//!
//! Everything else takes a [`Clock`](abide_model::Clock) or an [`Entropy`](abide_model::Entropy) and does not ask
//! where they come from. This crate is where they come from in production, and the only place that asks the
//! operating system for the time or for a random number.
//!
//! Deliberately absent: an async runtime. Waiting works under any of them.

mod alarm;
mod clock;
mod entropy;

pub use clock::SystemClock;
pub use entropy::SystemEntropy;
