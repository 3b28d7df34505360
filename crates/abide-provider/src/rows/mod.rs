//! What a turn writes, as rows.
//!
//! [`CommitRows::of`] reads a turn's events and items once and says what to insert, change and delete. It needs
//! neither a clock nor the stored state: "visible at once" is not a time, and a key-value change is the same
//! whatever was there. A store executes the rows in one transaction, in this order:
//!
//! 1. check the fence;
//! 2. remove consumed messages;
//! 3. write the [`instance`](CommitRows::instance) and its execution, and append [`history`](CommitRows::history);
//! 4. set the custom status;
//! 5. change [`kv`](CommitRows::kv);
//! 6. insert [`work`](CommitRows::work), then delete [`revoked`](CommitRows::revoked);
//! 7. insert [`messages`](CommitRows::messages), then delete [`timers`](CommitRows::timers);
//! 8. [`prune`](CommitRows::prune);
//! 9. release the lease.

mod kv;
mod mail;
#[cfg(test)]
mod tests;

use abide_model::reason::DROPPED_FUTURE;
use abide_model::{
    Event, EventKind, ExecutionStatus, PruneOptions, ScheduledActivityIdentifier, UnknownExecutionStatus,
    WorkItem,
};
pub use kv::KvRows;
pub use mail::{InvalidItem, MessageClass, MessageRow, NotACompletion, Starter, WorkRow};
use semver::Version;

use crate::{ExecutionMetadata, ParentLink, Refusals, StolenBecause, Turn};

/// Everything a turn writes.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitRows {
    /// The execution that ran.
    pub execution_id: u64,
    /// The events to append; ids ascend. Empty if nothing happened.
    pub history: Vec<Event>,
    /// What becomes of the instance and its current execution.
    pub instance: InstanceRow,
    /// Changes of the key-value store.
    pub kv: KvRows,
    /// Activities to enqueue; none of them is in `revoked`.
    pub work: Vec<WorkRow>,
    /// Activities to take back, ascending and distinct, and why.
    pub revoked: Vec<(ScheduledActivityIdentifier, StolenBecause)>,
    /// Messages to enqueue, in this order.
    pub messages: Vec<MessageRow>,
    /// Timers to remove.
    pub timers: TimerRows,
    /// Earlier executions to delete.
    pub prune: Option<PruneOptions>,
    /// The builds that refuse the execution from now on; `None` leaves them as they are.
    pub still_refused: Option<Refusals>,
}

/// What becomes of the instance and of its current execution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstanceRow {
    /// The registered name of the orchestration, if told.
    pub name: Option<String>,
    /// The version of its handler, if told.
    pub version: Option<String>,
    /// Who waits for the result. Kept if there already is one.
    pub parent: Option<ParentLink>,
    /// The version that the execution is pinned to, if told.
    pub pin: Option<Version>,
    /// How the execution stands, if told.
    pub status: Option<ExecutionStatus>,
    /// Its output, its error, or its successor's input; goes with the status.
    pub output: Option<String>,
    /// The new custom status, if it changed; its version goes up by one.
    pub custom_status: Option<CustomStatus>,
    /// What the instance waits for now. Replaces what was stored, also if it is `None`.
    pub waiting: Option<String>,
}

/// What a turn did to the custom status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomStatus {
    /// It was set.
    Set(String),
    /// It was taken back.
    Reset,
}

impl CustomStatus {
    fn of(kind: &EventKind) -> Option<Self> {
        if let EventKind::CustomStatusUpdated { status } = kind {
            Some(status.clone().map_or(Self::Reset, Self::Set))
        } else {
            None
        }
    }

    /// The value to store.
    #[must_use]
    pub fn into_value(self) -> Option<String> {
        match self {
            Self::Set(value) => Some(value),
            Self::Reset => None,
        }
    }
}

/// Which timers of the execution to remove from the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimerRows {
    /// Those created by these events.
    These(Vec<u64>),
    /// All: the execution has ended.
    All,
}

