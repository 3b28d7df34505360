//! Deleting instances: what may be deleted, and what goes with it.

use std::collections::HashMap;
use std::sync::Mutex;

use abide_model::WorkItem;
use abide_provider::{
    AdminRefusal, Committed, DeleteInstanceResult, FinishedWork, InstanceTree, Operation, TurnCommit,
};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer, is_lost};
use crate::planted::bugs;
use crate::store::{Store, addressee};

bugs! {
    /// What runs is deleted without force.
    DeletesRunning => "deletion::test_delete_running_rejected_force_succeeds";
    /// What runs is not deleted by force either.
    ForceIgnored => "deletion::test_delete_running_rejected_force_succeeds";
    /// An instance between two executions is deleted without force.
    DeletesBetweenExecutions => "deletion::test_delete_between_executions_is_refused";
    /// Deleting what does not exist says that it is done.
    DeletesNothing => "deletion::test_delete_nonexistent_instance";
    /// A child can be deleted for itself.
    DeletesChild => "deletion::test_cascade_delete_hierarchy";
    /// Children outlive the instance that is deleted.
    DeleteLeavesChildren => "deletion::test_cascade_delete_hierarchy";
    /// Grandchildren outlive the instance that is deleted.
    DeleteLeavesGrandchildren => "deletion::test_cascade_delete_hierarchy";
    /// Mail outlives the instance that is deleted.
    DeleteLeavesMail => "deletion::test_deleted_name_begins_anew";
    /// Activities outlive the instance that is deleted.
    DeleteLeavesWork => "deletion::test_delete_cleans_queues_and_locks";
    /// Mail of another instance goes with the one that is deleted.
    DeleteTakesMailOfOthers => "deletion::test_delete_cleans_queues_and_locks";
    /// The ack of a turn that was leased before the deletion brings the instance back.
    LateAckRecreates => "deletion::test_force_delete_prevents_ack_recreation";
    /// The completion of an activity reaches another instance that was given the same name.
    LateCompletionDelivered => "deletion::test_stale_activity_after_delete_recreate";
    /// Several instances are deleted one after the other, up to the first that is refused.
    AtomicDeleteHalfDone => "deletion::test_delete_instances_atomic";
    /// Deleting some instances leaves their other children without a parent.
    AtomicDeleteOrphans => "deletion::test_delete_instances_atomic_orphan_detection";
    /// Deleting some instances refuses names that are none.
    AtomicDeleteNeedsAll => "deletion::test_delete_instances_atomic_passes_over_what_is_no_instance";
    /// Whether an instance runs is looked at before the transaction that deletes it.
    DeleteChecksOutside => "deletion::test_birth_beside_deletion";
    /// What is below an instance is looked up before the transaction that deletes it, and not looked at again.
    TreeReadOutside => "deletion::test_stale_tree_is_refused";
    /// A tree is deleted piece by piece: a deletion that is dropped leaves a part of it.
    DeletesPieceByPiece => "deletion::test_dropped_deletion_is_all_or_nothing";
    /// A deletion does not say how much it deleted.
    DeleteCountsNothing => "deletion::test_delete_terminal_instances";
    /// A history that cannot be read cannot be deleted.
    DeleteNeedsReadableHistory => "deletion::test_unreadable_history_is_deleted";
    /// The start of a child that is not yet born outlives its parent.
    UnbornChildSurvives => "deletion::test_unborn_child_goes_with_its_parent";
    /// A start that names no parent goes with the instance that sent it.
    DetachedStartTaken { sent: Mutex<HashMap<String, String>> } => "deletion::test_detached_start_outlives_its_author";
    /// Children of children are children.
    GrandchildrenAreChildren => "deletion::test_list_children";
    /// A tree is an instance and its children.
    TreeOfTwoLevels => "deletion::test_delete_get_instance_tree";
    /// A tree has children before their parents.
    TreeUpsideDown => "deletion::test_delete_get_instance_tree";
    /// The parent of what does not exist is none.
    ParentOfNothing => "deletion::test_delete_get_parent_id";
}

