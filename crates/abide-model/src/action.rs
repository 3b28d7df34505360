//! What orchestration code asks for, and what it is told in return.
//!
//! Each request becomes an event, and most also a work item. A request carries `scheduling_event_id`
//! zero until it is recorded; from then on the number of its event is its identity.
//!
//! Deliberately absent: serde. Actions live within one turn; what is stored are the events they become.

/// One request of orchestration code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Run an activity.
    CallActivity {
        /// The event of this request.
        scheduling_event_id: u64,
        /// The registered name of the activity.
        name: String,
        /// What the activity is given.
        input: String,
        /// The session whose worker must run it, if any.
        session_id: Option<String>,
        /// The tag a worker must serve to run it, if any.
        tag: Option<String>,
    },
    /// Wake the code at a time.
    CreateTimer {
        /// The event of this request.
        scheduling_event_id: u64,
        /// When, in milliseconds since the Unix epoch.
        fire_at_ms: u64,
    },
    /// Wait for a signal.
    WaitExternal {
        /// The event of this request.
        scheduling_event_id: u64,
        /// The name of the signal.
        name: String,
    },
    /// Start an orchestration that nobody waits for.
    StartOrchestrationDetached {
        /// The event of this request.
        scheduling_event_id: u64,
        /// The registered name of the orchestration.
        name: String,
        /// The handler version to run; none lets the registry's policy decide.
        version: Option<String>,
        /// The instance to start.
        instance: String,
        /// What its code is given.
        input: String,
    },
    /// Start a child and wait for it.
    StartSubOrchestration {
        /// The event of this request.
        scheduling_event_id: u64,
        /// The registered name of the child's orchestration.
        name: String,
        /// The handler version to run; none lets the registry's policy decide.
        version: Option<String>,
        /// The child's instance id: a suffix if it is generated, the whole id if the code chose it.
        instance: String,
        /// What the child's code is given.
        input: String,
    },
    /// End this execution and begin the next one.
    ContinueAsNew {
        /// What the next execution is given.
        input: String,
        /// The handler version to run; none lets the registry's policy decide.
        version: Option<String>,
    },
    /// Set or clear the custom status.
    UpdateCustomStatus {
        /// The new status; none clears it.
        status: Option<String>,
    },
    /// Wait for a queue message.
    DequeueEvent {
        /// The event of this request.
        scheduling_event_id: u64,
        /// The name of the queue.
        name: String,
    },
    /// Store a value.
    SetKeyValue {
        /// The key, unique within the instance.
        key: String,
        /// The value.
        value: String,
        /// When, in milliseconds since the Unix epoch.
        last_updated_at_ms: u64,
    },
    /// Remove a value.
    ClearKeyValue {
        /// The key to remove.
        key: String,
    },
    /// Remove all values.
    ClearKeyValues,
    /// Delete finished executions of this instance.
    PruneHistory {
        /// The event of this request.
        scheduling_event_id: u64,
        /// How many of the latest executions to keep.
        keep_last: Option<u32>,
        /// Delete only what ended before this time, in milliseconds since the Unix epoch.
        completed_before: Option<u64>,
    },
}

/// The answer to a request, as test harnesses hand it to a context.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionResult {
    /// The activity returned this.
    ActivityOk(String),
    /// The activity failed with this text.
    ActivityErr(String),
    /// The timer is due.
    TimerFired,
    /// The child returned this.
    SubOrchOk(String),
    /// The child failed with this text.
    SubOrchErr(String),
    /// The signal or queue message carries this.
    ExternalData(String),
}

/// What a durable future waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleKind {
    /// An activity.
    Activity {
        /// The registered name of the activity.
        name: String,
    },
    /// A timer.
    Timer,
    /// A signal.
    ExternalWait {
        /// The name of the signal.
        event_name: String,
    },
    /// A queue message.
    QueueDequeue {
        /// The name of the queue.
        event_name: String,
    },
    /// A child.
    SubOrchestration {
        /// The number of the request within its turn, by which the child's id is found.
        token: u64,
    },
}
