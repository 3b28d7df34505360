//! Which messages a lease hands out.

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::rows::MessageClass;
use abide_provider::{BATCH_BYTES, BATCH_MESSAGES, Message, MessageId};

use crate::state::{Mailbox, State};
use crate::stored::{Payload as _, Stored};

/// What must come first, because the rest makes no sense before it.
#[derive(Debug, Clone, Copy)]
enum Opening {
    /// There is no instance: nothing without a start.
    AnyStart,
    /// The current execution made way for the next.
    ContinueAsNew,
    None,
}

impl Opening {
    fn of(mailbox: &Mailbox) -> Self {
        match mailbox.current_execution().map(|execution| execution.status) {
            None => Self::AnyStart,
            Some(ExecutionStatus::ContinuedAsNew) => Self::ContinueAsNew,
            Some(ExecutionStatus::Running | ExecutionStatus::Completed | ExecutionStatus::Failed) => {
                Self::None
            }
        }
    }

    fn is(self, class: MessageClass) -> bool {
        match self {
            Self::AnyStart => class.starts(),
            Self::ContinueAsNew => class == MessageClass::ContinueAsNew,
            Self::None => false,
        }
    }
}

impl State {
    /// The messages to hand out, and their size. What cannot be read is set aside on the way; if then nothing is left to hand out, or
    /// nothing that starts what does not exist, there are none.
    pub(crate) fn gather_batch(&mut self, name: &str, now: Timestamp) -> (Vec<Message>, usize) {
        let Some(opening) = self.mailboxes.get(name).map(Opening::of) else {
            return (Vec::new(), 0);
        };
        let first = self.first_readable(name, opening, now);
        match (opening, &first) {
            (Opening::AnyStart, None) => return (Vec::new(), 0),
            (Opening::AnyStart, Some(_)) | (Opening::ContinueAsNew | Opening::None, _) => {}
        }
        let mut ahead: Vec<u64> = first.into_iter().collect();
        let (batch, bytes) = self.fill_batch(name, &ahead, now);
        match self.cancel_behind(name, first, &batch, now) {
            // Without this the cancel waits until all mail before it is read, which a blocked instance never does.
            Some(cancel) => {
                ahead.push(cancel);
                self.fill_batch(name, &ahead, now)
            }
            None => (batch, bytes),
        }
    }

    /// The lowest cancel that a batch has no room for. What starts an execution may have a higher number.
    fn cancel_behind(
        &mut self,
        name: &str,
        first: Option<u64>,
        batch: &[Message],
        now: Timestamp,
    ) -> Option<u64> {
        let others = batch.iter().map(|message| message.id.0).filter(|number| Some(*number) != first);
        let last = others.max().unwrap_or(0);
        let cancels: Vec<u64> = self
            .mail_of(name)
            .filter(|(number, message)| *number > last && message.is_visible(now))
            .filter(|(_, message)| message.class == MessageClass::Cancel)
            .map(|(number, _)| number)
            .collect();
        cancels.into_iter().find(|number| self.read_message(*number, now).is_some())
    }

    /// The messages to hand out, and their size. Those `ahead` come first, whatever their size.
    fn fill_batch(&mut self, name: &str, ahead: &[u64], now: Timestamp) -> (Vec<Message>, usize) {
        let mut batch = Vec::new();
        let mut bytes = 0;
        let visible: Vec<u64> = self.visible_mail(name, now).collect();
        let others = visible.into_iter().filter(|number| !ahead.contains(number));
        for number in ahead.iter().copied().chain(others) {
            let has_room = batch.len() < BATCH_MESSAGES && bytes < BATCH_BYTES;
            if !has_room && !ahead.contains(&number) {
                break;
            }
            if let Some(message) = self.read_message(number, now) {
                bytes = bytes.saturating_add(message.item.json().len());
                batch.push(message);
            }
        }
        (batch, bytes)
    }

    fn first_readable(&mut self, name: &str, opening: Opening, now: Timestamp) -> Option<u64> {
        let openings: Vec<u64> = self
            .mail_of(name)
            .filter(|(_, message)| message.is_visible(now) && opening.is(message.class))
            .map(|(number, _)| number)
            .collect();
        openings.into_iter().find(|number| self.read_message(*number, now).is_some())
    }

    fn visible_mail(&self, name: &str, now: Timestamp) -> impl Iterator<Item = u64> {
        self.mail_of(name).filter(move |(_, message)| message.is_visible(now)).map(|(number, _)| number)
    }

    /// The message as a lease reports it, or nothing if it cannot be read.
    fn read_message(&mut self, number: u64, now: Timestamp) -> Option<Message> {
        let message = self.messages.get(&number)?;
        match &message.item {
            Stored::Readable(item) => Some(Message {
                id: MessageId(number),
                attempt: message.attempts.saturating_add(1),
                item: item.clone(),
            }),
            Stored::Unreadable(_) => {
                self.set_message_aside(number, now);
                None
            }
        }
    }
}
