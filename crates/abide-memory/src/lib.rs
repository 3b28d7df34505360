//! A store in memory: the reference model of the storage contract.
//!
//! One mutex around one [`State`] of ordered maps, and one plain function per rule of `docs/spec/store.md`. It is what
//! other stores are compared with, what simulations run on, and what tests use. Start with `state.rs`, then
//! read the files in the order of that page; [`InMemoryProvider`] only locks, calls them, and wakes who waits.
//!
//! Deliberately absent: cleverness. Everything is found by looking through everything.

// What there is.
mod state;
mod stored;

// What can be done with it, in the order of `docs/spec/store.md`.
mod mail;
mod readiness;

mod batch;
mod blocked;
mod fetch;
mod lease;

mod append;
mod commit;
mod commit_rows;
mod kv;
mod prune;

mod route;
mod session;
mod work;
mod work_lease;

mod read;
mod wake;

mod describe;
mod nodes;
mod overview;

mod bulk;
mod delete;

mod refusal;
mod unreadable;
mod waiting_mail;

// Around it.
mod admin;
mod parked;
mod provider;
mod store;

pub mod dump;

pub use dump::Dump;
pub use state::State;
pub use store::InMemoryProvider;
