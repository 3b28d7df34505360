//! Deleting one instance, however much it has.
//!
//! The writer serves everybody, so a deletion takes as much of its time as one transaction may: rows that are too many follow
//! later, and are counted here, beside the writer; a tree that is too large is deleted in parts, from its leaves up.

use abide_provider::{AdminRefusal, DeleteInstanceResult, Force, Operation, StoreError};
use crossbeam_channel::Sender;

use crate::SqliteProvider;
use crate::bulk::half_way;
use crate::job::{Kind, Phase, job};
use crate::store::delete::{LargeTree, TREE, Tree};
use crate::store::removal::Erased;
use crate::text::Text;
use crate::writer::Request;

/// How often a tree that grows while it is deleted is looked at again.
const LOOKS: usize = 64;

/// How many leaves of a large tree one transaction deletes.
const LEAVES: usize = 256;

impl SqliteProvider {
    /// Deletes a root with everything below it.
    pub(crate) async fn delete_tree(
        &self,
        id: &str,
        force: Force,
    ) -> Result<DeleteInstanceResult, StoreError> {
        let operation = Operation::DeleteInstance;
        let mut total = DeleteInstanceResult::default();
        for _ in 0..LOOKS {
            match self.delete_small_tree(id, force, &mut total).await {
                Ok(Tree::Deleted(_)) => return Ok(total),
                Ok(Tree::TooLarge) => self.thin_out(operation, id, force, &mut total).await?,
                Err(error) => return Err(half_deleted(error, &total)),
            }
        }
        let error =
            StoreError::not_applied(operation, "the tree grows as fast as it is deleted; cancel it first");
        Err(half_deleted(error, &total))
    }

    async fn delete_small_tree(
        &self,
        id: &str,
        force: Force,
        total: &mut DeleteInstanceResult,
    ) -> Result<Tree, StoreError> {
        let kind = Kind::write(Operation::DeleteInstance, Phase::Commit);
        let root = id.to_owned();
        let tree = self.run(job(kind, move |tx| tx.delete_root(&root, force))).await?;
        match tree {
            Tree::TooLarge => Ok(Tree::TooLarge),
            Tree::Deleted(erased) => {
                total.add(&self.count(kind.operation, erased).await?);
                Ok(Tree::Deleted(Erased::default()))
            }
        }
    }

    /// Deletes what is below an instance, from the leaves up, until one transaction can delete the rest. Without force nothing
    /// is deleted if anything of it runs.
    pub(crate) async fn thin_out(
        &self,
        operation: Operation,
        root: &str,
        force: Force,
        total: &mut DeleteInstanceResult,
    ) -> Result<(), StoreError> {
        let root = Text::from(root);
        let looked = self.read_with(operation, move |sql| sql.look_at_tree(&root)).await;
        let LargeTree { mut leaves, running, with_unborn } =
            looked.map_err(|error| half_deleted(error, total))?;
        if let (Force::No, Some(instance)) = (force, running) {
            return Err(half_deleted(AdminRefusal::Running { instance }.store_error(operation), total));
        }
        self.remove_unborn(operation, with_unborn, total).await?;
        while leaves.len() >= TREE {
            let part = leaves.split_off(leaves.len() - LEAVES);
            let kind = Kind::write(operation, Phase::Commit);
            // Children before their parents, so that each is a leaf when its turn comes.
            let last_first: Vec<Text> = part.into_iter().rev().collect();
            let delete = job(kind, move |tx| tx.delete_leaves(&last_first, force, operation));
            let erased = self.run(delete).await.map_err(|error| half_deleted(error, total))?;
            let counted = self.count(operation, erased).await.map_err(|error| half_deleted(error, total))?;
            total.add(&counted);
        }
        Ok(())
    }

    /// Removes the starts of children that were not yet born.
    async fn remove_unborn(
        &self,
        operation: Operation,
        parents: Vec<Text>,
        total: &mut DeleteInstanceResult,
    ) -> Result<(), StoreError> {
        let kind = Kind::write(operation, Phase::Commit);
        let part = u64::try_from(TREE).unwrap_or(u64::MAX);
        for parent in parents {
            loop {
                let id = parent.clone();
                let removed = self.run(job(kind, move |tx| Ok(tx.delete_some_unborn(&id)?))).await;
                let removed = removed.map_err(|error| half_deleted(error, total))?;
                total.queue_messages_deleted += removed;
                if removed < part {
                    break;
                }
            }
        }
        Ok(())
    }

    /// What a deletion deleted. Rows that are still to be removed are counted beside the writer, and then given free.
    pub(crate) async fn count(
        &self,
        operation: Operation,
        erased: Erased,
    ) -> Result<DeleteInstanceResult, StoreError> {
        let Erased { mut result, held } = erased;
        if held.is_empty() {
            return Ok(result);
        }
        let held = Held { mailboxes: held, writer: self.writer.inbox() };
        for mailbox in &held.mailboxes {
            let mailbox = *mailbox;
            let counted = self.read_with(operation, move |sql| sql.count_deleted(mailbox)).await;
            result.add(&counted.map_err(|error| half_deleted(error, &result))?);
        }
        Ok(result)
    }
}

/// Deleted mailboxes whose rows are being counted. They are removed afterwards, also if nobody waits for the count any more.
struct Held {
    mailboxes: Vec<i64>,
    writer: Sender<Request>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mailboxes = std::mem::take(&mut self.mailboxes);
        // Losing this in a power cut loses nothing but a minute.
        let kind = Kind::lease(Operation::Housekeeping, Phase::Housekeeping);
        let release = job(kind, move |tx| Ok(tx.release_tombstones(&mailboxes)?));
        let _gone = self.writer.send(Request::Jobs(vec![release.job]));
    }
}

pub(crate) fn half_deleted(error: StoreError, so_far: &DeleteInstanceResult) -> StoreError {
    half_way(error, so_far.instances_deleted, "instances were deleted")
}