#[async_trait]
impl Bug for DeletesRunning {
    async fn delete_instance(&self, store: &Store, instance: &str, _: bool) -> Answer<DeleteInstanceResult> {
        store.delete_instance(instance, true).await
    }

    async fn delete_instances_atomic(
        &self,
        store: &Store,
        ids: &[String],
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let running = ids.iter().any(|id| store.is_instance(id));
        store.delete_instances_atomic(ids, force || running).await
    }
}

#[async_trait]
impl Bug for ForceIgnored {
    async fn delete_instance(&self, store: &Store, instance: &str, _: bool) -> Answer<DeleteInstanceResult> {
        store.delete_instance(instance, false).await
    }

    async fn delete_instances_atomic(
        &self,
        store: &Store,
        ids: &[String],
        _: bool,
    ) -> Answer<DeleteInstanceResult> {
        store.delete_instances_atomic(ids, false).await
    }
}

/// How an instance's current execution stands.
fn status_of(store: &Store, instance: &str) -> Option<String> {
    store.dump().instances.remove(instance)?.status
}

#[async_trait]
impl Bug for DeletesBetweenExecutions {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let is_between = status_of(store, instance).as_deref() == Some("ContinuedAsNew");
        store.delete_instance(instance, force || is_between).await
    }

    async fn delete_instances_atomic(
        &self,
        store: &Store,
        ids: &[String],
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let is_between = ids.iter().any(|id| status_of(store, id).as_deref() == Some("ContinuedAsNew"));
        store.delete_instances_atomic(ids, force || is_between).await
    }
}

#[async_trait]
impl Bug for DeletesNothing {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        if !store.is_instance(instance) {
            return Ok(DeleteInstanceResult::default());
        }
        store.delete_instance(instance, force).await
    }
}

#[async_trait]
impl Bug for DeletesChild {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        if store.get_parent_id(instance).await?.is_none() {
            return store.delete_instance(instance, force).await;
        }
        let tree = store.get_instance_tree(instance).await?;
        store.delete_instances_atomic(&tree.all_ids, force).await
    }
}

/// Deletes a tree, and then brings back what the bug forgot.
#[expect(clippy::fn_params_excessive_bools, reason = "the frozen signatures have them")]
async fn delete_but(
    store: &Store,
    instance: &str,
    force: bool,
    is_left: impl Fn(&InstanceTree, &str) -> bool,
) -> Answer<DeleteInstanceResult> {
    let tree = store.get_instance_tree(instance).await?;
    let mut left = Vec::new();
    for id in tree.all_ids.iter().filter(|id| is_left(&tree, id)) {
        left.push(store.remember(id).await);
    }
    let deleted = store.delete_instance(instance, force).await?;
    for instance in left {
        store.bring_back(instance).await;
    }
    Ok(deleted)
}

#[async_trait]
impl Bug for DeleteLeavesChildren {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        delete_but(store, instance, force, |tree, id| id != tree.root_id).await
    }
}

#[async_trait]
impl Bug for DeleteLeavesGrandchildren {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let mut deleted = vec![instance.to_owned()];
        deleted.extend(store.list_children(instance).await?);
        delete_but(store, instance, force, |_, id| deleted.iter().all(|deleted| deleted != id)).await
    }
}

#[async_trait]
impl Bug for DeleteLeavesMail {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let lease = store.lease(instance).await;
        let deleted = store.delete_instance(instance, force).await;
        match (&deleted, lease) {
            (Err(_), Some(lease)) => store.give_back(&lease.token).await,
            (Ok(_), Some(lease)) => {
                for message in lease.messages {
                    store.enqueue_for_orchestrator(message.item, None).await?;
                }
            }
            (Ok(_) | Err(_), None) => {}
        }
        deleted
    }
}

