//! The contract, method by method: every call goes through the plan, then to the inner store.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use abide_model::{
    Event, KvEntry, OrchestrationStatus, ScheduledActivityIdentifier, SystemStats, Timestamp, WorkItem,
};
use abide_provider::{
    Abilities, Ability, Authority, BlockInstance, BlockedInstance, Changes, ChildOverview, Committed,
    DispatcherCapabilityFilter, Enqueue, ExecutionMetadata, FinishedWork, HoldWork, InstanceLease,
    InstanceOverview, Lane, LeaseInstances, LeaseWork, Node, NodeAnnouncement, Operation, OrchestrationItem,
    Provider, ProviderAdmin, ProviderError, RenewSessions, RevokeWork, RevokedWork, SessionFetchConfig,
    Start, StolenLeases, StoreError, TagFilter, TurnCommit, WorkLease,
};
use async_trait::async_trait;

use super::mask;
use super::store::{FaultStore, Held};

#[async_trait]
impl Provider for FaultStore {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn version(&self) -> &str {
        self.inner.version()
    }

    fn durability(&self) -> Option<&str> {
        self.inner.durability()
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let wait = self.wait(poll_timeout);
        let effect = || self.inner.fetch_orchestration_item(lock_timeout, wait, filter);
        self.required(Operation::FetchOrchestrationItem, &[], effect).await
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
        let effect = || {
            self.inner.ack_orchestration_item(
                lock_token,
                execution_id,
                history_delta,
                worker_items,
                orchestrator_items,
                metadata,
                cancelled_activities,
            )
        };
        self.required(Operation::AckOrchestrationItem, &[Held::Instance(lock_token)], effect).await
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let effect = || self.inner.abandon_orchestration_item(lock_token, delay, ignore_attempt);
        self.required(Operation::AbandonOrchestrationItem, &[Held::Instance(lock_token)], effect).await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.required(Operation::Read, &[], || self.inner.read(instance)).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        let effect = || self.inner.read_with_execution(instance, execution_id);
        self.required(Operation::ReadWithExecution, &[], effect).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        let effect = || self.inner.append_with_execution(instance, execution_id, new_events);
        self.required(Operation::AppendWithExecution, &[], effect).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.required(Operation::EnqueueForWorker, &[], || self.inner.enqueue_for_worker(item)).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let wait = self.wait(poll_timeout);
        let effect = || self.inner.fetch_work_item(lock_timeout, wait, session, tag_filter);
        self.required(Operation::FetchWorkItem, &[], effect).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        let effect = || self.inner.ack_work_item(token, completion);
        self.required(Operation::AckWorkItem, &[Held::Work(token)], effect).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        let effect = || self.inner.renew_work_item_lock(token, extend_for);
        self.required(Operation::RenewWorkItemLock, &[Held::Work(token)], effect).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        let effect = || self.inner.renew_session_lock(owner_ids, extend_for, idle_timeout);
        self.required(Operation::RenewSessionLock, &[], effect).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        let effect = || self.inner.cleanup_orphaned_sessions(idle_timeout);
        self.required(Operation::CleanupOrphanedSessions, &[], effect).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let effect = || self.inner.abandon_work_item(token, delay, ignore_attempt);
        self.required(Operation::AbandonWorkItem, &[Held::Work(token)], effect).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let effect = || self.inner.renew_orchestration_item_lock(token, extend_for);
        self.required(Operation::RenewOrchestrationItemLock, &[Held::Instance(token)], effect).await
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        let effect = || self.inner.enqueue_for_orchestrator(item, delay);
        self.required(Operation::EnqueueForOrchestrator, &[], effect).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        self.inner.as_management_capability().map(|_| -> &dyn ProviderAdmin { self })
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        let effect = || self.inner.get_custom_status(instance, last_seen_version);
        self.required(Operation::GetCustomStatus, &[], effect).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.required(Operation::GetKvValue, &[], || self.inner.get_kv_value(instance, key)).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.required(Operation::GetKvAllValues, &[], || self.inner.get_kv_all_values(instance)).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.required(Operation::GetInstanceStats, &[], || self.inner.get_instance_stats(instance)).await
    }

    fn abilities(&self) -> Abilities {
        self.masked_abilities()
    }

