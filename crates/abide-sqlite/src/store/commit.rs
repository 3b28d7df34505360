//! Committing a turn: the rows, in the order of `docs/spec/store.md`.

use std::collections::BTreeSet;

use abide_model::{ExecutionStatus, PruneResult};
use abide_provider::rows::{CustomStatus, InstanceRow, MessageClass, TimerRows};
use abide_provider::{
    Authority, CommitRows, Committed, Consumed, Operation, PRUNE_BATCH, Position, Rejection, StoreError,
};
use rusqlite::params;

use super::Tx;
use super::mailbox::{Existence, Held, MailboxRow, Parent, Readiness};
use super::routed::{Routed, Successor, Told};
use crate::encode::{EncodedTurn, column, number};
use crate::error::Failure;
use crate::statements::Sql;
use crate::token::WorkToken;

/// A turn to commit.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) operation: Operation,
    pub(crate) instance: Option<String>,
    pub(crate) authority: Authority,
    pub(crate) consumed: Consumed,
    pub(crate) turn: EncodedTurn,
}

/// What a turn that is written ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// A turn that somebody ran: the execution can be run, so its block is over.
    Turn,
    /// Nothing: past events are appended.
    Nothing,
}

impl Tx<'_, '_> {
    pub(crate) fn commit(&self, commit: &Commit) -> Result<Committed, Failure> {
        let pruned = match &commit.authority {
            Authority::Lease { token } => {
                let mailbox = self.leased_mailbox(token, commit.operation)?;
                check_addressee(&mailbox, commit)?;
                check_order(&mailbox, &commit.turn, commit.operation)?;
                self.consume_messages(&mailbox, &commit.consumed)?;
                self.write_turn(mailbox, &commit.turn, None, Ends::Turn)?
            }
            Authority::FinishedWork { token, expected } => {
                let (mailbox, token) = self.check_fused(token, *expected, commit)?;
                check_order(&mailbox, &commit.turn, commit.operation)?;
                self.consume_work(token)?;
                let known = unchanged_by(&commit.turn, &mailbox);
                self.write_turn(mailbox, &commit.turn, known, Ends::Turn)?
            }
        };
        Ok(Committed::with_pruned(pruned))
    }

    /// Appends without a lease.
    pub(crate) fn append(&self, instance: &str, turn: &EncodedTurn) -> Result<(), Failure> {
        let operation = Operation::AppendWithExecution;
        let no = self.brief_or_new(instance)?.no;
        let mailbox = self.held(no)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        check_order(&mailbox, turn, operation)?;
        let owner = self.owner_of(no)?;
        let lease = mailbox.lease.clone();
        self.write_turn(mailbox, turn, None, Ends::Nothing)?;
        // Appending past events does not end a turn that somebody is running.
        if let Some(lease) = lease {
            let batch = super::mailbox::format_batch(lease.batch.into_iter());
            self.sql.execute(
                Sql::LeaseMailbox,
                params![no, lease.nonce, lease.until, owner, batch, lease.counts],
            )?;
        }
        Ok(())
    }

    /// A fused step needs the activity's lease, and an instance that waits for nothing but this activity.
    fn check_fused(
        &self,
        token: &str,
        expected: Position,
        commit: &Commit,
    ) -> Result<(Held, WorkToken), Failure> {
        let operation = commit.operation;
        let lost = || Failure::Refused(StoreError::lease_lost(operation));
        let busy =
            |message: &str| Failure::Refused(StoreError::rejected(operation, Rejection::Busy, message));
        let token = WorkToken::parse(token).ok_or_else(lost)?;
        self.held_work(token)?.ok_or_else(lost)?;
        let mailbox = self.held(token.key.mailbox)?.ok_or_else(lost)?;
        check_addressee(&mailbox, commit)?;
        if mailbox.lease.is_some() {
            return Err(busy("the instance is leased: finish the activity, its turn will take it in"));
        }
        if position_of(&mailbox) != expected {
            return Err(busy("the instance has moved on: finish the activity, and read what is new"));
        }
        if mailbox.flags.waits_for_start {
            self.delete_expired(mailbox.no)?;
        }
        if mailbox.ready || self.has_due_mail(&mailbox)? {
            return Err(busy("the instance has mail: finish the activity, and take both in"));
        }
        Ok((mailbox, token))
    }