#[async_trait]
impl Bug for DeleteLeavesWork {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let leases = store.lease_all_work().await;
        let deleted = store.delete_instance(instance, force).await;
        for lease in leases {
            if deleted.is_ok() && addressee(&lease.item) == instance {
                store.enqueue_for_worker(lease.item).await?;
            } else {
                let _held = store.abandon_work_item(&lease.token, None, true).await;
            }
        }
        deleted
    }
}

#[async_trait]
impl Bug for DeleteTakesMailOfOthers {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let deleted = store.delete_instance(instance, force).await?;
        let others: Vec<String> = store.dump().instances.into_keys().collect();
        for other in others {
            store.remove_mail(&other, |_| true).await;
        }
        Ok(deleted)
    }
}

#[async_trait]
impl Bug for LateAckRecreates {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let (instance, turn) = (commit.instance.clone(), commit.turn.clone());
        let answer = store.commit(commit).await;
        if is_lost(&answer) && !store.is_instance(&instance) && !instance.is_empty() {
            let appended = store.append_with_execution(&instance, turn.execution_id, turn.events).await;
            return appended.map(|()| Committed::default()).or(answer);
        }
        answer
    }
}

#[async_trait]
impl Bug for LateCompletionDelivered {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let FinishedWork { token, completion } = finished.clone();
        let answer = store.finish(finished).await;
        let Some(job) = store.job(&token) else { return answer };
        match completion {
            Some(completion) if is_lost(&answer) && job.until > store.now() => {
                store.enqueue_for_orchestrator(completion, None).await.expect("a completion can be sent");
                Ok(())
            }
            Some(_) | None => answer,
        }
    }
}

#[async_trait]
impl Bug for AtomicDeleteHalfDone {
    async fn delete_instances_atomic(
        &self,
        store: &Store,
        ids: &[String],
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let mut total = DeleteInstanceResult::default();
        for id in ids.iter().rev() {
            total.add(&store.delete_instances_atomic(std::slice::from_ref(id), force).await?);
        }
        Ok(total)
    }
}

#[async_trait]
impl Bug for AtomicDeleteOrphans {
    async fn delete_instances_atomic(
        &self,
        store: &Store,
        ids: &[String],
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let mut all: Vec<String> = ids.to_vec();
        let mut left = Vec::new();
        for id in ids {
            for child in store.get_instance_tree(id).await?.all_ids {
                if !all.contains(&child) {
                    left.push(store.remember(&child).await);
                    all.push(child);
                }
            }
        }
        let deleted = store.delete_instances_atomic(&all, force).await?;
        for instance in left {
            store.bring_back(instance).await;
        }
        Ok(deleted)
    }
}

#[async_trait]
impl Bug for AtomicDeleteNeedsAll {
    async fn delete_instances_atomic(
        &self,
        store: &Store,
        ids: &[String],
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        match ids.iter().find(|id| !store.is_instance(id)) {
            Some(id) => Err(AdminRefusal::not_found(id).provider_error(Operation::DeleteInstancesAtomic)),
            None => store.delete_instances_atomic(ids, force).await,
        }
    }
}

#[async_trait]
impl Bug for DeleteChecksOutside {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let _moment = store.moment().await;
        store.commit(commit).await
    }

    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let moment = store.moment().await;
        let tree = store.get_instance_tree(instance).await?.all_ids;
        let is_over = |id| matches!(status_of(store, id).as_deref(), Some("Completed" | "Failed"));
        let was_over = tree.iter().all(|id| is_over(id));
        drop(moment);
        tokio::task::yield_now().await;
        let _moment = store.moment().await;
        store.delete_instance(instance, force || was_over).await
    }
}

#[async_trait]
impl Bug for TreeReadOutside {
    async fn delete_instances_atomic(
        &self,
        store: &Store,
        ids: &[String],
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        AtomicDeleteOrphans {}.delete_instances_atomic(store, ids, force).await
    }

    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let before = store.get_instance_tree(instance).await?;
        tokio::task::yield_now().await;
        delete_but(store, instance, force, |_, id| !before.all_ids.iter().any(|known| known == id)).await
    }
}

