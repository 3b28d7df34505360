//! What a turn sets in motion and takes back.
//!
//! Work that is asked for and taken back in the same turn cancels out: a child that was started and dropped
//! is neither started nor cancelled, a timer nobody waits for is never enqueued. (An activity is not enqueued
//! either, but still listed as cancelled: cancelling what is gone is no error.)

use std::collections::BTreeMap;

use abide_model::{EventId, ScheduledActivityIdentifier, WorkItem, build_child_instance_id};

use crate::ask::Family;
use crate::ledger::OpenAsk;
use crate::turn::Identity;

/// The effects of one turn, by the event that caused them.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Boxed, as what goes out: a node of the tree has room for eleven, and most turns have one.
    activities: BTreeMap<EventId, Box<WorkItem>>,
    /// Timers and starts, in the order they were asked for.
    outgoing: BTreeMap<EventId, Box<WorkItem>>,
    /// Cancels and replies, in the order they were decided, behind everything that was asked for.
    replies: Vec<WorkItem>,
    cancelled_activities: Vec<EventId>,
    removed_timers: Vec<EventId>,
}

impl Effects {
    pub(crate) fn set_in_motion(&mut self, id: EventId, item: WorkItem) {
        // Only work for a worker has no addressee.
        let queue = if item.addressee().is_none() { &mut self.activities } else { &mut self.outgoing };
        queue.insert(id, Box::new(item));
    }

    /// Takes back what an ask set in motion. A child whose start is still here is not started; one that was
    /// started before is sent a cancel with `reason`.
    pub(crate) fn take_back(&mut self, who: &Identity, id: EventId, ask: &OpenAsk, reason: &str) {
        match ask.family {
            Family::Activity => {
                self.activities.remove(&id);
                self.cancelled_activities.push(id);
            }
            Family::Timer => {
                if self.outgoing.remove(&id).is_none() {
                    self.removed_timers.push(id);
                }
            }
            // Refused because of the size of its input: never started.
            Family::Child if ask.child.is_empty() => {}
            Family::Child => {
                if self.outgoing.remove(&id).is_none() {
                    let instance = build_child_instance_id(&who.instance, &ask.child);
                    self.replies.push(WorkItem::CancelInstance { instance, reason: reason.to_owned() });
                }
            }
            Family::Wait | Family::Dequeue | Family::Prune => {}
        }
    }

    pub(crate) fn reply(&mut self, item: WorkItem) {
        self.replies.push(item);
    }

    pub(crate) fn into_items(mut self, who: &Identity) -> Items {
        self.cancelled_activities.sort_unstable();
        self.removed_timers.sort_unstable();
        Items {
            worker: self.activities.into_values().map(|item| *item).collect(),
            orchestrator: self.outgoing.into_values().map(|item| *item).chain(self.replies).collect(),
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
