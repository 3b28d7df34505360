//! A provider with one mistake in it.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_model::{
    Event, KvEntry, OrchestrationStatus, PruneOptions, PruneResult, ScheduledActivityIdentifier, SystemStats,
    Timestamp, WorkItem,
};
use abide_provider::{
    Abilities, Authority, BlockInstance, BlockedCounts, BlockedInstance, Changes, ChildOverview, Committed,
    Consumed, DeleteInstanceResult, DispatcherCapabilityFilter, Enqueue, ExecutionInfo, ExecutionMetadata,
    FinishedWork, HoldWork, InstanceFilter, InstanceInfo, InstanceLease, InstanceOverview, InstancePage,
    InstanceQuery, InstanceTree, Lane, LeaseInstances, LeaseWork, Node, NodeAnnouncement, Operation,
    OrchestrationItem, OrphanFilter, Provider, ProviderAdmin, ProviderError, QueueDepths, RenewSessions,
    Retention, RevokeWork, RevokedWork, SessionFetchConfig, Start, StolenLeases, StoreError, SystemMetrics,
    TagFilter, Turn, TurnCommit, WorkLease,
};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::store::Store;

/// What a validation says that never comes to an end.
pub(crate) const ENDLESS: &str = "this validation calls and calls";

/// No validation makes more calls of one provider.
const CALLS: u32 = 5_000;

/// The model, with one mistake.
pub(crate) struct Broken {
    bug: Box<dyn Bug>,
    store: Store,
    calls: AtomicU32,
}

impl Broken {
    pub(crate) fn new(bug: Box<dyn Bug>, store: Store) -> Self {
        Self { bug, store, calls: AtomicU32::new(0) }
    }

    /// A validation that loops until the store says something it will never say does not yield: no timeout ends it.
    fn bug(&self) -> &dyn Bug {
        assert!(self.calls.fetch_add(1, Ordering::Relaxed) < CALLS, "{ENDLESS}");
        self.bug.as_ref()
    }
}

/// The flat form of an error.
fn at(operation: Operation) -> impl Fn(StoreError) -> ProviderError {
    move |error| StoreError { operation, ..error }.into()
}

#[async_trait]
impl Provider for Broken {
    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Answer<Option<(OrchestrationItem, String, u32)>> {
        let request = LeaseInstances {
            limit: 1,
            lease_for: lock_timeout,
            wait: poll_timeout,
            capabilities: filter.cloned(),
            serving: None,
        };
        let leases = self.bug().lease_instances(&self.store, request).await;
        let leases = leases.map_err(at(Operation::FetchOrchestrationItem))?;
        match leases.into_iter().next() {
            None => Ok(None),
            Some(lease) => self.bug().fetched(&self.store, lease).await.map(Some),
        }
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
        let turn = Turn {
            execution_id,
            events: history_delta,
            worker_items,
            retries: Vec::new(),
            orchestrator_items,
            timer_slack: Duration::ZERO,
            waiting: None,
            still_refused: None,
            metadata,
            cancelled_activities,
            removed_timers: Vec::new(),
            prune: None,
            next: None,
        };
        let instance = self.store.turn(lock_token).map(|turn| turn.lease.instance).unwrap_or_default();
        let authority = Authority::Lease { token: lock_token.to_owned() };
        let commit = TurnCommit { instance, authority, consumed: Consumed::All, left: Vec::new(), turn };
        let committed = self.bug().commit(&self.store, commit).await;
        committed.map(drop).map_err(at(Operation::AckOrchestrationItem))
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        self.bug().abandon_orchestration_item(&self.store, lock_token, delay, ignore_attempt).await
    }

    async fn read(&self, instance: &str) -> Answer<Vec<Event>> {
        self.bug().read(&self.store, instance, None).await
    }

