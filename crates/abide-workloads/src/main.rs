//! `abide-workloads`: one measurement of one workload, in a process of its own, as one line of JSON.

use std::process::ExitCode;

fn main() -> ExitCode {
    abide_workloads::main()
}
