//! What went wrong elsewhere.

pub(crate) mod listener;
pub(crate) mod scene;

mod bookkeeping;
mod determinism;
mod endurance;
mod liveness;
mod memory;
mod orphans;

mod before_releases;
mod first_releases;
mod kin;
mod last_release;
mod middle_releases;
