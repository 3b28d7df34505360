//! What is counted about the store: how long its calls take, and what becomes of those that fail.

use std::time::Duration;

use abide_provider::{ErrorKind, Operation, ProviderError, Rejection, StoreError};
use metrics::{counter, histogram};

use super::{MetricsProvider, names};

/// What became of a call that failed, as the label `kind` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorageErrorKind {
    /// Nothing was written; it may succeed later.
    NotApplied,
    /// It may have been applied. A required method of a provider says no more than that it may succeed later, which is this.
    Unknown,
    /// The lease ran out, was given back, or was taken away.
    LeaseLost,
    /// A fused step has to take the plain way.
    Busy,
    /// What is to be written is there already, or contradicts what is there.
    Conflict,
    /// What is stored cannot be read.
    Corrupt,
    /// The call makes no sense.
    Invalid,
    /// It was refused for some other reason.
    Other,
}

impl StorageErrorKind {
    /// The value of the label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotApplied => "not_applied",
            Self::Unknown => "unknown",
            Self::LeaseLost => "lease_lost",
            Self::Busy => "busy",
            Self::Conflict => "conflict",
            Self::Corrupt => "corrupt",
            Self::Invalid => "invalid",
            Self::Other => "other",
        }
    }
}

impl From<&StoreError> for StorageErrorKind {
    fn from(error: &StoreError) -> Self {
        match error.kind {
            ErrorKind::NotApplied => Self::NotApplied,
            ErrorKind::Unknown => Self::Unknown,
            ErrorKind::Rejected(rejection) => match rejection {
                Rejection::LeaseLost => Self::LeaseLost,
                Rejection::Busy => Self::Busy,
                Rejection::Conflict => Self::Conflict,
                Rejection::Corrupt => Self::Corrupt,
                Rejection::Invalid => Self::Invalid,
                // The second half is what the contract may add.
                Rejection::NotFound | Rejection::Running | _ => Self::Other,
            },
        }
    }
}

/// Of a call that is not a renewal. There, what will not pass means that the lease is lost.
impl From<&ProviderError> for StorageErrorKind {
    fn from(error: &ProviderError) -> Self {
        if error.is_retryable() { Self::Unknown } else { Self::Other }
    }
}

/// What a lease is about, as the label `kind` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseKind {
    /// A turn of an instance.
    Instance,
    /// An activity.
    Work,
    /// A session.
    Session,
}

impl LeaseKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Work => "work",
            Self::Session => "session",
        }
    }
}

/// What became of a renewal, as the label `outcome` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenewalOutcome {
    /// The lease lasts longer.
    Renewed,
    /// The lease is not ours any more.
    Lost,
    /// The store did not do it; the lease may still be ours.
    Failed,
}

impl RenewalOutcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Renewed => "renewed",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }
}

impl MetricsProvider {
    /// A call of the store took so long; the status is `"success"` or `"error"`.
    pub fn record_provider_operation(&self, operation: &str, duration_seconds: f64, status: &str) {
        histogram!(
            names::PROVIDER_OPERATION_DURATION,
            "operation" => self.word(operation),
            "status" => self.word(status),
        )
        .record(duration_seconds);
    }

    /// A call of the store failed.
    pub fn record_provider_error(&self, operation: &str, error_type: &str) {
        self.counts.provider_errors.one();
        counter!(
            names::PROVIDER_ERRORS,
            "operation" => self.word(operation),
            "error_type" => self.word(error_type),
        )
        .increment(1);
    }

    /// A call of the store failed, and this became of it. Counts as a provider error too.
    pub fn record_storage_error(&self, operation: Operation, kind: StorageErrorKind) {
        self.record_provider_error(operation.as_str(), kind.as_str());
        counter!(names::STORAGE_ERRORS, "operation" => operation.as_str(), "kind" => kind.as_str())
            .increment(1);
    }

    /// So many leases were renewed, or were not.
    pub fn record_lease_renewals(&self, kind: LeaseKind, outcome: RenewalOutcome, count: u64) {
        counter!(names::LEASE_RENEWALS, "kind" => kind.as_str(), "outcome" => outcome.as_str())
            .increment(count);
    }
}

/// The same as [`MetricsProvider::record_provider_operation`], for every call there is: with labels that need not be looked
/// up.
pub(in crate::observability) fn record_call(operation: Operation, took: Duration, status: &'static str) {
    histogram!(
        names::PROVIDER_OPERATION_DURATION,
        "operation" => operation.as_str(),
        "status" => status,
    )
    .record(took);
}
