//! Copying the log into the database file, mostly beside the writer.
//!
//! A passive checkpoint on a second connection does the bulk of the copying while the writer goes on. It never
//! catches up with a busy writer, so the log would grow without end; therefore the writer finishes with a short
//! checkpoint of its own, after which the log is written from its start again
//! (docs/adr/0005-store-history-on-sqlite-as-one-appended-row-per-turn.md has the figures).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use rusqlite::Connection;

use crate::connect::several_connections_are_safe;
use crate::error::OpenError;
use crate::shared::{Counts, Shared};
use crate::statements::{Sql, Statements};

/// The log is copied when it has this many pages.
const PAGES: i64 = 1_000;

/// The writer's side.
pub(crate) struct Checkpoints {
    ask: Option<Sender<()>>,
    copied: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    /// Starts the thread that copies.
    pub(crate) fn beside(shared: &Arc<Shared>) -> Result<Self, OpenError> {
        let connection = shared.location.open_checkpointer()?;
        let shared = Arc::clone(shared);
        let (ask, asked) = bounded(1);
        let copied = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&copied);
        let thread = std::thread::Builder::new()
            .name("abide-checkpoint".to_owned())
            .spawn(move || copy(&shared, &connection, &asked, &done))
            .map_err(OpenError::Thread)?;
        Ok(Self { ask: Some(ask), copied, thread: Some(thread) })
    }

    /// The writer copies everything itself: there is only one connection.
    pub(crate) fn inline() -> Self {
        Self { ask: None, copied: Arc::default(), thread: None }
    }

    /// To be called by the writer between two transactions.
    pub(crate) fn after_commit(&self, sql: &Statements<'_>, counts: &Counts) {
        if !several_connections_are_safe() {
            return; // that SQLite copies by itself: see `Location::set`
        }
        let pages = sql.row(Sql::LogPages, [], |row| row.get::<_, i64>(1));
        if pages.is_ok_and(|pages| pages.unwrap_or(0) < PAGES) {
            return;
        }
        match &self.ask {
            Some(ask) if !self.copied.swap(false, Ordering::AcqRel) => {
                let _asked_already = ask.try_send(());
            }
            Some(_) | None => {
                counts.log_copies.one();
                copy_log(sql.connection());
            }
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn copy(shared: &Shared, connection: &Connection, asked: &Receiver<()>, done: &AtomicBool) {
    while asked.recv().is_ok() {
        // Under another index the locks are not ours, and copying would harm what others have written.
        if shared.files.check().is_ok() {
            shared.counts.log_copies.one();
            copy_log(connection);
        }
        done.store(true, Ordering::Release);
    }
}

/// Copies what can be copied without waiting for anybody.
pub(crate) fn copy_log(connection: &Connection) {
    let result = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if let Err(error) = result {
        tracing::warn!(target: "abide::sqlite", %error, "the log could not be copied; it will be tried again");
    }
}