    async fn lease_instances(&self, request: LeaseInstances) -> Result<Vec<InstanceLease>, StoreError> {
        let request = LeaseInstances { wait: self.wait(request.wait), ..request };
        let effect = || self.answered_at(self.inner.lease_instances(request));
        let (mut leases, at) = self.provided(Operation::LeaseInstances, &[], effect).await?;
        for lease in &mut leases {
            lease.store_time_slack = lease.store_time_slack.saturating_add(self.passed_since(at));
            if let Some(change) = self.change_lease {
                change(lease);
            }
        }
        Ok(leases)
    }

    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> Result<Vec<Event>, StoreError> {
        let effect = || self.inner.read_history_after(lease, after);
        self.provided(Operation::ReadHistoryAfter, &[Held::Instance(&lease.token)], effect).await
    }

    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        let effect = || self.inner.read_kv_snapshot(lease);
        self.provided(Operation::ReadKvSnapshot, &[Held::Instance(&lease.token)], effect).await
    }

    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<Result<Committed, StoreError>> {
        let rights: Vec<Authority> = turns.iter().map(|commit| commit.authority.clone()).collect();
        let held: Vec<_> = rights.iter().map(held_by).collect();
        let (passed, refusals) = mask::sift(turns, self.masked_abilities());
        let effect = || async move { mask::merge(refusals, self.inner.commit_turns(passed).await) };
        self.batch(Operation::CommitTurn, &held, effect).await
    }

    async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        let request = LeaseWork { wait: self.wait(request.wait), ..request };
        let effect = || self.answered_at(self.inner.lease_work(request));
        let (mut leases, at) = self.provided(Operation::LeaseWork, &[], effect).await?;
        for lease in &mut leases {
            lease.store_time_slack = lease.store_time_slack.saturating_add(self.passed_since(at));
        }
        Ok(leases)
    }

    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<Result<(), StoreError>> {
        let tokens: Vec<String> = finished.iter().map(|finished| finished.token.clone()).collect();
        let held: Vec<_> = tokens.iter().map(|token| Held::Work(token)).collect();
        self.batch(Operation::FinishWork, &held, || self.inner.finish_work(finished)).await
    }

    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        let request = Enqueue { key: self.key(request.key), ..request };
        self.provided(Operation::EnqueueOnce, &[], || self.inner.enqueue_once(request)).await
    }

    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        let request = Enqueue { key: self.key(request.key), ..request };
        self.provided(Operation::StartOnce, &[], || self.inner.start_once(request)).await
    }

    async fn renew_sessions(&self, request: RenewSessions) -> Result<usize, StoreError> {
        self.provided(Operation::RenewSessionLock, &[], || self.inner.renew_sessions(request)).await
    }

    async fn enqueue_existing(&self, request: Enqueue) -> Result<(), StoreError> {
        let request = Enqueue { key: self.key(request.key), ..request };
        self.provided(Operation::EnqueueExisting, &[], || self.inner.enqueue_existing(request)).await
    }

    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        self.required(Operation::ReadStatus, &[], || self.inner.read_status(instance)).await
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        if self.masked_abilities().has(Ability::PushedChanges) { self.inner.changes(instance) } else { None }
    }

    async fn next_due(&self, lane: Lane) -> Result<Option<Timestamp>, StoreError> {
        let knows = self.masked_abilities().has(Ability::DueTimes);
        let effect = || async move { if knows { self.inner.next_due(lane).await } else { Ok(None) } };
        self.provided(Operation::NextDue, &[], effect).await
    }

    fn stolen_leases(&self) -> Option<StolenLeases> {
        let tells = self.masked_abilities().has(Ability::PushedCancellations);
        if tells { self.inner.stolen_leases() } else { None }
    }

    async fn block_instance(&self, block: BlockInstance) -> Result<(), StoreError> {
        let token = block.token.clone();
        let effect = || self.inner.block_instance(block);
        self.provided(Operation::BlockInstance, &[Held::Instance(&token)], effect).await
    }

    async fn hold_work(&self, hold: HoldWork) -> Result<(), StoreError> {
        let token = hold.token.clone();
        self.provided(Operation::HoldWork, &[Held::Work(&token)], || self.inner.hold_work(hold)).await
    }

    async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        let held = match lane {
            Lane::Instances => Held::Instance(token),
            Lane::Work => Held::Work(token),
        };
        self.provided(Operation::BeginSuspect, &[held], || self.inner.begin_suspect(lane, token)).await
    }

    async fn retry_blocked(&self, instance: &str) -> Result<bool, StoreError> {
        self.provided(Operation::RetryBlocked, &[], || self.inner.retry_blocked(instance)).await
    }

    async fn revoke_work(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        let token = revoke.token.clone();
        let effect = || self.inner.revoke_work(revoke);
        self.provided(Operation::RevokeWork, &[Held::Instance(&token)], effect).await
    }

    async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        self.provided(Operation::ReadBlocks, &[], || self.inner.read_blocks(instance)).await
    }

    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        self.provided(Operation::ReadOverview, &[], || self.inner.read_overview(instance)).await
    }

    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        self.provided(Operation::ReadChildren, &[], || self.inner.read_children(instances)).await
    }

    async fn announce_node(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        self.provided(Operation::AnnounceNode, &[], || self.inner.announce_node(node)).await
    }

    async fn forget_node(&self, id: &str) -> Result<(), StoreError> {
        self.provided(Operation::ForgetNode, &[], || self.inner.forget_node(id)).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.provided(Operation::Nodes, &[], || self.inner.nodes()).await
    }
}

fn held_by(authority: &Authority) -> Held<'_> {
    match authority {
        Authority::Lease { token } => Held::Instance(token),
        Authority::FinishedWork { token, .. } => Held::Work(token),
    }
}
