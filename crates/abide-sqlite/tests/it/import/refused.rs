//! What is not imported, and why. Nothing is changed then.

use std::fs;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use abide_model::{Clock, Sleep, Timestamp};
use abide_provider::Provider;
use abide_sqlite::{ImportError, ImportOutcome, SqliteProvider, import_duroxide, import_duroxide_dry_run};
use futures::executor::block_on;
use rusqlite::{Connection, ErrorCode};

use super::{Target, assert_imported, bytes_in, change, copy_of, refusal};
use crate::support::clock::ManualClock;
use crate::support::folder::Folder;
use crate::support::items::start;
use crate::support::process::{Journal, Lines, PATIENCE, Running, child_of, is_child, told};

fn assert_not_duroxide(error: &ImportError, found: &str) {
    assert!(matches!(error, ImportError::NotDuroxide { .. }), "{error:?}");
    assert!(error.to_string().contains(found), "{error}");
}

#[test]
fn what_is_no_database_of_duroxide() {
    let folder = Folder::new("other");
    let error = refusal(&folder, &folder.file("missing.db"));
    assert!(error.to_string().contains("there is no such file"), "{error}");
    let error = refusal(&folder, folder.path());
    assert!(error.to_string().contains("it is a folder"), "{error}");
    let file = folder.file("notes.txt");
    for text in ["", "x", "dear diary\n"] {
        fs::write(&file, text.repeat(100)).unwrap();
        assert_not_duroxide(&refusal(&folder, &file), "it is not a SQLite file");
    }
    let other = folder.file("other.db");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE history (x); CREATE TABLE instances (x);")
        .unwrap();
    assert_not_duroxide(&refusal(&folder, &other), "it has other tables");
    let ours = folder.file("ours.db");
    drop(block_on(SqliteProvider::new(ours.to_str().unwrap(), None)).unwrap());
    assert_not_duroxide(&refusal(&folder, &ours), "it is a database of abide");
}

#[test]
fn a_store_is_not_imported_into_itself() {
    let folder = Folder::new("itself");
    let path = folder.file("ours.db");
    let store = block_on(SqliteProvider::new(path.to_str().unwrap(), None)).unwrap();
    let error = block_on(import_duroxide(path.to_str().unwrap(), &store)).unwrap_err();
    assert_not_duroxide(&error, "it is the store that is imported into");
    let error = block_on(import_duroxide("sqlite::memory:", &store)).unwrap_err();
    assert!(error.to_string().contains("name a file"), "{error}");
}

