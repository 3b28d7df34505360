//! From rows of duroxide to rows of ours, without a database.
//!
//! A row that cannot be converted is a problem, told without its payload.

use abide_model::{Event, EventKind, ExecutionStatus, KvEntry, Timestamp, WorkItem};
use abide_provider::rows::{CommitRows, InstanceRow, KvRows, MessageClass, MessageRow, TimerRows, WorkRow};
use abide_provider::{Operation, ParentLink};
use semver::Version;
use serde::de::DeserializeOwned;

use super::rows::{SourceExecution, SourceInstance, SourceMessage, SourceSession, SourceWork};
use crate::encode::{EncodedMessage, EncodedTurn, EncodedWork, column};

/// How many events one row holds. Whoever reads the end of a history reads one row.
const EVENTS_PER_ROW: usize = 100;

/// An instance, ready to be written.
#[derive(Debug)]
pub(crate) struct ImportedInstance {
    pub(crate) id: String,
    /// Its history, in parts.
    pub(crate) turns: Vec<EncodedTurn>,
    pub(crate) executions: Vec<ExecutionTimes>,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    /// When it completed or failed.
    pub(crate) completed_at: Option<i64>,
    /// The value, and its version.
    pub(crate) custom_status: Option<(Option<String>, i64)>,
    /// What finished executions left.
    pub(crate) settled: KvRows,
    /// What the current execution changed.
    pub(crate) delta: KvRows,
    pub(super) event_count: u64,
    pub(super) is_running: bool,
}

/// When an execution started and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExecutionTimes {
    pub(crate) no: i64,
    pub(crate) started_at: i64,
    pub(crate) completed_at: Option<i64>,
}

/// What waits in the queues, in order; and who owned which session.
#[derive(Debug, Default)]
pub(crate) struct ImportedQueues {
    pub(crate) messages: Vec<ImportedMessage>,
    pub(crate) work: Vec<ImportedWork>,
    pub(crate) sessions: Vec<SourceSession>,
}

/// A message, ready to be written.
#[derive(Debug)]
pub(crate) struct ImportedMessage {
    pub(crate) message: EncodedMessage,
    pub(crate) attempts: u32,
}

/// An activity, ready to be written.
#[derive(Debug)]
pub(crate) struct ImportedWork {
    pub(crate) work: EncodedWork,
    /// Zero if it is visible now.
    pub(crate) visible_at: i64,
    pub(crate) attempts: u32,
}

/// What becomes of a message.
#[derive(Debug)]
pub(super) enum Converted {
    Message(ImportedMessage),
    /// A timer of an execution that has ended: it would fire for nothing.
    ObsoleteTimer,
}

/// Converts an instance, or says what is wrong with it.
pub(super) fn instance(source: SourceInstance) -> Result<ImportedInstance, String> {
    let Some(current) = source.executions.last() else { return Err("it has no executions".to_owned()) };
    if current.no != source.current_execution {
        return Err(format!(
            "its current execution is {}, and its last one is {}",
            source.current_execution, current.no
        ));
    }
    let mut turns = Vec::new();
    let mut executions = Vec::new();
    let mut event_count = 0;
    let mut last = None;
    for execution in &source.executions {
        let converted =
            Execution::of(execution).map_err(|problem| format!("execution {}: {problem}", execution.no))?;
        executions.push(converted.times);
        last = Some((converted.status, converted.times, converted.last_event_at));
        event_count += u64::try_from(converted.events.len()).unwrap_or(u64::MAX);
        turns.extend(converted.into_turns(&source)?);
    }
    let Some((status, times, last_event_at)) = last else { return Err("it has no executions".to_owned()) };
    let first = executions.first().filter(|first| first.no == 1).map(|first| first.started_at);
    let created_at = first.or(source.created_at).unwrap_or(times.started_at);
    let updated_at = source.updated_at.unwrap_or(0).max(last_event_at).max(times.completed_at.unwrap_or(0));
    let has_status = source.custom_status.is_some() || source.custom_status_version > 0;
    Ok(ImportedInstance {
        turns,
        executions,
        created_at,
        updated_at,
        completed_at: times.completed_at.filter(|_| status.is_end()),
        custom_status: has_status.then_some((source.custom_status, source.custom_status_version.max(1))),
        settled: KvRows {
            fold: true,
            ..values(source.settled.into_iter().map(|(key, value, at)| (key, Some(value), at)))
        },
        delta: values(source.delta),
        event_count,
        is_running: !status.is_end(),
        id: source.id,
    })
}

