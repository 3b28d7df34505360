//! A store that implements what was required of stores before this crate, and nothing else, carries a runtime.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::memory::InMemoryProvider;
use duroxide::providers::{
    DeleteInstanceResult, DispatcherCapabilityFilter, ExecutionInfo, ExecutionMetadata, InstanceFilter,
    InstanceInfo, OrchestrationItem, Provider, ProviderAdmin, ProviderError, PruneOptions, PruneResult,
    QueueDepths, ScheduledActivityIdentifier, SessionFetchConfig, SystemMetrics, TagFilter, WorkItem,
};
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{Client, Event, OrchestrationRegistry, OrchestrationStatus, SystemStats};

type Answer<T> = Result<T, ProviderError>;

/// Whatever the store inside could do better, nobody gets to see.
struct Plain(InMemoryProvider);

/// The nineteen, and the one that leads to administration.
#[async_trait]
impl Provider for Plain {
    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Answer<Option<(OrchestrationItem, String, u32)>> {
        self.0.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await
    }

    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Answer<()> {
        self.0
            .ack_orchestration_item(
                lock_token,
                execution_id,
                history_delta,
                worker_items,
                orchestrator_items,
                metadata,
                cancelled_activities,
            )
            .await
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        self.0.abandon_orchestration_item(lock_token, delay, ignore_attempt).await
    }

    async fn read(&self, instance: &str) -> Answer<Vec<Event>> {
        self.0.read(instance).await
    }

    async fn read_with_execution(&self, instance: &str, execution_id: u64) -> Answer<Vec<Event>> {
        self.0.read_with_execution(instance, execution_id).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Answer<()> {
        self.0.append_with_execution(instance, execution_id, new_events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Answer<()> {
        self.0.enqueue_for_worker(item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Answer<Option<(WorkItem, String, u32)>> {
        self.0.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Answer<()> {
        self.0.ack_work_item(token, completion).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Answer<()> {
        self.0.renew_work_item_lock(token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        self.0.renew_session_lock(owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Answer<usize> {
        self.0.cleanup_orphaned_sessions(idle_timeout).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        self.0.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Answer<()> {
        self.0.renew_orchestration_item_lock(token, extend_for).await
    }

    async fn enqueue_for_orchestrator(&self, item: WorkItem, delay: Option<Duration>) -> Answer<()> {
        self.0.enqueue_for_orchestrator(item, delay).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Answer<Option<(Option<String>, u64)>> {
        self.0.get_custom_status(instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Answer<Option<String>> {
        self.0.get_kv_value(instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Answer<HashMap<String, String>> {
        self.0.get_kv_all_values(instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Answer<Option<SystemStats>> {
        self.0.get_instance_stats(instance).await
    }
}

/// The sixteen.
#[async_trait]
impl ProviderAdmin for Plain {
    async fn list_instances(&self) -> Answer<Vec<String>> {
        self.0.list_instances().await
    }

    async fn list_instances_by_status(&self, status: &str) -> Answer<Vec<String>> {
        self.0.list_instances_by_status(status).await
    }

    async fn list_executions(&self, instance: &str) -> Answer<Vec<u64>> {
        self.0.list_executions(instance).await
    }

    async fn read_history_with_execution_id(&self, instance: &str, execution_id: u64) -> Answer<Vec<Event>> {
        self.0.read_history_with_execution_id(instance, execution_id).await
    }

    async fn read_history(&self, instance: &str) -> Answer<Vec<Event>> {
        self.0.read_history(instance).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Answer<u64> {
        self.0.latest_execution_id(instance).await
    }

    async fn get_instance_info(&self, instance: &str) -> Answer<InstanceInfo> {
        self.0.get_instance_info(instance).await
    }

    async fn get_execution_info(&self, instance: &str, execution_id: u64) -> Answer<ExecutionInfo> {
        self.0.get_execution_info(instance, execution_id).await
    }

    async fn get_system_metrics(&self) -> Answer<SystemMetrics> {
        self.0.get_system_metrics().await
    }

    async fn get_queue_depths(&self) -> Answer<QueueDepths> {
        self.0.get_queue_depths().await
    }

    async fn list_children(&self, instance_id: &str) -> Answer<Vec<String>> {
        self.0.list_children(instance_id).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Answer<Option<String>> {
        self.0.get_parent_id(instance_id).await
    }

    async fn delete_instances_atomic(&self, ids: &[String], force: bool) -> Answer<DeleteInstanceResult> {
        self.0.delete_instances_atomic(ids, force).await
    }

    async fn delete_instance_bulk(&self, filter: InstanceFilter) -> Answer<DeleteInstanceResult> {
        self.0.delete_instance_bulk(filter).await
    }

    async fn prune_executions(&self, instance_id: &str, options: PruneOptions) -> Answer<PruneResult> {
        self.0.prune_executions(instance_id, options).await
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        self.0.prune_executions_bulk(filter, options).await
    }
}

#[tokio::test]
async fn the_required_methods_carry_a_runtime() {
    // Given a store with nothing but them, and code that asks for all there is to ask of a store.
    let store = Arc::new(Plain(InMemoryProvider::new()));
    let activities = ActivityRegistry::builder()
        .register("Double", |ctx, n| async move {
            let n: u64 = n.parse().map_err(|error| format!("{}: {error}", ctx.activity_name()))?;
            Ok((n * 2).to_string())
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Child", |ctx, n| async move { ctx.schedule_activity("Double", n).await })
        .register("Parent", |ctx, n| async move {
            ctx.set_custom_status("waiting");
            let go = ctx.schedule_wait("go");
            ctx.schedule_timer(Duration::from_millis(1)).await;
            let factor = go.await;
            let doubled = ctx.schedule_sub_orchestration("Child", n).await?;
            ctx.set_kv_value("doubled", doubled.clone());
            if factor == "again" { ctx.continue_as_new(doubled).await } else { Ok(doubled) }
        })
        .build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store.clone());
    let long = Duration::from_secs(30);

    // When it runs, twice.
    client.start_orchestration("p", "Parent", "21").await.unwrap();
    client.wait_for_status_change("p", 0, Duration::from_millis(5), long).await.unwrap();
    client.raise_event("p", "go", "again").await.unwrap();
    assert_eq!(client.wait_for_kv_value("p", "doubled", long).await.unwrap(), "42");
    // A signal that nobody waits for yet goes to nobody: it is sent until the second execution has ended.
    let status = loop {
        client.raise_event("p", "go", "stop").await.unwrap();
        if let Ok(status) = client.wait_for_orchestration("p", Duration::from_millis(50)).await {
            break status;
        }
    };

    // Then it ends, and can be looked at and deleted.
    assert!(matches!(status, OrchestrationStatus::Completed { output, .. } if output == "84"));
    assert_eq!(client.list_executions("p").await.unwrap(), [1, 2]);
    assert_eq!(client.get_instance_tree("p").await.unwrap().size(), 3);
    runtime.shutdown(None).await;
    assert_eq!(client.delete_instance("p", false).await.unwrap().instances_deleted, 3);
}
