//! A store that writes down what it is asked, and takes a second for each answer.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::{
    Clock, Event, KvEntry, OrchestrationStatus, ScheduledActivityIdentifier, Sleep, SystemStats, Timestamp,
    WorkItem,
};
use abide_provider::{
    Abilities, Ability, BlockInstance, BlockedInstance, Changes, ChildOverview, Committed,
    DispatcherCapabilityFilter, Enqueue, ExecutionMetadata, FinishedWork, HoldWork, InstanceLease,
    InstanceOverview, Lane, LeaseInstances, LeaseWork, Node, NodeAnnouncement, Operation, OrchestrationItem,
    Provider, ProviderAdmin, ProviderError, Rejection, RenewSessions, RevokeWork, RevokedWork,
    SessionFetchConfig, Start, StolenLeases, StoreError, TagFilter, TurnCommit, WorkLease,
};
use async_trait::async_trait;
use futures::stream;

use super::samples;

/// What the spy answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    /// There is something for everybody.
    Rich,
    /// There is nothing.
    Poor,
    /// The call may succeed later.
    Down,
    /// The call is refused.
    Refusing,
}

#[derive(Debug)]
pub(super) struct Spy {
    mood: Mood,
    abilities: Abilities,
    calls: Mutex<Vec<String>>,
    now: Arc<ManualClock>,
}

impl Spy {
    pub(super) fn new(mood: Mood) -> Self {
        Self {
            mood,
            abilities: Abilities::NONE.with(Ability::DueTimes),
            calls: Mutex::default(),
            now: Arc::default(),
        }
    }

    pub(super) fn that_parks(self) -> Self {
        Self { abilities: self.abilities.with(Ability::Parking), ..self }
    }

    pub(super) fn clock(&self) -> Arc<ManualClock> {
        Arc::clone(&self.now)
    }

    /// What was called, with its arguments.
    pub(super) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    fn called(&self, name: &str, arguments: impl Debug) {
        *self.now.0.lock().unwrap() += Duration::from_secs(1);
        self.calls.lock().unwrap().push(format!("{name} {arguments:?}"));
    }

    fn answer<T>(&self, rich: T, poor: T) -> Result<T, ProviderError> {
        match self.mood {
            Mood::Rich => Ok(rich),
            Mood::Poor => Ok(poor),
            Mood::Down => Err(ProviderError::retryable("spy", "down")),
            Mood::Refusing => Err(ProviderError::permanent("spy", "no")),
        }
    }

    fn store_answer<T>(&self, rich: T, poor: T) -> Result<T, StoreError> {
        match self.mood {
            Mood::Rich => Ok(rich),
            Mood::Poor => Ok(poor),
            Mood::Down => Err(StoreError::not_applied(Operation::Read, "down")),
            Mood::Refusing => Err(StoreError::rejected(Operation::Read, Rejection::Conflict, "no")),
        }
    }
}

#[async_trait]
impl Provider for Spy {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
    fn name(&self) -> &str {
        self.called("name", ());
        "spy"
    }

    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
    fn version(&self) -> &str {
        self.called("version", ());
        "0.0.7"
    }

    fn durability(&self) -> Option<&str> {
        self.called("durability", ());
        Some("on paper")
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        self.called("fetch_orchestration_item", (lock_timeout, poll_timeout, filter));
        self.answer(Some((samples::item(), "token".into(), 3)), None)
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
        let what = (history_delta, worker_items, orchestrator_items, metadata, cancelled_activities);
        self.called("ack_orchestration_item", (lock_token, execution_id, what));
        self.answer((), ())
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.called("abandon_orchestration_item", (lock_token, delay, ignore_attempt));
        self.answer((), ())
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.called("read", instance);
        self.answer(vec![samples::event()], vec![])
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.called("read_with_execution", (instance, execution_id));
        self.answer(vec![samples::event()], vec![])
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.called("append_with_execution", (instance, execution_id, new_events));
        self.answer((), ())
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.called("enqueue_for_worker", item);
        self.answer((), ())
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        self.called("fetch_work_item", (lock_timeout, poll_timeout, session, tag_filter));
        self.answer(Some((samples::work(), "token".into(), 2)), None)
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        self.called("ack_work_item", (token, completion));
        self.answer((), ())
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        self.called("renew_work_item_lock", (token, extend_for));
        self.answer((), ())
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.called("renew_session_lock", (owner_ids, extend_for, idle_timeout));
        self.answer(2, 0)
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        self.called("cleanup_orphaned_sessions", idle_timeout);
        self.answer(3, 0)
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.called("abandon_work_item", (token, delay, ignore_attempt));
        self.answer((), ())
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.called("renew_orchestration_item_lock", (token, extend_for));
        self.answer((), ())
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        self.called("enqueue_for_orchestrator", (item, delay));
        self.answer((), ())
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        self.called("as_management_capability", ());
        None
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        self.called("get_custom_status", (instance, last_seen_version));
        self.answer(Some((Some("half".into()), 9)), None)
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.called("get_kv_value", (instance, key));
        self.answer(Some("value".into()), None)
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.called("get_kv_all_values", instance);
        self.answer(HashMap::from([("key".into(), "value".into())]), HashMap::new())
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.called("get_instance_stats", instance);
        self.answer(Some(SystemStats::default()), None)
    }

