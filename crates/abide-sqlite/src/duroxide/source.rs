//! A database file of duroxide, open and locked.
//!
//! It is never written, and neither is the log beside it. SQLite would copy the log into the file when the
//! last connection is closed; that is switched off. It would also roll back an unfinished transaction of a
//! file without a log; such a file is refused.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::ImportError;
use super::layout;

/// A database file of duroxide, open and locked until this is dropped.
pub(super) struct Source {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
}

impl Source {
    /// Opens the file and locks it, so that no other process can use it.
    pub(super) fn open(path: PathBuf) -> Result<Self, ImportError> {
        check_file(&path)?;
        // SQLite needs to write to the file to lock it, although nothing is written.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(|error| failed(&path, error))?;
        let source = Self { connection, path };
        source.lock().map_err(|error| failed(&source.path, error))?;
        source.check()?;
        Ok(source)
    }

    /// In this mode SQLite locks the file itself, not the index beside the log: any other connection is in
    /// the way, and the index is in memory.
    fn lock(&self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(std::time::Duration::ZERO)?;
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        self.connection.pragma_update(None, "locking_mode", "exclusive")?;
        self.connection.pragma_update(None, "mmap_size", 0)?; // a failing disk is to be an error, not a signal
        let locked = self.connection.execute_batch("BEGIN EXCLUSIVE");
        // An empty log was made by opening the file. There is nothing in it to copy, and closing removes it,
        // unless another process uses it.
        if self.log_length() == 0 {
            self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        }
        locked?;
        self.connection.pragma_update(None, "query_only", true)
    }

    fn log_length(&self) -> u64 {
        std::fs::metadata(beside(&self.path, "-wal")).map_or(0, |log| log.len())
    }

    /// Whether the file ends within a page. SQLite reads what is missing as zeros, which can pass for a row.
    /// If the process died while it copied the log, the log still has that page.
    fn ends_within_a_page(&self) -> rusqlite::Result<bool> {
        let size: u32 = self.connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let length = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        Ok(self.log_length() == 0 && length.checked_rem(u64::from(size)) != Some(0))
    }

    /// Whether this is a sound file of the release that can be imported.
    fn check(&self) -> Result<(), ImportError> {
        let path = || self.path.clone();
        let read = |error| failed(&self.path, error);
        let id: i64 =
            self.connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(read)?;
        if id == crate::connect::APPLICATION_ID {
            let found = "it is a database of abide".to_owned();
            return Err(ImportError::NotDuroxide { path: path(), found });
        }
        if !layout::is_duroxide(&self.connection).map_err(read)? {
            let found = "it has other tables".to_owned();
            return Err(ImportError::NotDuroxide { path: path(), found });
        }
        if self.ends_within_a_page().map_err(read)? {
            let found = "it is shorter than it was".to_owned();
            return Err(ImportError::Damaged { path: path(), found });
        }
        let sound: String =
            self.connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).map_err(read)?;
        if sound != "ok" {
            return Err(ImportError::Damaged { path: path(), found: sound });
        }
        let version = layout::check_version(&self.connection).map_err(read)?;
        version.map_err(|found| ImportError::Version { path: path(), found })
    }

    /// Reads, and says what a failure means.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ImportError> {
        read(&self.connection).map_err(|error| failed(&self.path, error))
    }
}

/// What SQLite would report badly, or change by opening it.
fn check_file(path: &Path) -> Result<(), ImportError> {
    let unusable =
        |reason: &str| ImportError::Source { path: path.to_owned(), reason: reason.to_owned(), source: None };
    let not_sqlite =
        || ImportError::NotDuroxide { path: path.to_owned(), found: "it is not a SQLite file".to_owned() };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(unusable("there is no such file"));
        }
        Err(error) => return Err(unusable(&format!("it cannot be looked at ({error})"))),
        Ok(found) if found.is_dir() => return Err(unusable("it is a folder; name a file in it")),
        Ok(found) if found.len() <= 1 => return Err(not_sqlite()),
        Ok(_) => {}
    }
    match std::fs::metadata(beside(path, "-journal")) {
        Ok(journal) if journal.len() > 0 => Err(unusable(
            "a transaction of another program was interrupted, and opening the file would undo it; open and close it once \
             with that program",
        )),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn failed(path: &Path, error: rusqlite::Error) -> ImportError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ImportError::InUse { path },
        Some(ErrorCode::DatabaseCorrupt) => ImportError::Damaged { path, found: error.to_string() },
        Some(ErrorCode::NotADatabase) => {
            ImportError::NotDuroxide { path, found: "it is not a SQLite file".to_owned() }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            let reason = "it cannot be opened and locked; this needs permission to write to the file and its folder, \
                          although nothing is written";
            ImportError::Source { path, reason: format!("{reason} ({error})"), source: Some(error) }
        }
        Some(_) | None => {
            let reason = format!("it cannot be read ({error})");
            ImportError::Source { path, reason, source: Some(error) }
        }
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
