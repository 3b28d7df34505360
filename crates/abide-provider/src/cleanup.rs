//! What to remove because nobody needs it any more.

use std::time::Duration;

use abide_model::{ExecutionStatus, Timestamp};

use crate::InstanceFilter;

/// How many instances a bulk operation removes if it is not told.
pub const DEFAULT_BULK: u32 = 1_000;

/// Which finished children to remove. A child is an orphan when the execution that asked for it has ended, or is not there
/// any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrphanFilter {
    /// Only if that execution ended before this time, in milliseconds since the Unix epoch. If it is not there any more, the
    /// child's own end counts.
    pub parent_completed_before: Option<u64>,
    /// Only children that ended like this, `Completed` or `Failed`; both if empty.
    pub child_status: Vec<String>,
    /// At most this many; 1,000 if not set.
    pub limit: Option<u32>,
}

impl OrphanFilter {
    /// How the children ended.
    ///
    /// # Errors
    ///
    /// If that is no end: children that run are never removed.
    pub fn ends(&self) -> Result<Vec<ExecutionStatus>, InvalidOrphanStatus> {
        if self.child_status.is_empty() {
            return Ok(vec![ExecutionStatus::Completed, ExecutionStatus::Failed]);
        }
        let end = |text: &String| {
            let status = text.parse().ok().filter(|status: &ExecutionStatus| status.is_end());
            status.ok_or_else(|| InvalidOrphanStatus { status: text.clone() })
        };
        self.child_status.iter().map(end).collect()
    }

    /// How many are removed at most.
    #[must_use]
    pub fn at_most(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_BULK)
    }
}

/// A status that no finished child has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{status}' is no end of a child: only Completed and Failed ones are removed")]
pub struct InvalidOrphanStatus {
    /// The status.
    pub status: String,
}

/// How long finished instances are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Roots that ended longer ago go, with everything below them.
    pub keep_for: Duration,
    /// At most this many at once.
    pub limit: u32,
    /// The caller's time, for stores that cannot tell their own.
    pub host_time: Timestamp,
}

impl Retention {
    /// The bulk deletion that this is, if it is `now`.
    #[must_use]
    pub fn filter(&self, now: Timestamp) -> InstanceFilter {
        InstanceFilter {
            instance_ids: None,
            completed_before: Some(now.saturating_sub(self.keep_for).as_millis()),
            limit: Some(self.limit),
        }
    }
}

/// Whether what runs is deleted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Only what is finished.
    No,
    /// Whatever it is.
    Yes,
}

impl From<bool> for Force {
    fn from(force: bool) -> Self {
        if force { Self::Yes } else { Self::No }
    }
}
