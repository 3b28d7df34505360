//! Enqueueing messages.

use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::rows::MessageClass;
use abide_provider::{AdminRefusal, InstanceRoute, MailOutcome, Operation, RequestKey, Start, Suspicion};
use rusqlite::params;

use super::Tx;
use super::mailbox::{Brief, Existence};
use crate::encode::{EncodedMessage, column, visible_column};
use crate::error::Failure;
use crate::statements::Sql;

/// How long a request key is remembered.
const REQUESTS_LAST: Duration = Duration::from_secs(3600);

impl Tx<'_, '_> {
    /// Enqueues a message that shows after a delay.
    pub(crate) fn enqueue_delayed(
        &self,
        message: &EncodedMessage,
        delay: Option<Duration>,
    ) -> rusqlite::Result<MailOutcome> {
        let shown_at = delay.filter(|delay| !delay.is_zero()).map(|delay| self.time().saturating_add(delay));
        self.enqueue_at(message, message.visible_at.max(shown_at))
    }

    /// Enqueues a message for an instance, which need not exist.
    pub(crate) fn enqueue(&self, message: &EncodedMessage) -> rusqlite::Result<()> {
        self.enqueue_at(message, message.visible_at).map(drop)
    }

    fn enqueue_at(
        &self,
        message: &EncodedMessage,
        visible_at: Option<Timestamp>,
    ) -> rusqlite::Result<MailOutcome> {
        let mailbox = match self.brief_by_id(&message.to)? {
            None if message.class.needs_instance() => return Ok(MailOutcome::Dropped),
            None => self.brief_or_new(&message.to)?,
            Some(mailbox) => mailbox,
        };
        self.deliver(mailbox, message, visible_column(visible_at))
    }

    /// Puts a message into a mailbox, unless only an instance can have asked for it, and there is none.
    pub(crate) fn deliver(
        &self,
        mut mailbox: Brief,
        message: &EncodedMessage,
        visible_at: i64,
    ) -> rusqlite::Result<MailOutcome> {
        let exists = mailbox.existence == Existence::Instance;
        if message.class.needs_instance() && !exists && !self.has_start(mailbox.no)? {
            return Ok(MailOutcome::Dropped);
        }
        let visible_at = self.still_hidden(visible_at);
        let expires_at = if exists { None } else { self.expiry_of(&mut mailbox, message, visible_at)? };
        let number = self.insert_message_at(mailbox.no, message, visible_at, expires_at)?;
        self.after_enqueue(mailbox, message, Arrived { visible_at, number })?;
        Ok(if expires_at.is_some() { MailOutcome::WaitsForStart } else { MailOutcome::Kept })
    }

    /// Enqueues a message unless the same request was seen before.
    pub(crate) fn enqueue_once(
        &self,
        message: &EncodedMessage,
        delay: Option<Duration>,
        key: RequestKey,
    ) -> Result<MailOutcome, Failure> {
        let forgotten = self.forgotten_requests();
        if self.sql.row(Sql::AnyForgottenRequest, [forgotten], |_| Ok(()))?.is_some() {
            self.sql.execute(Sql::ForgetRequests, [forgotten])?;
        }
        if self.sql.execute(Sql::RememberRequest, params![key.0, self.now, forgotten])? > 0 {
            return Ok(self.enqueue_delayed(message, delay)?);
        }
        Ok(MailOutcome::Kept)
    }

    /// Enqueues what starts an instance, unless there is one, or one is about to be.
    pub(crate) fn start_once(
        &self,
        message: &EncodedMessage,
        delay: Option<Duration>,
        key: RequestKey,
    ) -> Result<Start, Failure> {
        // A key that was seen belongs to a start that was sent: what is there now may be its own work.
        let seen = self.sql.row(Sql::SeenRequest, params![key.0, self.forgotten_requests()], |_| Ok(()))?;
        if seen.is_some() {
            return Ok(Start::Created);
        }
        if let Some(mailbox) = self.brief_by_id(&message.to)?
            && (mailbox.existence == Existence::Instance || self.has_start(mailbox.no)?)
        {
            return Ok(Start::Exists);
        }
        self.enqueue_once(message, delay, key).map(|_| Start::Created)
    }

    /// Enqueues a message if there is such an instance, or one is about to be.
    pub(crate) fn enqueue_existing(
        &self,
        message: &EncodedMessage,
        delay: Option<Duration>,
        key: RequestKey,
    ) -> Result<(), Failure> {
        // A key that was seen belongs to a message that was sent.
        let seen = self.sql.row(Sql::SeenRequest, params![key.0, self.forgotten_requests()], |_| Ok(()))?;
        let exists = seen.is_some()
            || match self.brief_by_id(&message.to)? {
                Some(mailbox) => mailbox.existence == Existence::Instance || self.has_start(mailbox.no)?,
                None => false,
            };
        if !exists {
            let refusal = AdminRefusal::not_found(message.to.as_str());
            return Err(Failure::Refused(refusal.store_error(Operation::EnqueueExisting)));
        }
        self.enqueue_once(message, delay, key).map(drop)
    }

