//! A store with the required methods only, which sometimes hands out as work what is none.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_model::{Event, ScheduledActivityIdentifier, SystemStats, WorkItem};
use abide_provider::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderError,
    SessionFetchConfig, TagFilter,
};
use async_trait::async_trait;

const TOKEN: &str = "odd";

type Answer<T> = Result<T, ProviderError>;

pub(super) struct OddStore {
    inner: Arc<dyn Provider>,
    left: AtomicU32,
    given_back: AtomicU32,
}

impl OddStore {
    /// The first so many that ask for work get something else.
    pub(super) fn new(inner: Arc<dyn Provider>, odd: u32) -> Self {
        Self { inner, left: AtomicU32::new(odd), given_back: AtomicU32::new(0) }
    }

    pub(super) fn left(&self) -> u32 {
        self.left.load(Ordering::Relaxed)
    }

    pub(super) fn given_back(&self) -> u32 {
        self.given_back.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Provider for OddStore {
    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Answer<Option<(WorkItem, String, u32)>> {
        let one_less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
            let instance = "nobody".to_owned();
            let item = WorkItem::TimerFired { instance, execution_id: 1, id: 2, fire_at_ms: 3 };
            return Ok(Some((item, TOKEN.to_owned(), 1)));
        }
        self.inner.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        if token == TOKEN {
            self.given_back.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        self.inner.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Answer<Option<(OrchestrationItem, String, u32)>> {
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
    ) -> Answer<()> {
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
    ) -> Answer<()> {
        self.inner.abandon_orchestration_item(lock_token, delay, ignore_attempt).await
    }

    async fn read(&self, instance: &str) -> Answer<Vec<Event>> {
        self.inner.read(instance).await
    }

    async fn read_with_execution(&self, instance: &str, execution_id: u64) -> Answer<Vec<Event>> {
        self.inner.read_with_execution(instance, execution_id).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        events: Vec<Event>,
    ) -> Answer<()> {
        self.inner.append_with_execution(instance, execution_id, events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Answer<()> {
        self.inner.enqueue_for_worker(item).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Answer<()> {
        self.inner.ack_work_item(token, completion).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Answer<()> {
        self.inner.renew_work_item_lock(token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        self.inner.renew_session_lock(owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Answer<usize> {
        self.inner.cleanup_orphaned_sessions(idle_timeout).await
    }

    async fn renew_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Answer<()> {
        self.inner.renew_orchestration_item_lock(token, extend_for).await
    }

    async fn enqueue_for_orchestrator(&self, item: WorkItem, delay: Option<Duration>) -> Answer<()> {
        self.inner.enqueue_for_orchestrator(item, delay).await
    }

    async fn get_custom_status(&self, instance: &str, seen: u64) -> Answer<Option<(Option<String>, u64)>> {
        self.inner.get_custom_status(instance, seen).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Answer<Option<String>> {
        self.inner.get_kv_value(instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Answer<HashMap<String, String>> {
        self.inner.get_kv_all_values(instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Answer<Option<SystemStats>> {
        self.inner.get_instance_stats(instance).await
    }
}
