//! A database that is deleted, moved or replaced while it is open.

use std::fs;
use std::path::Path;

use abide_provider::Provider;
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use super::{open, write, written};
use crate::crash::evidence::integrity;
use crate::support::folder::{Folder, beside};
use crate::support::process::{PATIENCE, until};

/// An open store with something acknowledged in it.
fn begin(path: &Path) -> SqliteProvider {
    let store = open(path).unwrap();
    write(&store, 1).unwrap();
    assert_eq!(block_on(store.read("nobody")).unwrap(), []);
    store
}

/// Everything is refused, as something that may pass, with a sentence about it.
fn assert_refuses(store: &SqliteProvider, path: &Path) {
    for _ in 0..5 {
        let error = write(store, 666).expect_err("it was acknowledged");
        assert!(error.is_retryable(), "{error:?}");
        assert!(error.message.contains(&path.display().to_string()), "{error}");
        assert!(error.message.contains("while it was open"), "{error}");
    }
    // A read may still be answered from the file that was opened, but by no other.
    if let Ok(history) = block_on(store.read("stranger")) {
        assert_eq!(history, []);
    }
}

/// Within moments after the file is back.
fn assert_resumes(store: &SqliteProvider) {
    until("the store to go on", PATIENCE, || write(store, 2).ok());
    assert_eq!(block_on(store.read("nobody")).unwrap(), []);
}

#[test]
fn a_renamed_database_is_not_written_until_it_is_back() {
    let folder = Folder::new("renamed");
    let (path, aside) = (folder.file("data.db"), folder.file("aside.db"));
    let store = begin(&path);
    fs::rename(&path, &aside).unwrap();
    assert_refuses(&store, &path);
    assert!(!path.exists(), "{:?}", folder.names());
    fs::rename(&aside, &path).unwrap();
    assert_resumes(&store);
    drop(store);
    assert_eq!(integrity(&path), "ok");
    assert!(written(&path).starts_with(&[1, 2]), "{:?}", written(&path));
    assert_eq!(folder.names(), ["data.db"]);
}

#[test]
fn all_files_renamed_and_put_back() {
    let folder = Folder::new("all-renamed");
    let path = folder.file("data.db");
    let store = begin(&path);
    let aside = folder.file("aside");
    fs::create_dir(&aside).unwrap();
    let files = ["", "-wal", "-shm"].map(|suffix| beside(&path, suffix));
    let moved = files.clone().map(|file| aside.join(file.file_name().unwrap()));
    for (file, to) in files.iter().zip(&moved) {
        fs::rename(file, to).unwrap();
    }
    assert_refuses(&store, &path);
    assert_eq!(folder.names().iter().filter(|name| !name.contains("-owner-")).collect::<Vec<_>>(), ["aside"]);
    for (file, from) in files.iter().zip(&moved) {
        fs::rename(from, file).unwrap();
    }
    assert_resumes(&store);
    drop(store);
    assert_eq!(integrity(&path), "ok");
    assert!(written(&path).starts_with(&[1, 2]), "{:?}", written(&path));
}

#[test]
fn a_deleted_database_is_gone() {
    let folder = Folder::new("deleted");
    let path = folder.file("data.db");
    let store = begin(&path);
    fs::remove_file(&path).unwrap();
    assert_refuses(&store, &path);
    drop(store);
    assert!(!path.exists(), "{:?}", folder.names());
    assert!(!folder.names().iter().any(|name| name.contains("-owner-")), "{:?}", folder.names());
}

