//! The administrative side of a store with the required methods only.

use abide_model::{Event, PruneOptions, PruneResult};
use abide_provider::{
    DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, Operation, ProviderAdmin,
    ProviderError, QueueDepths, SystemMetrics,
};
use async_trait::async_trait;

use super::RequiredOnly;

impl RequiredOnly {
    fn admin(&self, operation: Operation) -> Result<&dyn ProviderAdmin, ProviderError> {
        let missing = || ProviderError::permanent(operation.as_str(), "this store has no administration");
        self.inner.as_management_capability().ok_or_else(missing)
    }
}

#[async_trait]
impl ProviderAdmin for RequiredOnly {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        self.admin(Operation::ListInstances)?.list_instances().await
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        self.admin(Operation::ListInstancesByStatus)?.list_instances_by_status(status).await
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        self.admin(Operation::ListExecutions)?.list_executions(instance).await
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.admin(Operation::ReadHistoryWithExecutionId)?
            .read_history_with_execution_id(instance, execution_id)
            .await
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.admin(Operation::ReadHistory)?.read_history(instance).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        self.admin(Operation::LatestExecutionId)?.latest_execution_id(instance).await
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        self.admin(Operation::GetInstanceInfo)?.get_instance_info(instance).await
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        self.admin(Operation::GetExecutionInfo)?.get_execution_info(instance, execution_id).await
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        self.admin(Operation::GetSystemMetrics)?.get_system_metrics().await
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        self.admin(Operation::GetQueueDepths)?.get_queue_depths().await
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        self.admin(Operation::ListChildren)?.list_children(instance_id).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        self.admin(Operation::GetParentId)?.get_parent_id(instance_id).await
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.admin(Operation::DeleteInstancesAtomic)?.delete_instances_atomic(ids, force).await
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.admin(Operation::DeleteInstanceBulk)?.delete_instance_bulk(filter).await
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.admin(Operation::PruneExecutions)?.prune_executions(instance_id, options).await
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.admin(Operation::PruneExecutionsBulk)?.prune_executions_bulk(filter, options).await
    }
}
