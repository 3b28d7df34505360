//! Rows that cannot be read: tried again, ever later, and then put out of the way.

use std::time::Duration;

use abide_model::{ErrorDetails, PoisonMessageType, Timestamp, WorkItem};
use abide_provider::Lane;

use crate::state::{DeadLetter, State, Work};

/// How often a row is tried.
const ATTEMPTS_MAX: u32 = 10;

const LONGEST_PAUSE: Duration = Duration::from_secs(60);

enum Next {
    HiddenUntil(Timestamp),
    DeadLetter,
}

impl State {
    /// Counts an attempt for a message that cannot be read.
    pub(crate) fn set_message_aside(&mut self, number: u64, now: Timestamp) {
        let Some(message) = self.messages.get_mut(&number) else {
            return;
        };
        message.count_attempt();
        match after(message.attempts, now) {
            Next::HiddenUntil(time) => message.visible_at = Some(time),
            Next::DeadLetter => {
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
        match after(work.attempts, now) {
            Next::HiddenUntil(time) => work.visible_at = Some(time),
            Next::DeadLetter => {
                let (completion, text) = (poison(work), work.item.text());
                let mailbox = work.activity.instance.clone();
                self.work.remove(&number);
                self.tell_of_completion(completion);
                self.dead_letters.push(DeadLetter { lane: Lane::Work, number, mailbox, text });
            }
        }
    }
}

fn after(attempts: u32, now: Timestamp) -> Next {
    if attempts > ATTEMPTS_MAX {
        return Next::DeadLetter;
    }
    let seconds = 1_u64.checked_shl(attempts.saturating_sub(1)).unwrap_or(u64::MAX);
    Next::HiddenUntil(now.saturating_add(Duration::from_secs(seconds).min(LONGEST_PAUSE)))
}

fn poison(work: &Work) -> WorkItem {
    let activity = &work.activity;
    WorkItem::ActivityFailed {
        instance: activity.instance.clone(),
        execution_id: activity.execution_id,
        id: activity.activity_id,
        details: ErrorDetails::Poison {
            attempt_count: work.attempts,
            max_attempts: ATTEMPTS_MAX,
            message_type: PoisonMessageType::Activity {
                instance: activity.instance.clone(),
                execution_id: activity.execution_id,
                activity_name: "unknown".to_owned(),
                activity_id: activity.activity_id,
            },
            message: "the stored work item could not be read".to_owned(),
        },
    }
}
