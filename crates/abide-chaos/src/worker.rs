//! The worker: a runtime on a SQLite file, in a process of its own.
//!
//! It runs until it is told to end by `SIGTERM` or `SIGINT`, and then shuts down in good order; or until its standard input ends,
//! which means that the driver is gone, and then it just ends. Anything else that ends it is the point of the exercise.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use abide::RuntimeOptions;
use abide::providers::sqlite::{OpenError, SqliteProvider};
use abide::runtime::{Runtime, StartError};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::journal::{Journal, Note};
use crate::program::{Surroundings, activities, orchestrations};
use crate::refusals::Refusals;

/// What a worker is told on its command line: `--db FILE --journal FILE --label NAME --gate FILE [--lease-ms N]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The database.
    pub db: PathBuf,
    /// Where it notes what it does.
    pub journal: PathBuf,
    /// What the driver calls it.
    pub label: String,
    /// The file that opens the gate.
    pub gate: PathBuf,
    /// How long leases last; the runtime's defaults unless told.
    pub lease: Option<Duration>,
}

/// Why a worker did not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The journal, the signals or a thread cannot be had.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The metrics belong to somebody else.
    #[error("the metrics cannot be read: {0}")]
    Metrics(String),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The runtime does not start.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl Options {
    /// Understands a command line.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Usage`] if it makes no sense.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, WorkerError> {
        let mut words = arguments.into_iter();
        let (mut db, mut journal, mut label, mut gate, mut lease) = (None, None, None, None, None);
        while let Some(option) = words.next() {
            let value = words.next().ok_or_else(|| WorkerError::Usage(format!("{option} needs a value")))?;
            match option.as_str() {
                "--db" => db = Some(value.into()),
                "--journal" => journal = Some(value.into()),
                "--label" => label = Some(value),
                "--gate" => gate = Some(value.into()),
                "--lease-ms" => {
                    let milliseconds = value.parse().map_err(|_| {
                        WorkerError::Usage(format!("--lease-ms needs a number, not {value:?}"))
                    })?;
                    lease = Some(Duration::from_millis(milliseconds));
                }
                unknown => return Err(WorkerError::Usage(format!("there is no option {unknown}"))),
            }
        }
        let missing = |name: &str| WorkerError::Usage(format!("{name} is missing"));
        Ok(Self {
            db: db.ok_or_else(|| missing("--db"))?,
            journal: journal.ok_or_else(|| missing("--journal"))?,
            label: label.ok_or_else(|| missing("--label"))?,
            gate: gate.ok_or_else(|| missing("--gate"))?,
            lease,
        })
    }

    fn runtime_options(&self) -> RuntimeOptions {
        let options = RuntimeOptions::default();
        match self.lease {
            None => options,
            Some(lease) => {
                RuntimeOptions { orchestrator_lock_timeout: lease, worker_lock_timeout: lease, ..options }
            }
        }
    }
}

/// Runs a worker until it is told to end.
///
/// # Errors
///
/// If it cannot begin.
pub fn run(options: &Options) -> Result<(), WorkerError> {
    end_with_the_driver()?;
    let journal = Journal::append_to(&options.journal)?;
    metrics::set_global_recorder(Refusals::new(journal.clone()))
        .map_err(|error| WorkerError::Metrics(error.to_string()))?;
    // Threads enough for one that blocks in an activity and one that blocks in a turn.
    let tasks = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    tasks.block_on(work(options, journal))
}

async fn work(options: &Options, journal: Journal) -> Result<(), WorkerError> {
    // Before anything is begun: a signal that comes early is not lost.
    let signals = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let url = format!("sqlite:{}", options.db.display());
    let store = Arc::new(SqliteProvider::builder(&url).open().await?);
    let around =
        Surroundings { journal: journal.clone(), label: options.label.clone(), gate: options.gate.clone() };
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_activities(activities(&around))
        .with_orchestrations(orchestrations(&around))
        .with_options(options.runtime_options())
        .build()
        .await?;
    journal.note(Note::Ready);
    any_of(signals).await;
    runtime.shutdown(None).await;
    drop(store);
    journal.note(Note::Stopped);
    Ok(())
}

async fn any_of(mut signals: [Signal; 2]) {
    std::future::poll_fn(|cx| {
        let came = signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready());
        if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

/// Ends the process when its standard input does.
fn end_with_the_driver() -> std::io::Result<()> {
    let watch = || {
        let mut nothing = Vec::new();
        let _read = std::io::stdin().read_to_end(&mut nothing);
        std::process::exit(ORPHANED);
    };
    std::thread::Builder::new().name("driver".to_owned()).spawn(watch)?;
    Ok(())
}

/// The exit code of a worker that lost its driver.
const ORPHANED: i32 = 3;
