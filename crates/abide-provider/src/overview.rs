//! What a store tells of one instance, so that people can be told what it waits for.
//!
//! Everything in it is bounded, and none of it is read from a history.

use abide_model::{ExecutionStatus, Timestamp};

use crate::{Block, ParentLink};

/// An overview lists at most this many rows of each kind: children, activities.
pub const OVERVIEW_ROWS: usize = 16;

/// An overview counts children, executions and messages up to this number.
pub const OVERVIEW_COUNT: u64 = 1_000;

/// An overview holds at most this many characters of an output or error.
pub const OVERVIEW_OUTPUT: usize = 1_024;

/// One instance at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstanceOverview {
    /// What time it was for the store; `None` if it does not say.
    pub store_time: Option<Timestamp>,
    /// The registered name of the orchestration; before the first turn, what the start says. Empty if
    /// unknown.
    pub orchestration_name: String,
    /// The version of its handler; `"unknown"` if the start left it to the registry and no turn has run.
    pub orchestration_version: String,
    /// The version that its current execution is pinned to.
    pub pin: Option<String>,
    /// Its current execution; zero before the first turn.
    pub execution_id: u64,
    /// How many executions are stored, at most [`OVERVIEW_COUNT`].
    pub executions: u64,
    /// How the current execution stands.
    pub status: Option<ExecutionStatus>,
    /// What came of the execution if it ended: its output or error, at most [`OVERVIEW_OUTPUT`] characters.
    pub output: Option<String>,
    /// When the first turn was committed.
    pub created: Option<Timestamp>,
    /// When the last turn was committed.
    pub updated: Option<Timestamp>,
    /// When it completed or failed.
    pub completed: Option<Timestamp>,
    /// What it waits for, as the last turn said ([`Turn::waiting`](crate::Turn::waiting)).
    pub waiting: Option<String>,
    /// Whose child it is.
    pub parent: Option<ParentLink>,
    /// Its oldest children, at most [`OVERVIEW_ROWS`].
    pub children: Vec<String>,
    /// How many children it has, at most [`OVERVIEW_COUNT`].
    pub child_count: u64,
    /// How many messages that it could take in are queued for it, at most [`OVERVIEW_COUNT`].
    pub mail: u64,
    /// When the start of its first or next execution becomes visible, if it is delayed.
    pub starts_at: Option<Timestamp>,
    /// The lease on its turn.
    pub lease: Option<LeaseOverview>,
    /// Queued activities of the current execution in the order of their events, at most [`OVERVIEW_ROWS`].
    pub work: Vec<WorkOverview>,
}

/// An instance that another one waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildOverview {
    /// The instance.
    pub instance: String,
    /// The registered name of the orchestration; before the first turn, what the start says. Empty if
    /// unknown.
    pub orchestration_name: String,
    /// The version of its handler; `"unknown"` if the start left it to the registry and no turn has run.
    pub orchestration_version: String,
    /// The version that its current execution is pinned to.
    pub pin: Option<String>,
    /// How the current execution stands; `None` before the first turn.
    pub status: Option<ExecutionStatus>,
    /// Whether a node holds a lease on its turn.
    pub is_leased: bool,
    /// What blocks it: the instance itself, else the first of its held activities.
    pub block: Option<Block>,
}

/// One queued activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkOverview {
    /// The event that asked for it.
    pub event_id: u64,
    /// Its registered name; empty if it cannot be read.
    pub name: String,
    /// Its tag, which says what nodes may take it.
    pub tag: Option<String>,
    /// How often it was leased.
    pub attempts: u32,
    /// When it can be leased, if that time has not come.
    pub visible_at: Option<Timestamp>,
    /// Whether it is held until an operator retries it.
    pub is_held: bool,
    /// The lease on it.
    pub lease: Option<LeaseOverview>,
}

/// A lease that is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseOverview {
    /// The node that holds it, if the store can tell.
    pub node: Option<String>,
    /// When it ends, unless it is renewed.
    pub until: Timestamp,
}

/// The beginning of an output, as an overview holds it.
#[must_use]
pub fn cut_output(output: &str) -> String {
    output.chars().take(OVERVIEW_OUTPUT).collect()
}
