//! Deleting instances with everything they have.
//!
//! What may be deleted is checked here, in the transaction that deletes it.

use std::collections::BTreeSet;

use abide_model::{ExecutionStatus, INITIAL_EXECUTION_ID};
use abide_provider::{AdminRefusal, DeleteInstanceResult, Force, Operation, StolenBecause};
use rusqlite::params;

use super::Tx;
use super::mailbox::{Existence, Held, MailboxRow};
use super::overview::Member;
use super::work::RemovedWork;
use crate::encode::{column, number};
use crate::error::Failure;
use crate::statements::Sql;
use crate::text::Text;

/// How many instances one part of a bulk deletion deletes, but for the last tree, which goes as a whole.
const ENOUGH: u64 = 256;

/// Which candidates a bulk deletion means.
#[derive(Debug, Clone)]
pub(crate) enum Meant {
    /// Roots that ended.
    Roots(Before),
    /// Children that ended like this, and whose asking execution is over.
    Orphans { ends: Vec<ExecutionStatus>, before: Before },
}

/// A time that something must have ended before.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Before {
    Any,
    Time(i64),
}

impl Before {
    pub(crate) fn of(time: Option<u64>) -> Self {
        time.map_or(Self::Any, |time| Self::Time(column(time)))
    }

    /// Whether an instance ended before; any does if there is no such time.
    pub(crate) fn admits(self, mailbox: &MailboxRow) -> bool {
        match self {
            Self::Any => true,
            Self::Time(_) => mailbox.completed_at.is_some_and(|ended_at| self.is_after(ended_at)),
        }
    }

    fn is_after(self, time: i64) -> bool {
        match self {
            Self::Any => true,
            Self::Time(before) => time < before,
        }
    }
}

/// What a part of a bulk deletion deleted.
#[derive(Debug, Default)]
pub(crate) struct Deleted {
    pub(crate) result: DeleteInstanceResult,
    /// How many candidates were deleted.
    pub(crate) candidates: u32,
    /// How many were looked at; the others are for another transaction.
    pub(crate) looked_at: usize,
}

impl Tx<'_, '_> {
    /// Deletes these, if they may be deleted.
    pub(crate) fn delete_set(
        &self,
        ids: &[String],
        force: Force,
        operation: Operation,
    ) -> Result<DeleteInstanceResult, Failure> {
        let refused = |refusal: AdminRefusal| Failure::Refused(refusal.store_error(operation));
        let meant: BTreeSet<Text> = ids.iter().map(|id| Text::from(id.as_str())).collect();
        let mut found = Vec::new();
        for id in ids {
            if let Some(mailbox) = self.mailbox_by_id(id)? {
                found.push(mailbox);
            }
        }
        let instances: Vec<&MailboxRow> = found.iter().filter(|mailbox| mailbox.is_instance()).collect();
        if force == Force::No {
            for mailbox in &instances {
                if !self.is_finished(mailbox.no, mailbox.status)? {
                    return Err(refused(AdminRefusal::Running { instance: mailbox.id.clone() }));
                }
            }
        }
        for parent in &instances {
            let children = self.sql.children(&Text::from(parent.id.as_str()))?;
            if let Some(child) = children.iter().find(|child| !meant.contains(&child.id)) {
                let parent = parent.id.clone();
                return Err(refused(AdminRefusal::ChildLeftBehind { parent, child: child.id.lossy() }));
            }
        }
        match force {
            Force::No => Ok(self.erase(&members(found.into_iter().filter(MailboxRow::is_instance)))?),
            Force::Yes => {
                let doomed = members(found.into_iter());
                let mut result = self.erase(&doomed)?;
                // Names that have nothing themselves may still have something in other places.
                let nameless = meant.iter().filter(|id| doomed.iter().all(|member| member.id != **id));
                for id in nameless {
                    result.queue_messages_deleted += self.erase_left_behind(id)?;
                }
                Ok(result)
            }
        }
    }

