//! A store around another that counts how often it was asked for something to do, and how much history was decoded.
//!
//! Every method is passed on to the same method of the store inside, the provided ones too: otherwise their slow defaults would
//! replace what the store can do better.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use durable::providers::{
    Abilities, BlockInstance, BlockedInstance, Changes, ChildOverview, Committed, DispatcherCapabilityFilter,
    Enqueue, ExecutionMetadata, FinishedWork, HoldWork, InstanceLease, InstanceOverview, KvEntry, Lane,
    LeaseInstances, LeaseWork, Node, NodeAnnouncement, OrchestrationItem, Provider, ProviderAdmin,
    ProviderError, RenewSessions, RevokeWork, RevokedWork, SessionFetchConfig, Start, StolenLeases,
    StoreError, TagFilter, TurnCommit, WorkItem, WorkLease,
};
use durable::seams::Timestamp;
use durable::{Event, OrchestrationStatus, ScheduledActivityIdentifier, SystemStats};

/// The store inside, and what was counted.
pub(crate) struct CountedStore {
    inner: Arc<dyn Provider>,
    lease_calls: AtomicU64,
    polls: AtomicU64,
    events_decoded: AtomicU64,
}

impl CountedStore {
    pub(crate) fn around(inner: Arc<dyn Provider>) -> Self {
        let [lease_calls, polls, events_decoded] = Default::default();
        Self { inner, lease_calls, polls, events_decoded }
    }

    /// By name.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 3] {
        [
            ("lease_calls", self.lease_calls.load(Relaxed)),
            ("polls", self.polls.load(Relaxed)),
            ("events_decoded", self.events_decoded.load(Relaxed)),
        ]
    }

    /// A call for something to do; in vain it was a poll.
    fn leased<T, E>(&self, answer: Result<T, E>, found: impl FnOnce(&T) -> bool) -> Result<T, E> {
        self.lease_calls.fetch_add(1, Relaxed);
        if !answer.as_ref().is_ok_and(found) {
            self.polls.fetch_add(1, Relaxed);
        }
        answer
    }

    fn decoded<E>(&self, history: Result<Vec<Event>, E>) -> Result<Vec<Event>, E> {
        self.note_events(history.as_ref().map_or(0, Vec::len));
        history
    }

    fn note_events(&self, count: usize) {
        self.events_decoded.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Relaxed);
    }
}

#[async_trait]
impl Provider for CountedStore {
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
        let answer = self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await;
        if let Ok(Some((item, ..))) = &answer {
            self.note_events(item.history.len());
        }
        self.leased(answer, Option::is_some)
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
        self.decoded(self.inner.read(instance).await)
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.decoded(self.inner.read_with_execution(instance, execution_id).await)
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
        let answer = self.inner.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter).await;
        self.leased(answer, Option::is_some)
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
        self.inner.as_management_capability()
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        self.inner.get_custom_status(instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.inner.get_kv_value(instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.inner.get_kv_all_values(instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.inner.get_instance_stats(instance).await
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    async fn lease_instances(&self, request: LeaseInstances) -> Result<Vec<InstanceLease>, StoreError> {
        let answer = self.inner.lease_instances(request).await;
        self.leased(answer, |leases| !leases.is_empty())
    }

    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> Result<Vec<Event>, StoreError> {
        self.decoded(self.inner.read_history_after(lease, after).await)
    }

    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        self.inner.read_kv_snapshot(lease).await
    }

    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<Result<Committed, StoreError>> {
        self.inner.commit_turns(turns).await
    }

    async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        let answer = self.inner.lease_work(request).await;
        self.leased(answer, |leases| !leases.is_empty())
    }

    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<Result<(), StoreError>> {
        self.inner.finish_work(finished).await
    }

    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        self.inner.enqueue_once(request).await
    }

    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        self.inner.start_once(request).await
    }

    async fn renew_sessions(&self, request: RenewSessions) -> Result<usize, StoreError> {
        self.inner.renew_sessions(request).await
    }

    async fn enqueue_existing(&self, request: Enqueue) -> Result<(), StoreError> {
        self.inner.enqueue_existing(request).await
    }

    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        self.inner.read_status(instance).await
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        self.inner.changes(instance)
    }

    async fn next_due(&self, lane: Lane) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_due(lane).await
    }

    fn stolen_leases(&self) -> Option<StolenLeases> {
        self.inner.stolen_leases()
    }

    async fn block_instance(&self, block: BlockInstance) -> Result<(), StoreError> {
        self.inner.block_instance(block).await
    }

    async fn hold_work(&self, hold: HoldWork) -> Result<(), StoreError> {
        self.inner.hold_work(hold).await
    }

    async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        self.inner.begin_suspect(lane, token).await
    }

    async fn retry_blocked(&self, instance: &str) -> Result<bool, StoreError> {
        self.inner.retry_blocked(instance).await
    }

    async fn revoke_work(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        self.inner.revoke_work(revoke).await
    }

    async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        self.inner.read_blocks(instance).await
    }

    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        self.inner.read_overview(instance).await
    }

    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        self.inner.read_children(instances).await
    }

    async fn announce_node(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        self.inner.announce_node(node).await
    }

    async fn forget_node(&self, id: &str) -> Result<(), StoreError> {
        self.inner.forget_node(id).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.inner.nodes().await
    }
}

#[cfg(test)]
mod tests {
    /// A method that is not passed on would be measured by its default.
    #[test]
    fn every_method_of_the_trait_is_passed_on() {
        let methods = |source: &'static str| {
            let name = |line: &'static str| {
                let line = line.strip_prefix("    ")?;
                let line = line.strip_prefix("async ").unwrap_or(line);
                line.strip_prefix("fn ")?.split(['(', '<']).next()
            };
            source.lines().filter_map(name).collect::<Vec<_>>()
        };
        let (_, ours) = include_str!("counted_store.rs").split_once("impl Provider for").unwrap();
        let ours = methods(ours);
        for method in methods(include_str!("../../abide-provider/src/provider.rs")) {
            assert!(ours.contains(&method), "{method}");
        }
    }
}
