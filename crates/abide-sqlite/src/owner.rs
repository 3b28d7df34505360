//! Which processes that share a file are alive.
//!
//! Each process holds a file beside the database locked for as long as it lives; the operating system lets go of
//! the lock when the process dies, however it dies. A free lock therefore voids that process's leases at once,
//! instead of when they run out.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::OpenError;

/// The file that this process holds locked. Removed when it is dropped.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    path: PathBuf,
    name: String,
    _locked: File,
}

/// Whether a process is alive.
#[derive(Debug)]
pub(crate) enum Life {
    Alive,
    /// It is gone. Its lock file, if it is still there, is held by us until this is dropped, and then removed.
    Dead {
        burial: Option<Burial>,
    },
}

#[derive(Debug)]
pub(crate) struct Burial {
    path: PathBuf,
    _locked: File,
}

impl Drop for Burial {
    fn drop(&mut self) {
        // A file that stays behind is tried again by the next process that opens the database.
        let _removed = std::fs::remove_file(&self.path);
    }
}

impl OwnerLock {
    /// Makes a lock file beside the database.
    pub(crate) fn new(database: &Path, unique: u64) -> Result<Self, OpenError> {
        let name = format!("{}{unique:016x}", prefix(database));
        let path = database.with_file_name(&name);
        let cannot = |error: io::Error| OpenError::File {
            path: database.to_owned(),
            reason: format!("cannot create the lock file '{}' beside it ({error})", path.display()),
            source: Some(Box::new(error)),
        };
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(&path).map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
            Err(TryLockError::WouldBlock) => return Err(cannot(io::ErrorKind::WouldBlock.into())),
        }
        Ok(Self { path, name, _locked: file })
    }

    /// Its name, as the database records it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Whoever finds the file without its lock removes it.
        let _removed = std::fs::remove_file(&self.path);
    }
}

/// Whether the process that recorded this lock file is alive.
pub(crate) fn look_for(database: &Path, lock_file: &str) -> Life {
    // The name comes out of the database: it must be one of ours before any file is opened by it.
    let ours = lock_file
        .strip_prefix(&prefix(database))
        .is_some_and(|unique| unique.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if !ours {
        return Life::Dead { burial: None };
    }
    let path = database.with_file_name(lock_file);
    let file = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Life::Dead { burial: None },
        Err(_) => return Life::Alive, // we cannot tell, so its leases run out by themselves
    };
    match file.try_lock() {
        Ok(()) => Life::Dead { burial: Some(Burial { path, _locked: file }) },
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => Life::Alive,
    }
}

fn prefix(database: &Path) -> String {
    let name = database.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{name}-owner-")
}
