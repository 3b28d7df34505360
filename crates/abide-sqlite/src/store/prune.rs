//! Deleting finished executions of one instance.
//!
//! What it costs depends on what is deleted, not on what is kept. That takes two numbers per instance: the current execution, and
//! the one from which on none is missing (`unbroken`). With both, the last that may go is found by counting down, without going
//! through those that stay.

use abide_model::{PruneOptions, PruneResult};
use abide_provider::{AdminRefusal, Operation, PRUNE_BATCH, StolenBecause};
use rusqlite::params;

use super::Tx;
use super::delete::Before;
use super::mailbox::{MailboxRow, format_batch};
use super::removal::{ROWS, rows_within};
use super::work::RemovedWork;
use crate::encode::{column, number};
use crate::error::Failure;
use crate::statements::Sql;

/// What a bulk prune wants of each candidate.
#[derive(Debug, Clone)]
pub(crate) struct PruneWish {
    /// Only of instances that ended before this time.
    pub(crate) before: Before,
    pub(crate) options: PruneOptions,
    pub(crate) candidates: Chosen,
}

/// Who chose the candidates of a bulk prune.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The caller named them: each is processed, whether or not it has something to prune.
    ByName,
    /// A search found them. What has nothing to prune after all was not meant.
    BySearch,
}

/// Whether a transaction before this one has pruned some of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Progress {
    #[default]
    Untouched,
    Begun,
}

/// How much of the past one transaction may still delete, and what its rows may weigh together.
#[derive(Debug, Clone, Copy)]
struct Budget {
    executions: u64,
    weight: i64,
}

impl Budget {
    const fn whole() -> Self {
        Self { executions: PRUNE_BATCH, weight: ROWS }
    }
}

/// Whether more of the past of an instance may be left to prune than one transaction could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Nothing,
    Perhaps,
}

/// What a part of a bulk prune deleted.
#[derive(Debug, Default)]
pub(crate) struct PrunedPart {
    pub(crate) result: PruneResult,
    /// How many candidates had something to prune.
    pub(crate) used: u32,
    /// How many are done with; the others are for another transaction.
    pub(crate) done: usize,
    /// What has become of the next one.
    pub(crate) next: Progress,
}

impl Tx<'_, '_> {
    /// Prunes an instance that must exist: as much as one transaction may.
    pub(crate) fn prune_instance(
        &self,
        id: &str,
        options: &PruneOptions,
    ) -> Result<(PruneResult, Rest), Failure> {
        let mailbox = self.mailbox_by_id(id)?.filter(MailboxRow::is_instance);
        let refusal = || AdminRefusal::not_found(id).store_error(Operation::PruneExecutions);
        let mailbox = mailbox.ok_or_else(refusal)?;
        Ok(self.prune_within(&mailbox, options, &mut Budget::whole())?)
    }

    /// Prunes candidates until `limit` of them had something to prune, or until one transaction has done enough.
    /// `first`: what has become of the first so far.
    pub(crate) fn prune_meant(
        &self,
        candidates: &[String],
        wish: &PruneWish,
        limit: u32,
        first: Progress,
    ) -> rusqlite::Result<PrunedPart> {
        let mut part = PrunedPart { next: first, ..PrunedPart::default() };
        let mut budget = Budget::whole();
        for id in candidates {
            if part.used >= limit {
                break;
            }
            let mailbox = self.mailbox_by_id(id)?.filter(MailboxRow::is_instance);
            let meant = mailbox.filter(|mailbox| wish.before.admits(mailbox));
            let (pruned, rest) = match &meant {
                Some(mailbox) => self.prune_within(mailbox, &wish.options, &mut budget)?,
                None => (PruneResult::default(), Rest::Nothing),
            };
            part.result.executions_deleted += pruned.executions_deleted;
            part.result.events_deleted = part.result.events_deleted.saturating_add(pruned.events_deleted);
            if rest == Rest::Perhaps {
                part.next = Progress::Begun;
                break;
            }
            let so_far = std::mem::take(&mut part.next);
            let had_something = so_far == Progress::Begun || pruned.executions_deleted > 0;
            let is_processed = had_something || (meant.is_some() && wish.candidates == Chosen::ByName);
            part.result.instances_processed += u64::from(is_processed);
            part.used += u32::from(had_something);
            part.done += 1;
        }
        Ok(part)
    }

    /// Deletes at most so many executions, oldest first; never the current one or one that runs.
    pub(crate) fn prune(
        &self,
        mailbox: i64,
        current: i64,
        options: &PruneOptions,
        most: u64,
    ) -> rusqlite::Result<PruneResult> {
        let doomed = self.prunable(mailbox, current, options, most)?;
        self.prune_these(mailbox, &doomed)
    }

