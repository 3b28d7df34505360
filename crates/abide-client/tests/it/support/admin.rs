//! The administrative side of another store, that fails as it is told.

use std::future::pending;
use std::sync::Arc;

use abide_model::{Event, PruneOptions, PruneResult};
use abide_provider::{
    DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, Operation, Provider, ProviderAdmin,
    ProviderError, QueueDepths, SystemMetrics,
};
use async_trait::async_trait;

/// What is wrong with it, for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdminFault {
    /// Deletions are refused, for no reason that anybody can see.
    RefusesDeletion,
    /// Deletions are refused, and then nothing can be looked at.
    RefusesDeletionAndLooking,
    /// Deletions fail, but might succeed later.
    BusyDeletion,
    /// Nothing is ever answered.
    Hangs,
}

pub(crate) struct FaultyAdmin {
    inner: Arc<dyn Provider>,
    pub(crate) fault: Option<AdminFault>,
}

impl FaultyAdmin {
    pub(crate) fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, fault: None }
    }

    /// Where a call that only looks goes.
    async fn look(&self, operation: Operation) -> Result<&dyn ProviderAdmin, ProviderError> {
        match self.fault {
            None | Some(AdminFault::RefusesDeletion | AdminFault::BusyDeletion) => {
                Ok(self.inner.as_management_capability().unwrap())
            }
            Some(AdminFault::RefusesDeletionAndLooking) => {
                Err(ProviderError::retryable(operation.as_str(), "busy"))
            }
            Some(AdminFault::Hangs) => pending().await,
        }
    }

    /// Where a call that deletes goes.
    async fn delete(&self) -> Result<&dyn ProviderAdmin, ProviderError> {
        let operation = Operation::DeleteInstance.as_str();
        match self.fault {
            None => Ok(self.inner.as_management_capability().unwrap()),
            // As misleading as a text can be.
            Some(AdminFault::RefusesDeletion | AdminFault::RefusesDeletionAndLooking) => Err(
                ProviderError::permanent(operation, "not found, or still running, or a sub-orchestration"),
            ),
            Some(AdminFault::BusyDeletion) => Err(ProviderError::retryable(operation, "busy")),
            Some(AdminFault::Hangs) => pending().await,
        }
    }
}

#[async_trait]
impl ProviderAdmin for FaultyAdmin {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        self.look(Operation::ListInstances).await?.list_instances().await
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        self.look(Operation::ListInstancesByStatus).await?.list_instances_by_status(status).await
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        self.look(Operation::ListExecutions).await?.list_executions(instance).await
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        let admin = self.look(Operation::ReadHistoryWithExecutionId).await?;
        admin.read_history_with_execution_id(instance, execution_id).await
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.look(Operation::ReadHistory).await?.read_history(instance).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        self.look(Operation::LatestExecutionId).await?.latest_execution_id(instance).await
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        self.look(Operation::GetInstanceInfo).await?.get_instance_info(instance).await
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        self.look(Operation::GetExecutionInfo).await?.get_execution_info(instance, execution_id).await
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        self.look(Operation::GetSystemMetrics).await?.get_system_metrics().await
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        self.look(Operation::GetQueueDepths).await?.get_queue_depths().await
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        self.look(Operation::ListChildren).await?.list_children(instance_id).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        self.look(Operation::GetParentId).await?.get_parent_id(instance_id).await
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.delete().await?.delete_instances_atomic(ids, force).await
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.delete().await?.delete_instance(instance_id, force).await
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.delete().await?.delete_instance_bulk(filter).await
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.delete().await?.prune_executions(instance_id, options).await
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.delete().await?.prune_executions_bulk(filter, options).await
    }
}