#[test]
fn another_layout() {
    for (change_to, says) in [
        ("DELETE FROM _sqlx_migrations WHERE version = 20240112000000", "open it once with duroxide 0.1.32"),
        (
            "UPDATE _sqlx_migrations SET success = 0 WHERE version = 20240112000000",
            "open it once with duroxide 0.1.32",
        ),
        ("UPDATE _sqlx_migrations SET version = 20990101000000 WHERE version = 20240112000000", "newer"),
    ] {
        let folder = Folder::new("layout");
        let path = copy_of(&folder, "everything.db");
        change(&path, change_to);
        let error = refusal(&folder, &path);
        assert!(matches!(error, ImportError::Version { .. }), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn a_truncated_file() {
    let folder = Folder::new("truncated");
    let path = copy_of(&folder, "everything.db");
    let sound = fs::read(&path).unwrap();
    for length in
        [2, 50, 100, 511, 4_096, 4_097, 8_192, sound.len() / 2, sound.len() - 4_096, sound.len() - 1]
    {
        fs::write(&path, &sound[..length]).unwrap();
        let error = refusal(&folder, &path);
        let expected = matches!(error, ImportError::Damaged { .. } | ImportError::NotDuroxide { .. });
        assert!(expected, "{length}: {error:?}");
    }
}

#[test]
fn damaged_pages() {
    let folder = Folder::new("pages");
    let path = copy_of(&folder, "everything.db");
    let sound = fs::read(&path).unwrap();
    // Not the first page, whose beginning says what the file is.
    for page in 1..sound.len() / 4_096 {
        let mut bytes = sound.clone();
        bytes[page * 4_096..][..64].fill(0xee);
        fs::write(&path, bytes).unwrap();
        let error = refusal(&folder, &path);
        let expected = matches!(error, ImportError::Damaged { .. } | ImportError::NotDuroxide { .. });
        assert!(expected, "{page}: {error:?}");
    }
}

/// What is done to a file; whose problem that is, and what is said about it.
const DAMAGED_ROWS: &[(&str, &str, &str)] = &[
    (
        "UPDATE history SET event_data = 'secret' WHERE instance_id = 'waiting' AND event_id = 3",
        "waiting",
        "execution 1: event 3 is not JSON (line 1, column 1)",
    ),
    (
        "UPDATE history SET event_data = json_remove(event_data, '$.duroxide_version') WHERE instance_id = 'waiting'",
        "waiting",
        "event 1 is of no known form",
    ),
    (
        "UPDATE history SET event_data = x'ff00' WHERE instance_id = 'waiting'",
        "waiting",
        "a row cannot be read",
    ),
    ("UPDATE history SET event_id = event_id + 40 WHERE instance_id = 'waiting'", "waiting", "out of order"),
    ("DELETE FROM history WHERE instance_id = 'waiting'", "waiting", "it has no events"),
    (
        "DELETE FROM history WHERE instance_id = 'waiting' AND event_id = 1",
        "waiting",
        "its first event is not its start",
    ),
    ("DELETE FROM executions WHERE instance_id = 'counting'", "counting", "it has no executions"),
    (
        "DELETE FROM executions WHERE instance_id = 'counting' AND execution_id = 3",
        "counting",
        "its current execution is 3",
    ),
    (
        "UPDATE executions SET status = 'secret' WHERE instance_id = 'waiting'",
        "waiting",
        "its status is none of the four",
    ),
    (
        "UPDATE executions SET status = 'Completed' WHERE instance_id = 'waiting'",
        "waiting",
        "its history ends otherwise",
    ),
    (
        "UPDATE orchestrator_queue SET work_item = '{\"secret\":1}' WHERE instance_id = 'signaled'",
        "signaled",
        "a message is of no known form",
    ),
    (
        "UPDATE orchestrator_queue SET instance_id = 'waiting' WHERE instance_id = 'signaled'",
        "waiting",
        "a message is for another instance",
    ),
    (
        "UPDATE worker_queue SET work_item = 'secret' WHERE instance_id = 'running'",
        "",
        "an activity is not JSON",
    ),
    (
        "UPDATE kv_store SET value = x'ff00' WHERE instance_id = 'completed'",
        "completed",
        "a row cannot be read",
    ),
];

#[test]
fn rows_that_cannot_be_read() {
    for (damage, instance, says) in DAMAGED_ROWS.iter().copied() {
        let folder = Folder::new("rows");
        let path = copy_of(&folder, "everything.db");
        change(&path, damage);
        let error = refusal(&folder, &path);
        let ImportError::Problems { problems, .. } = &error else { panic!("{damage}: {error:?}") };
        assert_eq!(problems.len(), 1, "{damage}: {problems:?}");
        assert_eq!(problems[0].instance, instance, "{damage}");
        assert!(problems[0].what.contains(says), "{damage}: {}", problems[0].what);
        assert!(!error.to_string().contains("secret"), "payloads are not shown: {error}");
        let planned =
            block_on(import_duroxide_dry_run(path.to_str().unwrap(), &Target::in_memory().provider)).unwrap();
        assert_eq!(planned.problems, *problems, "{damage}");
        assert!(!planned.is_clean() && planned.to_string().contains(says), "{planned}");
    }
}

/// Opening such a file would undo the transaction, and change it.
#[test]
fn a_file_with_an_unfinished_transaction() {
    let folder = Folder::new("journal");
    let path = copy_of(&folder, "everything.db");
    fs::write(folder.file("everything.db-journal"), "anything").unwrap();
    let error = refusal(&folder, &path);
    assert!(error.to_string().contains("open and close it once with that program"), "{error}");
}

#[test]
fn ids_that_the_store_has() {
    let folder = Folder::new("collisions");
    let path = copy_of(&folder, "everything.db");
    let target = Target::in_memory();
    for instance in ["waiting", "unstarted", "of our own"] {
        block_on(target.provider.enqueue_for_orchestrator(start(instance), None)).unwrap();
    }
    let before = target.contents();
    let error = target.import(&path).unwrap_err();
    let ImportError::Collisions { instances } = &error else { panic!("{error:?}") };
    assert_eq!(instances, &["waiting", "unstarted"]);
    assert!(error.to_string().contains("'waiting', 'unstarted'"), "{error}");
    let planned = block_on(import_duroxide_dry_run(path.to_str().unwrap(), &target.provider)).unwrap();
    assert_eq!(planned.collisions, ["waiting", "unstarted"]);
    assert_eq!(target.contents(), before);
}

#[test]
fn a_store_with_other_ids_keeps_them() {
    let folder = Folder::new("disjoint");
    let target = Target::in_memory();
    block_on(target.provider.enqueue_for_orchestrator(start("of our own"), None)).unwrap();
    assert_imported(&target.import(&copy_of(&folder, "everything.db")).unwrap());
    assert!(target.contents().contains("of our own"));
}

#[test]
fn a_dry_run_changes_nothing() {
    for sample in ["everything.db", "crashed.db"] {
        let folder = Folder::new("dry");
        let path = copy_of(&folder, sample);
        let target = Target::in_memory();
        let (before, contents, tables) = (bytes_in(&folder), target.contents(), target.tables());
        let planned = block_on(import_duroxide_dry_run(path.to_str().unwrap(), &target.provider)).unwrap();
        assert_eq!(planned.outcome, ImportOutcome::DryRun);
        assert!(planned.is_clean() && planned.to_string().contains("nothing was imported"), "{planned}");
        assert!(bytes_in(&folder) == before, "the source was changed: {:?}", folder.names());
        assert_eq!((target.contents(), target.tables()), (contents, tables));
        let counts = target.import(&path).unwrap().counts;
        assert_eq!(counts, planned.counts);
        assert!(bytes_in(&folder) == before, "the source was changed: {:?}", folder.names());
    }
}

const HOLDER: &str = "import::refused::holds_a_file_open";

/// The child of a test below: it has read the file once, and waits.
#[test]
#[ignore = "the child of another test"]
fn holds_a_file_open() {
    if !is_child(HOLDER) {
        return;
    }
    let connection = Connection::open(told("ABIDE_FILE")).unwrap();
    let count: i64 = connection.query_row("SELECT count(*) FROM instances", [], |row| row.get(0)).unwrap();
    Journal::append_to(Path::new(&told("ABIDE_JOURNAL"))).note(&count.to_string());
    let _ended = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_file_that_another_process_has_open() {
    for sample in ["everything.db", "crashed.db"] {
        let folder = Folder::new("open");
        let path = copy_of(&folder, sample);
        let outside = Folder::new("journal");
        let mut child = child_of(HOLDER);
        child.env("ABIDE_FILE", &path).env("ABIDE_JOURNAL", outside.file("journal"));
        let child = Running::start(child);
        Lines::of(&outside.file("journal")).wait_for(0, PATIENCE);
        let target = Target::in_memory();
        let error = target.import(&path).unwrap_err();
        assert!(matches!(error, ImportError::InUse { .. }), "{error:?}");
        assert!(error.to_string().contains("another process has it open; stop every program"), "{error}");
        let error = block_on(import_duroxide_dry_run(path.to_str().unwrap(), &target.provider)).unwrap_err();
        assert!(matches!(error, ImportError::InUse { .. }), "{error:?}");
        child.kill();
        assert_imported(&target.import(&path).unwrap());
    }
}

/// Says when it is looked at, and waits for an answer.
struct GateClock {
    clock: ManualClock,
    reached: mpsc::SyncSender<()>,
    go_on: std::sync::Mutex<mpsc::Receiver<()>>,
}

impl Clock for GateClock {
    fn wall(&self) -> Timestamp {
        if self.reached.send(()).is_ok() {
            let _open = self.go_on.lock().unwrap().recv();
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

/// From the first transaction of an import to its last, no other program can read or write the source.
#[test]
fn the_source_is_locked_meanwhile() {
    let folder = Folder::new("locked");
    let path = copy_of(&folder, "everything.db");
    let ((reached, arrivals), (open, go_on)) = (mpsc::sync_channel(0), mpsc::channel());
    let clock = GateClock { clock: ManualClock::at(super::recorded_at()), reached, go_on: go_on.into() };
    std::thread::scope(|scope| {
        let importing = scope.spawn(|| {
            let builder = SqliteProvider::builder("sqlite::memory:").clock(Arc::new(clock));
            let store = block_on(builder.open()).unwrap();
            let import = || block_on(import_duroxide(path.to_str().unwrap(), &store));
            // The threads of the store ask for the time, too, and so the test may have the file open when this begins.
            let is_over = |outcome: &Result<_, _>| !matches!(outcome, Err(ImportError::InUse { .. }));
            let imported = std::iter::repeat_with(import).take(1_000).find(is_over);
            drop(store);
            imported.expect("the test looks at it a few times only").map(|_| ())
        });
        let mut locked = 0;
        while arrivals.recv().is_ok() {
            let other = Connection::open(&path).unwrap();
            other.busy_timeout(Duration::ZERO).unwrap();
            let read = other.query_row("SELECT count(*) FROM instances", [], |row| row.get::<_, i64>(0));
            if let Err(error) = read {
                assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy), "{error}");
                locked += 1;
            }
            drop(other);
            open.send(()).unwrap();
        }
        importing.join().unwrap().unwrap();
        assert!(locked > 20, "a transaction per instance: {locked}");
    });
}
