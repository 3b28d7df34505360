//! One measurement of one workload by the reference.

use std::process::ExitCode;

fn main() -> ExitCode {
    reference_workloads::main()
}
