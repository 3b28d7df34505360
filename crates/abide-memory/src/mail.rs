//! Enqueueing messages.

use std::time::Duration;

use abide_model::{Timestamp, WorkItem};
use abide_provider::rows::MessageRow;
use abide_provider::{AdminRefusal, Enqueue, MailOutcome, Rejection, Start};

use crate::refusal::Refusal;
use crate::state::{Message, State};
use crate::stored::Stored;

/// How long the key of a request is remembered.
pub(crate) const KEY_LIFETIME: Duration = Duration::from_secs(3_600);

impl State {
    pub(crate) fn enqueue(
        &mut self,
        item: WorkItem,
        delay: Option<Duration>,
        now: Timestamp,
    ) -> Result<MailOutcome, Refusal> {
        let row = MessageRow::of(item).map_err(|error| Refusal::invalid(&error))?;
        Ok(self.post(delayed(row, delay, now), now))
    }

    pub(crate) fn enqueue_once(&mut self, request: Enqueue, now: Timestamp) -> Result<MailOutcome, Refusal> {
        let Enqueue { item, delay, key } = request;
        let row = MessageRow::of(item).map_err(|error| Refusal::invalid(&error))?;
        self.requests.retain(|_, seen| is_remembered(*seen, now));
        if self.requests.contains_key(&key) {
            return Ok(MailOutcome::Kept);
        }
        self.requests.insert(key, now);
        Ok(self.post(delayed(row, delay, now), now))
    }

    /// Starts an instance, unless there is one, or one is about to be.
    pub(crate) fn start_once(&mut self, request: Enqueue, now: Timestamp) -> Result<Start, Refusal> {
        let WorkItem::StartOrchestration { instance, .. } = &request.item else {
            return Err(Refusal::invalid(&"only a StartOrchestration starts an instance"));
        };
        // A key that was seen belongs to a start that was sent: what is there now may be its own work.
        let is_repeated = self.requests.get(&request.key).is_some_and(|seen| is_remembered(*seen, now));
        if is_repeated {
            return Ok(Start::Created);
        }
        if self.is_instance(instance) || self.is_about_to_start(instance) {
            return Ok(Start::Exists);
        }
        self.enqueue_once(request, now).map(|_| Start::Created)
    }

    /// Enqueues a message if there is such an instance, or one is about to be.
    pub(crate) fn enqueue_existing(&mut self, request: Enqueue, now: Timestamp) -> Result<(), Refusal> {
        let row = MessageRow::of_existing(request.item.clone()).map_err(|error| Refusal::invalid(&error))?;
        // A key that was seen belongs to a message that was sent.
        let is_repeated = self.requests.get(&request.key).is_some_and(|seen| is_remembered(*seen, now));
        if !is_repeated && !self.is_instance(&row.to) && !self.is_about_to_start(&row.to) {
            let refusal = AdminRefusal::not_found(row.to);
            return Err(Refusal::Because(Rejection::NotFound, refusal.to_string()));
        }
        self.enqueue_once(request, now).map(drop)
    }

    /// Keeps a message, or drops one that only an instance that exists can have asked for.
    pub(crate) fn post(&mut self, row: MessageRow, now: Timestamp) -> MailOutcome {
        let is_dropped =
            row.class.needs_instance() && !self.is_instance(&row.to) && !self.is_about_to_start(&row.to);
        if is_dropped {
            return MailOutcome::Dropped;
        }
        self.keep(row, now)
    }

    pub(crate) fn is_about_to_start(&self, name: &str) -> bool {
        self.mail_of(name).any(|(_, message)| message.class.starts())
    }

    fn keep(&mut self, row: MessageRow, now: Timestamp) -> MailOutcome {
        let parent = row.parent_link();
        let MessageRow { to, visible_at, class, item } = row;
        self.mailbox_mut(&to);
        if visible_at.is_none() {
            let since = self.unseen_since(&to, now).unwrap_or(now);
            self.start_retry_clock(&to, since);
        }
        let number = self.next_number();
        let item = Stored::Readable(item);
        let (mailbox, expires_at) = (to.clone(), None);
        let message = Message { mailbox, class, visible_at, attempts: 0, expires_at, parent, item };
        self.messages.insert(number, message);
        self.something_may_be_leasable();
        self.settle_waiting(&to, now);
        if self.waiting_for_start.contains(&to) { MailOutcome::WaitsForStart } else { MailOutcome::Kept }
    }
}

fn delayed(row: MessageRow, delay: Option<Duration>, now: Timestamp) -> MessageRow {
    match hidden_until(delay, now) {
        None => row,
        Some(time) => row.hidden_until(time),
    }
}

/// A delay of zero is no delay.
pub(crate) fn hidden_until(delay: Option<Duration>, now: Timestamp) -> Option<Timestamp> {
    delay.filter(|delay| !delay.is_zero()).map(|delay| now.saturating_add(delay))
}

pub(crate) fn is_remembered(seen: Timestamp, now: Timestamp) -> bool {
    seen.saturating_add(KEY_LIFETIME) > now
}
