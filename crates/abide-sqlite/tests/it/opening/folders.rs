//! Paths that cannot hold a database.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use abide_sqlite::OpenError;

use super::{assert_says, open, refusal, write, written};
use crate::support::folder::{Folder, SmallDisk, names_in, run};
use crate::support::process::skipped;

#[test]
fn a_missing_folder_is_made() {
    let folder = Folder::new("missing");
    let path = folder.file("a/b/c/data.db");
    let store = open(&path).unwrap();
    write(&store, 1).unwrap();
    drop(store);
    assert_eq!(names_in(path.parent().unwrap()), ["data.db"]);
    assert_eq!(written(&path), [1]);
}

#[test]
fn a_path_may_have_any_name() {
    let folder = Folder::new("names");
    for name in ["with blank.db", "with#hash?and=query%41.db", "ümlaut'quote\".db", "no-extension", ".hidden"]
    {
        let path = folder.file(name);
        // As a plain path: in a URL a question mark begins a query.
        let store =
            futures::executor::block_on(abide_sqlite::SqliteProvider::new(path.to_str().unwrap(), None));
        write(&store.unwrap(), 1).unwrap();
        assert_eq!(written(&path), [1], "{name}");
        fs::remove_file(&path).unwrap();
        assert_eq!(folder.names(), [""; 0], "{name}");
    }
}

#[test]
fn a_folder_that_cannot_be_made() {
    let folder = Folder::new("blocked");
    let blocker = folder.file("file");
    fs::write(&blocker, "not a folder").unwrap();
    let error = open(&blocker.join("deeper/data.db")).unwrap_err();
    assert!(
        matches!(&error, OpenError::Folder { folder, .. } if *folder == blocker.join("deeper")),
        "{error:?}"
    );
    let says = ["cannot create the folder", &blocker.display().to_string(), "choose a path in a folder"];
    assert_says(&error, &says);
}

#[test]
fn a_path_that_is_a_folder() {
    let folder = Folder::new("dir");
    let path = folder.file("data.db");
    fs::create_dir(&path).unwrap();
    let error = refusal(&path);
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert_says(&error, &["it is a folder"]);
    assert_eq!(folder.names(), ["data.db"]);
    assert_eq!(names_in(&path), [""; 0]);
}

/// A folder that this process cannot write to, also if it is root.
enum ReadOnly {
    Folder(Folder),
    Disk(SmallDisk),
}

impl ReadOnly {
    /// Prepares the folder, then takes away the right to write.
    fn after(prepare: impl Fn(&Path)) -> Result<Self, String> {
        let folder = Folder::new("ro");
        prepare(folder.path());
        fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
        if File::create(folder.file("probe")).is_err() {
            return Ok(Self::Folder(folder));
        }
        let disk = SmallDisk::mount("ro-disk", "8m")?;
        prepare(disk.path());
        disk.make_read_only()?;
        Ok(Self::Disk(disk))
    }

    fn file(&self, name: &str) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.file(name),
            Self::Disk(disk) => disk.file(name),
        }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        if let Self::Folder(folder) = self {
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        }
    }
}

#[test]
fn a_read_only_folder_without_a_database() {
    let place = match ReadOnly::after(|_| {}) {
        Ok(place) => place,
        Err(why) => return skipped("a_read_only_folder_without_a_database", &why),
    };
    let error = refusal(&place.file("data.db"));
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert_says(&error, &["permissions"]);
    let error = open(&place.file("deeper/data.db")).unwrap_err();
    assert!(matches!(error, OpenError::Folder { .. }), "{error:?}");
}

#[test]
fn a_read_only_folder_with_a_database() {
    let prepare = |folder: &Path| {
        let store = open(&folder.join("data.db")).unwrap();
        write(&store, 1).unwrap();
    };
    let place = match ReadOnly::after(prepare) {
        Ok(place) => place,
        Err(why) => return skipped("a_read_only_folder_with_a_database", &why),
    };
    let path = place.file("data.db");
    let error = refusal(&path);
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert_says(&error, &["read-only"]);
    assert_eq!(names_in(path.parent().unwrap()), ["data.db"]);
}

/// A file that nobody can write to, not even root.
struct Frozen(PathBuf);

impl Frozen {
    fn new(path: &Path) -> Result<Self, String> {
        fs::set_permissions(path, Permissions::from_mode(0o444)).unwrap();
        if OpenOptions::new().write(true).open(path).is_ok() {
            run(Command::new("chattr").arg("+i").arg(path))?;
        }
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // Needless where the permissions were enough.
        let _thawed = run(Command::new("chattr").arg("-i").arg(&self.0));
        fs::set_permissions(&self.0, Permissions::from_mode(0o644)).unwrap();
    }
}

#[test]
fn a_read_only_file() {
    let folder = Folder::new("ro-file");
    let path = folder.file("data.db");
    write(&open(&path).unwrap(), 1).unwrap();
    let frozen = match Frozen::new(&path) {
        Ok(frozen) => frozen,
        Err(why) => return skipped("a_read_only_file", &why),
    };
    let error = refusal(&path);
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert_says(&error, &["read-only"]);
    assert_eq!(folder.names(), ["data.db"], "nothing is left beside it");
    drop(frozen);
    write(&open(&path).unwrap(), 2).unwrap();
    assert_eq!(written(&path), [1, 2]);
}
