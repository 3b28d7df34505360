//! Administration, method by method: lock, call, answer.

use abide_model::{Event, PruneOptions, PruneResult};
use abide_provider::{
    AdminRefusal, BlockedCounts, BlockedInstance, DeleteInstanceResult, ExecutionInfo, InstanceFilter,
    InstanceInfo, InstancePage, InstanceQuery, InstanceTree, Operation, OrphanFilter, Provider,
    ProviderAdmin, ProviderError, QueueDepths, Retention, SystemMetrics,
};
use async_trait::async_trait;

use crate::state::State;
use crate::store::InMemoryProvider;

#[async_trait]
impl ProviderAdmin for InMemoryProvider {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        Ok(self.look(|state, _| state.newest_first(None)))
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        // No instance stands like something that does not exist.
        let Ok(status) = status.parse() else { return Ok(Vec::new()) };
        Ok(self.look(|state, _| state.newest_first(Some(status))))
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        Ok(self.look(|state, _| state.executions(instance)))
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.read_with_execution(instance, execution_id).await
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.read(instance).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        self.look(|state, _| state.existing(instance).map(|instance| instance.current))
            .map_err(at(Operation::LatestExecutionId))
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        self.look(|state, _| state.instance_info(instance)).map_err(at(Operation::GetInstanceInfo))
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        self.look(|state, _| state.execution_info(instance, execution_id))
            .map_err(at(Operation::GetExecutionInfo))
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        Ok(self.look(|state, _| state.metrics()))
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        Ok(self.look(State::queue_depths))
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        Ok(self.look(|state, _| state.children(instance_id)))
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        self.look(|state, _| {
            state.existing(instance_id).map(|instance| instance.parent_id().map(str::to_owned))
        })
        .map_err(at(Operation::GetParentId))
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.change(|state, now| state.delete_set(ids, force.into(), now))
            .map_err(at(Operation::DeleteInstancesAtomic))
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        let all_ids = self.look(|state, _| state.tree(instance_id));
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids })
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.change(|state, now| state.delete_root(instance_id, force.into(), now))
            .map_err(at(Operation::DeleteInstance))
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        Ok(self.change(|state, now| state.delete_bulk(&filter, now)))
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.change(|state, now| {
            state.existing(instance_id)?;
            Ok(state.prune(instance_id, &options, u64::MAX, now))
        })
        .map_err(at(Operation::PruneExecutions))
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        Ok(self.change(|state, now| state.prune_bulk(&filter, &options, now)))
    }

    async fn list_instances_page(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        self.look(|state, _| state.page(&query)).map_err(at(Operation::ListInstancesPage))
    }

    async fn cleanup_orphaned_instances(
        &self,
        filter: OrphanFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.change(|state, now| state.delete_orphans(&filter, now))
            .map_err(at(Operation::CleanupOrphanedInstances))
    }

    async fn enforce_retention(&self, retention: Retention) -> Result<DeleteInstanceResult, ProviderError> {
        Ok(self.change(|state, now| state.delete_bulk(&retention.filter(now), now)))
    }

    async fn count_blocked(&self) -> Result<BlockedCounts, ProviderError> {
        Ok(self.look(|state, _| state.count_blocked()))
    }

    async fn list_blocked(&self, limit: usize) -> Result<Vec<BlockedInstance>, ProviderError> {
        Ok(self.look(|state, _| state.list_blocked(limit)))
    }
}

fn at(operation: Operation) -> impl Fn(AdminRefusal) -> ProviderError {
    move |refusal| refusal.provider_error(operation)
}
