//! What a turn sets in motion and takes back.
//!
//! Work that is asked for and taken back in the same turn cancels out: a child that was started and dropped
//! is neither started nor cancelled, a timer nobody waits for is never enqueued.

use std::collections::BTreeMap;

use abide_model::{EventId, ScheduledActivityIdentifier, WorkItem};

use crate::ask::effect::Work;
use crate::turn::Identity;

/// The effects of one turn, by the event that caused them.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    activities: BTreeMap<EventId, WorkItem>,
    /// Timers and starts, in the order they were asked for.
    outgoing: BTreeMap<EventId, WorkItem>,
    /// Cancels and replies, in the order they were decided, behind everything that was asked for.
    replies: Vec<WorkItem>,
    cancelled_activities: Vec<EventId>,
    removed_timers: Vec<EventId>,
}

impl Effects {
    pub(crate) fn set_in_motion(&mut self, id: EventId, work: Work) {
        match work {
            Work::Activity(item) => self.activities.insert(id, item),
            Work::Timer(item) | Work::Child(item) | Work::Detached(item) => self.outgoing.insert(id, item),
        };
    }

    pub(crate) fn cancel_activity(&mut self, id: EventId) {
        self.activities.remove(&id);
        self.cancelled_activities.push(id);
    }

    pub(crate) fn remove_timer(&mut self, id: EventId) {
        if self.outgoing.remove(&id).is_none() {
            self.removed_timers.push(id);
        }
    }

    /// Cancels a child, unless its start is still here: then the two annihilate each other.
    pub(crate) fn cancel_child(&mut self, id: EventId, child: String, reason: &str) {
        if self.outgoing.remove(&id).is_none() {
            self.replies.push(WorkItem::CancelInstance { instance: child, reason: reason.to_owned() });
        }
    }

    pub(crate) fn reply(&mut self, item: WorkItem) {
        self.replies.push(item);
    }

    pub(crate) fn into_items(mut self, who: &Identity) -> Items {
        self.cancelled_activities.sort_unstable();
        self.removed_timers.sort_unstable();
        Items {
            worker: self.activities.into_values().collect(),
            orchestrator: self.outgoing.into_values().chain(self.replies).collect(),
            cancelled_activities: self
                .cancelled_activities
                .into_iter()
                .map(|id| ScheduledActivityIdentifier {
                    instance: who.instance.clone(),
                    execution_id: who.execution_id,
                    activity_id: id.get(),
                })
                .collect(),
            removed_timers: self.removed_timers.into_iter().map(EventId::get).collect(),
        }
    }
}

/// The effects, as the turn's output lists them.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) worker: Vec<WorkItem>,
    pub(crate) orchestrator: Vec<WorkItem>,
    pub(crate) cancelled_activities: Vec<ScheduledActivityIdentifier>,
    pub(crate) removed_timers: Vec<u64>,
}