fn values(rows: impl IntoIterator<Item = (String, Option<String>, i64)>) -> KvRows {
    let entry = |value, at: i64| KvEntry { value, last_updated_at_ms: u64::try_from(at).unwrap_or(0) };
    let changes = rows.into_iter().map(|(key, value, at)| (key, value.map(|value| entry(value, at))));
    KvRows { changes: changes.collect(), ..KvRows::default() }
}

/// An execution, read.
struct Execution {
    no: u64,
    status: ExecutionStatus,
    output: Option<String>,
    pin: Option<Version>,
    times: ExecutionTimes,
    last_event_at: i64,
    events: Vec<Event>,
}

impl Execution {
    fn of(source: &SourceExecution) -> Result<Self, String> {
        let no = u64::try_from(source.no).ok().filter(|no| *no > 0).ok_or("it has no valid number")?;
        let status: ExecutionStatus = source.status.parse().map_err(|_| "its status is none of the four")?;
        let events = events(source)?;
        let events = with_the_end_last(events);
        let Some((first, last)) = events.first().zip(events.last()) else {
            return Err("it has no events".to_owned());
        };
        if !matches!(first.kind, EventKind::OrchestrationStarted { .. }) {
            return Err("its first event is not its start".to_owned());
        }
        if end_of(&last.kind) != status {
            return Err(format!("its status is {status}, and its history ends otherwise"));
        }
        let started_at = column(first.timestamp_ms);
        let last_event_at = column(last.timestamp_ms);
        let completed_at = status.is_terminal().then(|| source.completed_at.unwrap_or(last_event_at));
        Ok(Self {
            no,
            status,
            output: source.output.clone(),
            pin: pin(source.pin, first),
            times: ExecutionTimes {
                no: source.no,
                started_at: source.started_at.map_or(started_at, |coarse| coarse.max(started_at)),
                completed_at,
            },
            last_event_at,
            events,
        })
    }

    /// Its history as turns. The first one describes it, the last one ends it.
    fn into_turns(self, source: &SourceInstance) -> Result<Vec<EncodedTurn>, String> {
        let parent = source.parent.clone().map(|instance| {
            let link = self.events.first().and_then(|start| ParentLink::of_event(&start.kind));
            link.filter(|link| link.instance == instance).unwrap_or(ParentLink {
                instance,
                execution_id: None,
                event_id: None,
            })
        });
        let mut describes = Some(InstanceRow {
            name: Some(source.name.clone()),
            version: Some(source.version.clone()),
            parent,
            pin: self.pin,
            ..InstanceRow::default()
        });
        let parts = self.events.chunks(EVENTS_PER_ROW);
        let last = parts.len().saturating_sub(1);
        let mut turns = Vec::new();
        for (index, part) in parts.enumerate() {
            let mut instance = describes.take().unwrap_or_default();
            if index == last && self.status.is_terminal() {
                (instance.status, instance.output) = (Some(self.status), self.output.clone());
            }
            let rows = CommitRows {
                execution_id: self.no,
                history: part.to_vec(),
                instance,
                kv: KvRows::default(),
                work: Vec::new(),
                revoked: Vec::new(),
                messages: Vec::new(),
                timers: TimerRows::These(Vec::new()),
                prune: None,
                still_refused: None,
            };
            turns.push(EncodedTurn::of(rows, Operation::Import).map_err(|error| error.message)?);
        }
        Ok(turns)
    }
}

fn events(source: &SourceExecution) -> Result<Vec<Event>, String> {
    let mut events: Vec<Event> = Vec::with_capacity(source.events.len());
    for (no, text) in &source.events {
        let event: Event = json(text).map_err(|problem| format!("event {no} {problem}"))?;
        let previous = events.last().map_or(0, Event::event_id);
        if i64::try_from(event.event_id).ok() != Some(*no) || event.event_id <= previous {
            return Err(format!("event {no} is out of order"));
        }
        events.push(event);
    }
    Ok(events)
}

