//! Under which terms calls lease, and which of them can stand in for each other.

use std::collections::BTreeSet;

use abide_provider::{DispatcherCapabilityFilter, NextLease};

use crate::encode::millis;
use crate::waiters::Interest;

/// What a call leases, and how. Calls under the same terms can stand in for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Terms {
    Instances {
        lease_ms: i64,
        capabilities: Option<DispatcherCapabilityFilter>,
    },
    Work {
        lease_ms: i64,
        /// As columns hold them; any, if there is no list.
        tags: Option<BTreeSet<String>>,
        /// Who takes work of sessions, too.
        owner: Option<String>,
    },
}

impl Terms {
    /// Those of somebody who would take the next turn of an instance.
    pub(crate) fn of_next(NextLease { lease_for, capabilities, .. }: &NextLease) -> Self {
        Self::Instances { lease_ms: millis(*lease_for), capabilities: capabilities.clone() }
    }

    pub(crate) fn interest(&self) -> Interest {
        match self {
            Self::Instances { .. } => Interest::Instances,
            Self::Work { tags, .. } => Interest::Work(tags.clone()),
        }
    }

    /// Whether what is handed over under these terms is right for the others: it never is work of a session.
    pub(crate) fn share_a_tray(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Work { lease_ms, tags, owner: _ },
                Self::Work { lease_ms: other_ms, tags: other_tags, owner: _ },
            ) => lease_ms == other_ms && tags == other_tags,
            (Self::Instances { .. } | Self::Work { .. }, _) => self == other,
        }
    }

    pub(crate) const fn lease_ms(&self) -> i64 {
        let (Self::Instances { lease_ms, .. } | Self::Work { lease_ms, .. }) = self;
        *lease_ms
    }

    pub(crate) fn takes_work_under(&self, made: &BTreeSet<&str>) -> bool {
        match self {
            Self::Instances { .. } => false,
            Self::Work { tags: None, .. } => !made.is_empty(),
            Self::Work { tags: Some(tags), .. } => tags.iter().any(|tag| made.contains(tag.as_str())),
        }
    }
}
