//! Leasing instances.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use abide_model::{ExecutionStatus, WorkItem};
use abide_provider::rows::Starter;
use abide_provider::{
    BATCH_BYTES, BATCH_MESSAGES, InstanceLease, LEASE_BYTES, Lane, LeaseInstances, Message, MessageId,
    Operation, ParentLink, Position, StoreError,
};
use rusqlite::{Row, params};

use super::Tx;
use super::mailbox::{ANY_START, CONTINUE, Held, MailboxRow, format_batch};
use super::route::InstanceFilter;
use crate::encode::{column, number};
use crate::error::Failure;
use crate::statements::Sql;
use crate::token::{MailboxToken, WorkToken};

/// A visible message, as stored.
struct StoredMessage {
    no: i64,
    attempts: i64,
    size: usize,
    item: Option<WorkItem>,
}

impl StoredMessage {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = row.get_ref(2)?;
        let bytes = text.as_bytes().unwrap_or_default();
        Ok(Self {
            no: row.get(0)?,
            attempts: row.get(1)?,
            size: bytes.len(),
            item: serde_json::from_slice(bytes).ok(),
        })
    }
}

impl Tx<'_, '_> {
    /// Leases up to `request.limit` instances, and none further once their messages have `LEASE_BYTES`.
    pub(crate) fn lease_instances(&self, request: &LeaseInstances) -> rusqlite::Result<Vec<InstanceLease>> {
        let mut leases = Vec::new();
        let (mut rejected, mut bytes) = (0, 0);
        let mut filter = InstanceFilter::of(request);
        while leases.len() < request.limit && bytes < LEASE_BYTES {
            let wanted = request.limit - leases.len();
            let candidates = self.ready_mailboxes(&filter, wanted)?;
            if candidates.is_empty() {
                break;
            }
            let before = leases.len();
            let mut has_suspect = false;
            for mailbox in candidates {
                if bytes >= LEASE_BYTES {
                    break;
                }
                if has_suspect && self.route(mailbox.route)?.is_suspect {
                    continue;
                }
                let Some((lease, size)) = self.lease_mailbox(&mailbox, request)? else { continue };
                if request.serving.is_some() && lease.suspicion().is_suspect() {
                    filter.take_no_suspect();
                    has_suspect = true;
                }
                bytes += size;
                leases.push(lease);
            }
            // What is not leased was taken out of the queue, so this ends; the bound is for a store gone wrong.
            rejected = if leases.len() == before { rejected + 1 } else { 0 };
            if rejected > BATCH_MESSAGES {
                break;
            }
        }
        Ok(leases)
    }

    /// The instances that can be leased and that the call takes, oldest mail first.
    fn ready_mailboxes(&self, filter: &InstanceFilter, limit: usize) -> rusqlite::Result<Vec<MailboxRow>> {
        let routes = self.ready_routes(filter)?;
        let shares = self.shares(&routes, limit, Sql::ReadyNumbers)?;
        let mut found = Vec::new();
        for (route, rows) in &shares {
            found.extend(self.sql.rows(Sql::ReadyMailboxes, [*route, *rows], MailboxRow::read)?);
        }
        if shares.len() > 1 {
            found.sort_by_key(|mailbox| mailbox.ready);
        }
        Ok(found)
    }

    /// How many rows of each route are among the oldest so many of all. One route has them all; of several the numbers
    /// are compared first, so that no row is read in vain.
    pub(crate) fn shares(
        &self,
        routes: &[i64],
        limit: usize,
        numbers: Sql,
    ) -> rusqlite::Result<Vec<(i64, i64)>> {
        let rows = i64::try_from(limit).unwrap_or(i64::MAX);
        if let [route] = routes {
            return Ok(vec![(*route, rows)]);
        }
        let mut all: Vec<(i64, i64)> = Vec::new();
        for route in routes {
            let of_route = self.sql.rows(numbers, [*route, rows], |row| row.get::<_, i64>(0))?;
            all.extend(of_route.into_iter().map(|number| (number, *route)));
        }
        all.sort_unstable();
        all.truncate(limit);
        let mut shares: BTreeMap<i64, i64> = BTreeMap::new();
        for (_, route) in all {
            *shares.entry(route).or_default() += 1;
        }
        Ok(shares.into_iter().collect())
    }

