//! `abide-workloads`: one measurement of one workload, in a process of its own, as one line of JSON.
//!
//! The benchmark (`abide-bench`) runs it many times, in turn with the same files built around the reference
//! (`bench/reference`). So everything here is written against a crate called `durable`, in what both sides have in common;
//! only `store.rs` differs. Start at [`program`].

mod arguments;
mod bench;
mod clock;
mod code;
mod machine;
mod notes;
mod program;
mod report;
mod store;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
