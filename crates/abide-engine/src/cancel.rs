//! How cancellations are recorded, and with which reasons.

use abide_model::{EventId, EventKind};

use crate::ask::Family;
use crate::journal::Entry;

/// The reason a child is given when its future was dropped.
pub(crate) const CHILD_DROPPED: &str = "parent dropped sub-orchestration future";

/// The event that records a cancellation; `None` for kinds that leave no record.
pub(crate) fn cancellation(id: EventId, family: Family, reason: &str) -> Option<Entry> {
    let reason = reason.to_owned();
    let kind = match family {
        Family::Activity => EventKind::ActivityCancelRequested { reason },
        Family::Child => EventKind::SubOrchestrationCancelRequested { reason },
        Family::Wait => EventKind::ExternalSubscribedCancelled { reason },
        Family::Dequeue => EventKind::QueueSubscriptionCancelled { reason },
        Family::Timer | Family::Prune => return None,
    };
    Some(Entry::about(id, kind))
}