    /// Requests that were seen then or earlier are not remembered any more.
    fn forgotten_requests(&self) -> i64 {
        let lasting = u64::try_from(REQUESTS_LAST.as_millis()).unwrap_or(u64::MAX);
        self.now.saturating_sub(column(lasting))
    }

    /// Writes the row, and nothing about readiness.
    pub(crate) fn insert_message(&self, mailbox: i64, message: &EncodedMessage) -> rusqlite::Result<i64> {
        self.insert_message_at(mailbox, message, visible_column(message.visible_at), None)
    }

    fn insert_message_at(
        &self,
        mailbox: i64,
        message: &EncodedMessage,
        visible_at: i64,
        expires_at: Option<i64>,
    ) -> rusqlite::Result<i64> {
        let visible_at = self.still_hidden(visible_at);
        let number = self.next_number();
        let (class, mut execution, mut event) = class_columns(message.class);
        let parent = message.parent.as_ref();
        if let Some(link) = parent {
            (execution, event) = (link.execution_id.map(column), link.event_id.map(column));
        }
        let parent = parent.map(|link| &link.instance);
        self.sql.execute(
            Sql::InsertMessage,
            params![mailbox, visible_at, number, class, execution, event, parent, message.json, expires_at],
        )?;
        Ok(number)
    }

    /// A leased mailbox is looked at again when it is released; any other must show what it got.
    fn after_enqueue(
        &self,
        mailbox: Brief,
        message: &EncodedMessage,
        arrived: Arrived,
    ) -> rusqlite::Result<()> {
        if mailbox.flags.has_block && arrived.visible_at == 0 {
            self.start_retry_clock(mailbox.no)?;
        }
        if may_change_route(mailbox, message) {
            return self.reroute(mailbox, message);
        }
        if mailbox.leased {
            return Ok(());
        }
        if arrived.visible_at > 0 {
            if mailbox.due_at.is_none_or(|due_at| arrived.visible_at < due_at) {
                self.sql.execute(Sql::SetDue, params![mailbox.no, arrived.visible_at])?;
            }
        } else if !mailbox.ready {
            let (ready, route) = match (mailbox.existence, &message.starter) {
                (Existence::Instance, _) => (Some(arrived.number), mailbox.route),
                (Existence::MailboxOnly, Some(starter)) => self.ready_to_start(mailbox, starter)?,
                (Existence::MailboxOnly, None) => return Ok(()),
            };
            self.sql.execute(Sql::SetReady, params![mailbox.no, ready, route])?;
        }
        Ok(())
    }

    /// Looks at the whole mailbox again.
    fn reroute(&self, mailbox: Brief, message: &EncodedMessage) -> rusqlite::Result<()> {
        let Some(mut held) = self.held(mailbox.no)? else { return Ok(()) };
        held.flags.may_have_cancel |= message.class == MessageClass::Cancel;
        if held.lease.is_none() {
            return self.release(&held);
        }
        if held.flags != mailbox.flags {
            self.sql.execute(Sql::SetFlags, [held.no, held.flags.column()])?;
        }
        Ok(())
    }

    /// A name gets the first message that starts it: its lowest message, and its route.
    fn ready_to_start(
        &self,
        mailbox: Brief,
        (orchestration, version): &(String, String),
    ) -> rusqlite::Result<(Option<i64>, i64)> {
        let readiness = self.readiness(mailbox.no, Existence::MailboxOnly)?;
        let attempts = u32::try_from(readiness.attempts).unwrap_or(u32::MAX);
        let route = self.intern(InstanceRoute {
            orchestration: orchestration.clone(),
            version: version.clone(),
            is_suspect: Suspicion::after(attempts).is_suspect(),
            ..InstanceRoute::default()
        })?;
        Ok((readiness.ready, route))
    }

    /// What is due already is visible at once.
    fn still_hidden(&self, visible_at: i64) -> i64 {
        if visible_at <= self.now { 0 } else { visible_at }
    }

    pub(crate) fn has_start(&self, mailbox: i64) -> rusqlite::Result<bool> {
        Ok(self.sql.row(Sql::HasStart, [mailbox], |_| Ok(()))?.is_some())
    }
}

/// Whether a message may change who can lease a mailbox, other than by making it ready. Few do.
fn may_change_route(mailbox: Brief, message: &EncodedMessage) -> bool {
    let starts_again = message.class.starts() && (mailbox.ready || mailbox.existence == Existence::Instance);
    message.class == MessageClass::Cancel || !mailbox.flags.are_none() || (starts_again && !mailbox.leased)
}

#[derive(Clone, Copy)]
struct Arrived {
    visible_at: i64,
    number: i64,
}

fn class_columns(class: MessageClass) -> (i64, Option<i64>, Option<i64>) {
    match class {
        MessageClass::Other => (0, None, None),
        MessageClass::Cancel => (5, None, None),
        MessageClass::Start => (1, None, None),
        MessageClass::ContinueAsNew => (2, None, None),
        MessageClass::Queue => (3, None, None),
        MessageClass::Answer => (6, None, None),
        MessageClass::Timer { execution_id, event_id } => {
            (4, Some(column(execution_id)), Some(column(event_id)))
        }
    }
}
