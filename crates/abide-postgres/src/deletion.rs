//! Deleting instances, however many are below them.
//!
//! A transaction locks what it deletes, and a turn that waits for such a lock keeps the other turns of its
//! batch waiting. So a tree that is too large for a short transaction is deleted in parts, from its leaves
//! up.

use abide_provider::{AdminRefusal, DeleteInstanceResult, Operation, StoreError};

use crate::PostgresProvider;
use crate::bulk::{Scope, half_way};
use crate::news::News;
use crate::node::call::Values;
use crate::statements::Sql;
use crate::text::{spelt, unspell};

/// A tree with more instances, or with as many starts of children that are not yet born, is deleted in parts.
const TREE: usize = 512;

/// How many leaves of a large tree one transaction deletes.
const LEAVES: usize = 256;

/// How often a tree that grows while it is deleted is looked at again.
const LOOKS: usize = 64;

/// What became of a deletion in one transaction.
enum Deletion {
    Deleted(DeleteInstanceResult),
    /// It was not meant.
    Spared,
    /// It is too large for one transaction: the tree, parents before children.
    TooLarge(Vec<String>),
    /// One of them has a child that is not named.
    LeftBehind(AdminRefusal),
}

impl PostgresProvider {
    /// Deletes what the scope says; `None` if it was not meant.
    pub(crate) async fn delete(
        &self,
        operation: Operation,
        ids: &[String],
        scope: &Scope,
    ) -> Result<Option<DeleteInstanceResult>, StoreError> {
        let mut total = DeleteInstanceResult::default();
        for _ in 0..LOOKS {
            let deleted = self.delete_at_once(operation, ids, scope).await;
            match deleted.map_err(|error| half_deleted(error, &total))? {
                Deletion::Deleted(result) => {
                    total.add(&result);
                    return Ok(Some(total));
                }
                Deletion::Spared => return Ok((total.instances_deleted > 0).then_some(total)),
                Deletion::TooLarge(tree) => self.thin_out(operation, tree, scope, &mut total).await?,
                Deletion::LeftBehind(refusal) => {
                    return Err(half_deleted(refusal.store_error(operation), &total));
                }
            }
        }
        let error =
            StoreError::not_applied(operation, "the tree grows as fast as it is deleted; cancel it first");
        Err(half_deleted(error, &total))
    }

    async fn delete_at_once(
        &self,
        operation: Operation,
        ids: &[String],
        scope: &Scope,
    ) -> Result<Deletion, StoreError> {
        let names: Vec<String> = ids.iter().map(|id| spelt(id)).collect();
        let (word, force, ends, before) = scope.values();
        let values: Values = vec![
            Box::new(names),
            Box::new(word),
            Box::new(force),
            Box::new(ends),
            Box::new(before),
            Box::new(i64::from(self.shared.settings.removal_rows)),
            Box::new(column_of(TREE)),
        ];
        let row = self.one_row(operation, Sql::DeleteInstances, values).await?;
        let text = |column: &str| row.get::<_, Option<String>>(column).map(unspell).unwrap_or_default();
        let first = || ids.first().cloned().unwrap_or_default();
        let refusal = match row.get::<_, &str>("outcome") {
            "ok" => {
                self.tell_of_deletion(&row);
                return self.count(operation, &row).await.map(Deletion::Deleted);
            }
            "spared" => return Ok(Deletion::Spared),
            "too large" => {
                let tree = row.get::<_, Vec<String>>("gone").into_iter().map(unspell);
                return Ok(Deletion::TooLarge(tree.collect()));
            }
            "unknown" if matches!(scope, Scope::Roots { .. } | Scope::Orphans { .. }) => {
                return Ok(Deletion::Spared);
            }
            "unknown" => AdminRefusal::not_found(first()),
            "child" => AdminRefusal::IsChild { instance: first() },
            "running" => AdminRefusal::Running { instance: text("culprit") },
            _ => {
                let refusal = AdminRefusal::ChildLeftBehind { parent: text("culprit"), child: text("child") };
                return Ok(Deletion::LeftBehind(refusal));
            }
        };
        Err(refusal.store_error(operation))
    }

    /// Deletes what is below the root of a tree, from the leaves up, until one transaction can delete the
    /// rest. That nothing of it runs, if it may not, was checked for the whole tree, and is checked again for
    /// each part.
    async fn thin_out(
        &self,
        operation: Operation,
        tree: Vec<String>,
        scope: &Scope,
        total: &mut DeleteInstanceResult,
    ) -> Result<(), StoreError> {
        let (_, force, _, _) = scope.values();
        self.remove_unborn(operation, &tree, total).await?;
        let mut below: Vec<String> = tree.into_iter().skip(1).collect();
        while below.len() >= TREE {
            let leaves = below.split_off(below.len() - LEAVES);
            let deleted = self.delete_at_once(operation, &leaves, &Scope::Leaves { force }).await;
            match deleted.map_err(|error| half_deleted(error, total))? {
                Deletion::Deleted(result) => total.add(&result),
                // It has grown: it is looked at again.
                Deletion::Spared | Deletion::TooLarge(_) | Deletion::LeftBehind(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Removes the starts of children that are not yet born.
    async fn remove_unborn(
        &self,
        operation: Operation,
        parents: &[String],
        total: &mut DeleteInstanceResult,
    ) -> Result<(), StoreError> {
        let names: Vec<String> = parents.iter().map(|id| spelt(id)).collect();
        loop {
            let values: Values = vec![Box::new(names.clone()), Box::new(column_of(LEAVES))];
            let row = self.one_row(operation, Sql::DeleteUnborn, values).await;
            let row = row.map_err(|error| half_deleted(error, total))?;
            self.shared.tell(News::of_instances(row.get("wakes"), row.get("due_at")));
            total.queue_messages_deleted += u64::try_from(row.get::<_, i64>("items")).unwrap_or(0);
            if !row.get::<_, bool>("more") {
                return Ok(());
            }
        }
    }
}

fn column_of(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

fn half_deleted(error: StoreError, so_far: &DeleteInstanceResult) -> StoreError {
    half_way(error, so_far.instances_deleted, "instances were deleted")
}