    /// Leases one instance, and says how many bytes its messages have; or nothing if none can be handed out.
    fn lease_mailbox(
        &self,
        mailbox: &MailboxRow,
        request: &LeaseInstances,
    ) -> rusqlite::Result<Option<(InstanceLease, usize)>> {
        let Some((messages, size)) = self.take_batch(mailbox)? else {
            if let Some(held) = self.held(mailbox.no)? {
                self.release(&held)?;
            }
            return Ok(None);
        };
        let refused = if mailbox.flags.has_block { self.block_of(mailbox.no)? } else { None };
        let nonce = self.nonce();
        let batch = format_batch(messages.iter().map(|message| column(message.id.0)));
        let token = MailboxToken { mailbox: mailbox.no, nonce };
        let refused = refused.map(|row| Box::new(row.told()));
        let lease = InstanceLease { refused, ..self.describe_lease(mailbox, token, messages) };
        let counts = request.serving.is_none() || !lease.suspicion().is_suspect();
        self.sql.execute(
            Sql::LeaseMailbox,
            params![mailbox.no, nonce, self.after(request.lease_for), self.owner, batch, counts],
        )?;
        Ok(Some((lease, size)))
    }

    fn describe_lease(
        &self,
        mailbox: &MailboxRow,
        token: MailboxToken,
        messages: Vec<Message>,
    ) -> InstanceLease {
        let starter = if mailbox.is_instance() {
            None
        } else {
            messages.iter().find_map(|message| Starter::of(&message.item))
        };
        let (name, version, parent) = match starter {
            Some(starter) => (starter.orchestration_name, starter.orchestration_version, starter.parent),
            None => (mailbox.name.clone(), mailbox.version.clone(), parent_of(mailbox)),
        };
        InstanceLease {
            instance: mailbox.id.clone(),
            token: token.to_string(),
            attempt: messages.iter().map(|message| message.attempt).max().unwrap_or(1),
            store_time: Some(self.time()),
            store_time_slack: Duration::ZERO,
            position: Position {
                incarnation: number(mailbox.no),
                execution_id: number(mailbox.execution),
                last_event_id: number(mailbox.last_event),
            },
            status: mailbox.leased_status(),
            orchestration_name: name,
            orchestration_version: version,
            parent,
            messages,
            refused: None,
            preloaded: None,
        }
    }

    /// The messages to hand out, and their size: what starts it first, then in order. Unreadable ones are set aside.
    fn take_batch(&self, mailbox: &MailboxRow) -> rusqlite::Result<Option<(Vec<Message>, usize)>> {
        let start = match (mailbox.is_instance(), mailbox.status) {
            (false, _) => self.take_start(mailbox, ANY_START)?,
            (true, Some(ExecutionStatus::ContinuedAsNew)) => self.take_start(mailbox, CONTINUE)?,
            (true, _) => None,
        };
        if start.is_none() && !mailbox.is_instance() {
            return Ok(None);
        }
        let start_size = start.as_ref().map_or(0, |start| start.size);
        let ahead: Vec<Message> = start.and_then(StoredMessage::hand_out).into_iter().collect();
        let starts = ahead.len();
        let (mut batch, mut size) = self.fill_batch(mailbox, ahead, start_size)?;
        let is_cut = batch.len() >= BATCH_MESSAGES || size >= BATCH_BYTES;
        if is_cut {
            let last = batch.iter().skip(starts).map(|message| message.id.0).max().unwrap_or_default();
            // Without this the cancel waits until all mail before it is read, which a blocked instance never does.
            if let Some(cancel) = self.take_cancel_behind(mailbox, last)? {
                let ahead_size = start_size + cancel.size;
                batch.truncate(starts);
                batch.extend(cancel.hand_out());
                (batch, size) = self.fill_batch(mailbox, batch, ahead_size)?;
            }
        }
        Ok(if batch.is_empty() { None } else { Some((batch, size)) })
    }

