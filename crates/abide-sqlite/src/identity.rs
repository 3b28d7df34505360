//! Whether the files of an open database are still the ones that were opened.
//!
//! A database that is deleted, renamed or replaced under a running process goes on accepting writes that nobody
//! will ever read. The same holds for the log beside it; and without the index beside it, which also carries the
//! locks, two processes would write at once. Asking the file system costs a microsecond each.
//!
//! If the database itself is gone it may come back, and everything goes on. If only the log or the index is gone, old
//! connections must not be mixed with new ones: this process writes no more.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::connect::Location;

/// Which file a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Without opening it: closing a second handle would drop the locks that SQLite holds on the first.
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).ok().map(|metadata| Self { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Elsewhere an open file cannot be deleted or replaced.
    #[cfg(not(unix))]
    fn of(path: &Path) -> Option<Self> {
        path.exists().then_some(Self { device: 0, inode: 0 })
    }
}

/// The files of a database, as they were opened.
#[derive(Debug)]
pub(crate) struct OpenedFiles {
    paths: Option<Paths>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct Paths {
    database: PathBuf,
    log: PathBuf,
    index: PathBuf,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    database: Option<FileIdentity>,
    log: Option<FileIdentity>,
    index: Option<FileIdentity>,
    lost: Option<Lost>,
}

/// What was deleted or replaced while the database itself was still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    Log,
    Index,
}

impl OpenedFiles {
    pub(crate) fn of(location: &Location) -> Self {
        let paths = match location {
            Location::Memory => None,
            Location::File(path) => {
                Some(Paths { database: path.clone(), log: beside(path, "-wal"), index: beside(path, "-shm") })
            }
        };
        Self { paths, state: Mutex::default() }
    }

    /// To be called when the database is open for the first time.
    pub(crate) fn remember_database(&self) {
        let Some(paths) = &self.paths else { return };
        self.with_state(|state| state.database = FileIdentity::of(&paths.database));
    }

    /// To be called when something was written, so that log and index are there.
    pub(crate) fn remember_log(&self) {
        let Some(paths) = &self.paths else { return };
        self.with_state(|state| {
            state.log = FileIdentity::of(&paths.log);
            state.index = FileIdentity::of(&paths.index);
        });
    }

    /// SQLite removes log and index by itself when the last connection is closed.
    pub(crate) fn forget_log(&self) {
        self.with_state(|state| {
            if state.lost.is_none() {
                (state.log, state.index) = (None, None);
            }
        });
    }

    /// Whether the log was deleted or replaced, so that our connections are the last that can read it.
    pub(crate) fn log_is_lost(&self) -> bool {
        self.with_state(|state| state.lost == Some(Lost::Log))
    }

    /// Whether the paths still name the files that were opened.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Some(paths) = &self.paths else { return Ok(()) };
        let database = FileIdentity::of(&paths.database);
        let changed =
            |path: &Path, opened: Option<FileIdentity>| opened.is_some() && FileIdentity::of(path) != opened;
        self.with_state(|state| {
            if state.database.is_none() || database != state.database {
                return Err(database_is_gone(&paths.database));
            }
            if changed(&paths.log, state.log) {
                state.lost = Some(Lost::Log);
            } else if state.lost.is_none() && changed(&paths.index, state.index) {
                state.lost = Some(Lost::Index);
            }
            state.lost.map_or(Ok(()), |_| Err(log_is_gone(&paths.database)))
        })
    }

    fn with_state<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        // Nothing can panic while it is held.
        with(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn database_is_gone(path: &Path) -> String {
    format!(
        "the database '{}' was deleted, moved or replaced while it was open: nothing more is written; put the file back, \
         or restart on another",
        path.display()
    )
}

fn log_is_gone(path: &Path) -> String {
    format!(
        "the log or the index beside the database '{}' was deleted or replaced while it was open: nothing more is \
         written; restart the program",
        path.display()
    )
}
