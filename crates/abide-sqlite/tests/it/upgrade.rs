//! A file that another release wrote: one of version 1 is migrated, one of a newer version is worked on if its mark
//! allows this release.

use std::path::{Path, PathBuf};

use abide_provider::{Provider as _, ProviderAdmin as _};
use abide_sqlite::{OpenError, SqliteProvider};
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::folder::{Folder, beside, url};
use crate::support::items::start;
use crate::support::process::{PATIENCE, Running, child_of, is_child, skipped, told, traced_child_of};
use crate::support::store::lease_instances;

/// A file as the release with schema version 1 left it (`crates/abide/tests/version_1/README.md`).
const VERSION_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../abide/tests/version_1/store.sqlite");

/// What brings it to version 2.
const MIGRATION_2: &str = include_str!("../../migrations/0002_safe_in_production.sql");

const OPENS: &str = "upgrade::opens_and_closes";
const DIES: &str = "upgrade::dies_in_a_migration";

fn open(path: &Path) -> Result<SqliteProvider, OpenError> {
    block_on(SqliteProvider::new(&url(path), None))
}

/// A copy of the file of version 1.
fn copy_in(folder: &Folder) -> PathBuf {
    let path = folder.file("store.db");
    std::fs::copy(VERSION_1, &path).unwrap();
    path
}

fn number(path: &Path, query: &str) -> i64 {
    Connection::open(path).unwrap().query_row(query, [], |row| row.get(0)).unwrap()
}

