//! Files that are not ours: refused with a reason, and left as they were.

use std::fs;
use std::path::Path;

use abide_sqlite::OpenError;
use rusqlite::Connection;

use super::{assert_says, open, refusal, write};
use crate::support::folder::Folder;

/// Opening is refused, and neither the file nor its folder has changed.
fn untouched(folder: &Folder, path: &Path) -> OpenError {
    let (before, names) = (fs::read(path).unwrap(), folder.names());
    let error = refusal(path);
    assert!(fs::read(path).unwrap() == before, "the file was changed");
    assert_eq!(folder.names(), names);
    error
}

fn assert_foreign(error: &OpenError, found: &str) {
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
    assert_says(error, &["is not an abide database", found, "left untouched", "choose another file"]);
}

#[test]
fn a_text_file() {
    let folder = Folder::new("text");
    let path = folder.file("notes.txt");
    for text in ["xy".to_owned(), "dear diary\n".repeat(3), "dear diary\n".repeat(1_000)] {
        fs::write(&path, &text).unwrap();
        assert_foreign(&untouched(&folder, &path), "it is not a SQLite file");
    }
}

/// SQLite takes a file of one byte for an empty one.
#[test]
fn a_file_of_one_byte() {
    let folder = Folder::new("byte");
    let path = folder.file("flag");
    fs::write(&path, "1").unwrap();
    assert_foreign(&untouched(&folder, &path), "it is not a SQLite file");
}

#[test]
fn an_empty_file_is_a_new_database() {
    let folder = Folder::new("empty");
    let path = folder.file("data.db");
    fs::write(&path, "").unwrap();
    write(&open(&path).unwrap(), 1).unwrap();
}

#[test]
fn a_database_of_another_program() {
    let folder = Folder::new("another");
    let path = folder.file("data.db");
    for (index, mode) in ["delete", "wal"].into_iter().enumerate() {
        for setup in [
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO customer VALUES (1, 'Ada');",
            "CREATE TABLE owner (no INTEGER); CREATE TABLE message (no INTEGER); PRAGMA user_version = 1;",
            "CREATE VIEW only AS SELECT 1;",
        ] {
            make(&path, mode, setup);
            assert_foreign(&untouched(&folder, &path), "it holds tables of another program");
        }
        let id = "CREATE TABLE t (x); PRAGMA application_id = 0x0f055112;";
        make(&path, mode, id);
        assert_foreign(&untouched(&folder, &path), "it carries the application id 0x0f055112");
        make(&path, mode, "PRAGMA application_id = 7;");
        assert_foreign(&untouched(&folder, &path), "0x00000007");
        assert!(index < 2);
    }
}

#[test]
fn a_database_of_another_engine_with_tables_of_the_same_names() {
    let folder = Folder::new("duroxide");
    let path = folder.file("data.db");
    let tables =
        ["instances", "executions", "history", "orchestrator_queue", "worker_queue", "instance_locks"];
    let setup = tables.map(|table| format!("CREATE TABLE {table} (instance_id TEXT);")).concat();
    make(&path, "wal", &setup);
    assert_foreign(&untouched(&folder, &path), "it holds tables of another program");
}

/// A file that duroxide wrote can be imported, and the refusal says so.
#[test]
fn a_database_of_duroxide() {
    let folder = Folder::new("import");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/duroxide-files/files");
    let path = folder.file("data.db");
    fs::copy(samples.join("everything.db"), &path).unwrap();
    let error = untouched(&folder, &path);
    assert!(matches!(error, OpenError::Duroxide { .. }), "{error:?}");
    assert_says(&error, &["is a database of duroxide", "left untouched", "`import_duroxide`"]);
}

fn make(path: &Path, mode: &str, setup: &str) {
    if path.exists() {
        fs::remove_file(path).unwrap();
    }
    let connection = Connection::open(path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).unwrap();
    connection.execute_batch(setup).unwrap();
}

#[test]
fn a_newer_schema() {
    let folder = Folder::new("newer");
    let path = folder.file("data.db");
    drop(open(&path).unwrap());
    let set_version = |version: i64| {
        let file = Connection::open(&path).unwrap();
        file.pragma_update(None, "user_version", version).unwrap();
        file.execute("UPDATE compatibility SET oldest = ?1", [version]).unwrap();
    };
    let known: i64 =
        Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    for newer in [known + 1, 1_000_000] {
        set_version(newer);
        let error = untouched(&folder, &path);
        let expected =
            matches!(error, OpenError::NewerSchema { found, known: k, .. } if (found, k) == (newer, known));
        assert!(expected, "{error:?}");
        assert_says(&error, &[&newer.to_string(), &known.to_string(), "newer one", "left untouched"]);
    }
    set_version(known);
    write(&open(&path).unwrap(), 1).unwrap();
}

#[test]
fn a_schema_version_that_makes_no_sense() {
    let folder = Folder::new("negative");
    let path = folder.file("data.db");
    drop(open(&path).unwrap());
    for version in [0, -1] {
        Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
        let error = untouched(&folder, &path);
        assert!(error.to_string().len() < 500, "people read this: {error}");
    }
}

#[test]
fn a_damaged_header() {
    let folder = Folder::new("header");
    let path = folder.file("data.db");
    write(&open(&path).unwrap(), 1).unwrap();
    let sound = fs::read(&path).unwrap();
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = sound.clone();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        untouched(&folder, &path)
    };
    assert_foreign(&damaged(&|bytes| bytes.truncate(2)), "it is not a SQLite file");
    assert_foreign(&damaged(&|bytes| bytes[..16].fill(b'x')), "it is not a SQLite file");
    assert_foreign(&damaged(&|bytes| bytes[16..100].fill(0xee)), "it is not a SQLite file");
    // It was one once.
    let cut =
        [16, 50, 99, 100, 511, 4_096, sound.len() / 2].map(|length| damaged(&|bytes| bytes.truncate(length)));
    for error in cut.into_iter().chain([damaged(&|bytes| bytes[100..4_096].fill(0xee))]) {
        if !matches!(error, OpenError::Foreign { .. }) {
            assert!(matches!(error, OpenError::File { .. }), "{error:?}");
            assert_says(&error, &["damaged", "restore it from a backup"]);
        }
    }
}
