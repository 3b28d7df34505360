//! What a source holds: counts, problems, and its identity. Everything is read, and converted, once.

use std::collections::BTreeSet;

use super::convert::{self, Converted, ImportedInstance, ImportedQueues};
use super::error::ImportError;
use super::fingerprint::fingerprint;
use super::report::{ImportCounts, ImportProblem};
use super::rows;
use super::source::Source;

/// How many problems are told. One is enough to refuse the import.
const PROBLEMS: usize = 1_000;

/// What a source holds.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) identity: String,
    /// Instances, in the order of their creation.
    pub(super) instances: Vec<String>,
    /// Names that are no instances yet, but have a message that starts them.
    unborn: Vec<String>,
    pub(super) counts: ImportCounts,
    pub(super) problems: Vec<ImportProblem>,
}

impl Survey {
    pub(super) fn of(source: &Source) -> Result<Self, ImportError> {
        let identity = source.read(fingerprint)?;
        let instances = source.read(rows::instance_ids)?;
        let mut survey = Self {
            identity,
            instances: Vec::new(),
            unborn: Vec::new(),
            counts: ImportCounts::default(),
            problems: Vec::new(),
        };
        for id in &instances {
            match source.convert_instance(id)? {
                Ok(instance) => survey.count(&instance),
                Err(what) => survey.note(id.clone(), what),
            }
        }
        let (queues, obsolete_timers) =
            source.convert_queues(|instance, what| survey.note(instance, what))?;
        survey.counts.obsolete_timers = obsolete_timers;
        survey.counts.messages = count(queues.messages.len());
        survey.counts.activities = count(queues.work.len());
        survey.counts.sessions = count(queues.sessions.len());
        let known: BTreeSet<&String> = instances.iter().collect();
        let starts = queues.messages.iter().map(|message| &message.message).filter(|row| row.class.starts());
        let unborn: BTreeSet<&String> = starts.map(|row| &row.to).filter(|to| !known.contains(to)).collect();
        survey.unborn = unborn.into_iter().cloned().collect();
        survey.instances = instances;
        Ok(survey)
    }

    /// Every id that the store must not have.
    pub(super) fn ids(&self) -> Vec<String> {
        self.instances.iter().chain(&self.unborn).cloned().collect()
    }

    fn count(&mut self, instance: &ImportedInstance) {
        let counts = &mut self.counts;
        counts.instances += 1;
        counts.running += u64::from(instance.is_running);
        counts.executions += count(instance.executions.len());
        counts.events += instance.event_count;
        let kept: BTreeSet<&String> = instance.settled.changes.keys().collect();
        let added =
            instance.delta.changes.iter().filter(|(key, value)| value.is_some() && !kept.contains(key));
        let cleared =
            instance.delta.changes.iter().filter(|(key, value)| value.is_none() && kept.contains(key));
        counts.values += (count(kept.len()) + count(added.count())).saturating_sub(count(cleared.count()));
    }

    fn note(&mut self, instance: String, what: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(ImportProblem { instance, what });
        }
    }
}

impl Source {
    /// An instance that the survey has found.
    pub(super) fn instance(&self, id: &str) -> Result<ImportedInstance, ImportError> {
        self.convert_instance(id)?.map_err(|what| self.problem(id.to_owned(), what))
    }

    /// The queues that the survey has found.
    pub(super) fn queues(&self) -> Result<ImportedQueues, ImportError> {
        let mut found = None;
        let (queues, _) = self.convert_queues(|instance, what| found = Some((instance, what)))?;
        match found {
            None => Ok(queues),
            Some((instance, what)) => Err(self.problem(instance, what)),
        }
    }

    fn problem(&self, instance: String, what: String) -> ImportError {
        ImportError::Problems { path: self.path.clone(), problems: vec![ImportProblem { instance, what }] }
    }

    fn convert_instance(&self, id: &str) -> Result<Result<ImportedInstance, String>, ImportError> {
        match self.readable(|connection| rows::instance(connection, id))? {
            Ok(Some(instance)) => Ok(convert::instance(instance)),
            Ok(None) => Ok(Err("it is not there any more".to_owned())),
            Err(problem) => Ok(Err(problem)),
        }
    }

    /// The queues, and how many timers were left out. Tells every problem.
    fn convert_queues(
        &self,
        mut tell: impl FnMut(String, String),
    ) -> Result<(ImportedQueues, u64), ImportError> {
        let mut queues = ImportedQueues::default();
        let mut obsolete_timers = 0;
        self.read(|connection| {
            rows::messages(connection, |row| {
                match row.map_err(|error| unreadable(&error)).and_then(convert::message) {
                    Ok(Converted::Message(message)) => queues.messages.push(message),
                    Ok(Converted::ObsoleteTimer) => obsolete_timers += 1,
                    Err((instance, what)) => tell(instance, what),
                }
            })?;
            rows::work(connection, |row| {
                match row.map_err(|error| unreadable(&error)).and_then(|row| convert::work(&row)) {
                    Ok(work) => queues.work.push(work),
                    Err((instance, what)) => tell(instance, what),
                }
            })
        })?;
        match self.readable(rows::sessions)? {
            Ok(sessions) => queues.sessions = sessions,
            Err(problem) => tell(String::new(), problem),
        }
        Ok((queues, obsolete_timers))
    }

    /// Reads; a row that holds something else than it should is a problem, not a failure.
    fn readable<T>(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<Result<T, String>, ImportError> {
        self.read(|connection| match read(connection) {
            Ok(found) => Ok(Ok(found)),
            Err(error) if rows::is_unreadable_row(&error) => Ok(Err(unreadable(&error).1)),
            Err(error) => Err(error),
        })
    }
}

/// The problem of a row whose columns cannot be read. SQLite's text names the column and its type, not the
/// value.
fn unreadable(error: &rusqlite::Error) -> (String, String) {
    (String::new(), format!("a row cannot be read ({error})"))
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