    /// Of an instance that is not leased its row says so. A name that is none yet may have mail that does not make it ready.
    fn has_due_mail(&self, mailbox: &Held) -> rusqlite::Result<bool> {
        let due_at = match mailbox.existence() {
            Existence::Instance => mailbox.due_at,
            Existence::MailboxOnly => self.sql.row(Sql::FirstMessage, [mailbox.no], |row| row.get(0))?,
        };
        Ok(due_at.is_some_and(|due_at| due_at <= self.now))
    }

    fn consume_messages(&self, mailbox: &Held, consumed: &Consumed) -> rusqlite::Result<()> {
        let named: Option<BTreeSet<i64>> = match consumed {
            Consumed::All => None,
            Consumed::These(these) => Some(these.iter().map(|id| column(id.0)).collect()),
        };
        for message in mailbox.lease.iter().flat_map(|lease| &lease.batch) {
            if named.as_ref().is_none_or(|named| named.contains(message)) {
                self.sql.execute(Sql::DeleteMessage, [mailbox.no, *message])?;
            }
        }
        Ok(())
    }

    /// Everything but the fence. Ends the lease; when the mailbox can be leased again is read, unless it is known. Says what was pruned.
    fn write_turn(
        &self,
        mut mailbox: Held,
        turn: &EncodedTurn,
        known: Option<Readiness>,
        ends: Ends,
    ) -> rusqlite::Result<Option<PruneResult>> {
        let rows = &turn.rows;
        let execution = column(rows.execution_id);
        let mut told = None;
        if turn.creates_instance || mailbox.execution > 0 {
            if is_seen(&mailbox, rows) {
                self.tell_changed(&mailbox.id);
            }
            if execution > mailbox.execution || says_something(&rows.instance) {
                told = self.describe(mailbox.no, turn)?;
            }
            self.append_events(&mut mailbox, turn)?;
            mailbox.execution = execution;
            mailbox.updated_at = self.now;
            mailbox.status = told.as_ref().map_or(mailbox.status, |told| told.status);
        }
        self.write_custom_status(mailbox.no, rows.instance.custom_status.clone())?;
        self.change_kv(mailbox.no, &rows.kv)?;
        let successor = self.enqueue_all(&mut mailbox, turn)?;
        self.remove_timers(mailbox.no, execution, &rows.timers)?;
        if mailbox.execution == 0 || mailbox.flags.waits_for_start {
            self.settle_waiting(&mut mailbox)?;
        }
        let prune = |options| self.prune(mailbox.no, mailbox.execution, options, PRUNE_BATCH);
        let pruned = rows.prune.as_ref().map(prune).transpose()?;
        let readiness = match known {
            Some(known) => known,
            None => self.readiness(mailbox.no, mailbox.existence())?,
        };
        if mailbox.flags.has_block && ends == Ends::Turn {
            self.heal(&mut mailbox, rows, &readiness)?;
        }
        let told = Told { instance: told.as_ref(), successor };
        let routed = self.routed(&mut mailbox, &told, readiness)?;
        self.progress(&mailbox, routed, rows.instance.waiting.as_deref())?;
        Ok(pruned)
    }

    fn append_events(&self, mailbox: &mut Held, turn: &EncodedTurn) -> rusqlite::Result<()> {
        let execution = column(turn.rows.execution_id);
        if execution > mailbox.execution {
            mailbox.last_event = 0;
        }
        if let Some(events) = &turn.events {
            mailbox.last_event = events.last;
            self.sql.execute(
                Sql::AppendTurn,
                params![mailbox.no, execution, events.first, events.last, events.length, events.json],
            )?;
        }
        Ok(())
    }

