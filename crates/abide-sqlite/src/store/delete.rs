//! Deleting instances with everything they have.
//!
//! What may be deleted is checked here, in the transaction that deletes it. What it has goes in the same transaction if that is
//! little, and later if it is much ([`removal`](super::removal)); either way it is gone for everybody at once.

use std::collections::BTreeSet;

use abide_model::{ExecutionStatus, INITIAL_EXECUTION_ID};
use abide_provider::{AdminRefusal, DeleteInstanceResult, Force, Operation, StolenBecause};
use rusqlite::params;

use super::Tx;
use super::mailbox::{Existence, Held, MailboxRow};
use super::overview::Member;
use super::removal::Erased;
use super::work::RemovedWork;
use crate::encode::{column, number};
use crate::error::Failure;
use crate::statements::{Sql, Statements};
use crate::text::Text;

/// How many instances one part of a bulk deletion deletes, but for the last tree, which goes as a whole.
const ENOUGH: u64 = 256;

/// A tree with more instances, or more starts of children that were not yet born, is deleted in parts, from the leaves up.
pub(crate) const TREE: usize = 1_024;

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
    pub(crate) erased: Erased,
    /// How many candidates were deleted.
    pub(crate) candidates: u32,
    /// How many were looked at; the others are for another transaction.
    pub(crate) looked_at: usize,
    /// The last one that was looked at has too large a tree for one transaction.
    pub(crate) too_large: Option<String>,
}

/// What became of a tree that was to be deleted.
#[derive(Debug)]
pub(crate) enum Tree {
    Deleted(Erased),
    /// It is too large for one transaction.
    TooLarge,
}

/// What must be known of a tree that is deleted in parts.
#[derive(Debug)]
pub(crate) struct LargeTree {
    /// Everything below the root, parents before children.
    pub(crate) leaves: Vec<Text>,
    /// One that is not finished, the root included.
    pub(crate) running: Option<String>,
    /// Those with starts of children that were not yet born, if there are many such starts.
    pub(crate) with_unborn: Vec<Text>,
}

/// What one part of a deletion may still remove.
struct Budget(i64);

