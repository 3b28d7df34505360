//! Proof that the suite for stores can fail: stores with one mistake each, and the validation that notices.
//!
//! A bug is a few lines in `bugs/` that replace one operation of a healthy store; what needs the store's inside is
//! pretended from the outside, so that a bug can be planted in any store. `docs/broken-providers.md` has them all, with who
//! caught them.
//!
//! To plant them in a store, implement [`HealthyStores`] for the factory with which its tests run the suite, and hand it to
//! [`Trials`]. The tests of this crate do so with the model in memory, those of `abide-postgres` with theirs.
//!
//! Deliberately absent: knowledge of any particular store; mistakes that show only after a crash or between two nodes, which
//! no validation can make.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; this is the body of tests"
)]

mod bug;
mod bugs;
mod factory;
mod healthy;
mod panics;
mod planted;
mod provider;
mod run;
mod store;

pub use bugs::all as bugs;
pub use healthy::{Healthy, HealthyStores, Inside, Whole};
pub use planted::Planted;
pub use run::{Caught, Failure, How, Trials, all_paths};
