//! One measurement of one workload, as one line of JSON: what both programs of this package do.
//!
//! The benchmark (`abide-bench`) runs them many times, in turn with the same files built around the reference
//! (`bench/reference`). So everything here is written against a crate called `durable`, in what both sides have in common;
//! only `store.rs` and what it uses of its own differ. Start at `program.rs`.

mod arguments;
mod bench;
mod clock;
mod code;
#[cfg(test)]
mod cost_of_a_step;
mod counted_store;
mod counting;
mod machine;
mod notes;
mod program;
mod report;
mod store;
mod workloads;

pub use counting::count_with;
pub use program::main;
