//! Which processes that share a file are alive.
//!
//! Each process holds a file beside the database locked for as long as it lives; the operating system lets go of
//! the lock when the process dies, however it dies. A free lock therefore voids that process's leases at once,
//! instead of when they run out.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use abide_model::Entropy;

use crate::error::OpenError;
use crate::permissions::create_beside;

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
    pub(crate) fn new(database: &Path, entropy: &dyn Entropy) -> Result<Self, OpenError> {
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            let name = format!("{}{:016x}", prefix(database), entropy.next_u64());
            let path = database.with_file_name(&name);
            let made = Self::make(database, path.clone(), name).map_err(|error| OpenError::File {
                path: database.to_owned(),
                reason: format!("cannot create the lock file '{}' beside it ({error})", path.display()),
                source: Some(Box::new(error)),
            })?;
            if let Some(lock) = made {
                return Ok(lock);
            }
        }
        Err(OpenError::File {
            path: database.to_owned(),
            reason: "its lock files are removed as fast as they are made".to_owned(),
            source: None,
        })
    }

    /// `None` if another process took the file for an orphan between its making and its locking.
    fn make(database: &Path, path: PathBuf, name: String) -> io::Result<Option<Self>> {
        let file = create_beside(database, &path)?;
        match file.try_lock() {
            Ok(()) if path.exists() => Ok(Some(Self { path, name, _locked: file })),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
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

/// The lock files of the processes that are alive. Those of dead ones are removed.
pub(crate) fn living(database: &Path) -> Vec<String> {
    let mut living: Vec<String> = lock_files(database)
        .into_iter()
        .filter(|name| match look_for(database, name) {
            Life::Alive => true,
            Life::Dead { .. } => false,
        })
        .collect();
    living.sort();
    living
}

/// Removes lock files that nobody holds and the database does not know: of processes that died while they started.
pub(crate) fn sweep(database: &Path, known: &[&str]) {
    for name in lock_files(database) {
        if !known.contains(&name.as_str()) {
            // An orphan is removed when the burial is dropped; a living one stays as it is.
            let _burial = look_for(database, &name);
        }
    }
}

/// The names of all lock files beside a database.
fn lock_files(database: &Path) -> Vec<String> {
    let prefix = prefix(database);
    let entries = database.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let names =
        entries.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&prefix)).collect()
}

fn prefix(database: &Path) -> String {
    let name = database.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{name}-owner-")
}
