//! Blocked instances and held activities: what nobody may lease for now, and why.
//!
//! Most instances have no row here, and their mailbox says so ([`Flags`]): then nothing of this costs a statement.

use std::time::Duration;

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::rows::CommitRows;
use abide_provider::{
    Block, BlockInstance, BlockKind, BlockedCounts, BlockedInstance, HoldWork, Operation, Refusals,
    RefusedExecution, StoreError, cut_detail,
};
use rusqlite::{Row, params};

use super::Tx;
use super::mailbox::{Existence, Flags, Held, Readiness, format_batch};
use super::route::{read_refused, refused_column};
use super::work::PromotedWork;
use crate::encode::{column, number};
use crate::error::Failure;
use crate::statements::{Sql, Statements};
use crate::text::{lossy, lossy_or_null};
use crate::token::WorkToken;

/// The longest pause that fits beside a time. Nobody waits for it.
const LONGEST_PAUSE: i64 = i64::MAX / 4;

/// That the time of a retry has come.
const OPEN: i64 = 0;

/// What is remembered of an execution that builds refused.
#[derive(Debug, Clone)]
pub(crate) struct BlockRow {
    execution: i64,
    refused: Refusals,
    retry_after: Option<i64>,
    retry_at: Option<i64>,
    block: Option<Block>,
}

impl BlockRow {
    /// Reads the columns that `load_block` returns.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            execution: row.get(0)?,
            refused: read_refused(&lossy(row, 1)?),
            retry_after: row.get(2)?,
            retry_at: row.get(3)?,
            block: read_block(row, 4)?,
        })
    }

    pub(crate) fn told(self) -> RefusedExecution {
        let retry_after = self.retry_after.map(|pause| Duration::from_millis(number(pause)));
        let is_retry_due = self.retry_at == Some(OPEN);
        RefusedExecution { by: self.refused, retry_after, is_retry_due, block: self.block }
    }
}

/// Reads kind, time, detail, build and event from this column on.
fn read_block(row: &Row<'_>, from: usize) -> rusqlite::Result<Option<Block>> {
    let Some(kind) = lossy_or_null(row, from)? else { return Ok(None) };
    Ok(Some(Block {
        // Damaged, it is still blocked; and then something of it is corrupt.
        kind: kind.parse().unwrap_or(BlockKind::Corrupt),
        since: Timestamp::from_millis(number(row.get(from + 1)?)),
        detail: lossy(row, from + 2)?,
        build: lossy(row, from + 3)?,
        event_id: row.get::<_, Option<i64>>(from + 4)?.map(number),
        holds_activity: false,
    }))
}

/// What builds that refused an execution mean to its mailbox now.
pub(crate) struct Refused {
    pub(crate) by: Refusals,
    /// When they may try again.
    pub(crate) due_at: Option<i64>,
}

impl Tx<'_, '_> {
    pub(crate) fn block_instance(&self, block: &BlockInstance) -> Result<(), Failure> {
        let mut mailbox = self.leased_mailbox(&block.token, Operation::BlockInstance)?;
        let known = self.load_block(&mailbox)?.map(|row| row.refused).unwrap_or_default();
        let refused = match block.retry_after {
            Some(_) => known.with(&block.build),
            None => Refusals::All,
        };
        let retry_after = block.retry_after.map(pause_column);
        self.sql.execute(
            Sql::SaveBlock,
            params![
                mailbox.no,
                next_execution(&mailbox),
                refused_column(&refused),
                retry_after,
                retry_after.map(|pause| self.now.saturating_add(pause)),
                block.kind.as_str(),
                self.now,
                cut_detail(block.detail.clone()),
                block.build,
                block.event_id.map(column),
            ],
        )?;
        mailbox.flags.has_block = true;
        // Its turn came to an end: nothing crashed.
        let batch = mailbox.lease.iter().flat_map(|lease| &lease.batch).copied();
        let batch = format!("[{}]", format_batch(batch));
        self.sql.execute(Sql::ForgiveBatch, params![mailbox.no, batch])?;
        self.tell_changed(&mailbox.id);
        self.release(&mailbox)?;
        Ok(())
    }

    pub(crate) fn load_block(&self, mailbox: &Held) -> rusqlite::Result<Option<BlockRow>> {
        if mailbox.flags.has_block { self.block_of(mailbox.no) } else { Ok(None) }
    }

    pub(crate) fn block_of(&self, mailbox: i64) -> rusqlite::Result<Option<BlockRow>> {
        self.sql.row(Sql::LoadBlock, [mailbox], BlockRow::read)
    }

