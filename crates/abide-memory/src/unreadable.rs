//! Rows that cannot be read: tried again, ever later, and then put out of the way.

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::Lane;
use abide_provider::rows::MessageClass;
use abide_provider::unreadable::{Next, after, lost_start, poison};

use crate::state::{DeadLetter, Instance, Message, State};

impl State {
    /// Counts an attempt for a message that cannot be read.
    pub(crate) fn set_message_aside(&mut self, number: u64, now: Timestamp) {
        let Some(message) = self.messages.get_mut(&number) else {
            return;
        };
        message.count_attempt();
        match after(message.attempts) {
            Next::Hide(pause) => message.visible_at = Some(now.saturating_add(pause)),
            Next::PutAside => {
                let Some(message) = self.messages.remove(&number) else { return };
                self.tell_parent_of(&message, now);
                self.settle_waiting(&message.mailbox, now);
                let (mailbox, text) = (message.mailbox, message.item.text());
                self.dead_letters.push(DeadLetter { lane: Lane::Instances, number, mailbox, text });
            }
        }
    }

    /// Tells whoever waits for the execution that a message would have started. Nobody else would.
    fn tell_parent_of(&mut self, message: &Message, now: Timestamp) {
        let child = &message.mailbox;
        let of_instance = self.instance(child).and_then(|instance| instance.parent.as_ref());
        let link = match message.class {
            // A second start of a child that has started changes nothing for its parent.
            MessageClass::Start => message.parent.as_ref().filter(|link| of_instance != Some(*link)),
            MessageClass::ContinueAsNew => {
                let continues = |instance: &&Instance| instance.status() == ExecutionStatus::ContinuedAsNew;
                of_instance.filter(|_| self.instance(child).as_ref().is_some_and(continues))
            }
            MessageClass::Queue
            | MessageClass::Timer { .. }
            | MessageClass::Cancel
            | MessageClass::Answer
            | MessageClass::Other => None,
        };
        let current = link.and_then(|link| self.instance(&link.instance)).map(|parent| parent.current);
        if let (Some(link), Some(current)) = (link, current)
            && let Some(told) = lost_start(child, link, current, message.attempts)
        {
            self.tell_of_completion(told, now);
        }
    }

    /// Counts an attempt for work that cannot be read. Its instance waits for it, and is told in the end.
    pub(crate) fn set_work_aside(&mut self, number: u64, now: Timestamp) {
        let Some(work) = self.work.get_mut(&number) else {
            return;
        };
        work.attempts = work.attempts.saturating_add(1);
        work.lease = None;
        match after(work.attempts) {
            Next::Hide(pause) => work.visible_at = Some(now.saturating_add(pause)),
            Next::PutAside => {
                let (completion, text) = (poison(&work.activity, work.attempts), work.item.text());
                let mailbox = work.activity.instance.clone();
                self.work.remove(&number);
                self.tell_of_completion(completion, now);
                self.dead_letters.push(DeadLetter { lane: Lane::Work, number, mailbox, text });
            }
        }
    }
}
