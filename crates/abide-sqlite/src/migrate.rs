//! Bringing a database up to date.
//!
//! Migrations are numbered files, applied in order, each once, all in one transaction: a failure, or a crash at any
//! statement, leaves the file as it was. Several processes may start at once: one migrates, the others wait for the
//! lock and find it done. `user_version` is the number of the last migration applied.

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::connect::{APPLICATION_ID, Location};
use crate::error::{OpenError, may_be_one_job};

const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_create_tables.sql"),
    include_str!("../migrations/0002_safe_in_production.sql"),
];

/// The schema version that this build writes.
pub(crate) fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

pub(crate) fn migrate(connection: &mut Connection, location: &Location) -> Result<(), OpenError> {
    if version(connection, location)? == known_version() {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| location.cannot_open(error))?;
    // Read again under the lock: another process may have been faster.
    let mut applied = version(&transaction, location)?;
    let pending = MIGRATIONS.iter().skip(usize::try_from(applied).unwrap_or(usize::MAX));
    for migration in pending {
        applied += 1;
        transaction
            .execute_batch(migration)
            .and_then(|()| transaction.pragma_update(None, "user_version", applied))
            .map_err(|source| failed(location, applied, source))?;
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .and_then(|()| transaction.commit())
        .map_err(|source| failed(location, applied, source))?;
    // The tables go into the file at once: with them only in the log, a disk that fills up could never be checkpointed.
    crate::checkpoint::copy_log(connection);
    Ok(())
}

fn version(connection: &Connection, location: &Location) -> Result<i64, OpenError> {
    let found: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| location.cannot_open(error))?;
    check_version(found, location)?;
    Ok(found)
}

/// Whether this build knows what to do with a file of this version.
pub(crate) fn check_version(found: i64, location: &Location) -> Result<(), OpenError> {
    let path = location.path().to_owned();
    if found < 0 {
        let found = format!("its schema version is {found}, which no version of abide writes");
        return Err(OpenError::Foreign { path, found });
    }
    if found > known_version() {
        return Err(OpenError::NewerSchema { path, found, known: known_version() });
    }
    Ok(())
}

/// A disk that is full or fails is no fault of the migration's, and has a remedy of its own.
fn failed(location: &Location, version: i64, source: rusqlite::Error) -> OpenError {
    if !may_be_one_job(&source) || source.sqlite_error_code() == Some(ErrorCode::DiskFull) {
        return location.cannot_open(source);
    }
    OpenError::Migration { path: location.path().to_owned(), version, source }
}
