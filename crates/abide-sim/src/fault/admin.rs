//! The administrative side, method by method.

use abide_model::{Event, PruneOptions, PruneResult};
use abide_provider::{
    BlockedCounts, BlockedInstance, DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo,
    InstancePage, InstanceQuery, InstanceTree, Operation, OrphanFilter, ProviderAdmin, ProviderError,
    QueueDepths, Retention, SystemMetrics,
};
use async_trait::async_trait;

use super::store::FaultStore;

impl FaultStore {
    /// A call of the inner store's administrative side.
    async fn administer<'store, T, F>(
        &'store self,
        operation: Operation,
        effect: impl FnOnce(&'store dyn ProviderAdmin) -> F + Send,
    ) -> Result<T, ProviderError>
    where
        T: Send,
        F: Future<Output = Result<T, ProviderError>> + Send,
    {
        let admin = self.inner.as_management_capability();
        let effect = || async move {
            match admin {
                Some(admin) => effect(admin).await,
                None => Err(ProviderError::permanent(operation.as_str(), "this store has no administration")),
            }
        };
        self.required(operation, &[], effect).await
    }
}

#[async_trait]
impl ProviderAdmin for FaultStore {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        self.administer(Operation::ListInstances, ProviderAdmin::list_instances).await
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        self.administer(Operation::ListInstancesByStatus, |admin| admin.list_instances_by_status(status))
            .await
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        self.administer(Operation::ListExecutions, |admin| admin.list_executions(instance)).await
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.administer(Operation::ReadHistoryWithExecutionId, |admin| {
            admin.read_history_with_execution_id(instance, execution_id)
        })
        .await
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.administer(Operation::ReadHistory, |admin| admin.read_history(instance)).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        self.administer(Operation::LatestExecutionId, |admin| admin.latest_execution_id(instance)).await
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        self.administer(Operation::GetInstanceInfo, |admin| admin.get_instance_info(instance)).await
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        self.administer(Operation::GetExecutionInfo, |admin| admin.get_execution_info(instance, execution_id))
            .await
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        self.administer(Operation::GetSystemMetrics, ProviderAdmin::get_system_metrics).await
    }

    async fn count_running_instances(&self) -> Result<u64, ProviderError> {
        self.administer(Operation::GetSystemMetrics, ProviderAdmin::count_running_instances).await
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        self.administer(Operation::GetQueueDepths, ProviderAdmin::get_queue_depths).await
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        self.administer(Operation::ListChildren, |admin| admin.list_children(instance_id)).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        self.administer(Operation::GetParentId, |admin| admin.get_parent_id(instance_id)).await
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.administer(Operation::DeleteInstancesAtomic, |admin| admin.delete_instances_atomic(ids, force))
            .await
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        self.administer(Operation::GetInstanceTree, |admin| admin.get_instance_tree(instance_id)).await
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.administer(Operation::DeleteInstance, |admin| admin.delete_instance(instance_id, force)).await
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.administer(Operation::DeleteInstanceBulk, |admin| admin.delete_instance_bulk(filter)).await
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.administer(Operation::PruneExecutions, |admin| admin.prune_executions(instance_id, options))
            .await
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.administer(Operation::PruneExecutionsBulk, |admin| admin.prune_executions_bulk(filter, options))
            .await
    }

    async fn list_instances_page(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        self.administer(Operation::ListInstancesPage, |admin| admin.list_instances_page(query)).await
    }

    async fn cleanup_orphaned_instances(
        &self,
        filter: OrphanFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.administer(Operation::CleanupOrphanedInstances, |admin| admin.cleanup_orphaned_instances(filter))
            .await
    }

    async fn enforce_retention(&self, retention: Retention) -> Result<DeleteInstanceResult, ProviderError> {
        self.administer(Operation::EnforceRetention, |admin| admin.enforce_retention(retention)).await
    }

    async fn count_blocked(&self) -> Result<BlockedCounts, ProviderError> {
        self.administer(Operation::CountBlocked, ProviderAdmin::count_blocked).await
    }

    async fn list_blocked(&self, limit: usize) -> Result<Vec<BlockedInstance>, ProviderError> {
        self.administer(Operation::ListBlocked, |admin| admin.list_blocked(limit)).await
    }
}
