//! What became of a store call that failed.
//!
//! Whoever made the call needs to know one thing before all others: did it happen? [`ErrorKind`] answers that.
//! [`ProviderError`] is the older, flatter form that the required methods return; a [`StoreError`] becomes one.
//!
//! Deliberately absent: classification by text. A store maps the codes of its driver to a kind.

use std::fmt;

use abide_model::ErrorDetails;

/// A store call that did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {message}")]
pub struct StoreError {
    /// Which call.
    pub operation: Operation,
    /// What became of it.
    pub kind: ErrorKind,
    /// What went wrong, to what, and what can be done.
    pub message: String,
}

/// What became of a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nothing was written, and nothing was wrong with the call: it may succeed later, unchanged.
    NotApplied,
    /// It may have been applied: the answer was lost, not the call. A call with a token or a request key is safe to
    /// repeat, and the answer tells.
    Unknown,
    /// Nothing was written, and the same call will be refused again.
    Rejected(Rejection),
}

/// Why a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// The lease ran out, was given back, or was taken away with its row.
    LeaseLost,
    /// A fused step met a lease, newer mail, or an instance that has moved on: take the plain way.
    Busy,
    /// What is to be appended is there already, or belongs to an execution that is over; what is to be deleted has a child
    /// that is not.
    Conflict,
    /// What is stored cannot be read.
    Corrupt,
    /// The call makes no sense.
    Invalid,
    /// There is no such instance, or no such execution.
    NotFound,
    /// What is to be deleted runs.
    Running,
}

impl StoreError {
    /// The call had no effect and may succeed later.
    pub fn not_applied(operation: Operation, message: impl Into<String>) -> Self {
        Self { operation, kind: ErrorKind::NotApplied, message: message.into() }
    }

    /// Nobody can say whether the call had an effect.
    pub fn unknown(operation: Operation, message: impl Into<String>) -> Self {
        Self { operation, kind: ErrorKind::Unknown, message: message.into() }
    }

    /// The call was refused.
    pub fn rejected(operation: Operation, rejection: Rejection, message: impl Into<String>) -> Self {
        Self { operation, kind: ErrorKind::Rejected(rejection), message: message.into() }
    }

    /// The lease named by the call is not held any more.
    #[must_use]
    pub fn lease_lost(operation: Operation) -> Self {
        Self::rejected(
            operation,
            Rejection::LeaseLost,
            "Invalid lock token: the lease has expired, was given back, or was taken away",
        )
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self.kind {
            ErrorKind::NotApplied | ErrorKind::Unknown => true,
            ErrorKind::Rejected(_) => false,
        }
    }

    /// Why the call was refused, if it was.
    #[must_use]
    pub const fn rejection(&self) -> Option<Rejection> {
        match self.kind {
            ErrorKind::NotApplied | ErrorKind::Unknown => None,
            ErrorKind::Rejected(rejection) => Some(rejection),
        }
    }
}

impl From<StoreError> for ProviderError {
    fn from(error: StoreError) -> Self {
        let retryable = error.is_retryable();
        Self { operation: error.operation.as_str().to_owned(), message: error.message, retryable }
    }
}

/// Defines the operations once: a variant, its label, and its documentation.
macro_rules! operations {
    ($($variant:ident = $label:literal),* $(,)?) => {
        /// The calls of a provider, as errors and metrics name them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Operation {
            $(#[doc = concat!("`", $label, "`")] $variant,)*
        }

        impl Operation {
            /// The label of this call.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }
        }
    };
}

