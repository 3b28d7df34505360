//! Virtual time, seeded chance, and tasks that are watched.
//!
//! For tests of orchestrations, runtimes and stores. Whatever makes two runs of a program differ comes in through the
//! seams of `abide-model`; here are the implementations under which two runs do not differ, and an hour takes a
//! millisecond. Start with [`simulate`], which runs a program in virtual time,.
//!
//! Deliberately absent: a scheduler that shuffles tasks, and a disk. Tasks run in tokio's order on one thread. Stores that own
//! threads or files live in real time, and have tests of their own.

mod clock;
mod entropy;
mod simulate;
mod tasks;

pub use clock::{Offset, VirtualClock};
pub use entropy::SeededEntropy;
pub use simulate::simulate;
pub use tasks::LocalTasks;
