//! An import that was interrupted continues with the same source, and with no other.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_model::{Clock, Sleep, Timestamp};
use abide_provider::Provider;
use abide_sqlite::{ImportError, ImportOutcome, SqliteProvider, import_duroxide, import_duroxide_dry_run};
use futures::executor::block_on;

use super::{Target, assert_imported, change, copy_of, recorded_at};
use crate::support::clock::ManualClock;
use crate::support::folder::Folder;
use crate::support::process::{PATIENCE, Running, child_of, is_child, told};
use crate::support::store::lease_instances;

const CHILD: &str = "import::resumed::imports_until_it_dies";

/// A clock that can be looked at so often; then the process dies.
struct DeadlyClock {
    clock: ManualClock,
    looks: AtomicU64,
}

impl Clock for DeadlyClock {
    fn wall(&self) -> Timestamp {
        if self.looks.fetch_sub(1, Ordering::SeqCst) == 0 {
            std::process::abort();
        }
        self.clock.wall()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        self.clock.sleep_until(monotonic)
    }
}

/// The child of the tests below. The writer looks at the clock in every transaction.
#[test]
#[ignore = "the child of other tests"]
fn imports_until_it_dies() {
    if !is_child(CHILD) {
        return;
    }
    let clock = ManualClock::at(told("ABIDE_NOW").parse().unwrap());
    let looks = AtomicU64::new(told("ABIDE_LOOKS").parse().unwrap());
    let store = SqliteProvider::builder(&told("ABIDE_INTO")).clock(Arc::new(DeadlyClock { clock, looks }));
    let store = block_on(store.open()).unwrap();
    block_on(import_duroxide(&told("ABIDE_FROM"), &store)).unwrap();
}

/// Imports in a process that dies after so many looks at the clock. Says whether it did.
pub(super) fn dies(from: &Path, into: &Path, looks: u64) -> bool {
    let mut child = child_of(CHILD);
    child.env("ABIDE_FROM", from).env("ABIDE_INTO", into);
    child.env("ABIDE_NOW", recorded_at().to_string()).env("ABIDE_LOOKS", looks.to_string());
    !Running::start(child).wait(PATIENCE).success()
}

/// An import that has died with part of the instances copied.
fn interrupted(folder: &Folder, from: &Path) -> Target {
    let into = folder.file("ours.db");
    assert!(dies(from, &into, 15), "it dies in the middle");
    let target = Target::at(into.to_str().unwrap(), recorded_at());
    let done = target.rows("SELECT id FROM duroxide_imported");
    assert!(!done.is_empty() && done.len() < 30, "{done:?}");
    target
}

#[test]
fn a_killed_import_is_resumed_wherever_it_was() {
    let whole = {
        let folder = Folder::new("whole");
        let target = Target::in_memory();
        assert_imported(&target.import(&copy_of(&folder, "everything.db")).unwrap());
        target.contents()
    };
    let mut deaths = 0;
    for looks in 0.. {
        let folder = Folder::in_memory("killed");
        let (from, into) = (copy_of(&folder, "everything.db"), folder.file("ours.db"));
        let source = fs::read(&from).unwrap();
        if !dies(&from, &into, looks) {
            break;
        }
        deaths += 1;
        let target = Target::at(into.to_str().unwrap(), recorded_at());
        let report = target.import(&from).unwrap();
        assert_ne!(report.outcome, ImportOutcome::DryRun, "{looks}");
        assert_eq!(target.contents(), whole, "{looks}");
        assert!(target.rows("SELECT id FROM duroxide_imported").is_empty(), "{looks}");
        assert!(fs::read(&from).unwrap() == source, "the source was changed: {looks}");
    }
    assert!(deaths > 25, "a transaction per instance: {deaths}");
}

/// Until the queues are there, nothing of an import can run.
#[test]
fn nothing_runs_before_the_import_is_complete() {
    let folder = Folder::new("inert");
    let from = copy_of(&folder, "everything.db");
    let target = interrupted(&folder, &from);
    let leases = block_on(target.provider.lease_instances(lease_instances(100)));
    assert!(leases.unwrap().is_empty());
    assert!(target.rows("SELECT no FROM message UNION ALL SELECT no FROM work").is_empty());
    assert_eq!(target.import(&from).unwrap().outcome, ImportOutcome::Resumed);
}

#[test]
fn only_the_same_source_is_resumed() {
    let folder = Folder::new("same");
    let from = copy_of(&folder, "everything.db");
    let target = interrupted(&folder, &from);
    let before = target.contents();
    // duroxide has run on it meanwhile.
    let changed = folder.file("changed.db");
    fs::copy(&from, &changed).unwrap();
    change(&changed, "UPDATE orchestrator_queue SET attempt_count = 1 WHERE instance_id = 'signaled'");
    for other in [changed, copy_of(&folder, "crashed.db")] {
        let error = target.import(&other).unwrap_err();
        assert!(matches!(error, ImportError::Unfinished { .. }), "{error:?}");
        assert!(error.to_string().contains("everything.db"), "{error}");
        let error = block_on(import_duroxide_dry_run(other.to_str().unwrap(), &target.provider)).unwrap_err();
        assert!(matches!(error, ImportError::Unfinished { .. }), "{error:?}");
        assert_eq!(target.contents(), before);
    }
    // The same file by another name is the same source.
    let moved = folder.file("moved.db");
    fs::rename(&from, &moved).unwrap();
    assert_eq!(target.import(&moved).unwrap().outcome, ImportOutcome::Resumed);
}

#[test]
fn a_second_import_of_the_same_file_does_nothing() {
    let folder = Folder::new("twice");
    let from = copy_of(&folder, "everything.db");
    let target = Target::in_memory();
    assert_imported(&target.import(&from).unwrap());
    let before = target.contents();
    let report = target.import(&from).unwrap();
    assert_eq!(report.outcome, ImportOutcome::AlreadyImported);
    assert_eq!(target.contents(), before);
    let planned = block_on(import_duroxide_dry_run(from.to_str().unwrap(), &target.provider)).unwrap();
    assert_eq!(planned.outcome, ImportOutcome::AlreadyImported);
    // It says how to put the file away.
    assert_eq!(report.renames(), [(from.clone(), folder.file("everything.db.imported"))]);
    assert!(report.to_string().contains("rename it now, so that nothing runs twice"), "{report}");
    // If duroxide has run on it since, its instances collide.
    change(&from, "UPDATE orchestrator_queue SET attempt_count = 1 WHERE instance_id = 'signaled'");
    let error = target.import(&from).unwrap_err();
    assert!(matches!(error, ImportError::Collisions { .. }), "{error:?}");
}

#[test]
fn the_log_beside_a_file_is_put_away_with_it() {
    let folder = Folder::new("log");
    let from = copy_of(&folder, "crashed.db");
    let report = Target::in_memory().import(&from).unwrap();
    for (from, to) in report.renames() {
        fs::rename(from, to).unwrap();
    }
    assert_eq!(folder.names(), ["crashed.db.imported", "crashed.db.imported-wal"]);
    // Together they still are what they were.
    assert_imported(&Target::in_memory().import(&folder.file("crashed.db.imported")).unwrap());
}