    /// Who refuses a mailbox now. A retry whose time has come stays so, whatever the clock says later.
    pub(crate) fn refused_now(&self, mailbox: i64, flags: &mut Flags) -> rusqlite::Result<Refused> {
        let nobody = Refused { by: Refusals::default(), due_at: None };
        if !flags.has_block {
            return Ok(nobody);
        }
        let Some(row) = self.block_of(mailbox)? else {
            flags.has_block = false;
            return Ok(nobody);
        };
        match row.retry_at {
            Some(OPEN) => Ok(nobody),
            Some(time) if time <= self.now => {
                self.sql.execute(Sql::SetRetry, [mailbox, OPEN])?;
                Ok(nobody)
            }
            due_at => Ok(Refused { by: row.refused, due_at }),
        }
    }

    /// Mail becomes visible now, or did at the time of a message that nobody has looked at since.
    pub(crate) fn start_retry_clock(&self, mailbox: i64) -> rusqlite::Result<()> {
        let hidden: Option<i64> = self.sql.row(Sql::FirstHiddenMessage, [mailbox], |row| row.get(0))?;
        let since = hidden.filter(|time| *time <= self.now).unwrap_or(self.now);
        self.sql.execute(Sql::StartRetryClock, [mailbox, since])?;
        Ok(())
    }

    /// A turn of an execution was committed: its block is over. Refusals stay while the execution runs, or until the build
    /// that refused it runs it.
    pub(crate) fn heal(
        &self,
        mailbox: &mut Held,
        turn: &CommitRows,
        readiness: &Readiness,
    ) -> rusqlite::Result<()> {
        let Some(row) = self.load_block(mailbox)? else {
            mailbox.flags.has_block = false;
            return Ok(());
        };
        let is_running =
            mailbox.existence() == Existence::Instance && mailbox.status == Some(ExecutionStatus::Running);
        let refused = turn.still_refused.clone().unwrap_or(row.refused);
        if row.execution == column(turn.execution_id) && is_running && !refused.is_empty() {
            let has_mail = readiness.first.is_some_and(|visible_at| visible_at <= self.now);
            let pause = row.retry_after.filter(|_| has_mail);
            let retry_at = pause.map(|pause| self.now.saturating_add(pause));
            self.sql.execute(Sql::HealBlock, params![mailbox.no, retry_at, refused_column(&refused)])?;
        } else {
            self.sql.execute(Sql::DeleteBlock, [mailbox.no])?;
            mailbox.flags.has_block = false;
        }
        Ok(())
    }

    pub(crate) fn hold_work(&self, hold: &HoldWork) -> Result<(), Failure> {
        let lost = || Failure::Refused(StoreError::lease_lost(Operation::HoldWork));
        let token = WorkToken::parse(&hold.token).ok_or_else(lost)?;
        self.held_work(token)?.ok_or_else(lost)?;
        let [mailbox, execution, activity, no] = token.key.columns();
        let detail = cut_detail(hold.detail.clone());
        self.sql.execute(
            Sql::HoldWork,
            params![mailbox, execution, activity, no, self.now, detail, hold.build],
        )?;
        self.note_ended(token.key);
        if let Some((_, name)) = self.brief_by_no(mailbox)? {
            self.tell_changed(name);
        }
        Ok(())
    }

    /// Forgets refusals, holds and attempts of an instance. Says whether anything was blocked.
    pub(crate) fn retry_blocked(&self, instance: &str) -> Result<bool, Failure> {
        let Some(mailbox) = self.brief_by_id(instance)? else { return Ok(false) };
        let Some(mut mailbox) = self.held(mailbox.no)? else { return Ok(false) };
        let block = self.load_block(&mailbox)?;
        if block.is_some() {
            self.sql.execute(Sql::DeleteBlock, [mailbox.no])?;
            mailbox.flags.has_block = false;
        }
        self.sql.execute(Sql::ForgetAttempts, [mailbox.no])?;
        let tried = self.sql.rows(Sql::CrashedWork, [mailbox.no], |row| {
            Ok((PromotedWork::read(row)?, row.get::<_, bool>(7)?, row.get::<_, i64>(8)?))
        })?;
        let was_held = tried.iter().any(|(_, is_held, _)| *is_held);
        for (work, _, visible_at) in &tried {
            self.free_untried(work, *visible_at)?;
        }
        if mailbox.lease.is_none() {
            self.release(&mailbox)?;
        } else {
            self.sql.execute(Sql::SetFlags, [mailbox.no, mailbox.flags.column()])?;
        }
        let was_blocked = was_held || block.is_some_and(|row| row.block.is_some());
        if was_blocked {
            self.tell_changed(instance);
        }
        Ok(was_blocked)
    }
}

