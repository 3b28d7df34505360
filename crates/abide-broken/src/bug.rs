//! What can be broken: every operation of a store, healthy unless a bug replaces it.
//!
//! Where the contract has two forms of one operation (one and many, flat and rich), a bug is in both.

#![expect(clippy::fn_params_excessive_bools, reason = "the frozen signatures have them")]

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use abide_conformance::Polling;
use abide_model::{
    Event, KvEntry, OrchestrationStatus, PruneOptions, PruneResult, SystemStats, Timestamp, WorkItem,
};
use abide_provider::{
    Abilities, BlockInstance, BlockedCounts, BlockedInstance, Changes, ChildOverview, Committed,
    DeleteInstanceResult, Enqueue, ErrorKind, ExecutionInfo, FinishedWork, HoldWork, InstanceFilter,
    InstanceInfo, InstanceLease, InstanceOverview, InstancePage, InstanceQuery, InstanceTree, Lane,
    LeaseInstances, LeaseWork, Node, NodeAnnouncement, Operation, OrchestrationItem, OrphanFilter,
    ProviderError, QueueDepths, Rejection, RenewSessions, Retention, RevokeWork, RevokedWork, Start,
    StolenLeases, StoreError, SystemMetrics, TurnCommit, WorkLease,
};
use async_trait::async_trait;

use crate::store::Store;

pub(crate) type Answer<T> = Result<T, ProviderError>;
pub(crate) type StoreAnswer<T> = Result<T, StoreError>;

/// One mistake in an otherwise healthy store.
#[async_trait]
pub(crate) trait Bug: Send + Sync {
    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    /// What the provider's author says about fetches that find nothing.
    fn polling(&self) -> Polling {
        Polling::Long
    }

