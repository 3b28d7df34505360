//! The administrative side of a store.

use std::any::Any;
use std::collections::BTreeSet;

use abide_model::{Event, PruneOptions, PruneResult};
use async_trait::async_trait;

use crate::{
    AdminRefusal, BlockedCounts, BlockedInstance, DeleteInstanceResult, ExecutionInfo, InstanceFilter,
    InstanceInfo, InstancePage, InstanceQuery, InstanceTree, Operation, OrphanFilter, ProviderError,
    QueueDepths, Retention, SystemMetrics, admin_defaults,
};

/// Looking at instances, deleting them, and pruning their executions.
#[async_trait]
pub trait ProviderAdmin: Any + Send + Sync {
    /// All instances, newest first.
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError>;

    /// The instances whose current execution stands like this, newest first.
    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError>;

    /// The executions of an instance, ascending; empty for an unknown one.
    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError>;

    /// The history of one execution.
    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError>;

    /// The history of the latest execution.
    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError>;

    /// The latest execution. An error that says "not found" if there is no such instance.
    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError>;

    /// What is known about an instance. An error that says "not found" if there is none.
    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError>;

    /// What is known about one execution. An error that says "not found" if there is none.
    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError>;

    /// How much there is of everything.
    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError>;

    /// How many instances run, those between two executions included: [`SystemMetrics::running_instances`] without all the rest, which
    /// every runtime asks for from time to time.
    ///
    /// The default counts everything.
    async fn count_running_instances(&self) -> Result<u64, ProviderError> {
        Ok(self.get_system_metrics().await?.running_instances)
    }

    /// How much waits in the queues.
    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError>;

    /// The direct children of an instance.
    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError>;

    /// The parent of an instance, if it has one. An error that says "not found" if there is no such instance.
    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError>;

    /// Deletes these instances with everything they have, all or nothing.
    ///
    /// Without `force` none of them may be running, or be between two executions; with it or not, no child may be left
    /// behind. Names that are no instances are passed over; with `force` what waits for them in the queues goes.
    #[expect(clippy::fn_params_excessive_bools, reason = "the signature is frozen")]
    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError>;

    /// An instance and everything below it.
    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        let mut all_ids = vec![instance_id.to_owned()];
        let mut seen = BTreeSet::from([instance_id.to_owned()]);
        let mut next = 0;
        while let Some(parent) = all_ids.get(next) {
            for child in self.list_children(parent).await? {
                if seen.insert(child.clone()) {
                    all_ids.push(child);
                }
            }
            next += 1;
        }
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids })
    }

    /// Deletes an instance with everything below it. Children are deleted with their root only.
    #[expect(clippy::fn_params_excessive_bools, reason = "the signature is frozen")]
    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        if self.get_parent_id(instance_id).await?.is_some() {
            let refusal = AdminRefusal::IsChild { instance: instance_id.to_owned() };
            return Err(refusal.provider_error(Operation::DeleteInstance));
        }
        let tree = self.get_instance_tree(instance_id).await?;
        self.delete_instances_atomic(&tree.all_ids, force).await
    }

    /// Deletes finished root instances with everything below them. What runs, or has something below it that runs, is left
    /// alone, and so is an instance between two executions. Every tree is deleted as a whole; not all of them at once.
    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError>;

    /// Deletes finished executions of an instance; never the current one. If there are many, not all of them at once: after an error,
    /// or if nobody waits for the answer, some may be gone, and the same call again deletes the others.
    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError>;

    /// Deletes finished executions of many instances, also of such that run: of those named, or of those that have any to
    /// delete. With `completed_before` in the filter, only of instances that ended before.
    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError>;

    /// One page of instances: those the query means, in its order, with what a person wants to see.
    ///
    /// The default asks for every instance, and knows no custom status.
    async fn list_instances_page(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        admin_defaults::list_page(self, query).await
    }

    /// Deletes finished children, with everything below them, whose asking execution has ended or is not there any more.
    /// Never what runs, nor what has something below it that does.
    ///
    /// The default asks for every instance.
    async fn cleanup_orphaned_instances(
        &self,
        filter: OrphanFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        admin_defaults::cleanup_orphaned_instances(self, filter).await
    }

    /// Deletes finished root instances, with everything below them, that ended long enough ago. Never what runs, nor what has
    /// something below it that does, nor an instance between two executions.
    ///
    /// The default judges by the caller's time.
    async fn enforce_retention(&self, retention: Retention) -> Result<DeleteInstanceResult, ProviderError> {
        admin_defaults::enforce_retention(self, retention).await
    }

    /// How many instances are blocked, and the oldest of them.
    ///
    /// The default knows of no blocks.
    async fn count_blocked(&self) -> Result<BlockedCounts, ProviderError> {
        Ok(BlockedCounts::default())
    }

    /// Up to `limit` blocked instances, those blocked first first. An instance with several held activities is listed
    /// once for each.
    ///
    /// The default knows of no blocks.
    async fn list_blocked(&self, limit: usize) -> Result<Vec<BlockedInstance>, ProviderError> {
        let _ = limit;
        Ok(Vec::new())
    }
}
