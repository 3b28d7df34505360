//! Deleting finished executions of one instance.

use abide_model::{PruneOptions, PruneResult};
use abide_provider::{AdminRefusal, Operation, StolenBecause};
use rusqlite::params;

use super::Tx;
use super::delete::Before;
use super::mailbox::MailboxRow;
use super::work::RemovedWork;
use crate::encode::{column, number};
use crate::error::Failure;
use crate::statements::Sql;

impl Tx<'_, '_> {
    /// Prunes an instance that must exist.
    pub(crate) fn prune_instance(&self, id: &str, options: &PruneOptions) -> Result<PruneResult, Failure> {
        let mailbox = self.mailbox_by_id(id)?.filter(MailboxRow::is_instance);
        let refusal = || AdminRefusal::not_found(id).store_error(Operation::PruneExecutions);
        let mailbox = mailbox.ok_or_else(refusal)?;
        Ok(self.prune(mailbox.no, mailbox.execution, options)?)
    }

    /// Prunes those candidates that ended before a time, if there is one, until `limit` of them had something to prune; says
    /// how many had.
    pub(crate) fn prune_meant(
        &self,
        candidates: &[String],
        before: Before,
        options: &PruneOptions,
        limit: u32,
    ) -> rusqlite::Result<(PruneResult, u32)> {
        let mut total = PruneResult::default();
        let mut used = 0;
        for id in candidates {
            if used >= limit {
                break;
            }
            let mailbox = self.mailbox_by_id(id)?.filter(MailboxRow::is_instance);
            if let Some(mailbox) = mailbox.filter(|mailbox| before.admits(mailbox)) {
                let pruned = self.prune(mailbox.no, mailbox.execution, options)?;
                total.add(&pruned);
                used += u32::from(pruned.executions_deleted > 0);
            }
        }
        Ok((total, used))
    }

    /// Never deletes the current execution or a running one.
    pub(crate) fn prune(
        &self,
        mailbox: i64,
        current: i64,
        options: &PruneOptions,
    ) -> rusqlite::Result<PruneResult> {
        let keep = i64::from(options.kept());
        let before = options.completed_before.map_or(i64::MAX, column);
        let doomed: Vec<i64> =
            self.sql
                .rows(Sql::PrunableExecutions, params![mailbox, current, keep, before], |row| row.get(0))?;
        let mut result = PruneResult { instances_processed: 1, ..PruneResult::default() };
        for execution in doomed {
            result.executions_deleted += 1;
            let events = self.delete_execution(mailbox, execution)?;
            result.events_deleted = result.events_deleted.saturating_add(events);
        }
        Ok(result)
    }

    fn delete_execution(&self, mailbox: i64, execution: i64) -> rusqlite::Result<u64> {
        let at = (mailbox, execution);
        let events = self.sql.row(Sql::CountEvents, at, |row| row.get::<_, i64>(0))?.unwrap_or(0);
        self.sql.execute(Sql::DeleteTurns, at)?;
        self.sql.execute(Sql::DeleteExecution, at)?;
        let removed = self.sql.rows(Sql::WorkOfExecution, at, |row| RemovedWork::read(row, at))?;
        self.tell_removed(&removed, |_| StolenBecause::InstanceDeleted)?;
        Ok(number(events))
    }
}