    /// Deletes a root with everything below it.
    pub(crate) fn delete_root(&self, id: &str, force: Force) -> Result<DeleteInstanceResult, Failure> {
        let operation = Operation::DeleteInstance;
        let refused = |refusal: AdminRefusal| Failure::Refused(refusal.store_error(operation));
        let root = self.mailbox_by_id(id)?.filter(MailboxRow::is_instance);
        let root = root.ok_or_else(|| refused(AdminRefusal::not_found(id)))?;
        if root.parent.is_some() {
            return Err(refused(AdminRefusal::IsChild { instance: id.to_owned() }));
        }
        let root = Member::of(root);
        let below = self.sql.descendants(&root.id)?;
        let tree: Vec<Member> = [root].into_iter().chain(below).collect();
        if force == Force::No {
            for member in &tree {
                if !self.is_finished(member.no, member.status)? {
                    return Err(refused(AdminRefusal::Running { instance: member.id.lossy() }));
                }
            }
        }
        Ok(self.erase(&tree)?)
    }

    /// Deletes those candidates that are meant and finished, each with everything below it; at most `limit`.
    pub(crate) fn delete_meant(
        &self,
        candidates: &[String],
        meant: &Meant,
        limit: u32,
    ) -> rusqlite::Result<Deleted> {
        let mut deleted = Deleted::default();
        for id in candidates {
            if deleted.candidates >= limit || deleted.result.instances_deleted >= ENOUGH {
                break;
            }
            deleted.looked_at += 1;
            let Some(mailbox) = self.mailbox_by_id(id)?.filter(MailboxRow::is_instance) else { continue };
            if self.is_meant(&mailbox, meant)?
                && let Some(tree) = self.finished_tree(mailbox)?
            {
                deleted.result.add(&self.erase(&tree)?);
                deleted.candidates += 1;
            }
        }
        Ok(deleted)
    }

    fn is_meant(&self, mailbox: &MailboxRow, meant: &Meant) -> rusqlite::Result<bool> {
        match (meant, &mailbox.parent) {
            (Meant::Roots(before), None) => Ok(before.admits(mailbox)),
            (Meant::Orphans { ends, before }, Some(parent)) => {
                if !mailbox.status.is_some_and(|status| ends.contains(&status)) {
                    return Ok(false);
                }
                let asked_in = parent.execution.unwrap_or(column(INITIAL_EXECUTION_ID));
                let asking = self.sql.row(Sql::ExecutionEnd, params![parent.instance, asked_in], |row| {
                    row.get::<_, Option<i64>>(0)
                })?;
                let ended_at = asking.unwrap_or(mailbox.completed_at);
                Ok(ended_at.is_some_and(|ended_at| before.is_after(ended_at)))
            }
            (Meant::Roots(_), Some(_)) | (Meant::Orphans { .. }, None) => Ok(false),
        }
    }

    /// Whether nothing will happen any more unless somebody wants it.
    fn is_finished(&self, no: i64, status: Option<ExecutionStatus>) -> rusqlite::Result<bool> {
        match status {
            Some(ExecutionStatus::Completed | ExecutionStatus::Failed) => Ok(true),
            Some(ExecutionStatus::ContinuedAsNew) => {
                Ok(self.sql.row(Sql::HasSuccessor, [no], |_| Ok(()))?.is_none())
            }
            Some(ExecutionStatus::Running) | None => Ok(false),
        }
    }

    /// An instance with everything below it, if all of that is finished.
    fn finished_tree(&self, root: MailboxRow) -> rusqlite::Result<Option<Vec<Member>>> {
        if !self.is_finished(root.no, root.status)? {
            return Ok(None);
        }
        let mut tree = vec![Member::of(root)];
        for member in self.sql.descendants(&tree[0].id)? {
            if !self.is_finished(member.no, member.status)? {
                return Ok(None);
            }
            tree.push(member);
        }
        Ok(Some(tree))
    }

