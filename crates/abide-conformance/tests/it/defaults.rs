//! A store that implements the required methods, and nothing else, and never waits, passes everything that applies: the
//! provided methods keep the contract, too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_conformance::{Hooks, Need, Outcome, Polling, ProviderFactory, report, validations};
use abide_memory::InMemoryProvider;
use abide_model::{Event, ScheduledActivityIdentifier, SystemStats, Timestamp, WorkItem};
use abide_provider::{
    Ability, BlockInstance, BlockKind, BlockedInstance, DeleteInstanceResult, DispatcherCapabilityFilter,
    ExecutionInfo, ExecutionMetadata, InstanceFilter, InstanceInfo, InstanceOrder, InstanceQuery,
    OrchestrationItem, OrphanFilter, Provider, ProviderAdmin, ProviderError, PruneOptions, PruneResult,
    QueueDepths, SessionFetchConfig, SystemMetrics, TagFilter,
};
use async_trait::async_trait;

use crate::model::ModelFactory;

/// The areas of methods that have a default.
const PROVIDED: [&str; 3] = ["listing", "orphans", "retention"];

#[tokio::test(flavor = "multi_thread")]
async fn the_default_listing_cleanup_and_retention_keep_the_contract() {
    let factory = PlainFactory::new();
    let mut passed = 0;
    for validation in validations() {
        if PROVIDED.contains(&validation.area) {
            let path = validation.path();
            match validation.run(&factory).await {
                Outcome::Passed => passed += 1,
                Outcome::NotApplicable(Need::Ability(Ability::StatusInPages | Ability::Blocking)) => {}
                outcome @ (Outcome::Failed(_) | Outcome::NotApplicable(_)) => panic!("{path}: {outcome:?}"),
            }
        }
    }
    assert!(passed > 40, "only {passed} validations of provided methods apply");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_store_passes_everything_that_applies() {
    let report = report(&PlainFactory::new()).await;
    let failures: Vec<_> = report.failures().collect();
    assert!(failures.is_empty(), "{failures:#?}");
    let left_out: Vec<_> = report.not_applicable().collect();
    let is_optional = |need: &Need| matches!(need, Need::Ability(_) | Need::Polling(Polling::Long));
    assert!(left_out.iter().all(|(_, need)| is_optional(need)), "{left_out:?}");
}

#[tokio::test]
async fn the_default_listing_leaves_out_what_is_deleted_meanwhile() {
    let plain = Plain { ghosts: vec!["deleted".to_owned()], ..Plain::new(Arc::new(InMemoryProvider::new())) };
    let past = vec![event("a", 1, 1, started(None))];
    plain.append_with_execution("a", 1, past).await.unwrap();
    let page = plain.list_instances_page(InstanceQuery::new()).await.unwrap();
    let ids: Vec<&str> = page.instances.iter().map(|instance| instance.instance_id.as_str()).collect();
    assert_eq!(ids, ["a"]);
    let deleted = plain.cleanup_orphaned_instances(OrphanFilter::default()).await.unwrap();
    assert_eq!(deleted.instances_deleted, 0);
}

#[tokio::test]
async fn the_default_listing_shows_the_blocks_that_the_store_lists() {
    let plain = Plain::new(Arc::new(InMemoryProvider::new()));
    for id in ["a", "b"] {
        plain.append_with_execution(id, 1, vec![event(id, 1, 1, started(None))]).await.unwrap();
    }
    let signal =
        WorkItem::ExternalRaised { instance: "b".to_owned(), name: "go".to_owned(), data: String::new() };
    plain.enqueue_for_orchestrator(signal, None).await.unwrap();
    let minute = Duration::from_secs(60);
    let (_, token, _) = plain.fetch_orchestration_item(minute, Duration::ZERO, None).await.unwrap().unwrap();
    let block = BlockInstance {
        token,
        kind: BlockKind::Panic,
        detail: "it panicked".to_owned(),
        build: "b1".to_owned(),
        event_id: None,
        retry_after: Some(minute),
    };
    plain.store.block_instance(block).await.unwrap();
    for (query, expected) in [
        (InstanceQuery::new(), vec![("a", None), ("b", Some(BlockKind::Panic))]),
        (InstanceQuery::new().blocked(), vec![("b", Some(BlockKind::Panic))]),
        (InstanceQuery::new().blocked_by(BlockKind::Corrupt), vec![]),
    ] {
        let page = plain.list_instances_page(query.order(InstanceOrder::ById)).await.unwrap();
        let listed = page.instances.iter();
        let listed = listed.map(|each| (each.instance_id.as_str(), each.block.map(|block| block.kind)));
        assert_eq!(listed.collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn the_default_listing_asks_again_what_moved_on_meanwhile() {
    let plain = Plain::new(Arc::new(InMemoryProvider::new()));
    plain.append_with_execution("a", 1, vec![event("a", 1, 1, started(None)), continued("a")]).await.unwrap();
    let before = plain.get_instance_info("a").await.unwrap();
    plain.append_with_execution("a", 2, vec![event("a", 2, 1, started(None))]).await.unwrap();
    plain.prune_executions("a", PruneOptions::default()).await.unwrap();
    // The first answer is older than the second question.
    *plain.stale.lock().unwrap() = Some(before);
    let page = plain.list_instances_page(InstanceQuery::new()).await.unwrap();
    let executions: Vec<u64> = page.instances.iter().map(|instance| instance.execution_id).collect();
    assert_eq!(executions, [2]);
}

#[tokio::test]
async fn the_default_cleanup_goes_on_behind_what_is_deleted_meanwhile() {
    let plain = Plain { ghosts: vec!["deleted".to_owned()], ..Plain::new(Arc::new(InMemoryProvider::new())) };
    let end = abide_model::EventKind::OrchestrationCompleted { output: "done".to_owned() };
    let past = vec![event("child", 1, 1, started(Some("missing"))), event("child", 1, 2, end)];
    plain.append_with_execution("child", 1, past).await.unwrap();
    let deleted = plain.cleanup_orphaned_instances(OrphanFilter::default()).await.unwrap();
    assert_eq!(deleted.instances_deleted, 1);
}

fn event(instance: &str, execution_id: u64, id: u64, kind: abide_model::EventKind) -> Event {
    Event::with_event_id(id, instance, execution_id, None, kind)
}

fn started(parent: Option<&str>) -> abide_model::EventKind {
    abide_model::EventKind::OrchestrationStarted {
        name: "Order".to_owned(),
        version: "1.0.0".to_owned(),
        input: "{}".to_owned(),
        parent_instance: parent.map(str::to_owned),
        parent_id: parent.map(|_| 2),
        parent_execution_id: parent.map(|_| 1),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}

fn continued(instance: &str) -> Event {
    event(instance, 1, 2, abide_model::EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() })
}

/// Makes plain stores.
struct PlainFactory {
    model: ModelFactory,
}

impl PlainFactory {
    fn new() -> Self {
        Self { model: ModelFactory::new() }
    }
}

#[async_trait]
impl ProviderFactory for PlainFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        Arc::new(Plain::new(self.model.create()))
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        self.model.corrupt_instance_history(instance).await;
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.model.get_max_attempt_count(instance).await
    }

    async fn corrupt_queued_messages(&self, instance: &str) {
        self.model.corrupt_queued_messages(instance).await;
    }

    async fn corrupt_queued_work(&self, instance: &str) {
        self.model.corrupt_queued_work(instance).await;
    }

    fn hooks(&self) -> Hooks {
        self.model.hooks()
    }

    fn polling(&self) -> Polling {
        Polling::Short
    }

    async fn pass_time(&self, duration: Duration) {
        self.model.pass_time(duration).await;
    }

    fn store_time(&self) -> Timestamp {
        self.model.store_time()
    }

    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        Arc::new(Plain::new(Arc::new(InMemoryProvider::new())))
    }
}

/// The model, with all provided methods of both traits as they come. None of them is forwarded.
struct Plain {
    store: Arc<InMemoryProvider>,
    /// Names that a list has although their instances were deleted a moment ago.
    ghosts: Vec<String>,
    /// An answer to the next question for an instance, given before the store changed.
    stale: Mutex<Option<InstanceInfo>>,
}

impl Plain {
    fn new(store: Arc<InMemoryProvider>) -> Self {
        Self { store, ghosts: Vec::new(), stale: Mutex::new(None) }
    }
}

#[async_trait]
impl Provider for Plain {
    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        _poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        self.store.fetch_orchestration_item(lock_timeout, Duration::ZERO, filter).await
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
    ) -> Result<(), ProviderError> {
        self.store
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
    ) -> Result<(), ProviderError> {
        self.store.abandon_orchestration_item(lock_token, delay, ignore_attempt).await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.store.read(instance).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.store.read_with_execution(instance, execution_id).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.store.append_with_execution(instance, execution_id, new_events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.store.enqueue_for_worker(item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        _poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        self.store.fetch_work_item(lock_timeout, Duration::ZERO, session, tag_filter).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        self.store.ack_work_item(token, completion).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        self.store.renew_work_item_lock(token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.store.renew_session_lock(owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        self.store.cleanup_orphaned_sessions(idle_timeout).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.store.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.store.renew_orchestration_item_lock(token, extend_for).await
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        self.store.enqueue_for_orchestrator(item, delay).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        self.store.get_custom_status(instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.store.get_kv_value(instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.store.get_kv_all_values(instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.store.get_instance_stats(instance).await
    }
}

#[async_trait]
impl ProviderAdmin for Plain {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        let mut ids = self.ghosts.clone();
        ids.extend(self.store.list_instances().await?);
        ids.extend(self.ghosts.iter().cloned());
        Ok(ids)
    }

    async fn list_blocked(&self, limit: usize) -> Result<Vec<BlockedInstance>, ProviderError> {
        self.store.list_blocked(limit).await
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        self.store.list_instances_by_status(status).await
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        self.store.list_executions(instance).await
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.store.read_history_with_execution_id(instance, execution_id).await
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.store.read_history(instance).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        self.store.latest_execution_id(instance).await
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        let stale = self.stale.lock().ok().and_then(|mut stale| stale.take());
        match stale {
            Some(info) => Ok(info),
            None => self.store.get_instance_info(instance).await,
        }
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        self.store.get_execution_info(instance, execution_id).await
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        self.store.get_system_metrics().await
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        self.store.get_queue_depths().await
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        self.store.list_children(instance_id).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        self.store.get_parent_id(instance_id).await
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.store.delete_instances_atomic(ids, force).await
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.store.delete_instance_bulk(filter).await
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.store.prune_executions(instance_id, options).await
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.store.prune_executions_bulk(filter, options).await
    }
}
