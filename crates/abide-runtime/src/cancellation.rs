//! Telling an activity to stop, and why.

use std::sync::{Arc, OnceLock};

use abide_model::ExecutionStatus;
use abide_model::reason::{
    TERMINAL_CANCELLED, TERMINAL_COMPLETED, TERMINAL_CONTINUED_AS_NEW, TERMINAL_FAILED,
};
use abide_provider::StolenBecause;
use tokio_util::sync::CancellationToken;

/// Why an activity is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancellationReason {
    /// Its future was dropped: it lost a race, timed out, or went out of scope.
    Dropped,
    /// The execution that asked for it has ended.
    OrchestrationEnded {
        /// How it ended.
        status: ExecutionStatus,
    },
    /// Its instance was deleted, or its execution was pruned.
    InstanceDeleted,
    /// Its lease was lost: it runs, or will run, again elsewhere.
    LeaseLost,
    /// The runtime is shutting down; it will run again.
    Shutdown,
}

impl CancellationReason {
    /// Reads the reason that a history records for a cancelled activity.
    pub(crate) fn recorded(reason: &str) -> Self {
        match reason {
            TERMINAL_COMPLETED => Self::OrchestrationEnded { status: ExecutionStatus::Completed },
            TERMINAL_FAILED | TERMINAL_CANCELLED => {
                Self::OrchestrationEnded { status: ExecutionStatus::Failed }
            }
            TERMINAL_CONTINUED_AS_NEW => Self::OrchestrationEnded { status: ExecutionStatus::ContinuedAsNew },
            _ => Self::Dropped,
        }
    }

    /// Reads the reason that a store tells; `None` if it does not tell, or in words that are newer than this.
    pub(crate) const fn told(because: &StolenBecause) -> Option<Self> {
        match because {
            StolenBecause::Dropped => Some(Self::Dropped),
            StolenBecause::OrchestrationEnded { status } => {
                Some(Self::OrchestrationEnded { status: *status })
            }
            StolenBecause::InstanceDeleted => Some(Self::InstanceDeleted),
            StolenBecause::Unknown | _ => None,
        }
    }
}

/// The signal of one activity. The first reason given is the one that is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancellation {
    token: CancellationToken,
    reason: Arc<OnceLock<CancellationReason>>,
}

impl Cancellation {
    /// Asks the activity to stop; false if it was asked before.
    pub(crate) fn cancel(&self, reason: CancellationReason) -> bool {
        // The reason is there before anybody can see the signal.
        let is_first = self.reason.set(reason).is_ok();
        self.token.cancel();
        is_first
    }

    /// Whether nobody wants what the activity returns. A shutdown is none of that: what was begun may still be finished.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.reason().is_some_and(|reason| reason != CancellationReason::Shutdown)
    }

    /// Waits until nobody wants it any more.
    pub(crate) async fn unwanted(&self) {
        self.token.cancelled().await;
        if !self.is_unwanted() {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) const fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub(crate) fn reason(&self) -> Option<CancellationReason> {
        self.reason.get().copied()
    }
}
