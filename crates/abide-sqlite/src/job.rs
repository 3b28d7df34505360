//! A piece of work for the writer: an operation, and somebody who waits for its answer.
//!
//! An operation can be run more than once: if a group fails, its members are run again one by one. The answer is
//! kept until the transaction that holds it is durable, and only then sent.

use abide_provider::{Operation, StoreError};
use futures_channel::oneshot;

use crate::error::{Failure, after_rollback};
use crate::store::Tx;

/// The order of jobs within a group: leases are kept before they are ended, and ended before they are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Renew,
    Commit,
    Enqueue,
    Housekeeping,
}

/// Whether losing a commit in a power cut would lose anything but leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    Must,
    LeaseOnly,
}

/// Something to do in a transaction.
pub(crate) trait Job: Send {
    fn phase(&self) -> Phase;
    fn durable(&self) -> Durable;
    /// Does it, and keeps the answer. An error is the database's; a refusal is an answer.
    fn run(&mut self, tx: &Tx<'_, '_>) -> Result<Ran, rusqlite::Error>;
    /// Sends the answer: the transaction is durable.
    fn answer(self: Box<Self>);
    /// Sends an error instead.
    fn fail(self: Box<Self>, error: JobError<'_>);
}

/// What became of a job inside the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ran {
    Done,
    Refused,
}

/// Why a job has no answer of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum JobError<'a> {
    /// The transaction was rolled back.
    RolledBack(&'a rusqlite::Error),
    /// The commit failed: it may hold after the next start, or not.
    CommitFailed(&'a str),
    /// It never got as far as a transaction.
    NotBegun(&'a str),
}

impl JobError<'_> {
    pub(crate) fn of(self, operation: Operation) -> StoreError {
        match self {
            Self::RolledBack(error) => after_rollback(operation, error),
            Self::CommitFailed(message) => StoreError::unknown(operation, message),
            Self::NotBegun(message) => StoreError::not_applied(operation, message),
        }
    }
}

/// A job made of a closure.
struct Task<T, F> {
    operation: Operation,
    phase: Phase,
    durable: Durable,
    run: F,
    answer: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

/// What a job is, beside what it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) operation: Operation,
    pub(crate) phase: Phase,
    pub(crate) durable: Durable,
}

impl Kind {
    pub(crate) const fn write(operation: Operation, phase: Phase) -> Self {
        Self { operation, phase, durable: Durable::Must }
    }

    pub(crate) const fn lease(operation: Operation, phase: Phase) -> Self {
        Self { operation, phase, durable: Durable::LeaseOnly }
    }
}

/// Where the answer to a job arrives.
pub(crate) type Reply<T> = oneshot::Receiver<Result<T, StoreError>>;

/// Answers a caller; one that has gone away does not need it.
pub(crate) fn tell<T>(caller: oneshot::Sender<T>, answer: T) {
    let _unheard = caller.send(answer);
}

/// A job, and where its answer will arrive.
pub(crate) struct Submission<T> {
    pub(crate) operation: Operation,
    pub(crate) job: Box<dyn Job>,
    pub(crate) reply: Reply<T>,
}

/// Makes a job of a closure.
pub(crate) fn job<T, F>(kind: Kind, run: F) -> Submission<T>
where
    T: Send + 'static,
    F: FnMut(&Tx<'_, '_>) -> Result<T, Failure> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let Kind { operation, phase, durable } = kind;
    let job = Box::new(Task { operation, phase, durable, run, answer: None, reply });
    Submission { operation, job, reply: answer }
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&Tx<'_, '_>) -> Result<T, Failure> + Send,
{
    fn phase(&self) -> Phase {
        self.phase
    }

    fn durable(&self) -> Durable {
        self.durable
    }

    fn run(&mut self, tx: &Tx<'_, '_>) -> Result<Ran, rusqlite::Error> {
        match (self.run)(tx) {
            Ok(answer) => {
                self.answer = Some(Ok(answer));
                Ok(Ran::Done)
            }
            Err(Failure::Refused(error)) => {
                self.answer = Some(Err(error));
                Ok(Ran::Refused)
            }
            Err(Failure::Database(error)) => Err(error),
        }
    }

    fn answer(self: Box<Self>) {
        if let Some(answer) = self.answer {
            tell(self.reply, answer);
        }
    }

    fn fail(self: Box<Self>, error: JobError<'_>) {
        tell(self.reply, Err(error.of(self.operation)));
    }
}
