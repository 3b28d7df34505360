//! Why an operation refused, before it is known which call made it.

use abide_provider::{Operation, Rejection, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    LeaseLost,
    Because(Rejection, String),
}

impl Refusal {
    pub(crate) fn invalid(why: &impl ToString) -> Self {
        Self::Because(Rejection::Invalid, why.to_string())
    }

    pub(crate) fn busy(why: impl Into<String>) -> Self {
        Self::Because(Rejection::Busy, why.into())
    }

    pub(crate) fn conflict(why: impl Into<String>) -> Self {
        Self::Because(Rejection::Conflict, why.into())
    }

    pub(crate) fn corrupt(why: impl Into<String>) -> Self {
        Self::Because(Rejection::Corrupt, why.into())
    }

    /// The refusal as the answer of a call.
    pub(crate) fn of(self, operation: Operation) -> StoreError {
        match self {
            Self::LeaseLost => StoreError::lease_lost(operation),
            Self::Because(rejection, message) => StoreError::rejected(operation, rejection, message),
        }
    }
}