impl Tx<'_, '_> {
    /// Deletes these, if they may be deleted.
    pub(crate) fn delete_set(
        &self,
        ids: &[String],
        force: Force,
        operation: Operation,
    ) -> Result<Erased, Failure> {
        let refused = |refusal: AdminRefusal| Failure::Refused(refusal.store_error(operation));
        let meant: BTreeSet<Text> = ids.iter().map(|id| Text::from(id.as_str())).collect();
        let mut found: Vec<MailboxRow> = Vec::new();
        let mut seen = BTreeSet::new();
        for id in ids {
            if let Some(mailbox) = self.mailbox_by_id(id)?
                && seen.insert(mailbox.no)
            {
                if mailbox.flags.waits_for_start {
                    self.delete_expired(mailbox.no)?;
                }
                found.push(mailbox);
            }
        }
        let instances: Vec<&MailboxRow> = found.iter().filter(|mailbox| mailbox.is_instance()).collect();
        if force == Force::No {
            for mailbox in &instances {
                if !self.sql.is_finished(mailbox.no, mailbox.status)? {
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
                let mut erased = self.erase(&doomed)?;
                // Names that have nothing themselves may still have something in other places.
                let nameless = meant.iter().filter(|id| doomed.iter().all(|member| member.id != **id));
                for id in nameless {
                    erased.result.queue_messages_deleted += self.erase_left_behind(id)?;
                }
                Ok(erased)
            }
        }
    }

    /// Deletes a root with everything below it.
    pub(crate) fn delete_root(&self, id: &str, force: Force) -> Result<Tree, Failure> {
        let operation = Operation::DeleteInstance;
        let refused = |refusal: AdminRefusal| Failure::Refused(refusal.store_error(operation));
        let root = self.mailbox_by_id(id)?.filter(MailboxRow::is_instance);
        let root = root.ok_or_else(|| refused(AdminRefusal::not_found(id)))?;
        if root.parent.is_some() {
            return Err(refused(AdminRefusal::IsChild { instance: id.to_owned() }));
        }
        let Some(tree) = self.small_tree(Member::of(root))? else { return Ok(Tree::TooLarge) };
        if force == Force::No {
            for member in &tree {
                if !self.sql.is_finished(member.no, member.status)? {
                    return Err(refused(AdminRefusal::Running { instance: member.id.lossy() }));
                }
            }
        }
        Ok(Tree::Deleted(self.erase(&tree)?))
    }

    /// Deletes instances that have nothing below them, with the starts of children that were not yet born; passes over others.
    pub(crate) fn delete_leaves(
        &self,
        leaves: &[Text],
        force: Force,
        operation: Operation,
    ) -> Result<Erased, Failure> {
        let mut doomed = Vec::new();
        for id in leaves {
            let mailbox = self.sql.row(Sql::MailboxById, [id], MailboxRow::read)?;
            let Some(mailbox) = mailbox.filter(MailboxRow::is_instance) else { continue };
            if self.sql.row(Sql::AnyChild, [id], |_| Ok(()))?.is_some() {
                continue;
            }
            if force == Force::No && !self.sql.is_finished(mailbox.no, mailbox.status)? {
                let refusal = AdminRefusal::Running { instance: mailbox.id };
                return Err(Failure::Refused(refusal.store_error(operation)));
            }
            doomed.push(Member::of(mailbox));
        }
        Ok(self.erase(&doomed)?)
    }

    /// Removes some starts of children that were not yet born. Says how many messages went.
    pub(crate) fn delete_some_unborn(&self, parent: &Text) -> rusqlite::Result<u64> {
        self.erase_unborn(parent, TREE)
    }

    /// An instance with everything below it, if one transaction can delete that.
    fn small_tree(&self, root: Member) -> rusqlite::Result<Option<Vec<Member>>> {
        let Some(below) = self.sql.descendants_up_to(&root.id, TREE)? else { return Ok(None) };
        let tree: Vec<Member> = [root].into_iter().chain(below).collect();
        let mut unborn = 0;
        for member in &tree {
            unborn += self.sql.unborn_children(&member.id, TREE)?.len();
        }
        Ok((unborn < TREE).then_some(tree))
    }

    /// Deletes those candidates that are meant and finished, each with everything below it; at most `limit`.
    pub(crate) fn delete_meant(
        &self,
        candidates: &[String],
        meant: &Meant,
        limit: u32,
    ) -> rusqlite::Result<Deleted> {
        let mut deleted = Deleted::default();
        let mut budget = Budget(self.removal_rows);
        for id in candidates {
            let is_enough = deleted.erased.result.instances_deleted >= ENOUGH || budget.0 <= 0;
            if deleted.candidates >= limit || is_enough {
                break;
            }
            deleted.looked_at += 1;
            let Some(mailbox) = self.mailbox_by_id(id)?.filter(MailboxRow::is_instance) else { continue };
            if !self.is_meant(&mailbox, meant)? || !self.sql.is_finished(mailbox.no, mailbox.status)? {
                continue;
            }
            let Some(tree) = self.small_tree(Member::of(mailbox))? else {
                deleted.too_large = Some(id.clone());
                break;
            };
            if self.are_finished(&tree)? {
                deleted.erased.add(self.erase_within(&tree, &mut budget)?);
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

    fn are_finished(&self, tree: &[Member]) -> rusqlite::Result<bool> {
        for member in tree {
            if !self.sql.is_finished(member.no, member.status)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Deletes one instance with its rows, whatever its state and its family.
    pub(crate) fn erase_one(&self, mailbox: MailboxRow) -> rusqlite::Result<()> {
        let erased = self.erase(&[Member::of(mailbox)])?;
        self.release_tombstones(&erased.held)
    }

    /// What they have goes with them: executions, mail, work, values, leases, and children that were not yet born.
    fn erase(&self, doomed: &[Member]) -> rusqlite::Result<Erased> {
        self.erase_within(doomed, &mut Budget(self.removal_rows))
    }

    /// The same; the rows of what does not fit the budget follow later.
    fn erase_within(&self, doomed: &[Member], budget: &mut Budget) -> rusqlite::Result<Erased> {
        let mut erased = Erased::default();
        for member in doomed {
            self.tell_changed(member.id.lossy());
            let size = self.size_of(member.no, budget.0)?;
            if size <= budget.0 {
                self.erase_rows(member, &mut erased.result)?;
            } else {
                erased.result.queue_messages_deleted += self.entomb(member)?;
                erased.held.push(member.no);
            }
            budget.0 = budget.0.saturating_sub(size).max(0);
        }
        for member in doomed {
            erased.result.queue_messages_deleted += self.erase_left_behind(&member.id)?;
        }
        Ok(erased)
    }

    fn erase_rows(&self, member: &Member, result: &mut DeleteInstanceResult) -> rusqlite::Result<()> {
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
        let removed =
            self.sql.rows(Sql::DeleteAllWork, no, |row| RemovedWork::read(row, (member.no, row.get(5)?)))?;
        self.tell_removed(&removed, |_| StolenBecause::InstanceDeleted)?;
        result.queue_messages_deleted += count(removed.len());
        Ok(())
    }

    /// What a name leaves in other places: dead letters, and children that were not yet born.
    fn erase_left_behind(&self, id: &Text) -> rusqlite::Result<u64> {
        self.sql.execute(Sql::DeleteDeadLetters, [id])?;
        self.erase_unborn(id, usize::MAX)
    }

    /// Children of a deleted parent whose start is still in the queue would come to life as orphans.
    fn erase_unborn(&self, parent: &Text, most: usize) -> rusqlite::Result<u64> {
        let unborn = self.sql.unborn_children(parent, most)?;
        let mut deleted = count(unborn.len());
        for at @ [mailbox, _, number] in &unborn {
            self.sql.execute(Sql::DeleteMessageAt, *at)?;
            let Some(mut mailbox) = self.held(*mailbox)? else { continue };
            // What was kept for its queues was kept because it would start, and so was what blocked it. The rest waits
            // for another start.
            if mailbox.existence() == Existence::MailboxOnly && !self.has_start(mailbox.no)? {
                deleted += count(self.sql.execute(Sql::DeleteUnreadMail, [mailbox.no])?);
                self.start_waiting(&mut mailbox)?;
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

impl Statements<'_> {
    /// Looks at a tree that is to be deleted in parts.
    pub(crate) fn look_at_tree(&self, root: &Text) -> rusqlite::Result<LargeTree> {
        let mailbox = self.row(Sql::MailboxById, [root], MailboxRow::read)?;
        let below = self.descendants(root)?;
        let mut tree = LargeTree { leaves: Vec::new(), running: None, with_unborn: Vec::new() };
        let mut unborn = 0;
        for member in mailbox.map(Member::of).iter().chain(&below) {
            if tree.running.is_none() && !self.is_finished(member.no, member.status)? {
                tree.running = Some(member.id.lossy());
            }
            let starts = self.unborn_children(&member.id, TREE)?.len();
            if starts > 0 {
                unborn += starts;
                tree.with_unborn.push(member.id.clone());
            }
        }
        if unborn < TREE {
            tree.with_unborn.clear();
        }
        tree.leaves = below.into_iter().map(|member| member.id).collect();
        Ok(tree)
    }

    /// Where the starts of children that were not yet born are: mailbox, time, number.
    fn unborn_children(&self, parent: &Text, most: usize) -> rusqlite::Result<Vec<[i64; 3]>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.rows(Sql::UnbornChildren, params![parent, most], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?])
        })
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
