//! A store that has only the required methods: it writes down each call, and gives the answers it was told to give.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use abide_model::{Event, ScheduledActivityIdentifier, SystemStats, WorkItem};
use abide_provider::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    SessionFetchConfig, TagFilter,
};
use async_trait::async_trait;

use crate::admin::FakeAdmin;
use crate::items::say;

type CustomStatus = Result<Option<(Option<String>, u64)>, ProviderError>;
type Fetched<T> = Result<Option<(T, String, u32)>, ProviderError>;

/// A store that answers by script. Without a script, writes succeed and fetches find nothing.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) instances: Script<Fetched<OrchestrationItem>>,
    pub(crate) work: Script<Fetched<WorkItem>>,
    pub(crate) histories: Script<Result<Vec<Event>, ProviderError>>,
    pub(crate) stats: Script<Result<Option<SystemStats>, ProviderError>>,
    pub(crate) custom_statuses: Script<CustomStatus>,
    pub(crate) writes: Script<Result<(), ProviderError>>,
    pub(crate) admin: Option<FakeAdmin>,
    pub(crate) log: Log,
}

/// Answers to give, in this order.
pub(crate) struct Script<T>(Mutex<VecDeque<T>>);

impl<T> Default for Script<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Script<T> {
    pub(crate) fn of(answers: impl IntoIterator<Item = T>) -> Self {
        Self(Mutex::new(answers.into_iter().collect()))
    }

    pub(crate) fn next(&self) -> Option<T> {
        self.0.lock().unwrap().pop_front()
    }
}

/// Calls, one line each.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<String>>);

impl Log {
    pub(crate) fn write(&self, call: String) {
        self.0.lock().unwrap().push(call);
    }

    /// What was called since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Fake {
    /// What was called since the last time, the administrative side last.
    pub(crate) fn calls(&self) -> Vec<String> {
        let mut calls = self.log.take();
        calls.extend(self.admin.iter().flat_map(|admin| admin.calls.take()));
        calls
    }

    fn write(&self, call: String) -> Result<(), ProviderError> {
        self.log.write(call);
        self.writes.next().unwrap_or(Ok(()))
    }
}

#[async_trait]
impl Provider for Fake {
    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let ranges = filter.map(|filter| filter.supported_duroxide_versions.len());
        self.log.write(format!("fetch {lock_timeout:?} {poll_timeout:?} {ranges:?}"));
        self.instances.next().unwrap_or(Ok(None))
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
        let events: Vec<u64> = history_delta.iter().map(Event::event_id).collect();
        let cancelled: Vec<u64> = cancelled_activities.iter().map(|activity| activity.activity_id).collect();
        self.write(format!(
            "ack {lock_token}: execution {execution_id}, events {events:?}, work [{}], mail [{}], status {}, \
             cancelled {cancelled:?}",
            say(&worker_items),
            say(&orchestrator_items),
            metadata.status.as_deref().unwrap_or("-"),
        ))
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.write(format!("abandon {lock_token} {delay:?} {ignore_attempt}"))
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.log.write(format!("read {instance}"));
        self.histories.next().unwrap_or_else(|| Ok(Vec::new()))
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.log.write(format!("read {instance} {execution_id}"));
        self.histories.next().unwrap_or_else(|| Ok(Vec::new()))
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.write(format!("append {instance} {execution_id} {}", new_events.len()))
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.write(format!("enqueue work [{}]", say(&[item])))
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let owner = session.map(|session| session.owner_id.as_str());
        self.log.write(format!("fetch work {lock_timeout:?} {poll_timeout:?} {owner:?} {tag_filter:?}"));
        self.work.next().unwrap_or(Ok(None))
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        self.write(format!("ack work {token} [{}]", say(completion.as_slice())))
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        self.write(format!("renew work {token} {extend_for:?}"))
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.write(format!("renew sessions {owner_ids:?} {extend_for:?} {idle_timeout:?}")).map(|()| 0)
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        self.write(format!("cleanup sessions {idle_timeout:?}")).map(|()| 0)
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.write(format!("abandon work {token} {delay:?} {ignore_attempt}"))
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.write(format!("renew {token} {extend_for:?}"))
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        self.write(format!("enqueue [{}] {delay:?}", say(&[item])))
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        self.admin.as_ref().map(|admin| -> &dyn ProviderAdmin { admin })
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        self.log.write(format!("custom status {instance} {last_seen_version}"));
        self.custom_statuses.next().unwrap_or(Ok(None))
    }

    async fn get_kv_value(&self, _instance: &str, _key: &str) -> Result<Option<String>, ProviderError> {
        Ok(None)
    }

    async fn get_kv_all_values(&self, _instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        Ok(HashMap::new())
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.log.write(format!("stats {instance}"));
        self.stats.next().unwrap_or(Ok(None))
    }
}
