//! What waits in a queue: the messages of instances and the jobs of workers.
//!
//! A work item is stored as JSON with the variant's name as its only key. Fields that came later are
//! omitted when they are empty and may be missing when read, so that nodes of different ages share a queue.
//!
//! Deliberately absent: identity and delivery state. Which lease holds an item, how often it was tried
//! and when it becomes visible belong to the store, not to the message.

use serde::{Deserialize, Serialize};

use crate::ErrorDetails;

/// One message of an instance, or one job for a worker.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum WorkItem {
    /// Start an instance.
    StartOrchestration {
        /// The instance to start.
        instance: String,
        /// The registered name of its orchestration.
        orchestration: String,
        /// What its code is given.
        input: String,
        /// The handler version to run; none lets the registry's policy decide.
        version: Option<String>,
        /// The instance that waits for the result, if this is a child.
        parent_instance: Option<String>,
        /// The event of the parent that asked for this child.
        parent_id: Option<u64>,
        /// The execution of the parent that asked for this child; unknown in old messages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_execution_id: Option<u64>,
        /// The execution that the sender expects to start.
        execution_id: u64,
    },
    /// Run an activity; the only item of the worker queue.
    ActivityExecute {
        /// The instance that asked.
        instance: String,
        /// The execution that asked.
        execution_id: u64,
        /// The event that asked.
        id: u64,
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
        /// The instance that asked.
        instance: String,
        /// The execution that asked.
        execution_id: u64,
        /// The event that asked.
        id: u64,
        /// What the activity returned.
        result: String,
    },
    /// An activity failed.
    ActivityFailed {
        /// The instance that asked.
        instance: String,
        /// The execution that asked.
        execution_id: u64,
        /// The event that asked.
        id: u64,
        /// Why it failed.
        details: ErrorDetails,
    },
    /// A timer is due; not visible before.
    TimerFired {
        /// The instance that asked.
        instance: String,
        /// The execution that asked.
        execution_id: u64,
        /// The event that asked.
        id: u64,
        /// When it is due, in milliseconds since the Unix epoch.
        fire_at_ms: u64,
    },
    /// Somebody sent a signal: seen by one who waits already, or by nobody.
    ExternalRaised {
        /// The instance it is for.
        instance: String,
        /// The name of the signal.
        name: String,
        /// What it carries.
        data: String,
    },
    /// A child returned a result.
    SubOrchCompleted {
        /// The instance that asked for the child.
        parent_instance: String,
        /// The execution that asked for the child.
        parent_execution_id: u64,
        /// The event that asked for the child.
        parent_id: u64,
        /// What the child returned.
        result: String,
    },
    /// A child failed.
    SubOrchFailed {
        /// The instance that asked for the child.
        parent_instance: String,
        /// The execution that asked for the child.
        parent_execution_id: u64,
        /// The event that asked for the child.
        parent_id: u64,
        /// Why it failed.
        details: ErrorDetails,
    },
    /// Somebody asks for the end of an instance.
    CancelInstance {
        /// The instance to end.
        instance: String,
        /// The reason they gave.
        reason: String,
    },
    /// Start the next execution of an instance.
    ContinueAsNew {
        /// The instance that goes on.
        instance: String,
        /// The registered name of its orchestration.
        orchestration: String,
        /// What its code is given.
        input: String,
        /// The handler version to run; none lets the registry's policy decide.
        version: Option<String>,
        /// The instance that waits for the result, if this is a child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_instance: Option<String>,
        /// The event of the parent that asked for this child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_id: Option<u64>,
        /// The execution of the parent that asked for this child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_execution_id: Option<u64>,
        /// Queue messages left unread, as pairs of queue name and data.
        #[serde(default)]
        carry_forward_events: Vec<(String, String)>,
        /// The custom status left behind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial_custom_status: Option<String>,
    },
    /// Somebody sent a queue message: kept until the code takes it.
    QueueMessage {
        /// The instance it is for.
        instance: String,
        /// The name of the queue.
        name: String,
        /// What it carries.
        data: String,
    },
}

impl WorkItem {
    /// The instance whose mailbox this goes to, or `None` for the worker queue.
    #[must_use]
    pub fn addressee(&self) -> Option<&str> {
        match self {
            Self::ActivityExecute { .. } => None,
            Self::StartOrchestration { instance, .. }
            | Self::ActivityCompleted { instance, .. }
            | Self::ActivityFailed { instance, .. }
            | Self::TimerFired { instance, .. }
            | Self::ExternalRaised { instance, .. }
            | Self::CancelInstance { instance, .. }
            | Self::ContinueAsNew { instance, .. }
            | Self::QueueMessage { instance, .. } => Some(instance),
            Self::SubOrchCompleted { parent_instance, .. } | Self::SubOrchFailed { parent_instance, .. } => {
                Some(parent_instance)
            }
        }
    }
}

/// The name of an item's kind, for messages and metrics.
///
/// It is the variant's name, but for queue messages, which logs and dashboards know by an older one.
#[must_use]
pub fn kind_of(msg: &WorkItem) -> &'static str {
    match msg {
        WorkItem::StartOrchestration { .. } => "StartOrchestration",
        WorkItem::ActivityExecute { .. } => "ActivityExecute",
        WorkItem::ActivityCompleted { .. } => "ActivityCompleted",
        WorkItem::ActivityFailed { .. } => "ActivityFailed",
        WorkItem::TimerFired { .. } => "TimerFired",
        WorkItem::ExternalRaised { .. } => "ExternalRaised",
        WorkItem::SubOrchCompleted { .. } => "SubOrchCompleted",
        WorkItem::SubOrchFailed { .. } => "SubOrchFailed",
        WorkItem::CancelInstance { .. } => "CancelInstance",
        WorkItem::ContinueAsNew { .. } => "ContinueAsNew",
        WorkItem::QueueMessage { .. } => "ExternalRaisedPersistent",
    }
}
