//! What a turn sets in motion and takes back.
//!
//! A timer that is created and dropped in the same turn is never enqueued, and neither is an activity (which
//! is still listed as cancelled: cancelling what is gone is no error). A child is different: history names
//! its instance, so the instance must exist. Its cancel is sent before its start, so that its first turn
//! records both and ends it, without running its code.

use std::collections::BTreeMap;

use abide_model::{
    ErrorDetails, EventId, Retry, ScheduledActivityIdentifier, StepTry, WorkItem, build_child_instance_id,
};

use crate::ask::Family;
use crate::ending::ParentLink;
use crate::ledger::OpenAsk;
use crate::turn::Identity;

/// The effects of one turn, by the event that caused them.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Boxed, as what goes out: a node of the tree has room for eleven, and most turns have one.
    activities: BTreeMap<EventId, Box<WorkItem>>,
    /// Those activities that are not the first try of their step.
    retries: BTreeMap<EventId, StepTry>,
    /// Timers and starts, in the order they were asked for.
    outgoing: BTreeMap<EventId, Box<WorkItem>>,
    /// Cancels of children that were started in this turn, by the event that started them.
    cancelled_starts: BTreeMap<EventId, WorkItem>,
    /// Cancels and replies, in the order they were decided, behind everything that was asked for.
    replies: Vec<WorkItem>,
    /// Which replies go to a parent whose execution is not known.
    unaddressed: Vec<usize>,
    cancelled_activities: Vec<EventId>,
    removed_timers: Vec<EventId>,
}

impl Effects {
    pub(crate) fn set_in_motion(&mut self, id: EventId, item: WorkItem) {
        // Only work for a worker has no addressee.
        let queue = if item.addressee().is_none() { &mut self.activities } else { &mut self.outgoing };
        queue.insert(id, Box::new(item));
    }

    /// Notes which try of its step an activity is that was set in motion.
    pub(crate) fn note_retry(&mut self, id: EventId, step: StepTry) {
        self.retries.insert(id, step);
    }

    /// Takes back what an ask set in motion. A child is sent a cancel with `reason`: ahead of its start if it
    /// is started in this turn.
    pub(crate) fn take_back(&mut self, who: &Identity, id: EventId, ask: &OpenAsk, reason: &str) {
        match ask.family {
            Family::Activity => {
                self.activities.remove(&id);
                self.retries.remove(&id);
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
                let instance = build_child_instance_id(&who.instance, &ask.child);
                let cancel = WorkItem::CancelInstance { instance, reason: reason.to_owned() };
                if self.outgoing.contains_key(&id) {
                    self.cancelled_starts.insert(id, cancel);
                } else {
                    self.replies.push(cancel);
                }
            }
            Family::Wait | Family::Dequeue | Family::Prune => {}
        }
    }

    pub(crate) fn reply(&mut self, item: WorkItem) {
        self.replies.push(item);
    }

    /// Sends an answer to a parent.
    pub(crate) fn answer(&mut self, parent: ParentLink, answer: Result<String, ErrorDetails>) {
        if parent.execution_id.is_none() {
            self.unaddressed.push(self.replies.len());
        }
        self.replies.push(parent.told(answer));
    }

    pub(crate) fn into_items(mut self, who: &Identity) -> Items {
        self.cancelled_activities.sort_unstable();
        self.removed_timers.sort_unstable();
        let mut cancelled_starts = self.cancelled_starts;
        let mut orchestrator: Vec<WorkItem> = self
            .outgoing
            .into_iter()
            .flat_map(|(id, item)| cancelled_starts.remove(&id).into_iter().chain(Some(*item)))
            .collect();
        let before = orchestrator.len();
        orchestrator.extend(self.replies);
        Items {
            worker: self.activities.into_values().map(|item| *item).collect(),
            retries: self.retries.into_iter().map(|(id, step)| Retry { event_id: id.get(), step }).collect(),
            orchestrator,
            unaddressed: self.unaddressed.into_iter().map(|place| before.saturating_add(place)).collect(),
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
    pub(crate) retries: Vec<Retry>,
    pub(crate) orchestrator: Vec<WorkItem>,
    pub(crate) unaddressed: Vec<usize>,
    pub(crate) cancelled_activities: Vec<ScheduledActivityIdentifier>,
    pub(crate) removed_timers: Vec<u64>,
}
