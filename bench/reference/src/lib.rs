//! The workloads of the benchmark around the reference: the same files, with another crate called `durable`.
//!
//! Only [`store`] is of its own: it opens the reference's stores.

#[path = "../../../crates/abide-workloads/src/arguments.rs"]
mod arguments;
#[path = "../../../crates/abide-workloads/src/bench.rs"]
mod bench;
#[path = "../../../crates/abide-workloads/src/clock.rs"]
mod clock;
#[path = "../../../crates/abide-workloads/src/code.rs"]
mod code;
#[path = "../../../crates/abide-workloads/src/counting.rs"]
mod counting;
#[path = "../../../crates/abide-workloads/src/machine.rs"]
mod machine;
#[path = "../../../crates/abide-workloads/src/notes.rs"]
mod notes;
#[path = "../../../crates/abide-workloads/src/program.rs"]
mod program;
#[path = "../../../crates/abide-workloads/src/report.rs"]
mod report;
mod store;
#[path = "../../../crates/abide-workloads/src/workloads/mod.rs"]
mod workloads;

pub use counting::count_with;
pub use program::main;
