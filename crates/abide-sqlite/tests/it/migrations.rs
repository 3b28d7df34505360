//! Bringing a database up to date, and the settings that durability depends on.

use std::path::Path;

use abide_provider::Provider as _;
use abide_sqlite::{Durability, OpenError, SqliteProvider};
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::folder::Folder;
use crate::support::items::*;
use crate::support::store::{
    LEASE, Store, database_in, lease_instances, lease_work, millis, processes_can_share,
};

/// "abid" in ASCII.
const APPLICATION_ID: i64 = 0x6162_6964;

const VERSION: i64 = 2;

fn open(path: &Path) -> Result<SqliteProvider, OpenError> {
    block_on(SqliteProvider::new(path.to_str().unwrap(), None))
}

fn pragma(connection: &Connection, name: &str) -> i64 {
    connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
}

/// A file of ours that was never migrated, with something in it.
fn unmigrated(folder: &Folder, statements: &str) {
    let file = Connection::open(database_in(folder)).unwrap();
    file.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    file.execute_batch(statements).unwrap();
}

fn schema(path: &Path) -> Vec<String> {
    let file = Connection::open(path).unwrap();
    let mut statement = file.prepare("SELECT type || ' ' || name FROM sqlite_schema ORDER BY 1").unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_new_file_says_whose_it_is_and_which_version_it_has() {
    let folder = Folder::new("migrations");
    drop(open(&database_in(&folder)).unwrap());
    let file = Connection::open(database_in(&folder)).unwrap();
    assert_eq!(pragma(&file, "application_id"), APPLICATION_ID);
    assert_eq!(pragma(&file, "user_version"), VERSION);
    let mode: String = file.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn so_does_a_database_in_memory() {
    let store = Store::in_memory();
    assert_eq!(store.value::<i64>("PRAGMA application_id"), APPLICATION_ID);
    assert_eq!(store.value::<i64>("PRAGMA user_version"), VERSION);
}

#[test]
fn opening_again_changes_nothing() {
    let folder = Folder::new("migrations");
    let path = database_in(&folder);
    let provider = open(&path).unwrap();
    block_on(provider.enqueue_for_orchestrator(start("a"), None)).unwrap();
    drop(provider);
    let before = schema(&path);
    for _ in 0..3 {
        drop(open(&path).unwrap());
    }
    assert_eq!(schema(&path), before);
    let provider = open(&path).unwrap();
    let leases = block_on(provider.lease_instances(lease_instances(1))).unwrap();
    assert_eq!((names(&leases), leases[0].attempt), (vec!["a"], 1));
}

#[test]
fn many_who_open_a_new_file_at_once_all_succeed() {
    if !processes_can_share() {
        return; // this SQLite is too old for it
    }
    for _ in 0..10 {
        let folder = Folder::new("migrations");
        let path = database_in(&folder);
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..8)
                .map(|number| {
                    let path = &path;
                    scope.spawn(move || {
                        let provider = open(path).unwrap();
                        block_on(provider.enqueue_for_worker(activity("a", number))).unwrap();
                        provider
                    })
                })
                .collect();
            let providers: Vec<_> = openers.into_iter().map(|opener| opener.join().unwrap()).collect();
            let leased = block_on(providers[0].lease_work(lease_work(99))).unwrap();
            assert_eq!(leased.len(), 8, "everyone's work is in one file");
        });
        assert_eq!(folder.names(), ["store.db"]);
    }
}

#[test]
fn many_who_open_an_old_file_at_once_migrate_it_once() {
    if !processes_can_share() {
        return; // this SQLite is too old for it
    }
    for _ in 0..10 {
        let folder = Folder::new("migrations");
        unmigrated(&folder, "");
        let path = database_in(&folder);
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..6).map(|_| scope.spawn(|| open(&path).unwrap())).collect();
            for opener in openers {
                drop(opener.join().unwrap());
            }
        });
        assert_eq!(pragma(&Connection::open(&path).unwrap(), "user_version"), VERSION);
    }
}

/// Whichever statement of a migration fails, nothing of it stays; and it can be tried again.
#[test]
fn a_migration_that_fails_leaves_nothing_behind() {
    for (in_the_way, remedy) in [
        ("CREATE TABLE counter (x)", "DROP TABLE counter"),
        ("CREATE TABLE message (x)", "DROP TABLE message"),
        ("CREATE TABLE owner (x)", "DROP TABLE owner"),
        ("CREATE TABLE mine (x); CREATE INDEX lane_open ON mine (x)", "DROP TABLE mine"),
        ("CREATE VIEW kv_store AS SELECT 1", "DROP VIEW kv_store"),
    ] {
        let folder = Folder::new("migrations");
        let path = database_in(&folder);
        unmigrated(&folder, in_the_way);
        let before = schema(&path);
        let error = open(&path).unwrap_err();
        assert!(matches!(error, OpenError::Migration { version: 1, .. }), "{error:?}");
        assert!(error.to_string().contains("undone"), "{error}");
        assert_eq!(schema(&path), before, "{in_the_way}");
        assert_eq!(folder.names(), ["store.db"], "no lock file, no log");
        let file = Connection::open(&path).unwrap();
        assert_eq!(pragma(&file, "user_version"), 0);
        file.execute_batch(remedy).unwrap();
        drop(file);
        drop(open(&path).unwrap());
    }
}

