//! Connections, and the settings each of them needs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::OpenError;
use crate::migrate::{check_version, oldest_allowed};
use crate::options::Durability;
use crate::permissions::{FileMode, create_database};

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Memory,
    File(PathBuf),
}

/// What to do if the file is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create(FileMode),
    Refuse,
}

/// Marks a file as ours: "abid" in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x6162_6964;

const READ_ONLY: &str =
    "the file or its folder is read-only; abide needs to write there, also beside the file";
const DISK_FULL: &str = "the disk is full; free some space and try again";

/// How long to wait for another process that is writing. A writer holds the lock for milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How large the log may stay, in bytes. It is copied when it has 4 MB, and grows meanwhile.
const LOG_LIMIT: i64 = 32 * 1_024 * 1_024;

/// SQLite before this version can corrupt a WAL database that has several connections.
const SAFE_VERSION: i32 = 3_051_003;

/// Whether this SQLite may be used with several connections.
pub(crate) fn several_connections_are_safe() -> bool {
    rusqlite::version_number() >= SAFE_VERSION
}

impl Location {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Memory => Path::new(":memory:"),
            Self::File(path) => path,
        }
    }

    /// The connection that writes.
    pub(crate) fn open_writer(
        &self,
        durability: Durability,
        missing: Missing,
    ) -> Result<Connection, OpenError> {
        self.refuse_what_is_no_file()?;
        let connection = match self {
            Self::Memory => Connection::open_in_memory(),
            Self::File(path) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let flags = match missing {
                    Missing::Create(mode) => {
                        create_database(path, mode);
                        flags | OpenFlags::SQLITE_OPEN_CREATE
                    }
                    Missing::Refuse => flags,
                };
                Connection::open_with_flags(path, flags)
            }
        };
        let connection = connection.map_err(|error| self.cannot_open(error))?;
        Self::distrust(&connection).map_err(|error| self.cannot_open(error))?;
        if is_read_only(&connection).map_err(|error| self.cannot_open(error))? {
            return Err(self.unusable(READ_ONLY));
        }
        self.refuse_foreign(&connection)?;
        Self::set(&connection).map_err(|error| self.cannot_open(error))?;
        if let Self::File(_) = self {
            self.make_durable(&connection, durability)?;
        }
        Ok(connection)
    }

    /// A connection that can only read.
    pub(crate) fn open_reader(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(self.path(), flags).map_err(|error| self.cannot_open(error))?;
        Self::distrust(&connection)
            .and_then(|()| Self::set(&connection))
            .and_then(|()| connection.pragma_update(None, "query_only", true))
            .map_err(|error| self.cannot_open(error))?;
        Ok(connection)
    }

    /// The connection that copies the log into the database file.
    pub(crate) fn open_checkpointer(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(self.path(), flags).map_err(|error| self.cannot_open(error))?;
        Self::distrust(&connection)
            .and_then(|()| Self::set(&connection))
            .map_err(|error| self.cannot_open(error))?;
        Ok(connection)
    }

    /// A file that somebody has tampered with can make SQLite neither run code nor read beyond a page, and no statement
    /// can write past the tables. Set before anything is read.
    fn distrust(connection: &Connection) -> rusqlite::Result<()> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)
    }

    /// Settings of every connection.
    fn set(connection: &Connection) -> rusqlite::Result<()> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "cache_size", -65_536)?; // 64 MiB: the hot pages of every table
        connection.pragma_update(None, "mmap_size", 0)?; // a failing disk is to be an error, not a signal
        connection.pragma_update(None, "temp_store", "memory")?;
        // A plan is made once. Else SQLite looks at what is bound, to a limit say, and compiles the statement anew whenever that is bound again:
        // a quarter of what a lone commit costs.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // A thread of its own copies the log, where there can be one.
        let pages = if several_connections_are_safe() { 0 } else { 1_000 };
        connection.pragma_update(None, "wal_autocheckpoint", pages)?;
        // The log keeps the size that it once had, so one that grew behind a long read is cut when it is written from its start again.
        connection.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
        Ok(())
    }

    /// Settings that durability depends on, read back: SQLite ignores a value it does not know.
    fn make_durable(&self, connection: &Connection, durability: Durability) -> Result<(), OpenError> {
        let mode: String = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
            .map_err(|error| self.cannot_open(error))?;
        self.expect("journal_mode", "wal", mode)?;
        connection
            .pragma_update(None, "synchronous", durability.pragma())
            .map_err(|error| self.cannot_open(error))?;
        let level: i64 = connection
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .map_err(|error| self.cannot_open(error))?;
        self.expect("synchronous", &durability.level().to_string(), level.to_string())
    }

    fn expect(&self, pragma: &'static str, wanted: &str, found: String) -> Result<(), OpenError> {
        if found == wanted {
            return Ok(());
        }
        Err(OpenError::Setting { path: self.path().to_owned(), pragma, wanted: wanted.to_owned(), found })
    }

    /// What SQLite would report badly, or not at all.
    fn refuse_what_is_no_file(&self) -> Result<(), OpenError> {
        let Self::File(path) = self else { return Ok(()) };
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(self.unusable("it is a folder; name a file in it")),
            // SQLite takes a file of one byte for an empty one.
            Ok(found) if found.len() == 1 => {
                Err(OpenError::Foreign { path: path.clone(), found: "it is not a SQLite file".to_owned() })
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// A file that is not ours is not touched, not even by a setting.
    fn refuse_foreign(&self, connection: &Connection) -> Result<(), OpenError> {
        let foreign = |found: String| OpenError::Foreign { path: self.path().to_owned(), found };
        let Looked { id, tables, version, oldest, is_duroxide } = match look(connection) {
            Ok(found) => found,
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
                return Err(foreign("it is not a SQLite file".to_owned()));
            }
            Err(error) => return Err(self.cannot_open(error)),
        };
        if id == APPLICATION_ID {
            return check_version(version, oldest, self);
        }
        if id != 0 {
            return Err(foreign(format!("it carries the application id {id:#010x}")));
        }
        if is_duroxide {
            return Err(OpenError::Duroxide { path: self.path().to_owned() });
        }
        if tables == 0 { Ok(()) } else { Err(foreign("it holds tables of another program".to_owned())) }
    }

    fn unusable(&self, reason: &str) -> OpenError {
        OpenError::File { path: self.path().to_owned(), reason: reason.to_owned(), source: None }
    }

    pub(crate) fn cannot_open(&self, error: rusqlite::Error) -> OpenError {
        use rusqlite::ErrorCode as Code;
        let extended = error.sqlite_error().map(|error| error.extended_code);
        let reason = match error.sqlite_error_code() {
            Some(Code::CannotOpen) => {
                "the file cannot be opened or created; check the path and its permissions"
            }
            Some(Code::ReadOnly) => READ_ONLY,
            Some(Code::DiskFull) => DISK_FULL,
            Some(Code::SystemIoFailure) if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => DISK_FULL,
            Some(Code::DatabaseBusy) => "another program keeps it locked; close that program and try again",
            Some(Code::DatabaseCorrupt) => "the file is damaged; restore it from a backup",
            Some(Code::SystemIoFailure) => "reading or writing failed; check the disk",
            Some(_) | None => {
                "SQLite cannot open it; check that it is a database file, or choose another path"
            }
        };
        OpenError::File {
            path: self.path().to_owned(),
            reason: format!("{reason} ({error})"),
            source: Some(Box::new(error)),
        }
    }
}