#[async_trait]
impl Bug for DeletesPieceByPiece {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let tree = store.get_instance_tree(instance).await?.all_ids;
        let is_over = |id| matches!(status_of(store, id).as_deref(), Some("Completed" | "Failed"));
        let is_child = store.get_parent_id(instance).await?.is_some();
        if is_child || !force && !tree.iter().all(|id| is_over(id)) {
            return store.delete_instance(instance, force).await;
        }
        let mut total = DeleteInstanceResult::default();
        for id in tree.into_iter().rev() {
            total.add(&store.delete_instances_atomic(&[id], force).await?);
            tokio::task::yield_now().await;
        }
        Ok(total)
    }
}

#[async_trait]
impl Bug for DeleteCountsNothing {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let deleted = store.delete_instance(instance, force).await?;
        Ok(DeleteInstanceResult { instances_deleted: deleted.instances_deleted, ..Default::default() })
    }
}

#[async_trait]
impl Bug for DeleteNeedsReadableHistory {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let _history = store.read(instance).await?;
        store.delete_instance(instance, force).await
    }
}

/// The parent that a start names.
fn parent_of(item: &WorkItem) -> Option<&str> {
    let WorkItem::StartOrchestration { parent_instance, .. } = item else { return None };
    parent_instance.as_deref()
}

#[async_trait]
impl Bug for UnbornChildSurvives {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let tree = store.get_instance_tree(instance).await?.all_ids;
        let names: Vec<String> = store.dump().instances.into_keys().collect();
        let mut unborn = Vec::new();
        for name in names.iter().filter(|name| !store.is_instance(name)) {
            let Some(lease) = store.lease(name).await else { continue };
            store.give_back(&lease.token).await;
            let starts = lease.messages.into_iter().map(|message| message.item);
            unborn.extend(
                starts.filter(|item| {
                    parent_of(item).is_some_and(|parent| tree.iter().any(|name| name == parent))
                }),
            );
        }
        let deleted = store.delete_instance(instance, force).await?;
        for start in unborn {
            store.enqueue_for_orchestrator(start, None).await?;
        }
        Ok(deleted)
    }
}

#[async_trait]
impl Bug for DetachedStartTaken {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        for item in &commit.turn.orchestrator_items {
            if let WorkItem::StartOrchestration { instance, .. } = item {
                self.sent.lock().unwrap().insert(instance.clone(), commit.instance.clone());
            }
        }
        store.commit(commit).await
    }

    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let deleted = store.delete_instance(instance, force).await?;
        let sent = self.sent.lock().unwrap().clone();
        for (started, _) in sent.into_iter().filter(|(_, author)| author == instance) {
            if !store.is_instance(&started) {
                store.delete_instances_atomic(&[started], true).await?;
            }
        }
        Ok(deleted)
    }
}

#[async_trait]
impl Bug for GrandchildrenAreChildren {
    async fn list_children(&self, store: &Store, instance: &str) -> Answer<Vec<String>> {
        Ok(store.get_instance_tree(instance).await?.all_ids.split_off(1))
    }
}

#[async_trait]
impl Bug for TreeOfTwoLevels {
    async fn get_instance_tree(&self, store: &Store, instance: &str) -> Answer<InstanceTree> {
        let mut all_ids = vec![instance.to_owned()];
        all_ids.extend(store.list_children(instance).await?);
        Ok(InstanceTree { root_id: instance.to_owned(), all_ids })
    }
}

#[async_trait]
impl Bug for TreeUpsideDown {
    async fn get_instance_tree(&self, store: &Store, instance: &str) -> Answer<InstanceTree> {
        let mut tree = store.get_instance_tree(instance).await?;
        tree.all_ids.reverse();
        Ok(tree)
    }
}

#[async_trait]
impl Bug for ParentOfNothing {
    async fn get_parent_id(&self, store: &Store, instance: &str) -> Answer<Option<String>> {
        Ok(store.get_parent_id(instance).await.unwrap_or_default())
    }
}
