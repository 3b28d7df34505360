//! Who may read the files that a store creates.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use abide_sqlite::{OpenError, SqliteProvider};
use futures::executor::block_on;

use super::{assert_says, open, write};
use crate::support::folder::{Folder, names_in, url};

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The modes of everything in a folder, each once.
fn modes_in(folder: &Path) -> Vec<u32> {
    let mut modes: Vec<u32> = names_in(folder).iter().map(|name| mode_of(&folder.join(name))).collect();
    modes.sort_unstable();
    modes.dedup();
    modes
}

fn open_with(path: &Path, mode: u32) -> Result<SqliteProvider, OpenError> {
    block_on(SqliteProvider::builder(&url(path)).file_mode(mode).open())
}

#[test]
fn what_is_created_belongs_to_its_user_alone() {
    let folder = Folder::new("modes");
    let path = folder.file("a/b/data.db");
    let store = open(&path).unwrap();
    write(&store, 1).unwrap();
    let within = path.parent().unwrap();
    assert_eq!(names_in(within).len(), 4, "the database, its log, its shared memory and the lock file");
    assert_eq!(modes_in(within), [0o600]);
    assert_eq!((mode_of(within), mode_of(&folder.file("a"))), (0o700, 0o700));
}

/// Also more than the umask lets pass.
#[test]
fn what_is_created_has_the_mode_that_was_chosen() {
    for (mode, of_folder) in [(0o660, 0o770), (0o640, 0o750), (0o644, 0o755)] {
        let folder = Folder::new("modes");
        let path = folder.file("a/data.db");
        let store = open_with(&path, mode).unwrap();
        write(&store, 1).unwrap();
        assert_eq!(modes_in(path.parent().unwrap()), [mode]);
        assert_eq!(mode_of(path.parent().unwrap()), of_folder);
    }
}

#[test]
fn a_database_that_exists_keeps_its_mode_and_its_files_have_the_same() {
    let folder = Folder::new("modes");
    let path = folder.file("data.db");
    drop(open(&path).unwrap());
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let of_folder = mode_of(folder.path());
    let store = open_with(&path, 0o600).unwrap();
    write(&store, 1).unwrap();
    assert_eq!((folder.names().len(), modes_in(folder.path())), (4, vec![0o640]));
    assert_eq!(mode_of(folder.path()), of_folder, "the folder was there");
}

#[test]
fn a_mode_with_which_nothing_works_is_refused() {
    let folder = Folder::new("modes");
    let path = folder.file("a/data.db");
    for mode in [0, 0o400, 0o066, 0o700, 0o4600, 0o10600] {
        let error = open_with(&path, mode).unwrap_err();
        assert!(matches!(error, OpenError::FileMode { mode: found } if found == mode), "{error:?}");
        assert_says(&error, &[&format!("{mode:#o}"), "0o600"]);
    }
    assert_eq!(folder.names(), [""; 0], "nothing was created");
}
