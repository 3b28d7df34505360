//! A provider that measures another: how long its calls take, and what becomes of those that fail.
//!
//! Every method is passed on to the same method of the store inside, the provided ones too: otherwise their slow defaults
//! would replace what the store can do better. A test holds that list against the trait.
//!
//! Calls that wait for something to do are not measured, unless they fail: an hour without work is not a slow store. That is
//! every lease call that found nothing, and every one that was allowed to wait in a store that makes callers wait.
//!
//! Deliberately absent: anything that changes what a call does. Administration is handed out as it is.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{
    Clock, Event, KvEntry, OrchestrationStatus, ScheduledActivityIdentifier, SystemStats, Timestamp, WorkItem,
};
use abide_provider::{
    Abilities, Ability, BlockInstance, BlockedInstance, Changes, ChildOverview, Committed,
    DispatcherCapabilityFilter, Enqueue, ExecutionMetadata, FinishedWork, HoldWork, InstanceLease,
    InstanceOverview, Lane, LeaseInstances, LeaseWork, Node, NodeAnnouncement, Operation, OrchestrationItem,
    Provider, ProviderAdmin, ProviderError, RenewSessions, RevokeWork, RevokedWork, SessionFetchConfig,
    Start, StolenLeases, StoreError, TagFilter, TurnCommit, WorkLease,
};
use async_trait::async_trait;

use super::metrics::record_call;
use super::{LeaseKind, MetricsProvider, RenewalOutcome, StorageErrorKind};

/// A provider that measures another.
pub struct InstrumentedProvider {
    inner: Arc<dyn Provider>,
    metrics: Option<Arc<MetricsProvider>>,
    clock: Arc<dyn Clock>,
}

impl InstrumentedProvider {
    /// Measures `inner`; without metrics it only passes calls on.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, metrics: Option<Arc<MetricsProvider>>) -> Self {
        Self::with_clock(inner, metrics, Arc::new(SystemClock::new()))
    }

    /// The same, by a clock of one's own.
    #[must_use]
    pub fn with_clock(
        inner: Arc<dyn Provider>,
        metrics: Option<Arc<MetricsProvider>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { inner, metrics, clock }
    }

    /// Makes a call, and measures it.
    async fn timed<T, E>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E>
    where
        for<'e> StorageErrorKind: From<&'e E>,
    {
        self.timed_if(operation, call, |_| true, |error| error.into()).await
    }

    /// Makes a call for something to do, and measures it if there was something and it did not wait for it.
    async fn leased<T, E>(
        &self,
        operation: Operation,
        wait: Duration,
        call: impl Future<Output = Result<T, E>>,
        found: impl FnOnce(&T) -> bool,
    ) -> Result<T, E>
    where
        for<'e> StorageErrorKind: From<&'e E>,
    {
        let waits = !wait.is_zero() && self.inner.abilities().has(Ability::Parking);
        self.timed_if(operation, call, |answer| !waits && found(answer), |error| error.into()).await
    }

    /// Makes a call that renews leases, and counts what became of them.
    async fn renewed<T>(
        &self,
        operation: Operation,
        kind: LeaseKind,
        call: impl Future<Output = Result<T, ProviderError>>,
        count: impl FnOnce(&T) -> u64,
    ) -> Result<T, ProviderError> {
        let kind_of = |error: &ProviderError| match RenewalOutcome::of(error) {
            RenewalOutcome::Lost => StorageErrorKind::LeaseLost,
            RenewalOutcome::Failed | RenewalOutcome::Renewed => error.into(),
        };
        let answer = self.timed_if(operation, call, |_| true, kind_of).await;
        if let Some(metrics) = &self.metrics {
            let (outcome, count) = match &answer {
                Ok(answer) => (RenewalOutcome::Renewed, count(answer)),
                Err(error) => (RenewalOutcome::of(error), 1),
            };
            metrics.record_lease_renewals(kind, outcome, count);
        }
        answer
    }

    async fn timed_if<T, E>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, E>>,
        says_something: impl FnOnce(&T) -> bool,
        kind: impl FnOnce(&E) -> StorageErrorKind,
    ) -> Result<T, E> {
        let Some(metrics) = &self.metrics else { return call.await };
        let began = self.clock.monotonic();
        let answer = call.await;
        let took = self.clock.monotonic().saturating_sub(began);
        match &answer {
            Ok(answer) => {
                if says_something(answer) {
                    record_call(operation, took, SUCCESS);
                }
            }
            Err(error) => {
                record_call(operation, took, ERROR);
                metrics.record_storage_error(operation, kind(error));
            }
        }
        answer
    }

    /// Makes a call that has many answers, and measures it as one.
    async fn timed_each<T>(
        &self,
        operation: Operation,
        call: impl Future<Output = Vec<Result<T, StoreError>>>,
    ) -> Vec<Result<T, StoreError>> {
        let Some(metrics) = &self.metrics else { return call.await };
        let began = self.clock.monotonic();
        let answers = call.await;
        let took = self.clock.monotonic().saturating_sub(began);
        let mut status = SUCCESS;
        for error in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            status = ERROR;
            metrics.record_storage_error(operation, error.into());
        }
        if !answers.is_empty() {
            record_call(operation, took, status);
        }
        answers
    }
}

