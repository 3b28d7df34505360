//! A process killed while it creates the database, or a caller who does not wait for it.

use std::path::Path;

use abide_sqlite::SqliteProvider;
use futures::FutureExt;

use super::{open, write, written};
use crate::crash::evidence::integrity;
use crate::support::folder::{Folder, beside, url};
use crate::support::process::{PATIENCE, Running, is_child, skipped, told, traced_child_of, until};

const CHILD: &str = "opening::killed::opens_and_closes";

#[test]
#[ignore = "the child of another test"]
fn opens_and_closes() {
    if is_child(CHILD) {
        drop(open(Path::new(&told("ABIDE_DATABASE"))).unwrap());
    }
}

#[test]
fn opening_that_nobody_waits_for_ends_by_itself() {
    let folder = Folder::new("given-up");
    let path = folder.file("data.db");
    let url = url(&path);
    assert!(SqliteProvider::new(&url, None).now_or_never().is_none(), "it is opened by another thread");
    // Created, and closed again.
    until("it to be closed", PATIENCE, || {
        let closed = folder.names() == ["data.db"] && std::fs::metadata(&path).unwrap().len() > 0;
        closed.then_some(())
    });
    write(&open(&path).unwrap(), 1).unwrap();
}

#[test]
fn a_migration_killed_at_any_write_is_made_good() {
    let mut killed = 0;
    for (call, step) in [("pwrite64", 7), ("fsync,fdatasync", 1), ("ftruncate", 1), ("unlink", 1)] {
        for nth in (1..).step_by(step) {
            let folder = Folder::new("killed-open");
            let path = folder.file("data.db");
            let inject = format!("inject={call}:signal=KILL:when={nth}");
            let trace = format!("trace={call}");
            let mut paths = Vec::new();
            for suffix in ["", "-journal", "-wal", "-shm"] {
                paths.push(beside(&path, suffix).display().to_string());
            }
            let mut options = vec!["-e", &trace, "-e", &inject];
            for path in &paths {
                options.extend(["-P", path]);
            }
            let command = match traced_child_of(CHILD, &folder.file("trace"), &options) {
                Ok(command) => command,
                Err(why) => return skipped("a_migration_killed_at_any_write_is_made_good", &why),
            };
            if !is_killed(command, &path) {
                break;
            }
            killed += 1;
            let store = open(&path).unwrap_or_else(|error| panic!("after {call} {nth}: {error}"));
            write(&store, 1).unwrap();
            drop(store);
            assert_eq!((integrity(&path), written(&path)), ("ok".to_owned(), vec![1]), "after {call} {nth}");
            assert_eq!(folder.names(), ["data.db", "trace"], "after {call} {nth}");
        }
    }
    println!("killed {killed} times");
    assert!(killed > 10, "{killed}");
}

/// Whether the child was killed before it had opened and closed the database.
fn is_killed(mut command: std::process::Command, path: &Path) -> bool {
    command.env("ABIDE_DATABASE", path);
    !Running::start(command).wait(PATIENCE).success()
}
