//! Administration on SQLite: looking is a read, changing is a job for the writer. What goes through many instances is in
//! `bulk.rs`.

use abide_model::{Event, ExecutionStatus, PruneOptions, PruneResult};
use abide_provider::{
    AdminRefusal, BlockedCounts, BlockedInstance, DeleteInstanceResult, ExecutionInfo, Force, InstanceFilter,
    InstanceInfo, InstancePage, InstanceQuery, InstanceTree, Operation, OrphanFilter, Provider,
    ProviderAdmin, ProviderError, QueueDepths, Retention, StoreError, SystemMetrics,
};
use async_trait::async_trait;

use crate::SqliteProvider;
use crate::bulk::Candidates;
use crate::job::{Kind, Phase, job};
use crate::statements::Sql;
use crate::store::delete::{Before, Meant};
use crate::store::listing::Listing;
use crate::text::Text;

#[async_trait]
impl ProviderAdmin for SqliteProvider {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        let operation = Operation::ListInstances;
        Ok(self.read_with(operation, |sql| sql.ids(Sql::ListNewest, [])).await?)
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        // No instance stands like something that does not exist.
        let Ok(status) = status.parse::<ExecutionStatus>() else { return Ok(Vec::new()) };
        let operation = Operation::ListInstancesByStatus;
        Ok(self.read_with(operation, move |sql| sql.ids(Sql::ListByStatus, [status.as_str()])).await?)
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        let id = instance.to_owned();
        Ok(self.read_with(Operation::ListExecutions, move |sql| sql.executions(&id)).await?)
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
        Ok(self.info(instance, Operation::LatestExecutionId).await?.current_execution_id)
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        self.info(instance, Operation::GetInstanceInfo).await
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        let operation = Operation::GetExecutionInfo;
        let id = instance.to_owned();
        let (info, execution) = self
            .read_with(operation, move |sql| {
                Ok((sql.instance_info(&id)?, sql.execution_info(&id, execution_id)?))
            })
            .await?;
        let refusal = match info {
            None => AdminRefusal::not_found(instance),
            Some(_) => AdminRefusal::ExecutionNotFound { instance: instance.to_owned(), execution_id },
        };
        execution.ok_or_else(|| refusal.provider_error(operation))
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method alone is for one lifetime only"
    )]
    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        Ok(self.read_with(Operation::GetSystemMetrics, |sql| sql.metrics()).await?)
    }

    async fn count_running_instances(&self) -> Result<u64, ProviderError> {
        Ok(self.read_with(Operation::GetSystemMetrics, |sql| sql.count(Sql::CountRunning, [])).await?)
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        let clock = self.shared.clock.clone();
        Ok(self.read_with(Operation::GetQueueDepths, move |sql| sql.queue_depths(clock.wall())).await?)
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        let id = Text::from(instance_id);
        let children = self.read_with(Operation::ListChildren, move |sql| sql.children(&id)).await?;
        Ok(children.iter().map(|child| child.id.lossy()).collect())
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        Ok(self.info(instance_id, Operation::GetParentId).await?.parent_instance_id)
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let operation = Operation::DeleteInstancesAtomic;
        let (ids, force) = (ids.to_vec(), Force::from(force));
        let kind = Kind::write(operation, Phase::Commit);
        let erased = self.run(job(kind, move |tx| tx.delete_set(&ids, force, operation))).await?;
        Ok(self.count(operation, erased).await?)
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        let id = Text::from(instance_id);
        let below = self.read_with(Operation::GetInstanceTree, move |sql| sql.descendants(&id)).await?;
        let mut all_ids = vec![instance_id.to_owned()];
        all_ids.extend(below.iter().map(|member| member.id.lossy()));
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids })
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        Ok(self.delete_tree(instance_id, Force::from(force)).await?)
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        Ok(self.delete_roots(Operation::DeleteInstanceBulk, filter).await?)
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        Ok(self.prune_one(instance_id, &options).await?)
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let limit = filter.at_most();
        let InstanceFilter { instance_ids, completed_before, .. } = filter;
        let candidates = match instance_ids {
            Some(ids) => Candidates::named(ids),
            None => Candidates::prunable(&options, completed_before),
        };
        Ok(self.prune_in_parts(candidates, Before::of(completed_before), options, limit).await?)
    }

    async fn list_instances_page(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        let operation = Operation::ListInstancesPage;
        let listing =
            Listing::of(&query).map_err(|error| AdminRefusal::Query(error).provider_error(operation))?;
        Ok(self.read_with(operation, move |sql| listing.read(sql)).await?)
    }

    async fn cleanup_orphaned_instances(
        &self,
        filter: OrphanFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let operation = Operation::CleanupOrphanedInstances;
        let ends = filter.ends().map_err(|error| AdminRefusal::Orphans(error).provider_error(operation))?;
        let meant = Meant::Orphans { ends, before: Before::of(filter.parent_completed_before) };
        let candidates = Candidates::ended(Sql::EndedChildren, None);
        Ok(self.delete_in_parts(operation, candidates, meant, filter.at_most()).await?)
    }

    async fn enforce_retention(&self, retention: Retention) -> Result<DeleteInstanceResult, ProviderError> {
        let filter = retention.filter(self.shared.clock.wall());
        Ok(self.delete_roots(Operation::EnforceRetention, filter).await?)
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method alone is for one lifetime only"
    )]
    async fn count_blocked(&self) -> Result<BlockedCounts, ProviderError> {
        Ok(self.read_with(Operation::CountBlocked, |sql| sql.count_blocked()).await?)
    }

    async fn list_blocked(&self, limit: usize) -> Result<Vec<BlockedInstance>, ProviderError> {
        Ok(self.read_with(Operation::ListBlocked, move |sql| sql.list_blocked(limit)).await?)
    }
}

impl SqliteProvider {
    async fn delete_roots(
        &self,
        operation: Operation,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, StoreError> {
        let limit = filter.at_most();
        let InstanceFilter { instance_ids, completed_before, .. } = filter;
        let candidates = match instance_ids {
            Some(ids) => Candidates::named(ids),
            None => Candidates::ended(Sql::EndedRoots, completed_before),
        };
        let meant = Meant::Roots(Before::of(completed_before));
        self.delete_in_parts(operation, candidates, meant, limit).await
    }

    async fn info(&self, instance: &str, operation: Operation) -> Result<InstanceInfo, ProviderError> {
        let id = instance.to_owned();
        let info = self.read_with(operation, move |sql| sql.instance_info(&id)).await?;
        info.ok_or_else(|| AdminRefusal::not_found(instance).provider_error(operation))
    }
}
