//! Virtual time, seeded chance, tasks that are watched, and a store that fails on demand.
//!
//! For tests of orchestrations, runtimes and stores. Whatever makes two runs of a program differ comes in through the
//! seams of `abide-model`; here are the implementations under which two runs do not differ, and an hour takes a
//! millisecond. Start with [`simulate`], which runs a program in virtual time, and [`World`], which has one of everything.
//!
//! A test of faults runs twice: without faults, to learn from [`FaultStore::calls`] which calls there are; then once for
//! every call and every [`Fault`], where the outcome must be the same. [`FaultStore::fired`] shows that the fault happened.
//! A test of a race holds somebody at a [`Gate`].
//!
//! Deliberately absent: a scheduler that shuffles tasks, and a disk. Tasks run in tokio's order on one thread. Stores that own
//! threads or files live in real time, and have tests of their own.

// The seams.
mod clock;
mod entropy;
mod tasks;

// The store.
mod fault;
mod gate;
mod required_only;

// All of it.
mod simulate;
mod world;

pub use clock::{Offset, VirtualClock};
pub use entropy::SeededEntropy;
pub use fault::{Call, Fault, FaultPlan, FaultStore};
pub use gate::Gate;
pub use required_only::RequiredOnly;
pub use simulate::simulate;
pub use tasks::LocalTasks;
pub use world::World;
