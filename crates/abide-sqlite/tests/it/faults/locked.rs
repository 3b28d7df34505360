//! Another program keeps the file locked.

use std::path::Path;
use std::time::Duration;

use abide_provider::{ErrorKind, Provider, Rejection};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::folder::{Folder, url};
use crate::support::load::start;
use crate::support::process::{PATIENCE, pass, until};

/// Holds the write lock, as a careless administrator with an open transaction would.
fn lock(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

#[test]
fn a_short_lock_is_waited_for() {
    let folder = Folder::new("locked");
    let path = folder.file("data.db");
    let store = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    let locked = lock(&path);
    std::thread::scope(|threads| {
        let write = threads.spawn(|| block_on(store.enqueue_for_orchestrator(start("a"), None)));
        pass(Duration::from_millis(500));
        assert!(!write.is_finished(), "it waits");
        assert_eq!(block_on(store.read("a")).unwrap(), [], "reading does not");
        drop(locked);
        write.join().unwrap().unwrap();
    });
}

#[test]
fn a_long_lock_is_a_fault_that_passes() {
    let folder = Folder::new("locked-long");
    let path = folder.file("data.db");
    let store = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    let locked = lock(&path);
    let error = block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    drop(locked);
    until("the store to go on", PATIENCE, || block_on(store.enqueue_for_orchestrator(start("a"), None)).ok());
    let leased =
        block_on(store.fetch_orchestration_item(Duration::from_secs(60), Duration::ZERO, None)).unwrap();
    assert_eq!(leased.unwrap().0.messages.len(), 1, "what failed was not done");
}

#[test]
fn a_lock_on_a_new_file_is_said_to_be_one() {
    let folder = Folder::new("locked-new");
    let path = folder.file("data.db");
    drop(block_on(SqliteProvider::new(&url(&path), None)).unwrap());
    let locked = lock(&path);
    let error = block_on(SqliteProvider::new(&url(&path), None)).unwrap_err();
    assert!(error.to_string().contains("another program keeps it locked"), "{error}");
    drop(locked);
    let store = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    let lost =
        block_on(store.finish_work(vec![abide_provider::FinishedWork {
            token: "nonsense".to_owned(),
            completion: None,
        }]));
    let kinds: Vec<_> = lost.into_iter().map(|answer| answer.unwrap_err().kind).collect();
    assert_eq!(kinds, [ErrorKind::Rejected(Rejection::LeaseLost)]);
}