    // Turns.

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        store.lease_instances(request).await
    }

    /// What a fetch makes of a lease.
    async fn fetched(&self, store: &Store, lease: InstanceLease) -> Answer<(OrchestrationItem, String, u32)> {
        let history = match self.read_history_after(store, &lease, 0).await {
            Ok(history) => Ok(history),
            Err(error) if error.kind == ErrorKind::Rejected(Rejection::Corrupt) => Err(error.message),
            Err(error) => return Err(error.into()),
        };
        let kv = self.read_kv_snapshot(store, &lease).await?;
        let (mut item, token, attempt) = lease.into_item(history, kv);
        self.shape(&mut item);
        Ok((item, token, attempt))
    }

    /// A last touch to what a fetch hands out.
    fn shape(&self, _item: &mut OrchestrationItem) {}

    async fn read_history_after(
        &self,
        store: &Store,
        lease: &InstanceLease,
        after: u64,
    ) -> StoreAnswer<Vec<Event>> {
        store.read_history_after(lease, after).await
    }

    async fn read_kv_snapshot(
        &self,
        store: &Store,
        lease: &InstanceLease,
    ) -> StoreAnswer<BTreeMap<String, KvEntry>> {
        store.read_kv_snapshot(lease).await
    }

    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        store.commit(commit).await
    }

    async fn commit_turns(&self, store: &Store, turns: Vec<TurnCommit>) -> Vec<StoreAnswer<Committed>> {
        let mut answers = Vec::new();
        for turn in turns {
            answers.push(self.commit(store, turn).await);
        }
        answers
    }

    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        store.abandon_orchestration_item(token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        store: &Store,
        token: &str,
        extend_for: Duration,
    ) -> Answer<()> {
        store.renew_orchestration_item_lock(token, extend_for).await
    }

    /// The history of one execution, or of the latest.
    async fn read(&self, store: &Store, instance: &str, execution: Option<u64>) -> Answer<Vec<Event>> {
        match execution {
            None => store.read(instance).await,
            Some(execution) => store.read_with_execution(instance, execution).await,
        }
    }

    async fn append_with_execution(
        &self,
        store: &Store,
        instance: &str,
        execution: u64,
        events: Vec<Event>,
    ) -> Answer<()> {
        store.append_with_execution(instance, execution, events).await
    }

    // Mail.

    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        store.enqueue_for_orchestrator(item, delay).await
    }

    async fn enqueue_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        store.enqueue_once(request).await
    }

    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        store.start_once(request).await
    }

    async fn enqueue_existing(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        store.enqueue_existing(request).await
    }

    // Work.

    async fn enqueue_for_worker(&self, store: &Store, item: WorkItem) -> Answer<()> {
        store.enqueue_for_worker(item).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        store.lease_work(request).await
    }

    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        store.finish(finished).await
    }

    async fn finish_work(&self, store: &Store, finished: Vec<FinishedWork>) -> Vec<StoreAnswer<()>> {
        let mut answers = Vec::new();
        for finished in finished {
            answers.push(self.finish(store, finished).await);
        }
        answers
    }

    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        store.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn renew_work_item_lock(&self, store: &Store, token: &str, extend_for: Duration) -> Answer<()> {
        store.renew_work_item_lock(token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        store: &Store,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        store.renew_session_lock(owners, extend_for, idle_timeout).await
    }

    async fn renew_sessions(&self, store: &Store, request: RenewSessions) -> StoreAnswer<usize> {
        store.renew_sessions(request).await
    }

    async fn cleanup_orphaned_sessions(&self, store: &Store, idle_timeout: Duration) -> Answer<usize> {
        store.cleanup_orphaned_sessions(idle_timeout).await
    }

    // Reading.

    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        store.read_status(instance).await
    }

    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        store.changes(instance)
    }

    async fn get_custom_status(
        &self,
        store: &Store,
        instance: &str,
        last_seen: u64,
    ) -> Answer<Option<(Option<String>, u64)>> {
        store.get_custom_status(instance, last_seen).await
    }

    async fn kv_value(&self, store: &Store, instance: &str, key: &str) -> Answer<Option<String>> {
        Ok(self.kv_values(store, instance).await?.remove(key))
    }

    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        store.get_kv_all_values(instance).await
    }

    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        store.get_instance_stats(instance).await
    }

    async fn next_due(&self, store: &Store, lane: Lane) -> StoreAnswer<Option<Timestamp>> {
        store.next_due(lane).await
    }

    fn stolen_leases(&self, store: &Store) -> Option<StolenLeases> {
        store.stolen_leases()
    }

    async fn block_instance(&self, store: &Store, block: BlockInstance) -> StoreAnswer<()> {
        store.block_instance(block).await
    }

    async fn hold_work(&self, store: &Store, hold: HoldWork) -> StoreAnswer<()> {
        store.hold_work(hold).await
    }

    async fn begin_suspect(&self, store: &Store, lane: Lane, token: &str) -> StoreAnswer<()> {
        store.begin_suspect(lane, token).await
    }

    async fn retry_blocked(&self, store: &Store, instance: &str) -> StoreAnswer<bool> {
        store.retry_blocked(instance).await
    }

    async fn revoke_work(&self, store: &Store, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
        store.revoke_work(revoke).await
    }

    async fn read_blocks(&self, store: &Store, instance: &str) -> StoreAnswer<Vec<BlockedInstance>> {
        store.read_blocks(instance).await
    }

    async fn read_overview(&self, store: &Store, instance: &str) -> StoreAnswer<Option<InstanceOverview>> {
        store.read_overview(instance).await
    }

    async fn read_children(&self, store: &Store, instances: &[String]) -> StoreAnswer<Vec<ChildOverview>> {
        store.read_children(instances).await
    }

    async fn announce_node(&self, store: &Store, node: NodeAnnouncement) -> StoreAnswer<()> {
        store.announce_node(node).await
    }

    async fn forget_node(&self, store: &Store, id: &str) -> StoreAnswer<()> {
        store.forget_node(id).await
    }

    async fn nodes(&self, store: &Store) -> StoreAnswer<Vec<Node>> {
        store.nodes().await
    }

    // Administration.

    async fn list_instances(&self, store: &Store) -> Answer<Vec<String>> {
        store.list_instances().await
    }

    async fn list_instances_by_status(&self, store: &Store, status: &str) -> Answer<Vec<String>> {
        store.list_instances_by_status(status).await
    }

    async fn list_executions(&self, store: &Store, instance: &str) -> Answer<Vec<u64>> {
        store.list_executions(instance).await
    }

    async fn latest_execution_id(&self, store: &Store, instance: &str) -> Answer<u64> {
        store.latest_execution_id(instance).await
    }

    async fn get_instance_info(&self, store: &Store, instance: &str) -> Answer<InstanceInfo> {
        store.get_instance_info(instance).await
    }

    async fn get_execution_info(
        &self,
        store: &Store,
        instance: &str,
        execution: u64,
    ) -> Answer<ExecutionInfo> {
        store.get_execution_info(instance, execution).await
    }

    async fn get_system_metrics(&self, store: &Store) -> Answer<SystemMetrics> {
        store.get_system_metrics().await
    }

    async fn get_queue_depths(&self, store: &Store) -> Answer<QueueDepths> {
        store.get_queue_depths().await
    }

    async fn list_children(&self, store: &Store, instance: &str) -> Answer<Vec<String>> {
        store.list_children(instance).await
    }

    async fn get_parent_id(&self, store: &Store, instance: &str) -> Answer<Option<String>> {
        store.get_parent_id(instance).await
    }

    async fn get_instance_tree(&self, store: &Store, instance: &str) -> Answer<InstanceTree> {
        store.get_instance_tree(instance).await
    }

    async fn delete_instances_atomic(
        &self,
        store: &Store,
        ids: &[String],
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        store.delete_instances_atomic(ids, force).await
    }

    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        store.delete_instance(instance, force).await
    }

    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        store.delete_instance_bulk(filter).await
    }

    async fn prune_executions(
        &self,
        store: &Store,
        instance: &str,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        store.prune_executions(instance, options).await
    }

    async fn prune_executions_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        store.prune_executions_bulk(filter, options).await
    }

    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        store.list_instances_page(query).await
    }

    async fn cleanup_orphaned_instances(
        &self,
        store: &Store,
        filter: OrphanFilter,
    ) -> Answer<DeleteInstanceResult> {
        store.cleanup_orphaned_instances(filter).await
    }

    async fn enforce_retention(&self, store: &Store, retention: Retention) -> Answer<DeleteInstanceResult> {
        store.enforce_retention(retention).await
    }

    async fn count_blocked(&self, store: &Store) -> Answer<BlockedCounts> {
        store.count_blocked().await
    }

    async fn list_blocked(&self, store: &Store, limit: usize) -> Answer<Vec<BlockedInstance>> {
        store.list_blocked(limit).await
    }
}

/// No mistake at all.
#[derive(Default)]
pub(crate) struct NoMistake;

impl Bug for NoMistake {}

/// Whether the call was refused because the lease is not held.
pub(crate) fn is_lost<T>(answer: &StoreAnswer<T>) -> bool {
    answer.as_ref().is_err_and(|error| error.rejection() == Some(Rejection::LeaseLost))
}

/// A refusal for good.
pub(crate) fn refusal(operation: Operation, why: &str) -> ProviderError {
    ProviderError::permanent(operation.as_str(), why)
}
