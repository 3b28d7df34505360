//! What goes into a turn and what comes out of it.

use std::collections::BTreeMap;

use abide_model::{
    ErrorDetails, Event, ExecutionStatus, KvEntry, PruneOptions, Retry, ScheduledActivityIdentifier,
    Timestamp, WorkItem,
};

use crate::notice::{LogLine, Notice};

/// Who an execution is: fixed before its first turn and for all of its life.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The instance, as the user named it.
    pub instance: String,
    /// Which run of the instance this is: 1, then one more per continue-as-new.
    pub execution_id: u64,
    /// The name the handler is registered under.
    pub orchestration: String,
    /// The version of the handler that was resolved for this execution, as text.
    pub version: String,
}

/// Names a message of the inbox, so that a turn can say which ones it consumed.
///
/// The engine never looks inside: a store uses its row ids, a test counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailId(pub u64);

/// One queued message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// What the store calls this message.
    pub id: MailId,
    /// What it says.
    pub item: WorkItem,
}

/// Everything a cold turn is a function of, apart from the code.
#[derive(Debug, Clone)]
pub struct TurnInput {
    /// Who runs.
    pub identity: Identity,
    /// The committed events of this execution, oldest first. Empty before the first turn.
    pub history: Vec<Event>,
    /// The queued messages, in the order in which they were enqueued.
    pub mail: Vec<Mail>,
    /// Key-value state as *previous executions* left it. The writes of this one are in its history.
    pub kv: BTreeMap<String, KvEntry>,
    /// When this turn runs. Every event it records carries this time.
    pub now: Timestamp,
}

/// How an execution stands after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It waits for something durable.
    Running,
    /// The function returned `Ok`.
    Completed {
        /// What it returned.
        output: String,
    },
    /// It ended in an error: returned, panicked, cancelled, or failed by the engine.
    Failed {
        /// Why.
        details: ErrorDetails,
    },
    /// It ended and asked for a successor, whose start is among the messages to enqueue.
    ContinuedAsNew {
        /// The successor's input.
        input: String,
        /// The successor's version; `None` leaves it to the registry's policy.
        version: Option<String>,
    },
}

impl Outcome {
    /// The status to store for it.
    #[must_use]
    pub const fn status(&self) -> ExecutionStatus {
        match self {
            Self::Running => ExecutionStatus::Running,
            Self::Completed { .. } => ExecutionStatus::Completed,
            Self::Failed { .. } => ExecutionStatus::Failed,
            Self::ContinuedAsNew { .. } => ExecutionStatus::ContinuedAsNew,
        }
    }

    /// Whether nothing more can happen in this execution.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        self.status().is_terminal()
    }
}

/// What a turn decided. Whoever commits it writes all of it in one transaction, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOutput {
    /// How the execution stands.
    pub outcome: Outcome,
    /// Whether the execution is running and nothing that could arrive would resume its code (see
    /// [`Execution::waits_for_nothing`](crate::Execution::waits_for_nothing)).
    pub waits_for_nothing: bool,
    /// The event at which history and code differ, if the execution failed for that.
    pub fault_event_id: Option<u64>,
    /// Why the engine failed the execution, without payloads, for log lines; `None` if the code or a child
    /// decided how it ends.
    pub fault_summary: Option<String>,
    /// What the execution waits for now, in the form of [`Waiting`](abide_model::Waiting); `None` if it
    /// ended.
    pub waiting: Option<String>,
    /// Events to append, in order, numbered on from the history.
    pub events: Vec<Event>,
    /// Activities to enqueue for workers.
    pub worker_items: Vec<WorkItem>,
    /// Those of them that are not the first try of their step, by the event that scheduled them, ascending.
    pub retries: Vec<Retry>,
    /// Messages to enqueue for orchestrations: timers (visible when they fire), starts of children and
    /// detached instances, cancels of children, the result for the parent, the successor's start.
    pub orchestrator_items: Vec<WorkItem>,
    /// Positions in `orchestrator_items` of answers to a parent of which only the instance is known: its
    /// child was started by a release that did not say which execution asked. They are addressed to the first
    /// execution; the host addresses them to the one that asked, if the parent's record tells.
    pub unaddressed: Vec<usize>,
    /// Activities to take back from the workers, ascending. Those of this very turn are not in
    /// `worker_items` any more; cancelling what is gone is no error.
    pub cancelled_activities: Vec<ScheduledActivityIdentifier>,
    /// Timers of earlier turns that nobody waits for any more, by the id of their `TimerCreated` event.
    pub removed_timers: Vec<u64>,
    /// The messages this turn used up. The others stay queued, in their order.
    pub consumed: Vec<MailId>,
    /// The last thing this turn did to the custom status, if anything.
    pub custom_status: Option<StatusUpdate>,
    /// What to prune in the same commit, if the code continued as new with a prune.
    pub prune: Option<PruneOptions>,
    /// Whether automatic pruning may run with this commit (`false` after `ctx.set_auto_prune(false)`).
    pub auto_prune: bool,
    /// What the code said through `ctx.trace_*`, each line in exactly one turn.
    pub lines: Vec<LogLine>,
    /// What the engine noticed and an operator may want to know.
    pub notices: Vec<Notice>,
    /// What the turn cost.
    pub stats: TurnStats,
}

/// What a turn did to the custom status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusUpdate {
    /// It was set.
    Set(String),
    /// It was taken back.
    Reset,
}

/// Costs of a turn that can be counted, so that tests can pin them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnStats {
    /// Events taken from history. Zero when a resident execution is fed.
    pub events_replayed: u64,
    /// How often the orchestration function was polled.
    pub program_polls: u64,
    /// How often a durable future was polled by the code.
    pub future_polls: u64,
}

/// Where a call into an [`Execution`](crate::Execution) stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The turn is over.
    Done(Box<TurnOutput>),
    /// The turn needs the host to do something under the turn's lease; answer with [`Execution::resume`](crate::Execution::resume).
    HostCall(HostCall),
}

/// Something only the host can do in the middle of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostCall {
    /// Prune earlier executions of this instance.
    Prune {
        /// What to keep.
        options: PruneOptions,
    },
}

/// A call that made no sense; the execution is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// There is no history, and no message that starts this execution.
    #[error(
        "execution {execution_id} of instance '{instance}' cannot start: it has no history, and none of its \
         {mail} queued messages starts it; leave them queued until the start arrives"
    )]
    NotStarted {
        /// The instance.
        instance: String,
        /// The execution.
        execution_id: u64,
        /// How many messages there were.
        mail: usize,
    },
    /// Something was asked of an execution whose turn waits for its host call.
    #[error("a turn is waiting for its host call: answer it with `resume` first")]
    HostCallPending,
    /// An answer came although no turn waits for one.
    #[error("no turn is waiting for a host call: there is nothing to resume")]
    NoHostCall,
}
