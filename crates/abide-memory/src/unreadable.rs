//! Rows that cannot be read: tried again, ever later, and then put out of the way.

use abide_model::Timestamp;
use abide_provider::Lane;
use abide_provider::unreadable::{Next, after, poison};

use crate::state::{DeadLetter, State};

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
                let (mailbox, text) = (message.mailbox.clone(), message.item.text());
                self.dead_letters.push(DeadLetter { lane: Lane::Instances, number, mailbox, text });
                self.messages.remove(&number);
            }
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
