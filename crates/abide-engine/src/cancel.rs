//! How cancellations are recorded, and with which reasons.

use abide_model::{EventId, EventKind};

use crate::ask::Family;
use crate::journal::Entry;

/// The reason that marks a cancellation as the code's own decision.
pub(crate) const DROPPED_FUTURE: &str = "dropped_future";
/// The reason recorded for waits that were open when their execution ended; the reasons recorded for
/// activities and children begin with it.
pub(crate) const TERMINAL: &str = "orchestration_terminal";
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