/// A turn that no store may write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTurn {
    /// Ids do not ascend from one.
    #[error(
        "Failed to append history: event {found} follows event {previous}; ids ascend from 1 (a zero means that \
         the event was never numbered)"
    )]
    EventOrder {
        /// The event before it, or zero.
        previous: u64,
        /// Its id.
        found: u64,
    },
    /// An id that no store can hold.
    #[error("the number {0} does not fit a column of 63 bits")]
    TooLarge(u64),
    /// The execution has no number.
    #[error("executions are numbered from 1, and this turn belongs to execution 0")]
    NoExecution,
    /// The status is none of the four.
    #[error(transparent)]
    Status(#[from] UnknownExecutionStatus),
    /// An item that cannot be enqueued.
    #[error(transparent)]
    Item(#[from] InvalidItem),
}

impl CommitRows {
    /// Reads a turn.
    ///
    /// # Errors
    ///
    /// If no store may write it. Nothing about it depends on the store, so it is the turn's author who erred.
    pub fn of(turn: Turn) -> Result<Self, InvalidTurn> {
        if turn.execution_id == 0 {
            return Err(InvalidTurn::NoExecution);
        }
        fits(turn.execution_id)?;
        check_order(&turn.events)?;
        let instance = InstanceRow::of(turn.metadata, &turn.events)?;
        let ended = instance.status.filter(|status| status.is_terminal());
        let instance = InstanceRow { waiting: turn.waiting.filter(|_| ended.is_none()), ..instance };
        let revoked = revoked(turn.cancelled_activities, &turn.events, ended);
        let mut work = rows_of(turn.worker_items, |item| Ok(WorkRow::of(item)?.with_retry(&turn.retries)))?;
        let message = |item| Ok(MessageRow::of(item)?.with_timer_slack(turn.timer_slack));
        let messages = rows_of(turn.orchestrator_items, message)?;
        work.retain(|row| !is_revoked(row, &revoked));
        let rows = Self {
            execution_id: turn.execution_id,
            kv: KvRows { fold: ended.is_some(), ..KvRows::of(&turn.events) },
            work,
            revoked,
            messages,
            timers: if ended.is_some() { TimerRows::All } else { TimerRows::These(turn.removed_timers) },
            prune: turn.prune,
            still_refused: turn.still_refused,
            instance,
            history: turn.events,
        };
        rows.numbers().try_for_each(fits)?;
        Ok(rows)
    }

    /// Every number beside those of events and items that a store keeps in a column.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let activities = self.revoked.iter().map(|(activity, _)| activity);
        let timers = match &self.timers {
            TimerRows::These(events) => events.as_slice(),
            TimerRows::All => &[],
        };
        let parent = self.instance.parent.iter().flat_map(|link| [link.execution_id, link.event_id]);
        let written = self.kv.changes.values().flatten().map(|entry| entry.last_updated_at_ms);
        activities
            .flat_map(|activity| [activity.execution_id, activity.activity_id])
            .chain(timers.iter().copied())
            .chain(parent.flatten())
            .chain(self.work.iter().filter_map(|row| row.retry).map(|step| step.first_event_id))
            .chain(written)
    }

    /// The last event to append.
    #[must_use]
    pub fn last_event_id(&self) -> Option<u64> {
        self.history.last().map(Event::event_id)
    }

    /// Whether the instance exists afterwards even if it did not before. An empty commit creates nothing.
    #[must_use]
    pub fn creates_instance(&self) -> bool {
        !self.history.is_empty() || self.instance.name.is_some()
    }

    /// Whether those who look at the instance may find how it stands, its custom status or its values changed. That it is new,
    /// or in a new execution, the rows do not know.
    #[must_use]
    pub fn shows_something(&self) -> bool {
        self.instance.status.is_some() || self.shows_details()
    }

    /// The same of an instance that was running: it still is if it continues as new.
    #[must_use]
    pub fn shows_something_of_running(&self) -> bool {
        self.instance.status.is_some_and(ExecutionStatus::is_end) || self.shows_details()
    }

    fn shows_details(&self) -> bool {
        let KvRows { clear_all, changes, fold: _ } = &self.kv;
        *clear_all || !changes.is_empty() || self.instance.custom_status.is_some()
    }
}

