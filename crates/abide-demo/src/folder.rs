//! The folder that a shop lives in, and what is left of it.
//!
//! A marker in it says that it is ours, and which day it holds: a folder of anybody else is refused, and an interrupted day
//! can go on.

use std::io;
use std::path::{Path, PathBuf};

use crate::cli::Place;

const MARKER: &str = "abide-demo.txt";

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    #[error("'{}' is not empty and not from this demo: choose another folder", path.display())]
    Foreign { path: PathBuf },
    #[error("'{}' is not UTF-8: choose another folder", path.display())]
    NotText { path: PathBuf },
    #[error("'{}' is a file: choose a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error(
        "the shop in '{}' has {} orders and seed {}: leave out --orders and --seed, or choose another folder",
        path.display(), day.orders, day.seed
    )]
    AnotherDay { path: PathBuf, day: Day },
    #[error("the shop in '{}' has its orders there: leave out --db, or choose another folder", path.display())]
    NoStore { path: PathBuf },
    #[error(
        "the shop in '{}' has its orders in {store}: say the same with --db, or choose another folder",
        path.display()
    )]
    AnotherStore { path: PathBuf, store: String },
    #[error("'{}' is damaged: choose another folder", path.display())]
    Damaged { path: PathBuf },
    #[error("'{}' cannot be used: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Which orders a shop has, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Day {
    pub(crate) orders: usize,
    pub(crate) seed: u64,
    /// The store that was chosen, as it may be shown. `None`: they are in this folder.
    pub(crate) store: Option<String>,
}

/// A folder that is removed when this is dropped, unless the user wants it.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    afterwards: Afterwards,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    Remove,
    Keep,
}

impl Folder {
    pub(crate) fn prepare(place: &Place) -> Result<Self, FolderError> {
        let (path, afterwards) = match place {
            Place::Temporary => (new_temporary()?, Afterwards::Remove),
            Place::Kept => (new_temporary()?, Afterwards::Keep),
            Place::Chosen(path) => (chosen(path)?, Afterwards::Keep),
        };
        let folder = Self { path, afterwards };
        // The name of a database is text.
        if folder.path.to_str().is_none() {
            return Err(FolderError::NotText { path: folder.path.clone() });
        }
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.afterwards == Afterwards::Keep
    }

    /// The day that this folder holds, if it was used before.
    pub(crate) fn earlier_day(&self) -> Result<Option<Day>, FolderError> {
        let marker = self.path.join(MARKER);
        match std::fs::read_to_string(&marker) {
            Ok(text) => day_of(&text).map(Some).ok_or(FolderError::Damaged { path: marker }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FolderError::Io { path: marker, source }),
        }
    }

    /// Marks the folder as ours.
    pub(crate) fn mark(&self, day: &Day) -> Result<(), FolderError> {
        let marker = self.path.join(MARKER);
        let store = day.store.as_ref().map(|store| format!("store {store}\n")).unwrap_or_default();
        let text = format!("a shop of abide-demo\norders {}\nseed {}\n{store}", day.orders, day.seed);
        std::fs::write(&marker, text).map_err(|source| FolderError::Io { path: marker, source })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        match self.afterwards {
            // If it cannot be removed, it is a temporary folder: the system will.
            Afterwards::Remove => {
                let _removed = std::fs::remove_dir_all(&self.path);
            }
            Afterwards::Keep => {}
        }
    }
}

fn day_of(text: &str) -> Option<Day> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let store = field("store").map(str::to_owned);
    Some(Day { orders: field("orders")?.parse().ok()?, seed: field("seed")?.parse().ok()?, store })
}

/// A new folder for this process; one of an earlier process with the same number may have been left behind.
fn new_temporary() -> Result<PathBuf, FolderError> {
    const TRIES: u32 = 1_000;
    let parent = std::env::temp_dir();
    let mut number = 0;
    loop {
        let path = parent.join(format!("abide-demo-{}-{number}", std::process::id()));
        number += 1;
        match private_folder(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < TRIES => {}
            Err(source) => return Err(FolderError::Io { path, source }),
        }
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

fn chosen(path: &Path) -> Result<PathBuf, FolderError> {
    let failed = |source| FolderError::Io { path: path.to_owned(), source };
    if path.exists() && !path.is_dir() {
        return Err(FolderError::NotAFolder { path: path.to_owned() });
    }
    std::fs::create_dir_all(path).map_err(failed)?;
    let is_empty = std::fs::read_dir(path).map_err(failed)?.next().is_none();
    if !is_empty && !path.join(MARKER).exists() {
        return Err(FolderError::Foreign { path: path.to_owned() });
    }
    // The worker is another process: what the path means must not depend on who asks.
    std::path::absolute(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Day = Day { orders: 3, seed: 9, store: None };

    #[test]
    fn a_temporary_folder_is_gone_afterwards_with_all_that_is_in_it() {
        let folder = Folder::prepare(&Place::Temporary).unwrap();
        let path = folder.path().to_owned();
        folder.mark(&DAY).unwrap();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_chosen_folder_stays_and_knows_its_day() {
        let outer = Folder::prepare(&Place::Temporary).unwrap();
        let place = Place::Chosen(outer.path().join("deep/shop"));
        let first = Folder::prepare(&place).unwrap();
        assert_eq!(first.earlier_day().unwrap(), None);
        for store in [None, Some("PostgreSQL at db/shop (schema abide_demo)".to_owned())] {
            let day = Day { store, ..DAY };
            first.mark(&day).unwrap();
            assert_eq!(Folder::prepare(&place).unwrap().earlier_day().unwrap(), Some(day));
        }
    }

    #[test]
    fn what_belongs_to_others_is_refused() {
        let outer = Folder::prepare(&Place::Temporary).unwrap();
        let thesis = outer.path().join("thesis.txt");
        std::fs::write(&thesis, "do not touch").unwrap();
        let refused = |path: &Path| Folder::prepare(&Place::Chosen(path.to_owned())).unwrap_err();
        assert!(matches!(refused(outer.path()), FolderError::Foreign { .. }));
        assert!(matches!(refused(&thesis), FolderError::NotAFolder { .. }));
        assert!(thesis.exists());
    }

    #[test]
    fn a_damaged_marker_is_told() {
        let folder = Folder::prepare(&Place::Temporary).unwrap();
        std::fs::write(folder.path().join(MARKER), "orders few\n").unwrap();
        assert!(matches!(folder.earlier_day(), Err(FolderError::Damaged { .. })));
    }
}
