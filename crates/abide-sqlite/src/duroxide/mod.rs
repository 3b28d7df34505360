//! Importing a database file that duroxide 0.1.32 wrote.
//!
//! 1. [`source`] opens the file, locks it, and reads rows. Nothing is ever written to it.
//! 2. [`survey`] reads everything once: counts, problems, and an identity that is made of the rows.
//! 3. The store is asked what it holds: ids that collide, and an import that was interrupted.
//! 4. Each instance is [converted](convert) and written in a transaction of its own, without messages and
//!    activities, so that nothing of it can be leased yet.
//! 5. One last transaction writes the queues and the sessions, and with it the import is complete.
//!
//! A process that dies in between leaves instances that wait. The next import of the same source continues.
//! If the source is lost, [`discard_duroxide_import`] deletes them.

mod convert;
mod error;
mod fingerprint;
mod layout;
mod report;
mod rows;
mod source;
mod survey;
mod thread;

pub(crate) use convert::{ExecutionTimes, ImportedInstance, ImportedMessage, ImportedQueues, ImportedWork};
pub use error::ImportError;
pub(crate) use layout::is_duroxide;
pub use report::{ImportCounts, ImportOutcome, ImportProblem, ImportReport};
pub(crate) use rows::SourceSession;

use abide_provider::{Operation, StoreError};
use survey::Survey;
use thread::SourceThread;

use crate::SqliteProvider;
use crate::connect::Location;
use crate::job::{Kind, Phase, job};
use crate::store::import::{Progress, Standing, standing};

/// How many instances of a discarded import one transaction deletes.
const DISCARDED_AT_ONCE: i64 = 16;

/// Imports a database file that duroxide 0.1.32 wrote: instances with their executions and histories,
/// messages and activities with their visibility and attempts, values, custom status and sessions. Instances
/// that were running continue here.
///
/// `from` is the file, as a path or as `sqlite:path`. It is only read, and is locked for as long as this
/// takes. If a process has died with it, the log beside it (`-wal`) is read too and must be in the same
/// folder.
///
/// `into` must not have an instance that the file has as well. A runtime may serve it meanwhile, but what is
/// imported runs only when all of it is there. If this is interrupted, call it again with the same file: it
/// continues where it was.
///
/// Afterwards, rename the file as [`ImportReport::renames`] says. If duroxide opened it again, everything
/// would run twice.
///
/// ```no_run
/// use abide_sqlite::{SqliteProvider, import_duroxide};
///
/// # async fn import() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteProvider::new("sqlite:./data/shop.db", None).await?;
/// let report = import_duroxide("./data/old.db", &store).await?;
/// println!("{report}");
/// for (from, to) in report.renames() {
///     std::fs::rename(from, to)?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// If another process has the file open, if it is damaged, is something else, or holds a row that cannot be
/// read; if ids collide; or if the store fails. Nothing is written then, except by an import that was
/// interrupted by the store's failure: repeat it.
pub async fn import_duroxide(from: &str, into: &SqliteProvider) -> Result<ImportReport, ImportError> {
    let source = open(from, into).await?;
    let survey = source.ask(Survey::of).await?;
    if !survey.problems.is_empty() {
        return Err(ImportError::Problems { path: source.path().to_owned(), problems: survey.problems });
    }
    let progress = match begin(into, &survey, &source).await? {
        Standing::Possible { progress, collisions } if collisions.is_empty() => progress,
        Standing::Possible { collisions, .. } => {
            return Err(ImportError::Collisions { instances: collisions });
        }
        Standing::Unfinished { path } => return Err(ImportError::Unfinished { path: path.into() }),
    };
    let outcome = match progress {
        Progress::Finished => ImportOutcome::AlreadyImported,
        Progress::New => {
            copy(&source, into, &survey, &[]).await?;
            ImportOutcome::Imported
        }
        Progress::Interrupted { done } => {
            copy(&source, into, &survey, &done).await?;
            ImportOutcome::Resumed
        }
    };
    let report = ImportReport::new(source.path(), outcome, survey);
    tracing::info!(target: "abide::sqlite", source = %report.source.display(), outcome = ?report.outcome,
        instances = report.counts.instances, running = report.counts.running, "import of a duroxide database complete");
    Ok(report)
}

