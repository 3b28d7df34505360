//! The same, with everything counted that would slow a measurement of time down (by about 5 %): allocations, and calls of the store.

use std::alloc::System;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    abide_workloads::count_with(|| {
        let stats = ALLOCATOR.stats();
        stats.allocations.saturating_add(stats.reallocations)
    });
    abide_workloads::main()
}
