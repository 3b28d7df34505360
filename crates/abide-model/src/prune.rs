//! Deleting finished executions: what to delete, and what was deleted.
//!
//! Deliberately absent: a way to delete the current execution or a running one. No choice of options
//! reaches those.

/// Which finished executions to delete; all that are set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneOptions {
    /// Keep this many of the latest executions.
    pub keep_last: Option<u32>,
    /// Delete only what ended before this time, in milliseconds since the Unix epoch.
    pub completed_before: Option<u64>,
}

/// What was deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneResult {
    /// How many instances were looked at.
    pub instances_processed: u64,
    /// How many executions were deleted.
    pub executions_deleted: u64,
    /// How many events were deleted with them.
    pub events_deleted: u64,
}

impl PruneOptions {
    /// How many executions are kept. The current one always is, so none, one and "not said" are the same.
    #[must_use]
    pub fn kept(&self) -> u32 {
        self.keep_last.unwrap_or(1).max(1)
    }
}

impl PruneResult {
    /// Adds what another prune deleted.
    pub fn add(&mut self, other: &Self) {
        self.instances_processed = self.instances_processed.saturating_add(other.instances_processed);
        self.executions_deleted = self.executions_deleted.saturating_add(other.executions_deleted);
        self.events_deleted = self.events_deleted.saturating_add(other.events_deleted);
    }
}