    /// Fills a batch with visible messages, and returns it with its size. Those in it come first. Unreadable ones are
    /// set aside.
    fn fill_batch(
        &self,
        mailbox: &MailboxRow,
        mut batch: Vec<Message>,
        mut size: usize,
    ) -> rusqlite::Result<(Vec<Message>, usize)> {
        let ahead: Vec<i64> = batch.iter().map(|message| column(message.id.0)).collect();
        let mut unreadable = Vec::new();
        self.sql.rows_while(Sql::VisibleMessages, [mailbox.no], |row| {
            if batch.len() >= BATCH_MESSAGES || size >= BATCH_BYTES {
                return Ok(ControlFlow::Break(()));
            }
            let message = StoredMessage::read(row)?;
            if ahead.contains(&message.no) {
                return Ok(ControlFlow::Continue(()));
            }
            let (no, attempts, bytes) = (message.no, message.attempts, message.size);
            match message.hand_out() {
                Some(message) => {
                    size += bytes;
                    batch.push(message);
                }
                None => unreadable.push((no, attempts)),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for (no, attempts) in unreadable {
            self.set_message_aside((mailbox.no, &mailbox.id), no, attempts)?;
        }
        Ok((batch, size))
    }

    /// The lowest visible cancel behind a message that can be read.
    fn take_cancel_behind(&self, mailbox: &MailboxRow, last: u64) -> rusqlite::Result<Option<StoredMessage>> {
        loop {
            let found =
                self.sql.row(Sql::CancelBehind, params![mailbox.no, column(last)], StoredMessage::read)?;
            match found {
                Some(message) if message.item.is_none() => {
                    self.set_message_aside((mailbox.no, &mailbox.id), message.no, message.attempts)?;
                }
                found => return Ok(found),
            }
        }
    }

    /// The lowest message of at least this class that starts an execution and can be read.
    fn take_start(&self, mailbox: &MailboxRow, class: i64) -> rusqlite::Result<Option<StoredMessage>> {
        loop {
            let found = self.sql.row(Sql::FirstStart, [mailbox.no, class], StoredMessage::read)?;
            match found {
                Some(message) if message.item.is_none() => {
                    self.set_message_aside((mailbox.no, &mailbox.id), message.no, message.attempts)?;
                }
                found => return Ok(found),
            }
        }
    }

    /// The mailbox that a token holds, or that the lease is lost.
    pub(crate) fn leased_mailbox(&self, token: &str, operation: Operation) -> Result<Held, Failure> {
        let lost = || Failure::Refused(StoreError::lease_lost(operation));
        let token = MailboxToken::parse(token).ok_or_else(lost)?;
        let mailbox = self.held(token.mailbox)?.ok_or_else(lost)?;
        match mailbox.valid_lease(self.now) {
            Some(lease) if lease.nonce == token.nonce => Ok(mailbox),
            Some(_) | None => Err(lost()),
        }
    }

    pub(crate) fn renew_instance(&self, token: &str, extend_for: Duration) -> Result<(), Failure> {
        let mailbox = self.leased_mailbox(token, Operation::RenewOrchestrationItemLock)?;
        self.sql.execute(Sql::RenewMailbox, [mailbox.no, self.after(extend_for)])?;
        Ok(())
    }

    /// The code of a suspect is about to run: from now on its lease counts.
    pub(crate) fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), Failure> {
        match lane {
            Lane::Instances => {
                let mailbox = self.leased_mailbox(token, Operation::BeginSuspect)?;
                self.sql.execute(Sql::BeginMailbox, [mailbox.no])?;
            }
            Lane::Work => {
                let lost = || Failure::Refused(StoreError::lease_lost(Operation::BeginSuspect));
                let token = WorkToken::parse(token).ok_or_else(lost)?;
                let work = self.held_work(token)?.ok_or_else(lost)?;
                if !work.lease_counts {
                    self.sql.execute(Sql::BeginWork, token.key.columns())?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn abandon_instance(&self, token: &str, abandon: &Abandon) -> Result<(), Failure> {
        let mailbox = self.leased_mailbox(token, Operation::AbandonOrchestrationItem)?;
        let hidden_until = abandon.hidden_until(self);
        for message in mailbox.lease.iter().flat_map(|lease| &lease.batch) {
            match abandon.attempt {
                Attempt::Counts => self.sql.execute(Sql::CountAttempt, [mailbox.no, *message])?,
                Attempt::GivenBack => 0,
            };
            if hidden_until > 0 {
                self.sql.execute(Sql::HideMessage, [mailbox.no, *message, hidden_until])?;
            }
        }
        self.release(&mailbox)?;
        Ok(())
    }
}

impl StoredMessage {
    fn hand_out(self) -> Option<Message> {
        let attempt = u32::try_from(self.attempts + 1).unwrap_or(u32::MAX);
        self.item.map(|item| Message { id: MessageId(number(self.no)), attempt, item })
    }
}

/// How a lease is given back.
#[derive(Debug, Clone)]
pub(crate) struct Abandon {
    pub(crate) delay: Option<Duration>,
    pub(crate) attempt: Attempt,
}

/// Whether a lease that is given back counts as an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Counts,
    GivenBack,
}

impl Attempt {
    /// The frozen signatures say it with a flag.
    #[expect(clippy::fn_params_excessive_bools, reason = "this is where the flag becomes a word")]
    pub(crate) const fn from_flag(ignore_attempt: bool) -> Self {
        if ignore_attempt { Self::GivenBack } else { Self::Counts }
    }
}

impl Abandon {
    /// Zero is not hidden at all.
    pub(crate) fn hidden_until(&self, tx: &Tx<'_, '_>) -> i64 {
        self.delay.filter(|delay| !delay.is_zero()).map_or(0, |delay| tx.after(delay))
    }
}

fn parent_of(mailbox: &MailboxRow) -> Option<ParentLink> {
    mailbox.parent.as_ref().map(|parent| ParentLink {
        instance: parent.instance.clone(),
        execution_id: parent.execution.map(number),
        event_id: parent.event.map(number),
    })
}