operations! {
    FetchOrchestrationItem = "fetch_orchestration_item",
    AckOrchestrationItem = "ack_orchestration_item",
    AbandonOrchestrationItem = "abandon_orchestration_item",
    RenewOrchestrationItemLock = "renew_orchestration_item_lock",
    Read = "read",
    ReadWithExecution = "read_with_execution",
    AppendWithExecution = "append_with_execution",
    EnqueueForWorker = "enqueue_for_worker",
    FetchWorkItem = "fetch_work_item",
    AckWorkItem = "ack_work_item",
    AbandonWorkItem = "abandon_work_item",
    RenewWorkItemLock = "renew_work_item_lock",
    RenewSessionLock = "renew_session_lock",
    CleanupOrphanedSessions = "cleanup_orphaned_sessions",
    EnqueueForOrchestrator = "enqueue_for_orchestrator",
    GetCustomStatus = "get_custom_status",
    GetKvValue = "get_kv_value",
    GetKvAllValues = "get_kv_all_values",
    GetInstanceStats = "get_instance_stats",
    LeaseInstances = "lease_instances",
    ReadHistoryAfter = "read_history_after",
    ReadKvSnapshot = "read_kv_snapshot",
    CommitTurn = "commit_turn",
    LeaseWork = "lease_work",
    FinishWork = "finish_work",
    EnqueueOnce = "enqueue_once",
    StartOnce = "start_once",
    EnqueueExisting = "enqueue_existing",
    ReadStatus = "read_status",
    NextDue = "next_due",
    BlockInstance = "block_instance",
    HoldWork = "hold_work",
    BeginSuspect = "begin_suspect",
    RetryBlocked = "retry_blocked",
    RevokeWork = "revoke_work",
    ReadBlocks = "read_blocks",
    ReadOverview = "read_overview",
    ReadChildren = "read_children",
    AnnounceNode = "announce_node",
    ForgetNode = "forget_node",
    Nodes = "nodes",
    CountBlocked = "count_blocked",
    ListBlocked = "list_blocked",
    ListInstances = "list_instances",
    ListInstancesByStatus = "list_instances_by_status",
    ListInstancesPage = "list_instances_page",
    ListExecutions = "list_executions",
    ReadHistory = "read_history",
    ReadHistoryWithExecutionId = "read_history_with_execution_id",
    LatestExecutionId = "latest_execution_id",
    GetInstanceInfo = "get_instance_info",
    GetExecutionInfo = "get_execution_info",
    GetSystemMetrics = "get_system_metrics",
    GetQueueDepths = "get_queue_depths",
    ListChildren = "list_children",
    GetParentId = "get_parent_id",
    GetInstanceTree = "get_instance_tree",
    DeleteInstance = "delete_instance",
    DeleteInstancesAtomic = "delete_instances_atomic",
    DeleteInstanceBulk = "delete_instance_bulk",
    PruneExecutions = "prune_executions",
    PruneExecutionsBulk = "prune_executions_bulk",
    CleanupOrphanedInstances = "cleanup_orphaned_instances",
    EnforceRetention = "enforce_retention",
    Checkpoint = "checkpoint",
    Import = "import",
    Housekeeping = "housekeeping",
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A failed call of one of the required methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    /// Which call.
    pub operation: String,
    /// What went wrong.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

impl ProviderError {
    /// A failure that may pass: the store was busy, or could not be reached.
    pub fn retryable(operation: impl Into<String>, message: impl Into<String>) -> Self {
        Self { operation: operation.into(), message: message.into(), retryable: true }
    }

    /// A failure that will not pass by itself.
    pub fn permanent(operation: impl Into<String>, message: impl Into<String>) -> Self {
        Self { operation: operation.into(), message: message.into(), retryable: false }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// The same failure, as it is recorded in a history.
    #[must_use]
    pub fn to_infrastructure_error(&self) -> ErrorDetails {
        ErrorDetails::Infrastructure {
            operation: self.operation.clone(),
            message: self.message.clone(),
            retryable: self.retryable,
        }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.message)
    }
}

impl std::error::Error for ProviderError {}

impl From<String> for ProviderError {
    fn from(message: String) -> Self {
        Self::retryable("unknown", message)
    }
}

impl From<&str> for ProviderError {
    fn from(message: &str) -> Self {
        Self::retryable("unknown", message)
    }
}
