//! The writer of a SQLite file: a thread, and a transaction for each group.

use std::path::Path;
use std::thread::JoinHandle;

use futures::executor::block_on;
use rusqlite::Connection;

use super::{Inbox, ROW_BYTES, next_group, tell_all};
use crate::store::Fallible;

/// A row per commit, in the order in which they come, with a small index.
const TABLE: &str = "
    CREATE TABLE log (instance INTEGER NOT NULL, step INTEGER NOT NULL, data TEXT NOT NULL) STRICT;
    CREATE INDEX log_by_instance ON log (instance, step);";

/// Ends when all callers have.
pub(crate) fn start(path: &Path, inbox: Inbox) -> Fallible<JoinHandle<Fallible<()>>> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch(TABLE)?;
    let work = move || block_on(write(&connection, inbox));
    Ok(std::thread::Builder::new().name("ceiling".to_owned()).spawn(work)?)
}

async fn write(connection: &Connection, mut inbox: Inbox) -> Fallible<()> {
    let data = "x".repeat(ROW_BYTES);
    let mut begin = connection.prepare("BEGIN IMMEDIATE")?;
    let mut insert = connection.prepare("INSERT INTO log VALUES (?1, ?2, ?3)")?;
    let mut commit = connection.prepare("COMMIT")?;
    loop {
        let group = next_group(&mut inbox).await;
        if group.is_empty() {
            return Ok(());
        }
        begin.execute([])?;
        for row in &group {
            insert.execute((row.instance, row.step, &data))?;
        }
        commit.execute([])?;
        tell_all(group);
    }
}
