//! What an import says when it is done.

use std::fmt;
use std::path::{Path, PathBuf};

use super::survey::Survey;

/// How many names an error or a report shows.
const SHOWN: usize = 10;

/// What an import did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// The imported file.
    pub source: PathBuf,
    /// What became of it.
    pub outcome: ImportOutcome,
    /// What the file holds.
    pub counts: ImportCounts,
    /// Rows that cannot be imported, at most 1,000. Only a dry run returns them; an import is refused
    /// instead.
    pub problems: Vec<ImportProblem>,
    /// Ids that the store has as well. Only a dry run returns them; an import is refused instead.
    pub collisions: Vec<String>,
}

/// What became of a file that was to be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportOutcome {
    /// All of it was imported.
    Imported,
    /// An import that was interrupted is complete now.
    Resumed,
    /// An earlier import was complete. Nothing was done.
    AlreadyImported,
    /// Nothing was done: it was a dry run.
    DryRun,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ImportCounts {
    /// Instances, those that are only about to start not included.
    pub instances: u64,
    /// Instances that have not ended.
    pub running: u64,
    /// Executions of all instances.
    pub executions: u64,
    /// Events of all executions.
    pub events: u64,
    /// Messages that wait for an instance, starts and timers included.
    pub messages: u64,
    /// Activities that wait for a worker, or were running.
    pub activities: u64,
    /// Values that instances keep.
    pub values: u64,
    /// Sessions.
    pub sessions: u64,
    /// Timers of executions that have ended. They are left out.
    pub obsolete_timers: u64,
}

/// Something that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportProblem {
    /// Whose it is.
    pub instance: String,
    /// What is wrong with it. Contains no payload.
    pub what: String,
}

impl ImportReport {
    pub(super) fn new(source: &Path, outcome: ImportOutcome, survey: Survey) -> Self {
        let Survey { counts, problems, .. } = survey;
        Self { source: source.to_owned(), outcome, counts, problems, collisions: Vec::new() }
    }

    /// Whether nothing stands in the way of the import: there are no problems and no collisions.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.collisions.is_empty()
    }

    /// How to put the imported file away: rename each first path to the second. The log beside it is renamed
    /// with it.
    #[must_use]
    pub fn renames(&self) -> Vec<(PathBuf, PathBuf)> {
        let renamed = |suffix: &str| {
            let (mut from, mut to) =
                (self.source.clone().into_os_string(), self.source.clone().into_os_string());
            from.push(suffix);
            to.push(".imported");
            to.push(suffix);
            (PathBuf::from(from), PathBuf::from(to))
        };
        let files = ["", "-wal", "-shm"].map(renamed);
        files.into_iter().filter(|(from, _)| from.exists()).collect()
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.source.display();
        match self.outcome {
            ImportOutcome::Imported => writeln!(f, "imported '{source}': {}", self.counts)?,
            ImportOutcome::Resumed => {
                writeln!(f, "imported '{source}', after an interruption: {}", self.counts)?;
            }
            ImportOutcome::AlreadyImported => {
                writeln!(f, "'{source}' was imported before: {}", self.counts)?;
            }
            ImportOutcome::DryRun => writeln!(f, "'{source}' holds {}; nothing was imported", self.counts)?,
        }
        if !self.problems.is_empty() {
            writeln!(f, "these cannot be imported: {}", list(&self.problems))?;
        }
        if !self.collisions.is_empty() {
            writeln!(f, "the store already has instances with the ids {}", list(&self.collisions))?;
        }
        if self.outcome != ImportOutcome::DryRun {
            writeln!(f, "rename it now, so that nothing runs twice:")?;
            for (from, to) in self.renames() {
                writeln!(f, "  mv '{}' '{}'", from.display(), to.display())?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for ImportCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instances, running, executions, events, messages, activities, values, sessions, .. } =
            self;
        write!(
            f,
            "{instances} instances ({running} running), {executions} executions, {events} events, {messages} messages, \
             {activities} activities, {values} values, {sessions} sessions"
        )
    }
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance '{}': {}", self.instance, self.what)
    }
}

/// The first few, and how many more there are.
pub(super) fn list<T: fmt::Display>(items: &[T]) -> String {
    let shown: Vec<String> = items.iter().take(SHOWN).map(|item| format!("'{item}'")).collect();
    let more = items.len().saturating_sub(shown.len());
    let shown = shown.join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