fn texts(path: &Path, query: &str) -> Vec<String> {
    let file = Connection::open(path).unwrap();
    let mut statement = file.prepare(query).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

const INSTANCES: &str = "SELECT id FROM mailbox WHERE execution > 0 ORDER BY no DESC";
const HISTORIES: &str = "SELECT events FROM turn ORDER BY mailbox, execution, first_event";

/// Everything is there, and what was under way can be had.
fn assert_migrated(path: &Path, when: &str) {
    assert_eq!(texts(path, "PRAGMA integrity_check"), ["ok"], "{when}");
    assert_eq!(number(path, "PRAGMA user_version"), 2, "{when}");
    assert_eq!(number(path, "SELECT oldest FROM compatibility"), 2, "{when}");
    assert_eq!(texts(path, HISTORIES), texts(Path::new(VERSION_1), HISTORIES), "{when}");
    let store = open(path).unwrap_or_else(|error| panic!("{when}: {error}"));
    assert_eq!(block_on(store.list_instances()).unwrap(), texts(Path::new(VERSION_1), INSTANCES), "{when}");
    let leased = block_on(store.lease_instances(lease_instances(9))).unwrap();
    let mut names: Vec<&str> = leased.iter().map(|lease| lease.instance.as_str()).collect();
    names.sort_unstable();
    // The lease on signal-2 is void, because its process is dead; the timer of sleep-1 is due.
    assert_eq!(names, ["fresh-1", "queue-1", "signal-2", "sleep-1"], "{when}");
}

#[test]
fn a_file_of_version_1_is_migrated() {
    let folder = Folder::new("upgrade");
    let path = copy_in(&folder);
    drop(open(&path).unwrap());
    assert_migrated(&path, "migrated");
}

#[test]
fn starts_of_children_are_migrated_with_who_waits_for_them() {
    let folder = Folder::new("upgrade");
    let path = copy_in(&folder);
    let start = r#"{"StartOrchestration":{"parent_instance":"p","parent_id":7,"parent_execution_id":3}}"#;
    let old = Connection::open(&path).unwrap();
    let sql =
        "INSERT INTO message (mailbox, visible_at, no, class, parent, item) VALUES (?1, 1, ?1, 1, 'p', ?2)";
    for (no, item) in [(900_001, start), (900_002, "damaged")] {
        old.execute(sql, rusqlite::params![no, item]).unwrap();
    }
    drop(old);
    drop(open(&path).unwrap());
    let links = "SELECT coalesce(execution, '-') || ' ' || coalesce(event, '-') FROM message WHERE parent = 'p' ORDER BY no";
    assert_eq!(texts(&path, links), ["3 7", "- -"]);
}

#[test]
#[ignore = "the child of another test"]
fn opens_and_closes() {
    if is_child(OPENS) {
        drop(open(Path::new(&told("ABIDE_DATABASE"))).unwrap());
    }
}

/// The statements of a script. Each ends with its line; that of a trigger with a line of its own.
fn statements_of(script: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    for line in script.lines().map(|line| line.split("--").next().unwrap_or_default().trim_end()) {
        let statement = statements.last_mut().unwrap();
        statement.push_str(line);
        statement.push('\n');
        let is_trigger = statement.trim_start().starts_with("CREATE TRIGGER");
        if line.ends_with(';') && (!is_trigger || line == "END;") {
            statements.push(String::new());
        }
    }
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

/// Does what a migration does, up to a statement, and dies. Ends in good order if there is no such statement.
#[test]
#[ignore = "the child of another test"]
fn dies_in_a_migration() {
    if !is_child(DIES) {
        return;
    }
    let nth: usize = told("ABIDE_STATEMENT").parse().unwrap();
    let file = Connection::open(told("ABIDE_DATABASE")).unwrap();
    // Pages go to the disk as soon as they are written, which a large migration would do.
    file.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
    let mut done = 0;
    for statement in statements_of(MIGRATION_2) {
        file.execute_batch(&statement).unwrap();
        done += 1;
        if done == nth {
            std::process::abort();
        }
    }
    file.execute_batch("PRAGMA user_version = 2").unwrap();
    if done < nth {
        file.execute_batch("ROLLBACK").unwrap();
    }
}

#[test]
fn a_migration_killed_at_any_statement_is_made_good() {
    let mut killed = 0;
    for nth in 1.. {
        let folder = Folder::new("upgrade");
        let path = copy_in(&folder);
        let mut command = child_of(DIES);
        command.env("ABIDE_DATABASE", &path).env("ABIDE_STATEMENT", nth.to_string());
        if Running::start(command).wait(PATIENCE).success() {
            break;
        }
        killed += 1;
        assert_eq!(number(&path, "PRAGMA user_version"), 1, "after statement {nth}");
        let schema = "SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1";
        assert_eq!(texts(&path, schema), texts(Path::new(VERSION_1), schema), "after statement {nth}");
        drop(open(&path).unwrap_or_else(|error| panic!("after statement {nth}: {error}")));
        assert_migrated(&path, &format!("after statement {nth}"));
    }
    assert!(killed >= 2, "{killed}");
}

#[test]
fn a_migration_killed_at_any_write_is_made_good() {
    let mut killed = 0;
    for (call, step) in [("pwrite64", 5), ("fsync,fdatasync", 1), ("ftruncate", 1), ("unlink", 1)] {
        for nth in (1..).step_by(step) {
            let folder = Folder::new("upgrade");
            let path = copy_in(&folder);
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={nth}"));
            let paths = ["", "-wal", "-shm"].map(|suffix| beside(&path, suffix).display().to_string());
            let mut options = vec!["-e", &trace, "-e", &inject];
            options.extend(paths.iter().flat_map(|path| ["-P", path]));
            let mut command = match traced_child_of(OPENS, &folder.file("trace"), &options) {
                Ok(command) => command,
                Err(why) => return skipped("a_migration_killed_at_any_write_is_made_good", &why),
            };
            command.env("ABIDE_DATABASE", &path);
            if Running::start(command).wait(PATIENCE).success() {
                break;
            }
            killed += 1;
            drop(open(&path).unwrap_or_else(|error| panic!("after {call} {nth}: {error}")));
            assert_migrated(&path, &format!("after {call} {nth}"));
        }
    }
    println!("killed {killed} times");
    assert!(killed > 5, "{killed}");
}

#[test]
fn no_file_of_version_1_is_migrated_while_a_process_of_that_release_has_it_open() {
    let folder = Folder::new("upgrade");
    let path = copy_in(&folder);
    let before = std::fs::read(&path).unwrap();
    // What such a process holds for as long as it lives; and one that a dead process left behind.
    let held = beside(&path, "-owner-00000000000000aa");
    let lock = std::fs::File::create(&held).unwrap();
    lock.lock().unwrap();
    std::fs::write(beside(&path, "-owner-00000000000000bb"), "").unwrap();

    let error = open(&path).unwrap_err();
    let OpenError::OlderProcesses { found: 1, known: 2, lock_files, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(lock_files, &["store.db-owner-00000000000000aa"]);
    let text = error.to_string();
    for words in ["store.db-owner-00000000000000aa", "stop the processes", "left untouched"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(std::fs::read(&path).unwrap() == before, "the file was changed");

    drop(lock);
    drop(open(&path).unwrap());
    assert_migrated(&path, "when that process has ended");
}

/// It read the version before the file was migrated, and registers afterwards.
#[test]
fn a_process_of_version_1_that_was_starting_meanwhile_cannot_register() {
    let folder = Folder::new("upgrade");
    let path = copy_in(&folder);
    let register = "INSERT INTO owner (lock_file) VALUES ('x') RETURNING no";
    Connection::open(&path).unwrap().prepare(register).unwrap();
    drop(open(&path).unwrap());
    Connection::open(&path).unwrap().prepare(register).unwrap_err();
}

/// A file that the next release has migrated, with this as its mark.
fn newer(folder: &Folder, mark: &str) -> PathBuf {
    let path = folder.file("store.db");
    drop(open(&path).unwrap());
    let file = Connection::open(&path).unwrap();
    file.execute_batch(mark).unwrap();
    file.execute_batch("CREATE TABLE of_version_3 (x); PRAGMA user_version = 3").unwrap();
    path
}

#[test]
fn a_newer_file_is_worked_on_if_its_mark_allows_this_release() {
    let folder = Folder::new("upgrade");
    let path = newer(&folder, "");
    for _ in 0..2 {
        let store = open(&path).unwrap();
        block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap();
        assert_eq!(block_on(store.lease_instances(lease_instances(1))).unwrap().len(), 1);
    }
    assert_eq!(number(&path, "PRAGMA user_version"), 3, "it stays a file of its release");
    assert_eq!(number(&path, "SELECT oldest FROM compatibility"), 2);
}

#[test]
fn a_newer_file_is_refused_if_its_mark_does_not() {
    for (mark, expected) in [
        ("UPDATE compatibility SET oldest = 3", Some(3)),
        ("DELETE FROM compatibility", None),
        ("DROP TABLE compatibility", None),
    ] {
        let folder = Folder::new("upgrade");
        let path = newer(&folder, mark);
        let before = std::fs::read(&path).unwrap();
        let error = open(&path).unwrap_err();
        let OpenError::NewerSchema { found: 3, known: 2, oldest, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*oldest, expected, "{mark}");
        assert!(error.to_string().contains("use that release or a newer one"), "{error}");
        assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
    }
}