    fn abilities(&self) -> Abilities {
        self.called("abilities", ());
        self.abilities
    }

    async fn lease_instances(&self, request: LeaseInstances) -> Result<Vec<InstanceLease>, StoreError> {
        self.called("lease_instances", request);
        self.store_answer(vec![samples::lease()], vec![])
    }

    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> Result<Vec<Event>, StoreError> {
        self.called("read_history_after", (lease, after));
        self.store_answer(vec![samples::event()], vec![])
    }

    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        self.called("read_kv_snapshot", lease);
        let entry = KvEntry { value: "value".into(), last_updated_at_ms: 5 };
        self.store_answer(BTreeMap::from([("key".into(), entry)]), BTreeMap::new())
    }

    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<Result<Committed, StoreError>> {
        let answers = turns.iter().map(|_| self.store_answer(Committed::default(), Committed::default()));
        let answers = answers.collect();
        self.called("commit_turns", turns);
        answers
    }

    async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        self.called("lease_work", request);
        self.store_answer(vec![samples::work_lease()], vec![])
    }

    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<Result<(), StoreError>> {
        let answers = finished.iter().map(|_| self.store_answer((), ())).collect();
        self.called("finish_work", finished);
        answers
    }

    async fn renew_sessions(&self, request: RenewSessions) -> Result<usize, StoreError> {
        self.called("renew_sessions", request);
        self.store_answer(2, 0)
    }

    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        self.called("enqueue_once", request);
        self.store_answer((), ())
    }

    async fn enqueue_existing(&self, request: Enqueue) -> Result<(), StoreError> {
        self.called("enqueue_existing", request);
        self.store_answer((), ())
    }

    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        self.called("start_once", request);
        self.store_answer(Start::Created, Start::Exists)
    }

    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        self.called("read_status", instance);
        let running = OrchestrationStatus::Running { custom_status: None, custom_status_version: 4 };
        self.answer(running, OrchestrationStatus::NotFound)
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        self.called("changes", instance);
        Some(Box::pin(stream::empty()))
    }

    async fn next_due(&self, lane: Lane) -> Result<Option<Timestamp>, StoreError> {
        self.called("next_due", lane);
        self.store_answer(Some(Timestamp::from_millis(77)), None)
    }

    fn stolen_leases(&self) -> Option<StolenLeases> {
        self.called("stolen_leases", ());
        Some(Box::pin(stream::empty()))
    }

    async fn block_instance(&self, block: BlockInstance) -> Result<(), StoreError> {
        self.called("block_instance", block);
        self.store_answer((), ())
    }

    async fn hold_work(&self, hold: HoldWork) -> Result<(), StoreError> {
        self.called("hold_work", hold);
        self.store_answer((), ())
    }

    async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        self.called("begin_suspect", (lane, token));
        self.store_answer((), ())
    }

    async fn retry_blocked(&self, instance: &str) -> Result<bool, StoreError> {
        self.called("retry_blocked", instance);
        self.store_answer(true, false)
    }

    async fn revoke_work(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        self.called("revoke_work", revoke);
        self.store_answer(RevokedWork { count: 2, more: true }, RevokedWork::default())
    }

    async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        self.called("read_blocks", instance);
        self.store_answer(vec![samples::blocked()], vec![])
    }

    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        self.called("read_overview", instance);
        self.store_answer(Some(InstanceOverview::default()), None)
    }

    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        self.called("read_children", instances);
        self.store_answer(vec![samples::child()], vec![])
    }

    async fn announce_node(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        self.called("announce_node", node);
        self.store_answer((), ())
    }

    async fn forget_node(&self, id: &str) -> Result<(), StoreError> {
        self.called("forget_node", id);
        self.store_answer((), ())
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.called("nodes", ());
        self.store_answer(vec![samples::node()], vec![])
    }
}

/// Time passes when the spy is called.
#[derive(Debug, Default)]
pub(super) struct ManualClock(Mutex<Duration>);

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn monotonic(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    fn sleep_until(&self, _: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}