    /// Work first, then what was taken back, then messages. Says what starts the next execution.
    fn enqueue_all(&self, mailbox: &mut Held, turn: &EncodedTurn) -> rusqlite::Result<Option<Successor>> {
        let mut successor = None;
        for work in &turn.work {
            if work.instance == mailbox.id {
                self.insert_work(mailbox.no, work)?;
            } else {
                self.enqueue_work(work)?;
            }
        }
        self.revoke(&turn.rows.revoked)?;
        for message in &turn.messages {
            if message.to == mailbox.id && message.class == MessageClass::Cancel {
                mailbox.flags.may_have_cancel = true;
            }
            if message.to == mailbox.id && mailbox.execution > 0 {
                let number = self.insert_message(mailbox.no, message)?;
                if let (MessageClass::ContinueAsNew, Some(code)) = (message.class, &message.starter) {
                    successor.get_or_insert(Successor { number, code: code.clone() });
                }
            } else {
                self.enqueue(message)?;
            }
        }
        Ok(successor)
    }

    /// Says where the mailbox stands now, when it can be leased again, and by whom.
    fn progress(&self, mailbox: &Held, routed: Routed, waiting: Option<&str>) -> rusqlite::Result<()> {
        let Routed { ready, due_at, route } = routed;
        let (last_event, flags) = (mailbox.last_event, mailbox.flags.column());
        self.sql.execute(
            Sql::ProgressMailbox,
            params![mailbox.no, last_event, mailbox.updated_at, ready, due_at, route, flags, waiting],
        )?;
        Ok(())
    }

    /// Writes what a turn says about its instance and its execution.
    fn describe(&self, no: i64, turn: &EncodedTurn) -> rusqlite::Result<Option<MailboxRow>> {
        let Some(mut mailbox) = self.mailbox_by_no(no)? else { return Ok(None) };
        self.write_execution(&mut mailbox, turn)?;
        describe(&mut mailbox, &turn.rows.instance);
        self.save_instance(&mailbox)?;
        Ok(Some(mailbox))
    }

    fn write_execution(&self, mailbox: &mut MailboxRow, turn: &EncodedTurn) -> rusqlite::Result<()> {
        let execution = column(turn.rows.execution_id);
        if execution > mailbox.execution {
            self.sql.execute(Sql::CreateExecution, params![mailbox.no, execution, self.now])?;
            if execution > mailbox.execution.saturating_add(1) {
                self.sql.execute(Sql::BreakExecutions, [mailbox.no, execution])?;
            }
            if mailbox.execution == 0 {
                mailbox.created_at = self.now;
            }
            mailbox.execution = execution;
            mailbox.status = Some(ExecutionStatus::Running);
            mailbox.completed_at = None;
            mailbox.pin = String::new();
        }
        if let Some(pin) = &turn.rows.instance.pin {
            mailbox.pin = pin.to_string();
            self.sql.execute(Sql::PinExecution, params![mailbox.no, execution, mailbox.pin])?;
        }
        if let Some(status) = turn.rows.instance.status {
            mailbox.status = Some(status);
            let completed_at = status.is_terminal().then_some(self.now);
            mailbox.completed_at = status.is_end().then_some(self.now);
            self.sql.execute(
                Sql::EndExecution,
                params![mailbox.no, execution, status.as_str(), turn.rows.instance.output, completed_at],
            )?;
        }
        Ok(())
    }

    fn write_custom_status(&self, mailbox: i64, status: Option<CustomStatus>) -> rusqlite::Result<()> {
        if let Some(status) = status {
            self.sql.execute(Sql::SetCustomStatus, params![mailbox, status.into_value()])?;
        }
        Ok(())
    }

    fn save_instance(&self, mailbox: &MailboxRow) -> rusqlite::Result<()> {
        let parent = mailbox.parent.as_ref();
        self.sql.execute(
            Sql::SaveInstance,
            params![
                mailbox.no,
                mailbox.execution,
                mailbox.status.map_or("", ExecutionStatus::as_str),
                mailbox.pin,
                mailbox.name,
                mailbox.version,
                parent.map(|parent| &parent.instance),
                parent.and_then(|parent| parent.execution),
                parent.and_then(|parent| parent.event),
                mailbox.created_at,
                mailbox.completed_at,
            ],
        )?;
        Ok(())
    }

