//! A process whose SQLite is too old for several connections, and others.

use abide_sqlite::{OpenError, SqliteProvider};
use futures::executor::block_on;

use crate::support::folder::{Folder, url};
use crate::support::store::processes_can_share;

/// On an old SQLite any process is such a one; on a new one the test says that the first is.
#[test]
fn a_second_process_is_refused_beside_one_that_must_be_alone() {
    let folder = Folder::new("alone");
    let open = || block_on(SqliteProvider::new(&url(&folder.file("data.db")), None));
    let first = open().unwrap();
    if processes_can_share() {
        drop(open().unwrap());
        block_on(first.inspect(|connection| connection.execute("UPDATE owner SET is_alone = 1", [])))
            .unwrap()
            .unwrap();
    }
    let names = folder.names();
    let lock_file = names.iter().find(|name| name.starts_with("data.db-owner-")).unwrap();
    let error = open().unwrap_err();
    assert!(
        matches!(&error, OpenError::OtherProcess { lock_file: held, .. } if held == lock_file),
        "{error:?}"
    );
    for words in [lock_file.as_str(), "older than 3.51.3", "stop that process", rusqlite::version()] {
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(folder.names(), names, "the second process left nothing");
    drop(first);
    drop(open().unwrap());
}
