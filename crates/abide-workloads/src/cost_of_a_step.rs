//! What a warm step costs on a file, whoever is in a hurry: tests.

use std::alloc::System;
use std::sync::{Mutex, PoisonError};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::arguments::Arguments;
use crate::counting::{self, Counters};
use crate::workloads;

const STEPS: u64 = 100;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Memory is counted for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What W4 counts.
fn counted(store: &str, at: &str) -> Counters {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    counting::count_with(|| {
        let stats = ALLOCATOR.stats();
        stats.allocations.saturating_add(stats.reallocations)
    });
    let line = format!("w4 --store {store} --size {STEPS} --at {at}");
    let arguments = Arguments::parse(line.split_whitespace().map(str::to_owned)).unwrap().unwrap();
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let outcome = tokio.block_on(workloads::run(&arguments)).unwrap();
    assert_eq!((outcome.failures, outcome.complaint), (0, None));
    outcome.counters
}

#[test]
fn a_step_on_a_file_is_one_fsync_and_decodes_nothing() {
    let folder = std::env::temp_dir().join(format!("abide-workloads-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let counted = counted("sqlite-full", folder.join("store.db").to_str().unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(counted["steps"], STEPS);
    // And the start, and the first turn.
    assert_eq!(counted["fsyncs"], STEPS + 2);
    // The next activity is leased by the commit that makes it, or, if nobody has asked for it yet, by one that need not be synced.
    assert!(counted["transactions"] <= 2 * STEPS + 4, "{counted:?}");
    assert_eq!(counted["events_decoded"], 0);
    assert!(counted["allocations"] <= 180 * STEPS, "{counted:?}");
    assert!(counted["statements"] <= 40 * STEPS, "{counted:?}");
    // Nobody asks without being told that there is something.
    assert!(counted["polls"] <= 2, "{counted:?}");
}

#[test]
fn a_step_in_memory_decodes_nothing() {
    let counted = counted("memory", "nowhere");
    assert_eq!((counted["steps"], counted["events_decoded"]), (STEPS, 0));
    assert!(counted["polls"] <= 2, "{counted:?}");
}
