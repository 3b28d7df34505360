//! SQLite's result codes as kinds of error.
//!
//! By code, never by text. What passes by itself (busy, a full disk, an I/O error, a read-only or missing file) is
//! *not applied*: the caller tries again, for as long as it takes.

use std::path::PathBuf;

use abide_provider::{ErrorKind, Operation, Rejection, StoreError};
use rusqlite::ErrorCode;

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL says something that is not understood.
    #[error(
        "'{url}' is not a database: {reason}; write `sqlite:path/to/file.db`, a path, or `sqlite::memory:`"
    )]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The mode for new files makes no sense.
    #[error(
        "a database file cannot have the mode {mode:#o}: its owner must be able to read and write it, and no user may \
         execute it; choose 0o600, 0o640 or 0o660"
    )]
    FileMode {
        /// What was chosen.
        mode: u32,
    },
    /// The folder of the file is missing and cannot be made.
    #[error(
        "cannot create the folder '{}' for the database: {source}; create it, or choose a path in a folder that this \
         process can write to",
        folder.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file, or one beside it, cannot be opened or written.
    #[error("cannot open the database '{}': {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
        /// What SQLite said.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The file is something else.
    #[error("'{}' is not an abide database: {found}; it was left untouched, choose another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// duroxide wrote the file.
    #[error(
        "'{}' is a database of duroxide; it was left untouched. To continue with it, import it into a new file with \
         `import_duroxide`; to start afresh, choose another file",
        path.display()
    )]
    Duroxide {
        /// The file.
        path: PathBuf,
    },
    /// A newer release has migrated the file, and this one cannot work on what it wrote.
    #[error(
        "'{}' has schema version {found}, and this version of abide knows up to {known}: a newer release migrated it\
         {}; use that release or a newer one; the file was left untouched",
        path.display(),
        names_oldest(*oldest)
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The oldest schema version whose release may work on it, if the file says so.
        oldest: Option<i64>,
        /// The newest this build knows.
        known: i64,
    },
    /// The file must be migrated, and processes of an older release that could not work on it then have it open.
    #[error(
        "'{}' has schema version {found} and cannot be migrated to version {known} while processes of an older release \
         have it open: stop the processes that hold {} beside it, and open it again (remove a lock file that no process \
         holds); the file was left untouched",
        path.display(),
        lock_files.join(", ")
    )]
    OlderProcesses {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The version that it would be migrated to.
        known: i64,
        /// The lock files that those processes hold.
        lock_files: Vec<String>,
    },
    /// Another process has the file open, and one of the two links a SQLite that is too old for that.
    #[error(
        "'{}' is open in another process, which holds {lock_file} beside it, and one of the two links a SQLite older \
         than 3.51.3, which can damage a file that several processes use: stop that process, or link a newer SQLite into \
         both (this one has {})",
        path.display(),
        rusqlite::version()
    )]
    OtherProcess {
        /// The file.
        path: PathBuf,
        /// The lock file that the other process holds.
        lock_file: String,
    },
    /// Bringing the schema up to date failed. Nothing of it was applied.
    #[error("migration {version} of '{}' failed and was undone: {}", path.display(), without_sql(source))]
    Migration {
        /// The file.
        path: PathBuf,
        /// Which migration.
        version: i64,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A setting that durability depends on did not take.
    #[error("'{}' does not take `PRAGMA {pragma} = {wanted}`: it is {found}", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// The setting.
        pragma: &'static str,
        /// What it must be.
        wanted: String,
        /// What it is.
        found: String,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for the database: {0}")]
    Thread(#[source] std::io::Error),
}

impl OpenError {
    /// Whether another process was in the way, for the moment.
    pub(crate) fn is_busy(&self) -> bool {
        let error = match self {
            Self::File { source: Some(source), .. } => source.downcast_ref::<rusqlite::Error>(),
            Self::Migration { source, .. } => Some(source),
            Self::Url { .. }
            | Self::FileMode { .. }
            | Self::Folder { .. }
            | Self::File { source: None, .. }
            | Self::Foreign { .. }
            | Self::Duroxide { .. }
            | Self::NewerSchema { .. }
            | Self::OlderProcesses { .. }
            | Self::OtherProcess { .. }
            | Self::Setting { .. }
            | Self::Thread(_) => None,
        };
        let code = error.and_then(rusqlite::Error::sqlite_error_code);
        matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }
}

/// Which releases may work on a newer file, as part of a sentence.
fn names_oldest(oldest: Option<i64>) -> String {
    oldest.map(|oldest| format!(", for releases that know version {oldest}")).unwrap_or_default()
}

/// What SQLite said, without the statement it said it about.
fn without_sql(error: &rusqlite::Error) -> String {
    if let rusqlite::Error::SqlInputError { msg, .. } = error { msg.clone() } else { error.to_string() }
}

/// Why an operation inside a transaction did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was refused, before it wrote anything.
    Refused(StoreError),
    /// SQLite failed.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

/// What an error means to the caller, if the transaction was rolled back.
pub(crate) fn after_rollback(operation: Operation, error: &rusqlite::Error) -> StoreError {
    StoreError { operation, kind: kind_of(error), message: error.to_string() }
}

fn kind_of(error: &rusqlite::Error) -> ErrorKind {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => ErrorKind::Rejected(Rejection::Conflict),
        Some(ErrorCode::TooBig | ErrorCode::TypeMismatch | ErrorCode::ParameterOutOfRange) => {
            ErrorKind::Rejected(Rejection::Invalid)
        }
        // Busy, full, I/O, read-only, missing, out of memory, interrupted, locked, a changed schema: all of these
        // pass. "Malformed" may be a disk that failed to read once; if it is not, it is the file's fault and not that
        // of whoever met it. Ending an instance for what SQLite reports could not be undone.
        Some(_) | None => ErrorKind::NotApplied,
    }
}

/// Whether running the members of a failed group one by one could help: not if the whole database is out of reach.
pub(crate) fn may_be_one_job(error: &rusqlite::Error) -> bool {
    let locked = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory)
    );
    !locked && !is_broken(error)
}

/// Whether the connection must not be used any more.
pub(crate) fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::SystemIoFailure
                | ErrorCode::NotADatabase
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}
