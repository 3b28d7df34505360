//! Orchestrations in processes that are killed and stopped, and what must hold afterwards.
//!
//! A *worker* ([`worker`], the program `chaos-worker`) runs a runtime on a [`store`] with the programs of [`program`]. What it
//! does it writes to a [`journal`], which survives it. A *driver* (the tests) starts orders, kills and stops workers, and in
//! the end gathers the [`Evidence`](check::Evidence) and [checks](check) it: nothing lost, nothing stuck, nothing failed that
//! should not, every result that of a run, every history whole.
//!
//! A *deployment* ([`deploy`], the program `deploy-worker`) is a service whose builds differ: some cannot run what others
//! began.
//!
//! Deliberately absent: anything that simulates. Processes, signals, the clock and the store are real; what needs every
//! interleaving is tested in virtual time elsewhere.

pub mod check;
pub mod deploy;
pub mod journal;
pub mod program;
pub mod skew;
pub mod store;
pub mod worker;

mod refusals;
