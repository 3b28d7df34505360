//! Why a client's call failed.

use abide_provider::ProviderError;

/// A call that did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The store failed, or refused.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The store has no administrative side.
    #[error("Management features not available - provider doesn't implement ProviderAdmin")]
    ManagementNotAvailable,
    /// What was given, or what is stored, is not what it should be.
    #[error("Invalid input: {message}")]
    InvalidInput {
        /// What is wrong with it.
        message: String,
    },
    /// What was waited for did not come in time, or the store did not answer in time.
    #[error("Operation timed out")]
    Timeout,
    /// What runs is deleted by force only.
    #[error("Instance {instance_id} is still running. Use force=true or cancel first.")]
    InstanceStillRunning {
        /// The one that runs: the instance asked for, or one below it.
        instance_id: String,
    },
    /// Children are deleted with their root.
    #[error("Cannot delete sub-orchestration {instance_id} directly. Delete the root orchestration instead.")]
    CannotDeleteSubOrchestration {
        /// The child.
        instance_id: String,
    },
    /// There is no such instance.
    #[error("Instance {instance_id} not found")]
    InstanceNotFound {
        /// The instance.
        instance_id: String,
    },
}

impl ClientError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Provider(error) => error.is_retryable(),
            Self::Timeout => true,
            Self::ManagementNotAvailable
            | Self::InvalidInput { .. }
            | Self::InstanceStillRunning { .. }
            | Self::CannotDeleteSubOrchestration { .. }
            | Self::InstanceNotFound { .. } => false,
        }
    }

    pub(crate) fn invalid(message: &impl ToString) -> Self {
        Self::InvalidInput { message: message.to_string() }
    }

    pub(crate) fn encode(error: &serde_json::Error) -> Self {
        Self::invalid(&format_args!("encode: {error}"))
    }
}

/// Why an instance was not started.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is an instance of that name, or one is about to be, and the request was to refuse then.
    #[error("Instance {instance_id} already exists")]
    AlreadyExists {
        /// The instance.
        instance_id: String,
    },
    /// The call failed.
    #[error(transparent)]
    Client(#[from] ClientError),
}