/// Moves the terminal event to the end, where ours always is. The reference records some cancellations behind
/// it. Nothing refers to the numbers of either.
fn with_the_end_last(mut events: Vec<Event>) -> Vec<Event> {
    let Some(end) = events.iter().position(Event::is_terminal) else { return events };
    let Some(tail) = events.get_mut(end..) else { return events };
    let numbers: Vec<u64> = tail.iter().map(Event::event_id).collect();
    tail.rotate_left(1);
    for (event, number) in tail.iter_mut().zip(numbers) {
        event.event_id = number;
    }
    events
}

/// How an execution stands whose last event is this one.
fn end_of(kind: &EventKind) -> ExecutionStatus {
    if matches!(kind, EventKind::OrchestrationCompleted { .. }) {
        ExecutionStatus::Completed
    } else if matches!(kind, EventKind::OrchestrationFailed { .. }) {
        ExecutionStatus::Failed
    } else if matches!(kind, EventKind::OrchestrationContinuedAsNew { .. }) {
        ExecutionStatus::ContinuedAsNew
    } else {
        ExecutionStatus::Running
    }
}

/// The version that an execution is pinned to: as its row says, or else as its first event does.
fn pin(columns: [Option<i64>; 3], first: &Event) -> Option<Version> {
    let part = |part: Option<i64>| part.and_then(|part| u64::try_from(part).ok());
    let [major, minor, patch] = columns.map(part);
    match (major, minor, patch) {
        (Some(major), Some(minor), Some(patch)) => Some(Version::new(major, minor, patch)),
        (_, _, _) => Version::parse(&first.duroxide_version).ok(),
    }
}

/// Converts a message. The error says for whom it was, and what is wrong with it.
pub(super) fn message(source: SourceMessage) -> Result<Converted, (String, String)> {
    let to = source.instance.unwrap_or_default();
    let item: WorkItem =
        json(&source.item).map_err(|problem| (to.clone(), format!("a message {problem}")))?;
    let row = MessageRow::of(item).map_err(|error| (to.clone(), format!("a message: {error}")))?;
    if !to.is_empty() && row.to != to {
        return Err((to, "a message is for another instance".to_owned()));
    }
    if let MessageClass::Timer { execution_id, .. } = row.class {
        let waits = source.current.is_some_and(|(current, status)| {
            column(execution_id) == current && status == ExecutionStatus::Running.as_str()
        });
        if !waits {
            return Ok(Converted::ObsoleteTimer);
        }
    }
    let shown_at = source.visible_at.and_then(|at| u64::try_from(at).ok()).filter(|at| *at > 0);
    let row = match shown_at {
        Some(at) => row.hidden_until(Timestamp::from_millis(at)),
        None => row,
    };
    let to = row.to.clone();
    let message = EncodedMessage::of(row, Operation::Import).map_err(|error| (to, error.message))?;
    Ok(Converted::Message(ImportedMessage { message, attempts: attempts(source.attempts) }))
}

/// Converts an activity. The error says for whom it was, and what is wrong with it.
pub(super) fn work(source: &SourceWork) -> Result<ImportedWork, (String, String)> {
    let nobody = String::new;
    let item: WorkItem =
        json(&source.item).map_err(|problem| (nobody(), format!("an activity {problem}")))?;
    let row = WorkRow::of(item).map_err(|error| (nobody(), format!("an activity: {error}")))?;
    let instance = row.activity.instance.clone();
    let work = EncodedWork::of(row, Operation::Import).map_err(|error| (instance, error.message))?;
    Ok(ImportedWork {
        work,
        visible_at: source.visible_at.unwrap_or(0).max(0),
        attempts: attempts(source.attempts),
    })
}

fn attempts(found: i64) -> u32 {
    u32::try_from(found.max(0)).unwrap_or(u32::MAX)
}

/// Reads JSON. Says where it is wrong, and not what is there.
fn json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let what = if error.is_data() { "is of no known form" } else { "is not JSON" };
        format!("{what} (line {}, column {})", error.line(), error.column())
    })
}

#[cfg(test)]
mod tests;
