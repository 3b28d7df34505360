//! Which program, and which release of it, wrote a file.

use rusqlite::{Connection, OptionalExtension};

/// The last migration of duroxide 0.1.32, as its files name it.
const LAST_MIGRATION: i64 = 20_240_112_000_000;

/// Tables that a file of duroxide has, and hardly another file.
const TABLES: [&str; 5] = ["_sqlx_migrations", "instances", "history", "orchestrator_queue", "worker_queue"];

/// Whether duroxide wrote this database.
pub(crate) fn is_duroxide(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement =
        connection.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    for table in TABLES {
        if statement.query_row([table], |_| Ok(())).optional()?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether this is the layout of duroxide 0.1.32; if not, why not, and what to do.
pub(super) fn check_version(connection: &Connection) -> rusqlite::Result<Result<(), String>> {
    let (last, failed): (Option<i64>, i64) = connection.query_row(
        "SELECT max(version), count(*) FILTER (WHERE success = 0) FROM _sqlx_migrations",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let last = last.unwrap_or(0);
    Ok(if failed > 0 || last < LAST_MIGRATION {
        Err(format!(
            "its layout is older than that of duroxide 0.1.32 (migration {last}); open it once with duroxide 0.1.32, which \
             brings it up to date, and import it then"
        ))
    } else if last > LAST_MIGRATION {
        Err(format!(
            "its layout is newer than that of duroxide 0.1.32 (migration {last}), which this release does not know"
        ))
    } else {
        Ok(())
    })
}