/// The execution that the next turn belongs to.
fn next_execution(mailbox: &Held) -> i64 {
    match (mailbox.existence(), mailbox.status) {
        (Existence::MailboxOnly, _) => 1,
        (Existence::Instance, Some(ExecutionStatus::ContinuedAsNew)) => mailbox.execution.saturating_add(1),
        (Existence::Instance, _) => mailbox.execution,
    }
}

fn pause_column(pause: Duration) -> i64 {
    i64::try_from(pause.as_millis()).unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE)
}

/// Reads the columns that `block_of` and `list_blocks` return.
fn read_blocked(row: &Row<'_>) -> rusqlite::Result<Option<BlockedInstance>> {
    let Some(block) = read_block(row, 3)? else { return Ok(None) };
    named(row, block).map(Some)
}

/// Reads the columns that `holds_of` and `list_holds` return.
fn read_held(row: &Row<'_>) -> rusqlite::Result<Option<BlockedInstance>> {
    let block = Block {
        kind: BlockKind::Quarantine,
        since: Timestamp::from_millis(number(row.get(3)?)),
        detail: lossy(row, 4)?,
        build: lossy(row, 5)?,
        event_id: Some(number(row.get(6)?)),
        holds_activity: true,
    };
    named(row, block).map(Some)
}

/// Reads the first three columns.
fn named(row: &Row<'_>, block: Block) -> rusqlite::Result<BlockedInstance> {
    let orchestration_name = if row.get(1)? { lossy(row, 2)? } else { String::new() };
    Ok(BlockedInstance { instance: lossy(row, 0)?, orchestration_name, block })
}

impl Statements<'_> {
    /// What blocks an instance: itself first, then its held activities.
    pub(crate) fn blocks(&self, instance: &str) -> rusqlite::Result<Vec<BlockedInstance>> {
        let mut blocks = self.rows(Sql::BlockOf, [instance], read_blocked)?;
        blocks.extend(self.rows(Sql::HoldsOf, [instance], read_held)?);
        Ok(blocks.into_iter().flatten().collect())
    }

    /// The first of these.
    pub(crate) fn first_block(&self, instance: &str) -> rusqlite::Result<Option<Block>> {
        let first = match self.row(Sql::BlockOf, [instance], read_blocked)?.flatten() {
            Some(block) => Some(block),
            None => self.row(Sql::HoldsOf, [instance], read_held)?.flatten(),
        };
        Ok(first.map(|blocked| blocked.block))
    }

    /// Up to so many, those blocked first first.
    pub(crate) fn list_blocked(&self, limit: usize) -> rusqlite::Result<Vec<BlockedInstance>> {
        let rows = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut blocks = self.rows(Sql::ListBlocks, [rows], read_blocked)?;
        blocks.extend(self.rows(Sql::ListHolds, [rows], read_held)?);
        let mut blocks: Vec<BlockedInstance> = blocks.into_iter().flatten().collect();
        blocks.sort_by(|one, other| {
            let one_key = (one.block.since, &one.instance, one.block.holds_activity, one.block.event_id);
            let key = (other.block.since, &other.instance, other.block.holds_activity, other.block.event_id);
            one_key.cmp(&key)
        });
        blocks.truncate(limit);
        Ok(blocks)
    }

    pub(crate) fn count_blocked(&self) -> rusqlite::Result<BlockedCounts> {
        let mut by_kind: Vec<(BlockKind, u64)> = BlockKind::ALL.map(|kind| (kind, 0)).to_vec();
        let mut add = |kind: BlockKind, count: u64| {
            by_kind.iter_mut().filter(|(each, _)| *each == kind).for_each(|(_, sum)| *sum += count);
        };
        for (kind, count) in self.rows(Sql::CountBlocks, [], |row| Ok((lossy(row, 0)?, row.get(1)?)))? {
            add(kind.parse().unwrap_or(BlockKind::Corrupt), number(count));
        }
        add(BlockKind::Quarantine, self.count(Sql::CountHolds, [])?);
        by_kind.retain(|(_, count)| *count > 0);
        Ok(BlockedCounts { by_kind, oldest: self.list_blocked(1)?.pop() })
    }
}