    async fn read_with_execution(&self, instance: &str, execution_id: u64) -> Answer<Vec<Event>> {
        self.bug().read(&self.store, instance, Some(execution_id)).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Answer<()> {
        self.bug().append_with_execution(&self.store, instance, execution_id, new_events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Answer<()> {
        self.bug().enqueue_for_worker(&self.store, item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Answer<Option<(WorkItem, String, u32)>> {
        let request = LeaseWork {
            limit: 1,
            lease_for: lock_timeout,
            wait: poll_timeout,
            session: session.cloned(),
            tags: tag_filter.clone(),
            serving: None,
        };
        let leases = self.bug().lease_work(&self.store, request).await;
        let leases = leases.map_err(at(Operation::FetchWorkItem))?;
        Ok(leases.into_iter().next().map(|lease| (lease.item, lease.token, lease.attempt)))
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Answer<()> {
        let finished = FinishedWork { token: token.to_owned(), completion };
        self.bug().finish(&self.store, finished).await.map_err(at(Operation::AckWorkItem))
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Answer<()> {
        self.bug().renew_work_item_lock(&self.store, token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        self.bug().renew_session_lock(&self.store, owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Answer<usize> {
        self.bug().cleanup_orphaned_sessions(&self.store, idle_timeout).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        self.bug().abandon_work_item(&self.store, token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Answer<()> {
        self.bug().renew_orchestration_item_lock(&self.store, token, extend_for).await
    }

    async fn enqueue_for_orchestrator(&self, item: WorkItem, delay: Option<Duration>) -> Answer<()> {
        self.bug().enqueue_for_orchestrator(&self.store, item, delay).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Answer<Option<(Option<String>, u64)>> {
        self.bug().get_custom_status(&self.store, instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Answer<Option<String>> {
        self.bug().kv_value(&self.store, instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Answer<HashMap<String, String>> {
        self.bug().kv_values(&self.store, instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Answer<Option<SystemStats>> {
        self.bug().get_instance_stats(&self.store, instance).await
    }

    fn abilities(&self) -> Abilities {
        self.bug.abilities()
    }

    async fn lease_instances(&self, request: LeaseInstances) -> StoreAnswer<Vec<InstanceLease>> {
        self.bug().lease_instances(&self.store, request).await
    }

    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> StoreAnswer<Vec<Event>> {
        self.bug().read_history_after(&self.store, lease, after).await
    }

    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> StoreAnswer<BTreeMap<String, KvEntry>> {
        self.bug().read_kv_snapshot(&self.store, lease).await
    }

    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<StoreAnswer<Committed>> {
        self.bug().commit_turns(&self.store, turns).await
    }

    async fn lease_work(&self, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        self.bug().lease_work(&self.store, request).await
    }

    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<StoreAnswer<()>> {
        self.bug().finish_work(&self.store, finished).await
    }

    async fn enqueue_once(&self, request: Enqueue) -> StoreAnswer<()> {
        self.bug().enqueue_once(&self.store, request).await
    }

    async fn start_once(&self, request: Enqueue) -> StoreAnswer<Start> {
        self.bug().start_once(&self.store, request).await
    }

    async fn renew_sessions(&self, request: RenewSessions) -> StoreAnswer<usize> {
        self.bug().renew_sessions(&self.store, request).await
    }

    async fn enqueue_existing(&self, request: Enqueue) -> StoreAnswer<()> {
        self.bug().enqueue_existing(&self.store, request).await
    }

    async fn read_status(&self, instance: &str) -> Answer<OrchestrationStatus> {
        self.bug().read_status(&self.store, instance).await
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        self.bug().changes(&self.store, instance)
    }

    async fn next_due(&self, lane: Lane) -> StoreAnswer<Option<Timestamp>> {
        self.bug().next_due(&self.store, lane).await
    }

    fn stolen_leases(&self) -> Option<StolenLeases> {
        self.bug().stolen_leases(&self.store)
    }

    async fn block_instance(&self, block: BlockInstance) -> StoreAnswer<()> {
        self.bug().block_instance(&self.store, block).await
    }

    async fn hold_work(&self, hold: HoldWork) -> StoreAnswer<()> {
        self.bug().hold_work(&self.store, hold).await
    }

    async fn begin_suspect(&self, lane: Lane, token: &str) -> StoreAnswer<()> {
        self.bug().begin_suspect(&self.store, lane, token).await
    }

    async fn retry_blocked(&self, instance: &str) -> StoreAnswer<bool> {
        self.bug().retry_blocked(&self.store, instance).await
    }

    async fn revoke_work(&self, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
        self.bug().revoke_work(&self.store, revoke).await
    }

    async fn read_blocks(&self, instance: &str) -> StoreAnswer<Vec<BlockedInstance>> {
        self.bug().read_blocks(&self.store, instance).await
    }

    async fn read_overview(&self, instance: &str) -> StoreAnswer<Option<InstanceOverview>> {
        self.bug().read_overview(&self.store, instance).await
    }

    async fn read_children(&self, instances: &[String]) -> StoreAnswer<Vec<ChildOverview>> {
        self.bug().read_children(&self.store, instances).await
    }

    async fn announce_node(&self, node: NodeAnnouncement) -> StoreAnswer<()> {
        self.bug().announce_node(&self.store, node).await
    }

    async fn forget_node(&self, id: &str) -> StoreAnswer<()> {
        self.bug().forget_node(&self.store, id).await
    }

    async fn nodes(&self) -> StoreAnswer<Vec<Node>> {
        self.bug().nodes(&self.store).await
    }
}

#[async_trait]
impl ProviderAdmin for Broken {
    async fn list_instances(&self) -> Answer<Vec<String>> {
        self.bug().list_instances(&self.store).await
    }

    async fn list_instances_by_status(&self, status: &str) -> Answer<Vec<String>> {
        self.bug().list_instances_by_status(&self.store, status).await
    }

    async fn list_executions(&self, instance: &str) -> Answer<Vec<u64>> {
        self.bug().list_executions(&self.store, instance).await
    }

    async fn read_history_with_execution_id(&self, instance: &str, execution_id: u64) -> Answer<Vec<Event>> {
        self.bug().read(&self.store, instance, Some(execution_id)).await
    }

    async fn read_history(&self, instance: &str) -> Answer<Vec<Event>> {
        self.bug().read(&self.store, instance, None).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Answer<u64> {
        self.bug().latest_execution_id(&self.store, instance).await
    }

    async fn get_instance_info(&self, instance: &str) -> Answer<InstanceInfo> {
        self.bug().get_instance_info(&self.store, instance).await
    }

    async fn get_execution_info(&self, instance: &str, execution_id: u64) -> Answer<ExecutionInfo> {
        self.bug().get_execution_info(&self.store, instance, execution_id).await
    }

    async fn get_system_metrics(&self) -> Answer<SystemMetrics> {
        self.bug().get_system_metrics(&self.store).await
    }

    async fn get_queue_depths(&self) -> Answer<QueueDepths> {
        self.bug().get_queue_depths(&self.store).await
    }

    async fn list_children(&self, instance_id: &str) -> Answer<Vec<String>> {
        self.bug().list_children(&self.store, instance_id).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Answer<Option<String>> {
        self.bug().get_parent_id(&self.store, instance_id).await
    }

    async fn delete_instances_atomic(&self, ids: &[String], force: bool) -> Answer<DeleteInstanceResult> {
        self.bug().delete_instances_atomic(&self.store, ids, force).await
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Answer<InstanceTree> {
        self.bug().get_instance_tree(&self.store, instance_id).await
    }

    async fn delete_instance(&self, instance_id: &str, force: bool) -> Answer<DeleteInstanceResult> {
        self.bug().delete_instance(&self.store, instance_id, force).await
    }

    async fn delete_instance_bulk(&self, filter: InstanceFilter) -> Answer<DeleteInstanceResult> {
        self.bug().delete_instance_bulk(&self.store, filter).await
    }

    async fn prune_executions(&self, instance_id: &str, options: PruneOptions) -> Answer<PruneResult> {
        self.bug().prune_executions(&self.store, instance_id, options).await
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        self.bug().prune_executions_bulk(&self.store, filter, options).await
    }

    async fn list_instances_page(&self, query: InstanceQuery) -> Answer<InstancePage> {
        self.bug().list_instances_page(&self.store, query).await
    }

    async fn cleanup_orphaned_instances(&self, filter: OrphanFilter) -> Answer<DeleteInstanceResult> {
        self.bug().cleanup_orphaned_instances(&self.store, filter).await
    }

    async fn enforce_retention(&self, retention: Retention) -> Answer<DeleteInstanceResult> {
        self.bug().enforce_retention(&self.store, retention).await
    }

    async fn count_blocked(&self) -> Answer<BlockedCounts> {
        self.bug().count_blocked(&self.store).await
    }

    async fn list_blocked(&self, limit: usize) -> Answer<Vec<BlockedInstance>> {
        self.bug().list_blocked(&self.store, limit).await
    }
}
