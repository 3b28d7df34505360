//! A store around another one, that fails as it is told and counts what it is asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::{Event, OrchestrationStatus, ScheduledActivityIdentifier, SystemStats, WorkItem};
use abide_provider::{
    Abilities, Ability, Changes, ChildOverview, DispatcherCapabilityFilter, Enqueue, ExecutionMetadata,
    InstanceOverview, Operation, OrchestrationItem, Provider, ProviderAdmin, ProviderError, RequestKey,
    SessionFetchConfig, Start, StoreError, TagFilter,
};
use async_trait::async_trait;

use super::admin::FaultyAdmin;
use super::faults::Faults;

/// What a store tells of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// Every change.
    All,
    /// Nothing: whoever waits polls.
    Nothing,
    /// Nothing, and it does not say so: whoever waits believes it.
    NothingInSecret,
    /// Nothing any more, from the first moment on.
    Ended,
}

pub(crate) struct Wrapper {
    pub(crate) inner: Arc<dyn Provider>,
    pub(crate) reads: Faults,
    pub(crate) writes: Faults,
    pub(crate) telling: Telling,
    pub(crate) abilities: Abilities,
    /// `None` for a store without an administrative side.
    pub(crate) admin: Option<FaultyAdmin>,
    /// The keys of all attempts to write.
    pub(crate) keys: Mutex<Vec<RequestKey>>,
}

impl Wrapper {
    pub(crate) fn new(inner: Arc<dyn Provider>) -> Self {
        Self {
            admin: Some(FaultyAdmin::new(Arc::clone(&inner))),
            abilities: inner.abilities(),
            inner,
            reads: Faults::default(),
            writes: Faults::default(),
            telling: Telling::All,
            keys: Mutex::default(),
        }
    }

    pub(crate) fn telling(self, telling: Telling) -> Self {
        Self { telling, ..self }
    }
}

#[async_trait]
impl Provider for Wrapper {
    fn name(&self) -> &'static str {
        "wrapper"
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await
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
        self.inner
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
        self.inner.abandon_orchestration_item(lock_token, delay, ignore_attempt).await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.inner.read(instance).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.inner.read_with_execution(instance, execution_id).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.inner.append_with_execution(instance, execution_id, new_events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.inner.enqueue_for_worker(item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        self.inner.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        self.inner.ack_work_item(token, completion).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        self.inner.renew_work_item_lock(token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.inner.renew_session_lock(owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        self.inner.cleanup_orphaned_sessions(idle_timeout).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.inner.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.inner.renew_orchestration_item_lock(token, extend_for).await
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        self.inner.enqueue_for_orchestrator(item, delay).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        self.admin.as_ref().map(|admin| -> &dyn ProviderAdmin { admin })
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        self.inner.get_custom_status(instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.reads.read(Operation::GetKvValue, self.inner.get_kv_value(instance, key)).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.reads.read(Operation::GetKvAllValues, self.inner.get_kv_all_values(instance)).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.reads.read(Operation::GetInstanceStats, self.inner.get_instance_stats(instance)).await
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        self.keys.lock().unwrap().push(request.key);
        let effect = async {
            if self.abilities.has(Ability::KeyedRequests) {
                return self.inner.enqueue_once(request).await;
            }
            let sent = self.inner.enqueue_for_orchestrator(request.item, request.delay).await;
            sent.map_err(|error| StoreError::unknown(Operation::EnqueueOnce, error.message))
        };
        self.writes.write(Operation::EnqueueOnce, effect).await
    }

    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        self.keys.lock().unwrap().push(request.key);
        self.writes.write(Operation::StartOnce, self.inner.start_once(request)).await
    }

    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        self.reads.read(Operation::ReadStatus, self.inner.read_status(instance)).await
    }

    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        self.inner.read_overview(instance).await
    }

    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        self.inner.read_children(instances).await
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        match self.telling {
            Telling::All => self.inner.changes(instance),
            Telling::Nothing => None,
            Telling::NothingInSecret => Some(Box::pin(futures_util::stream::pending())),
            Telling::Ended => Some(Box::pin(futures_util::stream::empty())),
        }
    }
}
