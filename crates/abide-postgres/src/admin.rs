//! Administration on PostgreSQL: looking is a read, changing is one call per instance or tree. What goes through many instances is in
//! `bulk.rs`.

use abide_model::{Event, ExecutionStatus, PruneOptions, PruneResult};
use abide_provider::{
    AdminRefusal, BlockedCounts, BlockedInstance, DeleteInstanceResult, ExecutionInfo, InstanceFilter,
    InstanceInfo, InstancePage, InstanceQuery, InstanceTree, Operation, OrphanFilter, Provider,
    ProviderAdmin, ProviderError, QueueDepths, Retention, StoreError, SystemMetrics,
};
use async_trait::async_trait;
use tokio_postgres::Row;

use crate::PostgresProvider;
use crate::bulk::{Candidates, Scope};
use crate::encode::{column, number, time};
use crate::listing::Listing;
use crate::node::call::Values;
use crate::statements::Sql;
use crate::text::{spelt, unspell};

#[async_trait]
impl ProviderAdmin for PostgresProvider {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        self.ids(Operation::ListInstances, Sql::ListNewest, Vec::new()).await
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        // No instance stands like something that does not exist.
        let Ok(status) = status.parse::<ExecutionStatus>() else { return Ok(Vec::new()) };
        self.ids(Operation::ListInstancesByStatus, Sql::ListByStatus, vec![Box::new(status.as_str())]).await
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        let rows = self
            .rows(Operation::ListExecutions, Sql::ListExecutions, vec![Box::new(spelt(instance))])
            .await?;
        Ok(rows.iter().map(|row| number(row.get(0))).collect())
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
        let values: Values = vec![Box::new(spelt(instance)), Box::new(column(execution_id))];
        let rows = self.rows(operation, Sql::ExecutionInfo, values).await?;
        if let Some(row) = rows.first() {
            return Ok(execution_info(row, execution_id));
        }
        self.info(instance, operation).await?;
        let refusal = AdminRefusal::ExecutionNotFound { instance: instance.to_owned(), execution_id };
        Err(refusal.provider_error(operation))
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        let operation = Operation::GetSystemMetrics;
        let totals = self.one_row(operation, Sql::CountExecutions, Vec::new()).await?;
        let mut metrics = SystemMetrics {
            total_executions: number(totals.get(0)),
            total_events: number(totals.get(1)),
            ..SystemMetrics::default()
        };
        for row in self.rows(operation, Sql::CountInstances, Vec::new()).await? {
            let instances = number(row.get(1));
            metrics.total_instances += instances;
            match row.get::<_, &str>(0).parse().unwrap_or(ExecutionStatus::Running) {
                ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew => {
                    metrics.running_instances += instances;
                }
                ExecutionStatus::Completed => metrics.completed_instances += instances,
                ExecutionStatus::Failed => metrics.failed_instances += instances,
            }
        }
        Ok(metrics)
    }

    async fn count_running_instances(&self) -> Result<u64, ProviderError> {
        let row = self.one_row(Operation::GetSystemMetrics, Sql::CountRunning, Vec::new()).await?;
        Ok(number(row.get(0)))
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        let row = self.one_row(Operation::GetQueueDepths, Sql::QueueDepths, Vec::new()).await?;
        let size = |place| usize::try_from(number(row.get(place))).unwrap_or(usize::MAX);
        Ok(QueueDepths { orchestrator_queue: size(0), worker_queue: size(1), timer_queue: 0 })
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        self.ids(Operation::ListChildren, Sql::Children, vec![Box::new(spelt(instance_id))]).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        Ok(self.info(instance_id, Operation::GetParentId).await?.parent_instance_id)
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let scope = Scope::Set { force };
        Ok(self.delete(Operation::DeleteInstancesAtomic, ids, &scope).await?.unwrap_or_default())
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        let operation = Operation::GetInstanceTree;
        let found = self.ids(operation, Sql::Tree, vec![Box::new(spelt(instance_id))]).await?;
        let root = std::iter::once(instance_id.to_owned());
        let all_ids = root.chain(found.into_iter().filter(|id| id != instance_id)).collect();
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids })
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let ids = [instance_id.to_owned()];
        Ok(self.delete(Operation::DeleteInstance, &ids, &Scope::Tree { force }).await?.unwrap_or_default())
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
        Ok(self.prune_many(candidates, completed_before, &options, limit).await?)
    }

    async fn list_instances_page(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        let operation = Operation::ListInstancesPage;
        let refused = |error| AdminRefusal::Query(error).provider_error(operation);
        let listing = Listing::of(&query, &self.shared.schema).map_err(refused)?;
        let reader = listing.reader();
        let rows = self.query(operation, listing.text, listing.values).await?;
        Ok(reader.page(&rows))
    }

    async fn cleanup_orphaned_instances(
        &self,
        filter: OrphanFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let operation = Operation::CleanupOrphanedInstances;
        let ends = filter.ends().map_err(|error| AdminRefusal::Orphans(error).provider_error(operation))?;
        let scope = Scope::Orphans { ends, before: filter.parent_completed_before };
        let candidates = Candidates::ended(Sql::EndedChildren, None);
        Ok(self.delete_many(operation, candidates, &scope, filter.at_most()).await?)
    }

    async fn enforce_retention(&self, retention: Retention) -> Result<DeleteInstanceResult, ProviderError> {
        let operation = Operation::EnforceRetention;
        let row = self.one_row(operation, Sql::ServerTime, Vec::new()).await?;
        let filter = retention.filter(time(row.get(0)));
        Ok(self.delete_roots(operation, filter).await?)
    }

    async fn count_blocked(&self) -> Result<BlockedCounts, ProviderError> {
        Ok(self.blocked_counts().await?)
    }

    async fn list_blocked(&self, limit: usize) -> Result<Vec<BlockedInstance>, ProviderError> {
        Ok(self.blocked(Operation::ListBlocked, limit).await?)
    }
}

impl PostgresProvider {
    async fn ids(
        &self,
        operation: Operation,
        sql: Sql,
        values: Values,
    ) -> Result<Vec<String>, ProviderError> {
        let rows = self.rows(operation, sql, values).await?;
        Ok(rows.iter().map(|row| unspell(row.get(0))).collect())
    }

    async fn info(&self, instance: &str, operation: Operation) -> Result<InstanceInfo, ProviderError> {
        let rows = self.rows(operation, Sql::InstanceInfo, vec![Box::new(spelt(instance))]).await?;
        let info = rows.first().map(|row| InstanceInfo {
            instance_id: instance.to_owned(),
            orchestration_name: unspell(row.get(0)),
            orchestration_version: unspell(row.get(1)),
            current_execution_id: number(row.get(2)),
            status: row.get(3),
            output: row.get::<_, Option<String>>(4).map(unspell),
            created_at: number(row.get(5)),
            updated_at: number(row.get(6)),
            parent_instance_id: row.get::<_, Option<String>>(7).map(unspell),
        });
        info.ok_or_else(|| AdminRefusal::not_found(instance).provider_error(operation))
    }

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
        let scope = Scope::Roots { before: completed_before };
        self.delete_many(operation, candidates, &scope, limit).await
    }
}

fn execution_info(row: &Row, execution_id: u64) -> ExecutionInfo {
    ExecutionInfo {
        execution_id,
        status: row.get(0),
        output: row.get::<_, Option<String>>(1).map(unspell),
        started_at: number(row.get(2)),
        completed_at: row.get::<_, Option<i64>>(3).map(number),
        event_count: usize::try_from(row.get::<_, i64>(4)).unwrap_or(0),
    }
}