    fn owner_of(&self, no: i64) -> rusqlite::Result<Option<i64>> {
        Ok(self.sql.row(Sql::OwnerOfMailbox, [no], |row| row.get(0))?.flatten())
    }

    fn remove_timers(&self, mailbox: i64, execution: i64, timers: &TimerRows) -> rusqlite::Result<()> {
        match timers {
            TimerRows::All => {
                self.sql.execute(Sql::DeleteTimers, [mailbox, execution])?;
            }
            TimerRows::These(events) => {
                for event in events {
                    self.sql.execute(Sql::DeleteTimer, [mailbox, execution, column(*event)])?;
                }
            }
        }
        Ok(())
    }
}

/// A turn is committed to the instance it ran for.
fn check_addressee(mailbox: &Held, commit: &Commit) -> Result<(), Failure> {
    match &commit.instance {
        Some(instance) if *instance != mailbox.id => {
            let message = format!(
                "the lease is on instance '{}', and the turn belongs to instance '{instance}'",
                mailbox.id
            );
            Err(StoreError::rejected(commit.operation, Rejection::Invalid, message).into())
        }
        Some(_) | None => Ok(()),
    }
}

/// What is appended must be new.
fn check_order(mailbox: &Held, turn: &EncodedTurn, operation: Operation) -> Result<(), Failure> {
    let first = turn.events.as_ref().map(|events| number(events.first));
    position_of(mailbox).admits(turn.rows.execution_id, first).map_err(|conflict| {
        let message = format!("{conflict} (instance '{}')", mailbox.id);
        Failure::Refused(StoreError::rejected(operation, Rejection::Conflict, message))
    })
}

/// When an instance without a lease and without visible mail can be leased, if a turn leaves its mail alone: as before.
fn unchanged_by(turn: &EncodedTurn, mailbox: &Held) -> Option<Readiness> {
    let removes_none = match &turn.rows.timers {
        TimerRows::All => false,
        TimerRows::These(events) => events.is_empty(),
    };
    let sends_none = turn.messages.iter().all(|message| message.to != mailbox.id);
    let is_known = mailbox.existence() == Existence::Instance;
    let is_plain = mailbox.flags.are_none();
    let unchanged = Readiness { ready: None, due_at: mailbox.due_at, first: mailbox.due_at, attempts: 0 };
    (is_known && is_plain && removes_none && sends_none).then_some(unchanged)
}

/// Whether there is anything to write about the instance itself. Most turns only add to its history.
fn says_something(row: &InstanceRow) -> bool {
    row.name.is_some()
        || row.version.is_some()
        || row.parent.is_some()
        || row.pin.is_some()
        || row.status.is_some()
}

/// What a turn says about its instance. A parent, once known, stays.
fn describe(mailbox: &mut MailboxRow, row: &InstanceRow) {
    if let Some(name) = &row.name {
        mailbox.name.clone_from(name);
    }
    if let Some(version) = &row.version {
        mailbox.version.clone_from(version);
    }
    if let (None, Some(parent)) = (&mailbox.parent, &row.parent) {
        mailbox.parent = Some(Parent {
            instance: parent.instance.clone(),
            execution: parent.execution_id.map(column),
            event: parent.event_id.map(column),
        });
    }
}

/// Whether those who look at an instance may find it changed by a turn: not if it runs and goes on to, in another execution or not.
fn is_seen(mailbox: &Held, rows: &CommitRows) -> bool {
    if mailbox.is_running() {
        rows.shows_something_of_running()
    } else {
        column(rows.execution_id) > mailbox.execution || rows.shows_something()
    }
}

fn position_of(mailbox: &Held) -> Position {
    Position {
        incarnation: number(mailbox.no),
        execution_id: number(mailbox.execution),
        last_event_id: number(mailbox.last_event),
    }
}
