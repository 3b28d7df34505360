//! A store that fails on demand.
//!
//! `plan.rs` says what goes wrong and when, `record.rs` what was called, `store.rs` how a call goes wrong. `provider.rs` and
//! `admin.rs` only name every method.

mod admin;
mod kind;
mod mask;
mod plan;
mod provider;
mod record;
mod store;

pub use kind::Fault;
pub use plan::{Call, FaultPlan};
pub use store::FaultStore;
