//! Bringing a database up to date.
//!
//! Migrations are numbered files, applied in order, each once, all in one transaction: a failure, or a crash at any
//! statement, leaves the file as it was. Several processes may start at once: one migrates, the others wait for the
//! lock and find it done. `user_version` is the number of the last migration applied.
//!
//! A migration names the oldest schema version whose release may still work on the file, which the table `compatibility`
//! records: so a release can be rolled back after its successor has migrated the file
//! (docs/adr/0018-let-a-release-work-on-its-successors-schema.md).

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::connect::{APPLICATION_ID, Location};
use crate::error::{OpenError, may_be_one_job};
use crate::owner::living;

/// One step.
struct Migration {
    sql: &'static str,
    /// The schema version of the oldest release that may work on the file afterwards.
    oldest: i64,
}

const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("../migrations/0001_create_tables.sql"), oldest: 1 },
    Migration { sql: include_str!("../migrations/0002_safe_in_production.sql"), oldest: 2 },
];

/// The schema version that this build writes.
pub(crate) fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Applies the migrations that the file lacks. A file that a newer release has migrated stays as it is.
pub(crate) fn migrate(connection: &mut Connection, location: &Location) -> Result<(), OpenError> {
    if version(connection, location)? >= known_version() {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| location.cannot_open(error))?;
    // Read again under the lock: another process may have been faster.
    let mut applied = version(&transaction, location)?;
    let pending = MIGRATIONS.get(usize::try_from(applied).unwrap_or(usize::MAX)..).unwrap_or_default();
    let Some(Migration { oldest, .. }) = pending.last() else { return Ok(()) };
    refuse_older_processes(applied, *oldest, location)?;
    for migration in pending {
        applied += 1;
        transaction
            .execute_batch(migration.sql)
            .and_then(|()| transaction.pragma_update(None, "user_version", applied))
            .map_err(|source| failed(location, applied, source))?;
    }
    transaction
        .execute("DELETE FROM compatibility", [])
        .and_then(|_| transaction.execute("INSERT INTO compatibility (oldest) VALUES (?1)", [oldest]))
        .and_then(|_| transaction.pragma_update(None, "application_id", APPLICATION_ID))
        .and_then(|()| transaction.commit())
        .map_err(|source| failed(location, applied, source))?;
    // The tables go into the file at once: with them only in the log, a disk that fills up could never be checkpointed.
    crate::checkpoint::copy_log(connection);
    Ok(())
}

/// A process that works on the file knows the version that the file has. If the migration excludes that version, the
/// process must end first. No process can begin meanwhile: to register, it needs the lock that we hold, and the
/// migration changes what it would write.
fn refuse_older_processes(applied: i64, oldest: i64, location: &Location) -> Result<(), OpenError> {
    let Location::File(path) = location else { return Ok(()) };
    if applied == 0 || oldest <= applied {
        return Ok(());
    }
    let lock_files = living(path);
    if lock_files.is_empty() {
        return Ok(());
    }
    Err(OpenError::OlderProcesses { path: path.clone(), found: applied, known: known_version(), lock_files })
}

fn version(connection: &Connection, location: &Location) -> Result<i64, OpenError> {
    let read = || {
        let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        Ok((found, oldest_allowed(connection, found)?))
    };
    let (found, oldest) = read().map_err(|error| location.cannot_open(error))?;
    check_version(found, oldest, location)?;
    Ok(found)
}

/// The oldest schema version whose release may work on a file that is newer than this build; `None` if it does not say.
pub(crate) fn oldest_allowed(connection: &Connection, found: i64) -> rusqlite::Result<Option<i64>> {
    if found <= known_version() {
        return Ok(None);
    }
    let says_so = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'compatibility'";
    if connection.query_row(says_so, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    connection.query_row("SELECT max(oldest) FROM compatibility", [], |row| row.get(0))
}

/// Whether this build may work on a file of this version.
pub(crate) fn check_version(found: i64, oldest: Option<i64>, location: &Location) -> Result<(), OpenError> {
    let path = location.path().to_owned();
    if found < 0 {
        let found = format!("its schema version is {found}, which no version of abide writes");
        return Err(OpenError::Foreign { path, found });
    }
    let known = known_version();
    let is_allowed = found <= known || oldest.is_some_and(|oldest| oldest <= known);
    if is_allowed { Ok(()) } else { Err(OpenError::NewerSchema { path, found, oldest, known }) }
}

/// A disk that is full or fails is no fault of the migration's, and has a remedy of its own.
fn failed(location: &Location, version: i64, source: rusqlite::Error) -> OpenError {
    if !may_be_one_job(&source) || source.sqlite_error_code() == Some(ErrorCode::DiskFull) {
        return location.cannot_open(source);
    }
    OpenError::Migration { path: location.path().to_owned(), version, source }
}
