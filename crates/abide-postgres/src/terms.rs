//! Under which terms calls lease, and which of them can stand in for each other.

use std::sync::Arc;

use abide_provider::NextLease;

use crate::encode::millis;
use crate::routes::{InstanceFilter, WorkFilter};
use crate::waiters::{Interest, Kind};

/// What a call leases, and how. Calls under the same terms can stand in for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Terms {
    Instances {
        lease_ms: i64,
        filter: Arc<InstanceFilter>,
    },
    Work {
        lease_ms: i64,
        filter: Arc<WorkFilter>,
        /// Who takes work of sessions, too.
        owner: Option<String>,
    },
}

impl Terms {
    /// Those of somebody who would take the next turn of an instance.
    pub(crate) fn of_next(NextLease { lease_for, capabilities, serving }: &NextLease) -> Self {
        let filter = InstanceFilter { capabilities: capabilities.clone(), serving: serving.clone() };
        Self::Instances { lease_ms: millis(*lease_for), filter: Arc::new(filter) }
    }

    pub(crate) fn interest(&self) -> Interest {
        match self {
            Self::Instances { filter, .. } => Interest::Instances(Arc::clone(filter)),
            Self::Work { filter, .. } => Interest::Work(Arc::clone(filter)),
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Instances { .. } => Kind::Instances,
            Self::Work { .. } => Kind::Work,
        }
    }

    /// Whether what is handed over under these terms is right for the others: it never is work of a session, nor a suspect if
    /// they say what they serve.
    pub(crate) fn share_a_tray(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Work { lease_ms, filter, owner: _ },
                Self::Work { lease_ms: other_ms, filter: other, owner: _ },
            ) => lease_ms == other_ms && filter.takes_like(other),
            (Self::Instances { lease_ms, filter }, Self::Instances { lease_ms: other_ms, filter: other }) => {
                lease_ms == other_ms && filter.takes_like(other)
            }
            (Self::Instances { .. } | Self::Work { .. }, _) => false,
        }
    }

    pub(crate) const fn lease_ms(&self) -> i64 {
        let (Self::Instances { lease_ms, .. } | Self::Work { lease_ms, .. }) = self;
        *lease_ms
    }

    /// Whether an activity with this name and tag is taken.
    pub(crate) fn take_work(&self, name: Option<&str>, tag: &str) -> bool {
        match self {
            Self::Instances { .. } => false,
            Self::Work { filter, .. } => filter.takes(name, tag),
        }
    }
}
