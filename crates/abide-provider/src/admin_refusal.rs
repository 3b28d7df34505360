//! Why administration refuses, in one place, so that every store says it alike.

use crate::{InvalidOrphanStatus, InvalidQuery, Operation, ProviderError, Rejection, StoreError};

/// Why an administrative call was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdminRefusal {
    /// There is no such instance.
    #[error("Instance {instance} not found")]
    NotFound {
        /// The instance.
        instance: String,
    },
    /// There is no such execution.
    #[error("Execution {execution_id} not found for instance {instance}")]
    ExecutionNotFound {
        /// The instance.
        instance: String,
        /// The execution.
        execution_id: u64,
    },
    /// Children are deleted with their root.
    #[error("Cannot delete sub-orchestration {instance} directly. Delete root instance instead.")]
    IsChild {
        /// The instance.
        instance: String,
    },
    /// What runs is deleted by force only.
    #[error("Instance {instance} is still running. Use force=true to delete anyway, or cancel first.")]
    Running {
        /// The instance.
        instance: String,
    },
    /// A child would lose its parent.
    #[error(
        "Cannot delete: instance {parent} has child {child} that was created after tree traversal. Re-fetch the tree \
         and retry."
    )]
    ChildLeftBehind {
        /// The instance to be deleted.
        parent: String,
        /// Its child, which was not to be deleted.
        child: String,
    },
    /// The listing cannot be made.
    #[error(transparent)]
    Query(#[from] InvalidQuery),
    /// Orphans of this kind do not exist.
    #[error(transparent)]
    Orphans(#[from] InvalidOrphanStatus),
}

impl AdminRefusal {
    /// There is no such instance.
    pub fn not_found(instance: impl Into<String>) -> Self {
        Self::NotFound { instance: instance.into() }
    }

    /// The refusal as the answer of a call.
    #[must_use]
    pub fn store_error(&self, operation: Operation) -> StoreError {
        let rejection = match self {
            Self::NotFound { .. } | Self::ExecutionNotFound { .. } => Rejection::NotFound,
            Self::Running { .. } => Rejection::Running,
            Self::ChildLeftBehind { .. } => Rejection::Conflict,
            Self::IsChild { .. } | Self::Query(_) | Self::Orphans(_) => Rejection::Invalid,
        };
        StoreError::rejected(operation, rejection, self.to_string())
    }

    /// The same in the form of the frozen methods.
    #[must_use]
    pub fn provider_error(&self, operation: Operation) -> ProviderError {
        self.store_error(operation).into()
    }
}
