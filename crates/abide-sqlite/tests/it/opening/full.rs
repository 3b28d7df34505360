//! A full disk, when a database is opened.

use abide_sqlite::OpenError;

use super::{assert_says, open, refusal, write, written};
use crate::support::folder::{SmallDisk, names_in};
use crate::support::process::skipped;

#[test]
fn a_full_disk_without_a_database() {
    let disk = match SmallDisk::mount("small-new", "1m") {
        Ok(disk) => disk,
        Err(why) => return skipped("a_full_disk_without_a_database", &why),
    };
    let path = disk.file("data.db");
    let filler = disk.fill();
    let error = refusal(&path);
    assert!(matches!(error, OpenError::File { .. } | OpenError::Migration { .. }), "{error:?}");
    assert_says(&error, &["full", "space"]);
    drop(filler);
    write(&open(&path).unwrap(), 1).unwrap();
    assert_eq!(written(&path), [1]);
}

#[test]
fn a_full_disk_with_a_database() {
    let disk = match SmallDisk::mount("small-old", "1m") {
        Ok(disk) => disk,
        Err(why) => return skipped("a_full_disk_with_a_database", &why),
    };
    let path = disk.file("data.db");
    write(&open(&path).unwrap(), 1).unwrap();
    let filler = disk.fill();
    let error = refusal(&path);
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert_says(&error, &["full", "space"]);
    assert!(!names_in(disk.path()).iter().any(|name| name.contains("-owner-")));
    drop(filler);
    write(&open(&path).unwrap(), 2).unwrap();
    assert_eq!(written(&path), [1, 2]);
    assert_eq!(names_in(disk.path()), ["data.db"]);
}