#[test]
fn everything_deleted_stays_deleted() {
    let folder = Folder::new("all-deleted");
    let path = folder.file("data.db");
    let store = begin(&path);
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(beside(&path, suffix)).unwrap();
    }
    assert_refuses(&store, &path);
    drop(store);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_replacement_is_not_touched() {
    let folder = Folder::new("replaced");
    let (path, aside, other) = (folder.file("data.db"), folder.file("aside.db"), folder.file("other.db"));
    write(&open(&other).unwrap(), 99).unwrap();
    let replacement = fs::read(&other).unwrap();
    let store = begin(&path);
    fs::rename(&path, &aside).unwrap();
    fs::rename(&other, &path).unwrap();
    assert_refuses(&store, &path);
    assert!(fs::read(&path).unwrap() == replacement, "the replacement was written to");
    fs::rename(&path, &other).unwrap();
    fs::rename(&aside, &path).unwrap();
    assert_resumes(&store);
    drop(store);
    assert_eq!(integrity(&path), "ok");
    assert!(written(&path).starts_with(&[1, 2]), "{:?}", written(&path));
    assert_eq!(written(&other), [99]);
}

#[test]
fn all_files_replaced_and_put_back() {
    let folder = Folder::new("all-replaced");
    let (path, other) = (folder.file("data.db"), folder.file("other.db"));
    write(&open(&other).unwrap(), 99).unwrap();
    let store = begin(&path);
    let files = ["", "-wal", "-shm"].map(|suffix| beside(&path, suffix));
    let aside = folder.file("aside");
    fs::create_dir(&aside).unwrap();
    let moved = files.clone().map(|file| aside.join(file.file_name().unwrap()));
    for (file, to) in files.iter().zip(&moved) {
        fs::rename(file, to).unwrap();
    }
    fs::rename(&other, &path).unwrap();
    assert_refuses(&store, &path);
    assert_eq!(written(&path), [99], "the replacement is whole");
    fs::rename(&path, &other).unwrap();
    for (file, from) in files.iter().zip(&moved) {
        fs::rename(from, file).unwrap();
    }
    assert_resumes(&store);
    drop(store);
    assert_eq!(integrity(&path), "ok");
    assert!(written(&path).starts_with(&[1, 2]), "{:?}", written(&path));
    assert_eq!(written(&other), [99]);
}

#[test]
fn a_deleted_folder_is_not_made_again() {
    let folder = Folder::new("folder-deleted");
    let inner = folder.file("inner");
    let path = inner.join("data.db");
    let store = begin(&path);
    fs::remove_dir_all(&inner).unwrap();
    assert_refuses(&store, &path);
    drop(store);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_deleted_log_loses_nothing_that_was_acknowledged() {
    let folder = Folder::new("log");
    let path = folder.file("data.db");
    let store = begin(&path);
    fs::remove_file(beside(&path, "-wal")).unwrap();
    let mut acknowledged = vec![1];
    acknowledged.extend((2..10).filter(|id| write(&store, *id).is_ok()));
    // What a crash would leave: the files as they are, before the store has closed them.
    let copy = folder.file("copy.db");
    fs::copy(&path, &copy).unwrap();
    if beside(&path, "-wal").exists() {
        fs::copy(beside(&path, "-wal"), beside(&copy, "-wal")).unwrap();
    }
    assert_eq!(integrity(&copy), "ok");
    let survived = written(&copy);
    assert!(acknowledged.iter().all(|id| survived.contains(id)), "{acknowledged:?}, but {survived:?}");
    drop(store);
    assert_eq!(integrity(&path), "ok");
    let store = open(&path).unwrap();
    write(&store, 10).unwrap();
    drop(store);
    assert!(acknowledged.iter().all(|id| written(&path).contains(id)), "{acknowledged:?}");
}

#[test]
fn a_lock_file_that_is_deleted_harms_nobody() {
    let folder = Folder::new("lock-file");
    let path = folder.file("data.db");
    let store = begin(&path);
    for name in folder.names().iter().filter(|name| name.contains("-owner-")) {
        fs::remove_file(folder.file(name)).unwrap();
    }
    write(&store, 2).unwrap();
    let other = open(&path).unwrap();
    write(&other, 3).unwrap();
    write(&store, 4).unwrap();
    drop((store, other));
    assert_eq!(written(&path), [1, 2, 3, 4]);
    assert_eq!(folder.names(), ["data.db"]);
}