const SUCCESS: &str = "success";
const ERROR: &str = "error";

impl RenewalOutcome {
    /// The contract of renewals: what will not pass means that the lease is lost.
    fn of(error: &ProviderError) -> Self {
        if error.is_retryable() { Self::Failed } else { Self::Lost }
    }
}

impl fmt::Debug for InstrumentedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstrumentedProvider").field("inner", &self.inner.name()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for InstrumentedProvider {
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
        let call = self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, filter);
        self.leased(Operation::FetchOrchestrationItem, poll_timeout, call, Option::is_some).await
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
        let call = self.inner.ack_orchestration_item(
            lock_token,
            execution_id,
            history_delta,
            worker_items,
            orchestrator_items,
            metadata,
            cancelled_activities,
        );
        self.timed(Operation::AckOrchestrationItem, call).await
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let call = self.inner.abandon_orchestration_item(lock_token, delay, ignore_attempt);
        self.timed(Operation::AbandonOrchestrationItem, call).await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.timed(Operation::Read, self.inner.read(instance)).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        let call = self.inner.read_with_execution(instance, execution_id);
        self.timed(Operation::ReadWithExecution, call).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        let call = self.inner.append_with_execution(instance, execution_id, new_events);
        self.timed(Operation::AppendWithExecution, call).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.timed(Operation::EnqueueForWorker, self.inner.enqueue_for_worker(item)).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let call = self.inner.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter);
        self.leased(Operation::FetchWorkItem, poll_timeout, call, Option::is_some).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        self.timed(Operation::AckWorkItem, self.inner.ack_work_item(token, completion)).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        let call = self.inner.renew_work_item_lock(token, extend_for);
        self.renewed(Operation::RenewWorkItemLock, LeaseKind::Work, call, |()| 1).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        let call = self.inner.renew_session_lock(owner_ids, extend_for, idle_timeout);
        let count = |sessions: &usize| u64::try_from(*sessions).unwrap_or(u64::MAX);
        self.renewed(Operation::RenewSessionLock, LeaseKind::Session, call, count).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        let call = self.inner.cleanup_orphaned_sessions(idle_timeout);
        self.timed(Operation::CleanupOrphanedSessions, call).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let call = self.inner.abandon_work_item(token, delay, ignore_attempt);
        self.timed(Operation::AbandonWorkItem, call).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let call = self.inner.renew_orchestration_item_lock(token, extend_for);
        self.renewed(Operation::RenewOrchestrationItemLock, LeaseKind::Instance, call, |()| 1).await
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        let call = self.inner.enqueue_for_orchestrator(item, delay);
        self.timed(Operation::EnqueueForOrchestrator, call).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        self.inner.as_management_capability()
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        let call = self.inner.get_custom_status(instance, last_seen_version);
        self.timed(Operation::GetCustomStatus, call).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.timed(Operation::GetKvValue, self.inner.get_kv_value(instance, key)).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.timed(Operation::GetKvAllValues, self.inner.get_kv_all_values(instance)).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.timed(Operation::GetInstanceStats, self.inner.get_instance_stats(instance)).await
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    async fn lease_instances(&self, request: LeaseInstances) -> Result<Vec<InstanceLease>, StoreError> {
        let wait = request.wait;
        let call = self.inner.lease_instances(request);
        self.leased(Operation::LeaseInstances, wait, call, |leases| !leases.is_empty()).await
    }

    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> Result<Vec<Event>, StoreError> {
        self.timed(Operation::ReadHistoryAfter, self.inner.read_history_after(lease, after)).await
    }

    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        self.timed(Operation::ReadKvSnapshot, self.inner.read_kv_snapshot(lease)).await
    }

    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<Result<Committed, StoreError>> {
        self.timed_each(Operation::CommitTurn, self.inner.commit_turns(turns)).await
    }

    async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        let wait = request.wait;
        let call = self.inner.lease_work(request);
        self.leased(Operation::LeaseWork, wait, call, |leases| !leases.is_empty()).await
    }

    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<Result<(), StoreError>> {
        self.timed_each(Operation::FinishWork, self.inner.finish_work(finished)).await
    }

    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        self.timed(Operation::EnqueueOnce, self.inner.enqueue_once(request)).await
    }

    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        self.timed(Operation::StartOnce, self.inner.start_once(request)).await
    }

    async fn renew_sessions(&self, request: RenewSessions) -> Result<usize, StoreError> {
        self.timed(Operation::RenewSessionLock, self.inner.renew_sessions(request)).await
    }

    async fn enqueue_existing(&self, request: Enqueue) -> Result<(), StoreError> {
        self.timed(Operation::EnqueueExisting, self.inner.enqueue_existing(request)).await
    }

    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        self.timed(Operation::ReadStatus, self.inner.read_status(instance)).await
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        self.inner.changes(instance)
    }

    async fn next_due(&self, lane: Lane) -> Result<Option<Timestamp>, StoreError> {
        self.timed(Operation::NextDue, self.inner.next_due(lane)).await
    }

    fn stolen_leases(&self) -> Option<StolenLeases> {
        self.inner.stolen_leases()
    }

    async fn block_instance(&self, block: BlockInstance) -> Result<(), StoreError> {
        self.timed(Operation::BlockInstance, self.inner.block_instance(block)).await
    }

    async fn hold_work(&self, hold: HoldWork) -> Result<(), StoreError> {
        self.timed(Operation::HoldWork, self.inner.hold_work(hold)).await
    }

    async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        self.timed(Operation::BeginSuspect, self.inner.begin_suspect(lane, token)).await
    }

    async fn retry_blocked(&self, instance: &str) -> Result<bool, StoreError> {
        self.timed(Operation::RetryBlocked, self.inner.retry_blocked(instance)).await
    }

    async fn revoke_work(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        self.timed(Operation::RevokeWork, self.inner.revoke_work(revoke)).await
    }

    async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        self.timed(Operation::ReadBlocks, self.inner.read_blocks(instance)).await
    }

    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        self.timed(Operation::ReadOverview, self.inner.read_overview(instance)).await
    }

    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        self.timed(Operation::ReadChildren, self.inner.read_children(instances)).await
    }

    async fn announce_node(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        self.timed(Operation::AnnounceNode, self.inner.announce_node(node)).await
    }

    async fn forget_node(&self, id: &str) -> Result<(), StoreError> {
        self.timed(Operation::ForgetNode, self.inner.forget_node(id)).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.timed(Operation::Nodes, self.inner.nodes()).await
    }
}