/// How newer versions of rusqlite call the database that a connection was opened with.
#[allow(dead_code, reason = "older versions have their own")]
struct DatabaseName;

#[allow(dead_code, reason = "older versions have their own")]
#[expect(non_upper_case_globals, reason = "it takes the place of a variant")]
impl DatabaseName {
    const Main: &str = "main";
}

/// Whether SQLite could open the file for reading only.
fn is_read_only(connection: &Connection) -> rusqlite::Result<bool> {
    // Older versions of rusqlite have an enum of this name, which is nearer here than the one above.
    #[allow(
        clippy::wildcard_imports,
        unused_imports,
        reason = "newer versions have nothing of this name"
    )]
    use rusqlite::*;
    connection.is_readonly(DatabaseName::Main)
}

/// Whose file it is, and how much is in it: one reading, because another process may be creating it right now.
fn look(connection: &Connection) -> rusqlite::Result<Looked> {
    let reading = connection.unchecked_transaction()?;
    let tables = reading.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let id = reading.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = reading.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let is_duroxide = crate::duroxide::is_duroxide(&reading)?;
    let oldest = if id == APPLICATION_ID { oldest_allowed(&reading, version)? } else { None };
    reading.rollback()?;
    Ok(Looked { id, tables, version, is_duroxide, oldest })
}

/// What a file says about itself.
struct Looked {
    id: i64,
    tables: i64,
    version: i64,
    is_duroxide: bool,
    /// The oldest schema version whose release may work on it, if the file is newer than this build.
    oldest: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a connection makes of a file that it does not trust: defensive mode, trusted schema, checked cells.
    fn distrust_of(connection: &Connection) -> (bool, bool, bool) {
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
        let defensive = connection.db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE).unwrap();
        (defensive, pragma("trusted_schema"), pragma("cell_size_check"))
    }

    #[test]
    fn no_connection_trusts_what_is_in_the_file() {
        let path = std::env::temp_dir().join(format!("abide-sqlite-{}-distrust.db", std::process::id()));
        let file = Location::File(path.clone());
        let create = Missing::Create(FileMode::default());
        let writer = file.open_writer(Durability::Full, create).unwrap();
        let reader = file.open_reader().unwrap();
        let checkpointer = file.open_checkpointer().unwrap();
        let in_memory = Location::Memory.open_writer(Durability::Full, create).unwrap();
        for connection in [&writer, &reader, &checkpointer, &in_memory] {
            assert_eq!(distrust_of(connection), (true, false, true));
        }
        drop((reader, checkpointer, writer));
        std::fs::remove_file(path).unwrap();
    }
}
