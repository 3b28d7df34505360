//! Everything that can happen in an execution.
//!
//! A *request* is what the code asked for (`ActivityScheduled`, `TimerCreated`, …); an *arrival* is what
//! came in from outside (`ActivityCompleted`, `ExternalEvent`, …). Both are recorded, in the order in
//! which the code made and saw them, and that order is what replay follows.
//!
//! The declaration order of the fields is part of the contract: it is the order in the stored JSON, and
//! the order in the `Debug` text that mismatch errors show. Three variants have another name in JSON,
//! because the queues they belong to were named differently when the format was fixed.
//!
//! Deliberately absent: `#[non_exhaustive]`. Whoever handles events handles all of them, and a new one
//! is a compile error wherever that matters.

use serde::{Deserialize, Serialize};

use crate::ErrorDetails;

/// What happened, with what is needed to replay it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(tag = "type")]
pub enum EventKind {
    /// The execution began; always its first event.
    OrchestrationStarted {
        /// The registered name of the orchestration.
        name: String,
        /// The handler version that this execution is bound to.
        version: String,
        /// What the code was given.
        input: String,
        /// The instance that waits for the result, if this is a child.
        parent_instance: Option<String>,
        /// The event of the parent that asked for this child.
        parent_id: Option<u64>,
        /// The execution of the parent that asked for this child; unknown in old histories.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_execution_id: Option<u64>,
        /// Queue messages that the previous execution left unread, as pairs of queue name and data.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carry_forward_events: Option<Vec<(String, String)>>,
        /// The custom status that the previous execution left behind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial_custom_status: Option<String>,
    },
    /// The code returned a result; the end of the execution.
    OrchestrationCompleted {
        /// What the code returned.
        output: String,
    },
    /// The execution failed; its end.
    OrchestrationFailed {
        /// Why it failed.
        details: ErrorDetails,
    },
    /// The code asked for an activity.
    ActivityScheduled {
        /// The registered name of the activity.
        name: String,
        /// What the activity is given.
        input: String,
        /// The session whose worker must run it, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// The tag a worker must serve to run it, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tag: Option<String>,
    },
    /// An activity returned a result.
    ActivityCompleted {
        /// What the activity returned.
        result: String,
    },
    /// An activity failed.
    ActivityFailed {
        /// Why it failed.
        details: ErrorDetails,
    },
    /// It was decided that the result of an activity is no longer wanted.
    ActivityCancelRequested {
        /// What led to the decision.
        reason: String,
    },
    /// The code asked for a timer.
    TimerCreated {
        /// When it is due, in milliseconds since the Unix epoch.
        fire_at_ms: u64,
    },
    /// A timer was due.
    TimerFired {
        /// When it was due, in milliseconds since the Unix epoch.
        fire_at_ms: u64,
    },
    /// The code began to wait for a signal.
    ExternalSubscribed {
        /// The name of the signal.
        name: String,
    },
    /// A signal arrived, whether or not anyone waits for it.
    ExternalEvent {
        /// The name of the signal.
        name: String,
        /// What it carries.
        data: String,
    },
    /// The code started an independent orchestration.
    OrchestrationChained {
        /// The registered name of the orchestration.
        name: String,
        /// The instance to start.
        instance: String,
        /// What its code is given.
        input: String,
    },
    /// The code asked for a child.
    SubOrchestrationScheduled {
        /// The registered name of the child's orchestration.
        name: String,
        /// The child's instance id: a suffix if it was generated, the whole id if the code chose it.
        instance: String,
        /// What the child's code is given.
        input: String,
    },
    /// A child returned a result.
    SubOrchestrationCompleted {
        /// What the child returned.
        result: String,
    },
    /// A child failed.
    SubOrchestrationFailed {
        /// Why it failed.
        details: ErrorDetails,
    },
    /// It was decided that the result of a child is no longer wanted.
    SubOrchestrationCancelRequested {
        /// What led to the decision.
        reason: String,
    },
    /// The code asked to begin anew with a fresh history; the end of the execution.
    OrchestrationContinuedAsNew {
        /// What the next execution is given.
        input: String,
    },
    /// Somebody asked for the end of this execution.
    OrchestrationCancelRequested {
        /// The reason they gave.
        reason: String,
    },
    /// The code stopped waiting for a signal.
    ExternalSubscribedCancelled {
        /// What led to the decision.
        reason: String,
    },
    /// The code began to wait for a queue message.
    #[serde(rename = "ExternalSubscribedPersistent")]
    QueueSubscribed {
        /// The name of the queue.
        name: String,
    },
    /// A queue message arrived; it stays unread until the code takes it.
    #[serde(rename = "ExternalEventPersistent")]
    QueueEventDelivered {
        /// The name of the queue.
        name: String,
        /// What the message carries.
        data: String,
    },
    /// The code stopped waiting for a queue message.
    #[serde(rename = "ExternalSubscribedPersistentCancelled")]
    QueueSubscriptionCancelled {
        /// What led to the decision.
        reason: String,
    },
    /// The code set or cleared its custom status.
    CustomStatusUpdated {
        /// The new status; none if it was cleared.
        status: Option<String>,
    },
    /// The code stored a value.
    KeyValueSet {
        /// The key, unique within the instance.
        key: String,
        /// The value.
        value: String,
        /// When it was stored, in milliseconds since the Unix epoch; zero in old histories.
        #[serde(default)]
        last_updated_at_ms: u64,
    },
    /// The code removed a value.
    KeyValueCleared {
        /// The key that was removed.
        key: String,
    },
    /// The code removed all values.
    KeyValuesCleared,
    /// The code asked to delete finished executions of its own instance.
    HistoryPruneRequested {
        /// How many of the latest executions to keep.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep_last: Option<u32>,
        /// Delete only what ended before this time, in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed_before: Option<u64>,
    },
    /// The request to delete finished executions was answered.
    HistoryPruned {
        /// How many executions were deleted.
        executions_deleted: u64,
        /// How many events were deleted with them.
        events_deleted: u64,
        /// Why nothing could be deleted, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl EventKind {
    /// The name of the variant, for messages and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::OrchestrationStarted { .. } => "OrchestrationStarted",
            Self::OrchestrationCompleted { .. } => "OrchestrationCompleted",
            Self::OrchestrationFailed { .. } => "OrchestrationFailed",
            Self::ActivityScheduled { .. } => "ActivityScheduled",
            Self::ActivityCompleted { .. } => "ActivityCompleted",
            Self::ActivityFailed { .. } => "ActivityFailed",
            Self::ActivityCancelRequested { .. } => "ActivityCancelRequested",
            Self::TimerCreated { .. } => "TimerCreated",
            Self::TimerFired { .. } => "TimerFired",
            Self::ExternalSubscribed { .. } => "ExternalSubscribed",
            Self::ExternalEvent { .. } => "ExternalEvent",
            Self::OrchestrationChained { .. } => "OrchestrationChained",
            Self::SubOrchestrationScheduled { .. } => "SubOrchestrationScheduled",
            Self::SubOrchestrationCompleted { .. } => "SubOrchestrationCompleted",
            Self::SubOrchestrationFailed { .. } => "SubOrchestrationFailed",
            Self::SubOrchestrationCancelRequested { .. } => "SubOrchestrationCancelRequested",
            Self::OrchestrationContinuedAsNew { .. } => "OrchestrationContinuedAsNew",
            Self::OrchestrationCancelRequested { .. } => "OrchestrationCancelRequested",
            Self::ExternalSubscribedCancelled { .. } => "ExternalSubscribedCancelled",
            Self::QueueSubscribed { .. } => "QueueSubscribed",
            Self::QueueEventDelivered { .. } => "QueueEventDelivered",
            Self::QueueSubscriptionCancelled { .. } => "QueueSubscriptionCancelled",
            Self::CustomStatusUpdated { .. } => "CustomStatusUpdated",
            Self::KeyValueSet { .. } => "KeyValueSet",
            Self::KeyValueCleared { .. } => "KeyValueCleared",
            Self::KeyValuesCleared => "KeyValuesCleared",
            Self::HistoryPruneRequested { .. } => "HistoryPruneRequested",
            Self::HistoryPruned { .. } => "HistoryPruned",
        }
    }

    /// Whether this is the last event of its execution.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        match self {
            Self::OrchestrationCompleted { .. }
            | Self::OrchestrationFailed { .. }
            | Self::OrchestrationContinuedAsNew { .. } => true,
            Self::OrchestrationStarted { .. }
            | Self::ActivityScheduled { .. }
            | Self::ActivityCompleted { .. }
            | Self::ActivityFailed { .. }
            | Self::ActivityCancelRequested { .. }
            | Self::TimerCreated { .. }
            | Self::TimerFired { .. }
            | Self::ExternalSubscribed { .. }
            | Self::ExternalEvent { .. }
            | Self::OrchestrationChained { .. }
            | Self::SubOrchestrationScheduled { .. }
            | Self::SubOrchestrationCompleted { .. }
            | Self::SubOrchestrationFailed { .. }
            | Self::SubOrchestrationCancelRequested { .. }
            | Self::OrchestrationCancelRequested { .. }
            | Self::ExternalSubscribedCancelled { .. }
            | Self::QueueSubscribed { .. }
            | Self::QueueEventDelivered { .. }
            | Self::QueueSubscriptionCancelled { .. }
            | Self::CustomStatusUpdated { .. }
            | Self::KeyValueSet { .. }
            | Self::KeyValueCleared { .. }
            | Self::KeyValuesCleared
            | Self::HistoryPruneRequested { .. }
            | Self::HistoryPruned { .. } => false,
        }
    }
}
