//! The worker: a runtime on a store that it shares with others, in a process of its own.
//!
//! It runs until it is told to end by `SIGTERM` or `SIGINT`, and then shuts down in good order; or until its standard input ends,
//! which means that the driver is gone, and then it just ends. Anything else that ends it is the point of the exercise.

use std::future::poll_fn;
use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use abide::RuntimeOptions;
use abide::runtime::{Runtime, StartError};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::journal::{Journal, Note};
use crate::program::{Surroundings, activities, orchestrations};
use crate::refusals::Refusals;
use crate::skew::SkewedClock;
use crate::store::{Store, StoreOpenError};

/// What a worker is told on its command line:
/// `--db FILE-OR-URL [--schema NAME] --journal FILE --label NAME --gate FILE [--lease-ms N] [--clock-ahead-ms N]
/// [--cache-bytes N]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where everything is kept.
    pub store: Store,
    /// Where it notes what it does.
    pub journal: PathBuf,
    /// What the driver calls it.
    pub label: String,
    /// The file that opens the gate.
    pub gate: PathBuf,
    /// How long leases last; the runtime's defaults unless told.
    pub lease: Option<Duration>,
    /// How wrong its clock is.
    pub clock_ahead_ms: i64,
    /// How much of its instances it keeps in memory; the runtime's default unless told.
    pub cache_bytes: Option<usize>,
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
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] StoreOpenError),
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
        let mut told = Told::default();
        while let Some(option) = words.next() {
            let value = words.next().ok_or_else(|| WorkerError::Usage(format!("{option} needs a value")))?;
            told.take(&option, value)?;
        }
        told.complete()
    }

    fn runtime_options(&self) -> RuntimeOptions {
        let mut options = RuntimeOptions::default();
        if let Some(lease) = self.lease {
            options.orchestrator_lock_timeout = lease;
            options.worker_lock_timeout = lease;
        }
        if let Some(bytes) = self.cache_bytes {
            options.instance_cache_bytes = bytes;
        }
        options
    }
}

/// What a command line has said so far.
#[derive(Debug, Default)]
struct Told {
    db: Option<String>,
    schema: Option<String>,
    journal: Option<PathBuf>,
    label: Option<String>,
    gate: Option<PathBuf>,
    lease: Option<Duration>,
    clock_ahead_ms: i64,
    cache_bytes: Option<usize>,
}

impl Told {
    fn take(&mut self, option: &str, value: String) -> Result<(), WorkerError> {
        match option {
            "--db" => self.db = Some(value),
            "--schema" => self.schema = Some(value),
            "--journal" => self.journal = Some(value.into()),
            "--label" => self.label = Some(value),
            "--gate" => self.gate = Some(value.into()),
            "--lease-ms" => self.lease = Some(Duration::from_millis(number(option, &value)?)),
            "--clock-ahead-ms" => self.clock_ahead_ms = number(option, &value)?,
            "--cache-bytes" => self.cache_bytes = Some(number(option, &value)?),
            unknown => return Err(WorkerError::Usage(format!("there is no option {unknown}"))),
        }
        Ok(())
    }

    fn complete(self) -> Result<Options, WorkerError> {
        let missing = |name: &str| WorkerError::Usage(format!("{name} is missing"));
        Ok(Options {
            store: Store::named(self.db.ok_or_else(|| missing("--db"))?, self.schema),
            journal: self.journal.ok_or_else(|| missing("--journal"))?,
            label: self.label.ok_or_else(|| missing("--label"))?,
            gate: self.gate.ok_or_else(|| missing("--gate"))?,
            lease: self.lease,
            clock_ahead_ms: self.clock_ahead_ms,
            cache_bytes: self.cache_bytes,
        })
    }
}

pub(crate) fn number<N: FromStr>(option: &str, value: &str) -> Result<N, WorkerError> {
    value.parse().map_err(|_| WorkerError::Usage(format!("{option} needs a number, not {value:?}")))
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
    let clock = Arc::new(SkewedClock::ahead_by(options.clock_ahead_ms));
    let store = options.store.open(clock.clone()).await?;
    let around =
        Surroundings { journal: journal.clone(), label: options.label.clone(), gate: options.gate.clone() };
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_activities(activities(&around))
        .with_orchestrations(orchestrations(&around))
        .with_options(options.runtime_options())
        .with_clock(clock)
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
    poll_fn(|cx| {
        let came = signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready());
        if came { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Ends the process when its standard input does.
pub(crate) fn end_with_the_driver() -> std::io::Result<()> {
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
