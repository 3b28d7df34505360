//! Committing a turn: everything it decided, in one transaction, fenced.

use std::time::Duration;

use abide_model::{
    Event, EventKind, PruneOptions, PruneResult, Retry, ScheduledActivityIdentifier, WorkItem,
};

use crate::{ExecutionMetadata, InstanceLease, MessageId, NextLease, Refusals, rows};

/// A commit prunes at most this many executions, so that it does not keep others waiting. The next one that asks goes on.
pub const PRUNE_BATCH: u64 = 256;

/// Where an instance stands. Two readings that are equal mean that nothing was appended in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Which instance of this name: deleting one and starting it anew gives another.
    pub incarnation: u64,
    /// The current execution; zero if there is none yet.
    pub execution_id: u64,
    /// The last event of that execution; zero if there is none.
    pub last_event_id: u64,
}

impl Position {
    /// Whether a turn can be appended here: later executions follow earlier ones, and events follow events.
    ///
    /// # Errors
    ///
    /// If what is to be appended is there already, or belongs to an execution that is over.
    pub const fn admits(&self, execution_id: u64, first_event_id: Option<u64>) -> Result<(), AppendConflict> {
        if execution_id < self.execution_id {
            return Err(AppendConflict::Over { execution_id, current: self.execution_id });
        }
        let last = if execution_id == self.execution_id { self.last_event_id } else { 0 };
        match first_event_id {
            Some(event_id) if event_id <= last => {
                Err(AppendConflict::Recorded { execution_id, event_id, last })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Why a turn cannot be appended to a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendConflict {
    /// Another execution has taken over.
    #[error("Failed to append history: execution {execution_id} is over, the current one is {current}")]
    Over {
        /// The execution that the turn belongs to.
        execution_id: u64,
        /// The current one.
        current: u64,
    },
    /// The event is there already.
    #[error(
        "Failed to append history: event {event_id} of execution {execution_id} is recorded already, the last one is \
         {last}"
    )]
    Recorded {
        /// The execution.
        execution_id: u64,
        /// The first event to append.
        event_id: u64,
        /// The last event there is.
        last: u64,
    },
}

/// What a turn writes.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The execution that ran.
    pub execution_id: u64,
    /// Events to append, with ascending ids behind what is stored.
    pub events: Vec<Event>,
    /// Activities to enqueue.
    pub worker_items: Vec<WorkItem>,
    /// Those of them that are not the first try of their step, ascending by their events. The store keeps it
    /// with the work, and the lease tells it ([`WorkLease::step`](crate::WorkLease::step)).
    pub retries: Vec<Retry>,
    /// Messages to enqueue, for this instance and others; a timer is visible when it fires, and `timer_slack` has passed.
    pub orchestrator_items: Vec<WorkItem>,
    /// How long timers stay hidden beyond the time that they say. They are counted from the time of the turn, which may be behind
    /// the store's by this much, and a timer is never early.
    pub timer_slack: Duration,
    /// What it says about the execution.
    pub metadata: ExecutionMetadata,
    /// What the execution waits for after the turn, in the form of [`Waiting`](abide_model::Waiting). Every
    /// commit replaces what the one before said, also by nothing; an execution that ends waits for nothing.
    pub waiting: Option<String>,
    /// The builds that still refuse the execution, if the one that ran the turn had refused it and does not any more.
    /// `None` leaves the refusals as they are.
    pub still_refused: Option<Refusals>,
    /// Activities to take back, also those enqueued by this very turn. What is gone already is no error.
    pub cancelled_activities: Vec<ScheduledActivityIdentifier>,
    /// Timers that nobody waits for any more, by the event that created them. The end of an execution removes
    /// all of its timers without naming them.
    pub removed_timers: Vec<u64>,
    /// Earlier executions to delete with the same commit: at most [`PRUNE_BATCH`] of them, oldest first.
    pub prune: Option<PruneOptions>,
    /// The caller would take the instance's next turn at once, under these terms: see [`Committed::next`].
    pub next: Option<NextLease>,
}

impl Turn {
    /// A turn that only appends, for tests that need a past: what its events say about the execution is its
    /// metadata.
    #[must_use]
    pub fn of_past(execution_id: u64, events: Vec<Event>) -> Self {
        let mut metadata = ExecutionMetadata::default();
        for event in &events {
            if let EventKind::OrchestrationStarted { name, version, parent_instance, .. } = &event.kind {
                metadata.orchestration_name = Some(name.clone());
                metadata.orchestration_version = Some(version.clone());
                metadata.parent_instance_id.clone_from(parent_instance);
                metadata.pinned_duroxide_version = semver::Version::parse(&event.duroxide_version).ok();
            }
            if let Some((status, output)) = rows::end_of(&event.kind) {
                metadata.status = Some(status.as_str().to_owned());
                metadata.output = Some(output);
            }
        }
        Self { execution_id, events, metadata, ..Self::default() }
    }
}

/// One turn to commit.
#[derive(Debug, Clone)]
pub struct TurnCommit {
    /// The instance.
    pub instance: String,
    /// By what right.
    pub authority: Authority,
    /// Which messages it used up. The others stay queued in their order, with the attempt given back.
    pub consumed: Consumed,
    /// The leased messages that were not used up, for stores that can only take a whole batch.
    pub left: Vec<WorkItem>,
    /// What it writes.
    pub turn: Turn,
}

/// What a committed turn did, beyond what was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// What was pruned with it. If the turn asked for a prune, `None` means that there was none: the store has no administrative
    /// side, or the prune failed after the turn was committed. The next commit that asks catches up.
    pub pruned: Option<PruneResult>,
    /// If the turn said that its caller would take the [next](Turn::next) one, the store may lease it here: the instance has mail, and
    /// none that could be leased has waited for longer (if several turns go together, for longer than the first of them). A lease as any other; a
    /// store that has not granted it says `None`, and the instance is leased by whoever asks for instances.
    pub next: Option<Box<InstanceLease>>,
}

impl Committed {
    /// A commit that pruned this.
    #[must_use]
    pub const fn with_pruned(pruned: Option<PruneResult>) -> Self {
        Self { pruned, next: None }
    }

    /// The same, with a lease on the next turn.
    #[must_use]
    pub fn with_next(self, next: Option<InstanceLease>) -> Self {
        Self { next: next.map(Box::new), ..self }
    }
}

/// By what right a turn is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// A lease on the instance.
    Lease {
        /// Its token.
        token: String,
    },
    /// *Fused step*: a finished activity whose completion the turn has already taken in. The activity's row goes
    /// with the commit. Refused as [`Busy`](crate::Rejection::Busy), with nothing written, if the instance is
    /// leased, stands elsewhere, or has visible mail: then finish the activity the plain way.
    FinishedWork {
        /// The token of the activity's lease.
        token: String,
        /// Where the instance must stand.
        expected: Position,
    },
}

/// Which of the leased messages a turn used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consumed {
    /// All of them.
    All,
    /// These.
    These(Vec<MessageId>),
}
