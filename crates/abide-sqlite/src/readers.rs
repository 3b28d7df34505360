//! Reading beside the writer.
//!
//! Two threads with read-only connections. A database in memory has one connection and is read through the writer; so is
//! a file if this SQLite is too old for several connections.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use abide_provider::{Operation, Rejection, StoreError};
use crossbeam_channel::{Receiver, Sender, unbounded};
use futures_channel::oneshot;

use crate::connect::several_connections_are_safe;
use crate::error::{OpenError, after_rollback};
use crate::job::tell;
use crate::shared::Shared;
use crate::statements::{Sql, Statements};
use crate::writer::{Request, Writer};

const THREADS: usize = 2;

type Read = Box<dyn FnOnce(&Statements<'_>) + Send>;

/// Where reads go.
pub(crate) enum Readers {
    Threads { reads: Option<Sender<Read>>, threads: Vec<JoinHandle<()>> },
    ThroughWriter,
}

impl Readers {
    /// To be called when the writer has made the database.
    pub(crate) fn start(shared: &Arc<Shared>) -> Result<Self, OpenError> {
        if shared.in_memory() || !several_connections_are_safe() {
            return Ok(Self::ThroughWriter);
        }
        let (reads, inbox) = unbounded();
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let (shared, inbox) = (Arc::clone(shared), inbox.clone());
            let thread = std::thread::Builder::new()
                .name("abide-reader".to_owned())
                .spawn(move || read_all(&shared, &inbox))
                .map_err(OpenError::Thread)?;
            threads.push(thread);
        }
        Ok(Self::Threads { reads: Some(reads), threads })
    }

    /// Reads, and waits for what was read.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        writer: &Writer,
        operation: Operation,
        read: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let read: Read = Box::new(move |statements| {
            tell(reply, read(statements));
        });
        match self {
            Self::Threads { reads: Some(reads), .. } => {
                let _sent = reads.send(read); // the threads live as long as `self`
            }
            Self::Threads { reads: None, .. } | Self::ThroughWriter => writer.send(Request::Read(read)),
        }
        match answer.await {
            Ok(result) => result.map_err(|error| after_rollback(operation, &error)),
            Err(_) => Err(StoreError::not_applied(operation, "the database is not open")),
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        if let Self::Threads { reads, threads } = self {
            *reads = None;
            for thread in threads.drain(..) {
                let _ended = thread.join();
            }
        }
    }
}

/// Serves reads; opens the database for the first one, and again after it was missing for a while.
fn read_all(shared: &Shared, inbox: &Receiver<Read>) {
    while let Ok(first) = inbox.recv() {
        let Ok(connection) = shared.location.open_reader() else { continue };
        if shared.files.check().is_err() {
            continue; // what the path names now is not our database
        }
        let statements = Statements::new(&connection);
        in_snapshot(&statements, first);
        while let Ok(read) = inbox.recv() {
            if shared.files.check().is_err() {
                break;
            }
            in_snapshot(&statements, read);
        }
    }
}

/// One read is one moment, however many statements it takes.
fn in_snapshot(statements: &Statements<'_>, read: Read) {
    // If it cannot begin, neither can the read, which says why.
    let begun = statements.execute(Sql::BeginRead, []).is_ok();
    // A panic costs its caller the answer, not the others their reader.
    if catch_unwind(AssertUnwindSafe(|| read(statements))).is_err() {
        tracing::error!(target: "abide::sqlite", "a read panicked");
    }
    if begun && let Err(error) = statements.execute(Sql::Rollback, []) {
        tracing::warn!(target: "abide::sqlite", %error, "a read could not be ended");
    }
}

/// A history that cannot be read.
pub(crate) fn corrupt(operation: Operation, instance: &str, error: &str) -> StoreError {
    let message = format!("the history of instance '{instance}' cannot be read: {error}");
    StoreError::rejected(operation, Rejection::Corrupt, message)
}

/// A value that cannot be read.
pub(crate) fn damaged(operation: Operation, instance: &str, error: &str) -> StoreError {
    let message = format!("what instance '{instance}' keeps cannot be read: {error}");
    StoreError::rejected(operation, Rejection::Corrupt, message)
}
