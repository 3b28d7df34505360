//! The same, with allocations counted. It does not count the calls of its store.

use std::alloc::System;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    reference_workloads::count_with(|| {
        let stats = ALLOCATOR.stats();
        stats.allocations.saturating_add(stats.reallocations)
    });
    reference_workloads::main()
}