/// Not one byte: neither in the journal mode that this version would choose, nor in another.
#[test]
fn a_file_of_a_newer_version_is_left_as_it_is() {
    for mode in ["delete", "wal"] {
        let folder = Folder::new("migrations");
        let path = database_in(&folder);
        drop(open(&path).unwrap());
        let file = Connection::open(&path).unwrap();
        file.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).unwrap();
        file.execute("UPDATE compatibility SET oldest = ?1", [VERSION + 1]).unwrap();
        file.pragma_update(None, "user_version", VERSION + 1).unwrap();
        drop(file);
        let before = std::fs::read(&path).unwrap();
        let error = open(&path).unwrap_err();
        assert!(matches!(error, OpenError::NewerSchema { found: 3, known: VERSION, .. }), "{error:?}");
        assert_eq!(folder.names(), ["store.db"]);
        assert!(std::fs::read(&path).unwrap() == before, "in mode {mode} the file was changed");
    }
}

/// How the writer would sync its next commit: 2 is FULL, 1 is NORMAL.
fn synchronous(provider: &SqliteProvider) -> i64 {
    block_on(provider.inspect(|connection| pragma(connection, "synchronous"))).unwrap()
}

#[test]
fn what_must_be_durable_is_committed_with_full_synchronisation() {
    let folder = Folder::new("migrations");
    let provider = open(&database_in(&folder)).unwrap();
    assert_eq!(synchronous(&provider), 2, "from the start");
    block_on(provider.enqueue_for_orchestrator(start("a"), None)).unwrap();
    assert_eq!(synchronous(&provider), 2, "a message");
    let lease = block_on(provider.lease_instances(lease_instances(1))).unwrap().remove(0);
    assert_eq!(synchronous(&provider), 1, "losing a lease frees it");
    block_on(provider.commit_turns(vec![TurnBuilder::starting(1).work(activity("a", 2)).under(&lease)]));
    assert_eq!(synchronous(&provider), 2, "a turn");
    let work = block_on(provider.lease_work(lease_work(1))).unwrap().remove(0);
    assert_eq!(synchronous(&provider), 1);
    block_on(provider.renew_work_item_lock(&work.token, LEASE)).unwrap();
    assert_eq!(synchronous(&provider), 1, "a renewal");
    block_on(provider.ack_work_item(&work.token, Some(completed("a", 2)))).unwrap();
    assert_eq!(synchronous(&provider), 2, "a completion");
}

/// A lease in the same transaction as a turn does not make the turn less durable.
#[test]
fn a_turn_that_serves_who_waits_is_durable() {
    let folder = Folder::new("migrations");
    let provider = open(&database_in(&folder)).unwrap();
    block_on(provider.lease_instances(lease_instances(1))).unwrap();
    let request = abide_provider::LeaseInstances { wait: millis(20_000), ..lease_instances(1) };
    let waiting = provider.lease_instances(request);
    let sent = provider.enqueue_for_orchestrator(start("a"), None);
    let (leases, sent) = block_on(futures::future::join(waiting, sent));
    sent.unwrap();
    assert_eq!(leases.unwrap().len(), 1);
    assert_eq!(synchronous(&provider), 2);
}

#[test]
fn normal_durability_is_normal_all_the_time() {
    let folder = Folder::new("migrations");
    let path = database_in(&folder);
    let builder = SqliteProvider::builder(path.to_str().unwrap()).durability(Durability::Normal);
    let provider = block_on(builder.open()).unwrap();
    assert_eq!(synchronous(&provider), 1);
    assert_eq!(provider.durability(), Some("normal"));
    block_on(provider.enqueue_for_orchestrator(start("a"), None)).unwrap();
    assert_eq!(synchronous(&provider), 1);
    block_on(provider.lease_instances(lease_instances(1))).unwrap();
    assert_eq!(synchronous(&provider), 1);
}

/// SQLite takes a level that it does not know for another: the store reads its settings back.
#[test]
fn the_settings_of_the_writer_are_those_that_were_asked_for() {
    let store = Store::on_file();
    assert_eq!(store.value::<String>("PRAGMA journal_mode"), "wal");
    assert_eq!(
        store.value::<i64>("PRAGMA wal_autocheckpoint"),
        if processes_can_share() { 0 } else { 1_000 },
        "the log is copied by a thread of its own, if there can be one"
    );
    assert_eq!(store.value::<i64>("PRAGMA busy_timeout"), 5_000);
}

#[test]
fn a_store_says_what_an_acknowledged_commit_survives() {
    let folder = Folder::new("migrations");
    let on_file = block_on(SqliteProvider::builder(database_in(&folder).to_str().unwrap()).open()).unwrap();
    assert_eq!(on_file.durability(), Some("full"));
    let in_memory = block_on(SqliteProvider::new_in_memory()).unwrap();
    assert_eq!(in_memory.durability(), Some("memory"));
}