impl InstanceRow {
    fn of(metadata: ExecutionMetadata, events: &[Event]) -> Result<Self, UnknownExecutionStatus> {
        let started = events.iter().find_map(|event| Started::of(&event.kind));
        let status = metadata.status.as_deref().map(str::parse).transpose()?;
        let link = started.as_ref().and_then(|started| started.parent.clone());
        let parent = match metadata.parent_instance_id {
            None => link,
            Some(instance) => match link {
                Some(link) if link.instance == instance => Some(link),
                Some(_) | None => Some(ParentLink { instance, execution_id: None, event_id: None }),
            },
        };
        Ok(Self {
            name: metadata
                .orchestration_name
                .or_else(|| started.as_ref().map(|started| started.name.clone())),
            version: metadata.orchestration_version.or_else(|| started.map(|started| started.version)),
            parent,
            pin: metadata.pinned_duroxide_version,
            status,
            output: metadata.output,
            custom_status: events.iter().rev().find_map(|event| CustomStatus::of(&event.kind)),
            waiting: None,
        })
    }
}

struct Started {
    name: String,
    version: String,
    parent: Option<ParentLink>,
}

impl Started {
    fn of(kind: &EventKind) -> Option<Self> {
        if let EventKind::OrchestrationStarted { name, version, .. } = kind {
            Some(Self { name: name.clone(), version: version.clone(), parent: ParentLink::of_event(kind) })
        } else {
            None
        }
    }
}

impl ParentLink {
    /// The link that a start event carries.
    #[must_use]
    pub fn of_event(kind: &EventKind) -> Option<Self> {
        if let EventKind::OrchestrationStarted {
            parent_instance: Some(instance),
            parent_id,
            parent_execution_id,
            ..
        } = kind
        {
            Some(Self {
                instance: instance.clone(),
                execution_id: *parent_execution_id,
                event_id: *parent_id,
            })
        } else {
            None
        }
    }
}

/// How an execution ended and what came of it, if this event is its end.
pub(crate) fn end_of(kind: &EventKind) -> Option<(ExecutionStatus, String)> {
    if let EventKind::OrchestrationCompleted { output } = kind {
        Some((ExecutionStatus::Completed, output.clone()))
    } else if let EventKind::OrchestrationFailed { details } = kind {
        Some((ExecutionStatus::Failed, details.display_message()))
    } else if let EventKind::OrchestrationContinuedAsNew { input } = kind {
        Some((ExecutionStatus::ContinuedAsNew, input.clone()))
    } else {
        None
    }
}

fn check_order(events: &[Event]) -> Result<(), InvalidTurn> {
    let mut previous = 0;
    for event in events {
        fits(event.event_id)?;
        if event.event_id <= previous {
            return Err(InvalidTurn::EventOrder { previous, found: event.event_id });
        }
        previous = event.event_id;
    }
    Ok(())
}

fn fits(number: u64) -> Result<(), InvalidTurn> {
    if i64::try_from(number).is_ok() { Ok(()) } else { Err(InvalidTurn::TooLarge(number)) }
}

/// Each activity to take back, with the reason its event gives.
fn revoked(
    mut cancelled: Vec<ScheduledActivityIdentifier>,
    events: &[Event],
    ended: Option<ExecutionStatus>,
) -> Vec<(ScheduledActivityIdentifier, StolenBecause)> {
    cancelled.sort();
    cancelled.dedup();
    let dropped: std::collections::BTreeSet<u64> = events
        .iter()
        .filter(
            |event| matches!(&event.kind, EventKind::ActivityCancelRequested { reason } if reason == DROPPED_FUTURE),
        )
        .filter_map(Event::source_event_id)
        .collect();
    let because = |activity: &ScheduledActivityIdentifier| match ended {
        Some(status) if !dropped.contains(&activity.activity_id) => {
            StolenBecause::OrchestrationEnded { status }
        }
        Some(_) | None => StolenBecause::Dropped,
    };
    cancelled.into_iter().map(|activity| (activity.clone(), because(&activity))).collect()
}

/// A row for each, with room for just those: what collects results does not know how many there will be, and makes room for four.
fn rows_of<R>(
    items: Vec<WorkItem>,
    row: impl Fn(WorkItem) -> Result<R, InvalidItem>,
) -> Result<Vec<R>, InvalidItem> {
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        rows.push(row(item)?);
    }
    Ok(rows)
}

/// An activity that is enqueued and taken back by the same turn is never there.
fn is_revoked(row: &WorkRow, revoked: &[(ScheduledActivityIdentifier, StolenBecause)]) -> bool {
    revoked.binary_search_by(|(activity, _)| activity.cmp(&row.activity)).is_ok()
}
