//! What the required methods take and return.
//!
//! Deliberately absent: fields for what came later. These are built by literal in other people's code, so they
//! gain none; see [`InstanceLease`](crate::InstanceLease) and [`TurnCommit`](crate::TurnCommit).

use std::collections::HashMap;
use std::time::Duration;

use abide_model::{Event, KvEntry, WorkItem};

/// An instance with mail, and everything a turn needs.
#[derive(Debug, Clone)]
pub struct OrchestrationItem {
    /// The instance.
    pub instance: String,
    /// The registered name of its orchestration.
    pub orchestration_name: String,
    /// Its current execution.
    pub execution_id: u64,
    /// The version of its handler, `"unknown"` if the start left it to the registry.
    pub version: String,
    /// The history of the current execution; empty if it cannot be read.
    pub history: Vec<Event>,
    /// The messages that were visible, in the order they were enqueued.
    pub messages: Vec<WorkItem>,
    /// Why the history cannot be read, if it cannot.
    pub history_error: Option<String>,
    /// What earlier executions left in the key-value store.
    pub kv_snapshot: HashMap<String, KvEntry>,
}

/// What a turn says about its execution, beside events.
#[derive(Debug, Clone, Default)]
pub struct ExecutionMetadata {
    /// How it stands, if that changed: `"Running"`, `"Completed"`, `"Failed"` or `"ContinuedAsNew"`.
    pub status: Option<String>,
    /// Its output, its error, or its successor's input.
    pub output: Option<String>,
    /// The registered name of the orchestration.
    pub orchestration_name: Option<String>,
    /// The version of its handler.
    pub orchestration_version: Option<String>,
    /// The instance that waits for the result, if this is a child. Never changes.
    pub parent_instance_id: Option<String>,
    /// The version of abide that started the execution.
    pub pinned_duroxide_version: Option<semver::Version>,
}

/// Who asks for work of a session, and for how long it wants to own one.
#[derive(Debug, Clone)]
pub struct SessionFetchConfig {
    /// The worker, or the node whose workers share sessions.
    pub owner_id: String,
    /// How long a claimed session belongs to it.
    pub lock_timeout: Duration,
}