/// Says what [`import_duroxide`] would do, and does none of it: the counts, the rows that cannot be read, and
/// the ids that collide. Neither the file nor the store is changed.
///
/// # Errors
///
/// If the file cannot be read as a whole: another process has it open, it is damaged, or it is something
/// else. Or if the store cannot be read.
pub async fn import_duroxide_dry_run(from: &str, into: &SqliteProvider) -> Result<ImportReport, ImportError> {
    let source = open(from, into).await?;
    let survey = source.ask(Survey::of).await?;
    let ids = survey.ids();
    let identity = survey.identity.clone();
    let found = into
        .readers
        .read(&into.writer, Operation::Import, move |sql| standing(sql, &identity, &ids))
        .await
        .map_err(ImportError::Store)?;
    let mut report = ImportReport::new(source.path(), ImportOutcome::DryRun, survey);
    match found {
        Standing::Possible { progress: Progress::Finished, .. } => {
            report.outcome = ImportOutcome::AlreadyImported;
        }
        Standing::Possible { collisions, .. } => report.collisions = collisions,
        Standing::Unfinished { path } => return Err(ImportError::Unfinished { path: path.into() }),
    }
    Ok(report)
}

/// Deletes what an import left that was interrupted, so that another one can begin. For an import whose file
/// is lost or has changed: otherwise call [`import_duroxide`] again, which continues it. Returns how many
/// instances were deleted, with the messages that clients sent to them since; 0 if there is no such import.
///
/// # Errors
///
/// If the store fails. Call it again to continue.
pub async fn discard_duroxide_import(into: &SqliteProvider) -> Result<u64, ImportError> {
    let mut deleted = 0;
    while let Some(part) = write(into, |tx| tx.discard_import(DISCARDED_AT_ONCE)).await? {
        deleted += part;
    }
    Ok(deleted)
}

async fn open(from: &str, into: &SqliteProvider) -> Result<SourceThread, ImportError> {
    let path = match crate::location::parse(from).map_err(ImportError::Url)? {
        Location::File(path) => crate::location::real_path(path),
        Location::Memory => {
            let reason = "a database in memory belongs to another process; name a file".to_owned();
            return Err(ImportError::Source { path: from.into(), reason, source: None });
        }
    };
    if into.shared.location == Location::File(path.clone()) {
        let found = "it is the store that is imported into".to_owned();
        return Err(ImportError::NotDuroxide { path, found });
    }
    SourceThread::open(path).await
}

/// Checks what the store holds and remembers that this import is under way.
async fn begin(
    into: &SqliteProvider,
    survey: &Survey,
    source: &SourceThread,
) -> Result<Standing, ImportError> {
    let ids = survey.ids();
    let identity = survey.identity.clone();
    let path = source.path().display().to_string();
    write(into, move |tx| Ok(tx.begin_import(&identity, &path, &ids)?)).await
}

/// Copies what is not `done`, then the queues.
async fn copy(
    source: &SourceThread,
    into: &SqliteProvider,
    survey: &Survey,
    done: &[String],
) -> Result<(), ImportError> {
    let done: std::collections::BTreeSet<&String> = done.iter().collect();
    for id in survey.instances.iter().filter(|id| !done.contains(id)) {
        let wanted = id.clone();
        let instance = source.ask(move |source| source.instance(&wanted)).await?;
        write(into, move |tx| tx.import_instance(&instance)).await?;
    }
    let queues = source.ask(source::Source::queues).await?;
    let identity = survey.identity.clone();
    write(into, move |tx| tx.finish_import(&identity, &queues)).await
}

async fn write<T: Send + 'static>(
    into: &SqliteProvider,
    run: impl FnMut(&crate::store::Tx<'_, '_>) -> Result<T, crate::error::Failure> + Send + 'static,
) -> Result<T, ImportError> {
    let written: Result<T, StoreError> =
        into.run(job(Kind::write(Operation::Import, Phase::Housekeeping), run)).await;
    written.map_err(ImportError::Store)
}
