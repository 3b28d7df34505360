//! Whether the file is sound, and nothing is left in it that somebody would have to do.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, ToSql};

use super::{Rule, Violation};

/// What must be empty once everything has ended and every process has closed the file in good order.
const EMPTY: [(&str, &str); 5] = [
    ("messages", "SELECT count(*) FROM message"),
    ("work", "SELECT count(*) FROM work"),
    ("dead letters", "SELECT count(*) FROM dead_letter"),
    ("leased mailboxes", "SELECT count(*) FROM mailbox WHERE lease IS NOT NULL"),
    ("owners", "SELECT count(*) FROM owner"),
];

/// What is wrong with a file that nobody uses any more and in which everything has ended.
///
/// # Errors
///
/// If it cannot be read.
pub fn violations(database: &Path) -> rusqlite::Result<Vec<Violation>> {
    let connection = open(database)?;
    let mut found = Vec::new();
    let integrity: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if integrity != "ok" {
        found.push(Violation::new(Rule::Storage, "integrity", integrity));
    }
    for (what, query) in EMPTY {
        let count: i64 = connection.query_row(query, [], |row| row.get(0))?;
        if count != 0 {
            found.push(Violation::new(Rule::Storage, what, format!("there are {count}")));
        }
    }
    Ok(found)
}

/// How many leases there are on instances and on activities, whoever uses the file.
///
/// # Errors
///
/// If it cannot be read.
pub fn leases(database: &Path) -> rusqlite::Result<i64> {
    const LEASES: &str = "SELECT (SELECT count(*) FROM mailbox WHERE lease IS NOT NULL) \
                          + (SELECT count(*) FROM work WHERE lease IS NOT NULL)";
    open(database)?.query_row(LEASES, [], |row| row.get(0))
}

/// Returns the number that a query asks for.
///
/// # Errors
///
/// If it cannot be read.
pub fn count(database: &Path, query: &str, values: &[&dyn ToSql]) -> rusqlite::Result<i64> {
    open(database)?.query_row(query, values, |row| row.get(0))
}

/// Damages what a file holds, with a statement that takes one text.
///
/// # Errors
///
/// If it cannot be written.
pub fn damage(database: &Path, statement: &str, text: &str) -> rusqlite::Result<()> {
    open(database)?.execute(statement, [text]).map(|_rows| ())
}

/// Whether somebody could write now: whether nobody is in the middle of a transaction.
///
/// # Errors
///
/// If it cannot be opened.
pub fn is_writable(database: &Path) -> rusqlite::Result<bool> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok())
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}
