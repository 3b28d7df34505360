//! Where an instance or an execution stands.
//!
//! [`ExecutionStatus`] is what a store keeps in a column; [`OrchestrationStatus`] is what a client is told,
//! with output or error. A continued instance is running to its clients: only its execution has ended.
//!
//! Deliberately absent: paused or suspended. An execution either has an end recorded or it has not.

use std::fmt;
use std::str::FromStr;

use crate::ErrorDetails;

/// Where an instance stands, as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrchestrationStatus {
    /// There is no such instance, or it has not run yet.
    NotFound,
    /// The instance has not ended.
    Running {
        /// What the code says about its progress.
        custom_status: Option<String>,
        /// How often the custom status was changed.
        custom_status_version: u64,
    },
    /// The instance ended with a result.
    Completed {
        /// What the code returned.
        output: String,
        /// What the code said last about its progress.
        custom_status: Option<String>,
        /// How often the custom status was changed.
        custom_status_version: u64,
    },
    /// The instance failed.
    Failed {
        /// Why it failed.
        details: ErrorDetails,
        /// What the code said last about its progress.
        custom_status: Option<String>,
        /// How often the custom status was changed.
        custom_status_version: u64,
    },
}

/// What an instance runs, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrchestrationDescriptor {
    /// The registered name of the orchestration.
    pub name: String,
    /// The handler version that the execution is bound to.
    pub version: String,
    /// The instance that waits for the result, if this is a child.
    pub parent_instance: Option<String>,
    /// The event of the parent that asked for this child.
    pub parent_id: Option<u64>,
}

/// Where an execution stands. Stored as text, so that a person can read the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecutionStatus {
    /// It has not ended.
    Running,
    /// It ended with a result.
    Completed,
    /// It failed.
    Failed,
    /// It ended, and the next execution of its instance took over.
    ContinuedAsNew,
}

impl ExecutionStatus {
    /// Every status, in the order of declaration.
    pub const ALL: [Self; 4] = [Self::Running, Self::Completed, Self::Failed, Self::ContinuedAsNew];

    /// The stored spelling; changing one is a migration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::ContinuedAsNew => "ContinuedAsNew",
        }
    }

    /// Whether the instance has ended with this execution: one that continues as new goes on.
    #[must_use]
    pub const fn is_end(self) -> bool {
        match self {
            Self::Completed | Self::Failed => true,
            Self::Running | Self::ContinuedAsNew => false,
        }
    }

    /// Whether nothing more can happen in this execution.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Running => false,
            Self::Completed | Self::Failed | Self::ContinuedAsNew => true,
        }
    }
}

impl fmt::Display for ExecutionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ExecutionStatus {
    type Err = UnknownExecutionStatus;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownExecutionStatus { text: text.to_owned() })
    }
}

/// A text that is no [`ExecutionStatus`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown execution status '{text}'")]
pub struct UnknownExecutionStatus {
    /// The text as it was found.
    pub text: String,
}