    /// Deletes as many of them as the budget allows. If the budget is whole, it deletes one at least: an
    /// execution is never split.
    fn prune_within(
        &self,
        mailbox: &MailboxRow,
        options: &PruneOptions,
        budget: &mut Budget,
    ) -> rusqlite::Result<(PruneResult, Rest)> {
        let mut doomed = self.prunable(mailbox.no, mailbox.execution, options, budget.executions)?;
        let is_full = u64::try_from(doomed.len()).is_ok_and(|found| found >= budget.executions);
        if !doomed.is_empty() {
            doomed.sort_unstable();
            let these = format!("[{}]", format_batch(doomed.iter().copied()));
            let weights =
                self.sql.rows(Sql::WeighPast, params![mailbox.no, these], |row| row.get::<_, i64>(0))?;
            let (mut fitting, weight) = rows_within(&weights, budget.weight);
            if weight > budget.weight && budget.weight < ROWS {
                fitting = 0;
            }
            budget.weight = budget.weight.saturating_sub(weight);
            if fitting < doomed.len() {
                doomed.truncate(fitting);
                return Ok((self.prune_these(mailbox.no, &doomed)?, Rest::Perhaps));
            }
        }
        let pruned = self.prune_these(mailbox.no, &doomed)?;
        budget.executions = budget.executions.saturating_sub(pruned.executions_deleted);
        Ok((pruned, if is_full { Rest::Perhaps } else { Rest::Nothing }))
    }

    /// The executions that may go, at most so many.
    fn prunable(
        &self,
        mailbox: i64,
        current: i64,
        options: &PruneOptions,
        most: u64,
    ) -> rusqlite::Result<Vec<i64>> {
        let Some((last, ended_at)) = self.last_prunable(mailbox, current, i64::from(options.kept()))? else {
            return Ok(Vec::new());
        };
        let before = options.completed_before.map_or(i64::MAX, column);
        // Executions end one after the other. If the last that may go ended early enough, so did the others, and they are
        // taken by number; if not, those that did are few, or none. A clock that was set back makes either way longer, not wrong.
        let sql = if options.completed_before.is_none() || ended_at.is_some_and(|ended_at| ended_at < before)
        {
            Sql::PrunableExecutions
        } else {
            Sql::PrunableByEnd
        };
        self.sql.rows(sql, params![mailbox, last, before, column(most)], |row| row.get(0))
    }

    fn prune_these(&self, mailbox: i64, doomed: &[i64]) -> rusqlite::Result<PruneResult> {
        let mut result = PruneResult { instances_processed: 1, ..PruneResult::default() };
        if let Some(highest) = doomed.iter().max() {
            result.executions_deleted = u64::try_from(doomed.len()).unwrap_or(u64::MAX);
            result.events_deleted = self.delete_executions(mailbox, doomed)?;
            self.sql.execute(Sql::BreakExecutions, [mailbox, highest.saturating_add(1)])?;
        }
        Ok(result)
    }

    /// The last execution that is not among the last `keep`, and when it ended.
    fn last_prunable(
        &self,
        mailbox: i64,
        current: i64,
        keep: i64,
    ) -> rusqlite::Result<Option<(i64, Option<i64>)>> {
        let unbroken = self.sql.row(Sql::Unbroken, [mailbox], |row| row.get::<_, i64>(0))?;
        let Some(unbroken) = unbroken else { return Ok(None) };
        let in_a_row = current.saturating_sub(unbroken).saturating_add(1);
        // Of those before a gap, as many are kept as are missing behind it. Hardly anything is left there: prunes begin with
        // the oldest.
        let (from, kept_before_it) = if in_a_row >= keep {
            (current.saturating_sub(keep), 0)
        } else {
            (unbroken.saturating_sub(1), keep.saturating_sub(in_a_row))
        };
        self.sql.row(Sql::LastPrunable, [mailbox, from, kept_before_it], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// With their events and their work. Says how many events there were.
    fn delete_executions(&self, mailbox: i64, executions: &[i64]) -> rusqlite::Result<u64> {
        let these = format!("[{}]", format_batch(executions.iter().copied()));
        let events = self.sql.row(Sql::CountEvents, params![mailbox, these], |row| row.get::<_, i64>(0))?;
        self.sql.execute(Sql::DeleteTurns, params![mailbox, these])?;
        self.sql.execute(Sql::DeleteExecutions, params![mailbox, these])?;
        let removed = self.sql.rows(Sql::WorkOfExecutions, params![mailbox, these], |row| {
            RemovedWork::read(row, (mailbox, row.get(5)?))
        })?;
        self.tell_removed(&removed, |_| StolenBecause::InstanceDeleted)?;
        Ok(events.map_or(0, number))
    }
}