    /// What they have goes with them: executions, mail, work, values, leases, and children that were not yet born.
    fn erase(&self, doomed: &[Member]) -> rusqlite::Result<DeleteInstanceResult> {
        let mut result = DeleteInstanceResult::default();
        for member in doomed {
            self.tell_changed(member.id.lossy());
            let no = [member.no];
            let events = self.sql.row(Sql::CountEventsOfInstance, no, |row| row.get::<_, i64>(0))?;
            result.events_deleted = result.events_deleted.saturating_add(events.map_or(0, number));
            self.sql.execute(Sql::DeleteAllTurns, no)?;
            let executions = self.sql.execute(Sql::DeleteAllExecutions, no)?;
            result.executions_deleted += count(executions);
            result.instances_deleted += u64::from(executions > 0);
            for sql in [
                Sql::KvEmptyDelta,
                Sql::KvEmptyStore,
                Sql::DeleteCustomStatus,
                Sql::DeleteBlock,
                Sql::DeleteMailbox,
            ] {
                self.sql.execute(sql, no)?;
            }
            result.queue_messages_deleted += count(self.sql.execute(Sql::DeleteMessages, no)?);
            let removed = self
                .sql
                .rows(Sql::DeleteAllWork, no, |row| RemovedWork::read(row, (member.no, row.get(5)?)))?;
            self.tell_removed(&removed, |_| StolenBecause::InstanceDeleted)?;
            result.queue_messages_deleted += count(removed.len());
        }
        for member in doomed {
            result.queue_messages_deleted += self.erase_left_behind(&member.id)?;
        }
        Ok(result)
    }

    /// What a name leaves in other places: dead letters, and children that were not yet born.
    fn erase_left_behind(&self, id: &Text) -> rusqlite::Result<u64> {
        self.sql.execute(Sql::DeleteDeadLetters, [id])?;
        self.erase_unborn(id)
    }

    /// Children of a deleted parent whose start is still in the queue would come to life as orphans.
    fn erase_unborn(&self, parent: &Text) -> rusqlite::Result<u64> {
        let unborn: Vec<[i64; 3]> = self
            .sql
            .rows(Sql::UnbornChildren, [parent], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
        let mut deleted = count(unborn.len());
        for at @ [mailbox, _, number] in &unborn {
            self.sql.execute(Sql::DeleteMessageAt, *at)?;
            let Some(mut mailbox) = self.held(*mailbox)? else { continue };
            // What was kept for its queues was kept because it would start, and so was what blocked it.
            if mailbox.existence() == Existence::MailboxOnly && !self.has_start(mailbox.no)? {
                deleted += count(self.sql.execute(Sql::DeleteUnreadMail, [mailbox.no])?);
                self.sql.execute(Sql::DeleteBlock, [mailbox.no])?;
                mailbox.flags.has_block = false;
            }
            self.miss_message(&mailbox, *number)?;
        }
        Ok(deleted)
    }

    /// A message of this mailbox is gone: when it can be leased may have changed. A turn that was to bring a child to
    /// life with it is not to be committed.
    fn miss_message(&self, mailbox: &Held, number: i64) -> rusqlite::Result<()> {
        match (&mailbox.lease, mailbox.existence()) {
            (None, _) => self.release(mailbox),
            (Some(lease), Existence::MailboxOnly) if lease.batch.contains(&number) => {
                if lease.until > self.now {
                    return self.release(mailbox);
                }
                self.void_leases(&[mailbox.no]).map(drop)
            }
            (Some(_), Existence::MailboxOnly | Existence::Instance) => Ok(()),
        }
    }
}

impl Member {
    fn of(mailbox: MailboxRow) -> Self {
        Self { no: mailbox.no, id: mailbox.id.into(), status: mailbox.status }
    }
}

fn members(mailboxes: impl Iterator<Item = MailboxRow>) -> Vec<Member> {
    mailboxes.map(Member::of).collect()
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
