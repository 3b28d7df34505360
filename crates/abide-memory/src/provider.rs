//! The contract, method by method: lock, call, answer.
//!
//! What a method does is in the file of its subject. Waiting is in `parked.rs`.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use abide_model::{
    Event, KvEntry, OrchestrationStatus, ScheduledActivityIdentifier, SystemStats, Timestamp, WorkItem,
};
use abide_provider::{
    Abilities, Authority, BlockInstance, BlockedInstance, Changes, ChildOverview, Committed, Consumed,
    DispatcherCapabilityFilter, Enqueue, ExecutionMetadata, FinishedWork, HoldWork, InstanceLease,
    InstanceOverview, Lane, LeaseInstances, LeaseWork, Node, NodeAnnouncement, Operation, OrchestrationItem,
    Provider, ProviderAdmin, ProviderError, RenewSessions, RevokeWork, RevokedWork, SentMail,
    SessionFetchConfig, Start, StolenLeases, StoreError, TagFilter, Turn, TurnCommit, WorkLease,
};
use async_trait::async_trait;

use crate::lease::GiveBack;
use crate::refusal::Refusal;
use crate::state::State;
use crate::store::InMemoryProvider;

#[async_trait]
impl Provider for InMemoryProvider {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn durability(&self) -> Option<&str> {
        Some("memory")
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let request = LeaseInstances {
            limit: 1,
            lease_for: lock_timeout,
            wait: poll_timeout,
            capabilities: filter.cloned(),
            serving: None,
        };
        let fetched = self
            .parked(Lane::Instances, poll_timeout, |state, now, entropy| state.fetch(&request, now, entropy))
            .await;
        Ok(fetched.into_iter().next())
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
        self.change(|state, now| {
            // A token that holds nothing is refused by the commit, after the turn itself was looked at.
            let instance = state.leased_with(lock_token, now).unwrap_or_default();
            let authority = Authority::Lease { token: lock_token.to_owned() };
            let commit = TurnCommit { instance, authority, consumed: Consumed::All, left: Vec::new(), turn };
            state.commit(commit, now).map(drop)
        })
        .map_err(at(Operation::AckOrchestrationItem))
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let back = GiveBack::of(delay, ignore_attempt);
        self.change(|state, now| state.abandon_instance(lock_token, back, now))
            .map_err(at(Operation::AbandonOrchestrationItem))
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.look(|state, _| state.current_history(instance))
            .map_err(|error| ProviderError::permanent(Operation::Read.as_str(), error))
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.look(|state, _| state.history(instance, execution_id))
            .map_err(|error| ProviderError::permanent(Operation::ReadWithExecution.as_str(), error))
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.change(|state, now| state.append(instance, execution_id, new_events, now))
            .map_err(at(Operation::AppendWithExecution))
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.change(|state, _| state.enqueue_work(item)).map_err(at(Operation::EnqueueForWorker))
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let request = LeaseWork {
            limit: 1,
            lease_for: lock_timeout,
            wait: poll_timeout,
            session: session.cloned(),
            tags: tag_filter.clone(),
            serving: None,
        };
        let leased = self.lease_work(request).await?;
        Ok(leased.into_iter().next().map(|lease| (lease.item, lease.token, lease.attempt)))
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        let finished = FinishedWork { token: token.to_owned(), completion };
        self.change(|state, now| state.finish_work(finished, now)).map_err(at(Operation::AckWorkItem))
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        self.change(|state, now| state.renew_work(token, extend_for, now))
            .map_err(at(Operation::RenewWorkItemLock))
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        Ok(self.change(|state, now| state.renew_sessions(owner_ids, extend_for, idle_timeout, now)))
    }

    async fn cleanup_orphaned_sessions(&self, _idle_timeout: Duration) -> Result<usize, ProviderError> {
        Ok(self.change(State::forget_orphaned_sessions))
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let back = GiveBack::of(delay, ignore_attempt);
        self.change(|state, now| state.abandon_work(token, back, now)).map_err(at(Operation::AbandonWorkItem))
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.change(|state, now| state.renew_instance(token, extend_for, now))
            .map_err(at(Operation::RenewOrchestrationItemLock))
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        let mail = SentMail::of(&item);
        self.change(|state, now| state.enqueue(item, delay, now))
            .map(|outcome| self.warn_of(mail, outcome))
            .map_err(at(Operation::EnqueueForOrchestrator))
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        Ok(self.look(|state, _| state.custom_status(instance, last_seen_version)))
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        Ok(self.look(|state, _| state.kv_view(instance).remove(key).map(|entry| entry.value)))
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        let view = self.look(|state, _| state.kv_view(instance));
        Ok(view.into_iter().map(|(key, entry)| (key, entry.value)).collect())
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.look(|state, _| state.stats(instance)).map_err(at(Operation::GetInstanceStats))
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    async fn lease_instances(&self, request: LeaseInstances) -> Result<Vec<InstanceLease>, StoreError> {
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        let mut leases = self
            .parked(Lane::Instances, request.wait, |state, now, entropy| {
                state.lease_instances(&request, now, entropy)
            })
            .await;
        for lease in &mut leases {
            lease.store_time_slack = self.slack_of(lease.store_time);
        }
        Ok(leases)
    }

    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> Result<Vec<Event>, StoreError> {
        self.look(|state, _| state.leased_history_after(lease, after))
            .map_err(|refusal| refusal.of(Operation::ReadHistoryAfter))
    }

    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        self.look(|state, _| {
            state.check_incarnation(lease)?;
            Ok(state.kv_snapshot(&lease.instance))
        })
        .map_err(|refusal: Refusal| refusal.of(Operation::ReadKvSnapshot))
    }

    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<Result<Committed, StoreError>> {
        let commit = |commit: TurnCommit| {
            let (instance, next) = (commit.instance.clone(), commit.turn.next.clone());
            let answer = self.change(|state, now| {
                let committed = state.commit(commit, now)?;
                let lease = |terms| state.lease_next(&instance, &terms, now, &*self.entropy);
                Ok(committed.with_next(next.and_then(lease)))
            });
            let mut committed: Committed =
                answer.map_err(|refusal: Refusal| refusal.of(Operation::CommitTurn))?;
            if let Some(next) = &mut committed.next {
                next.store_time_slack = self.slack_of(next.store_time);
            }
            Ok(committed)
        };
        turns.into_iter().map(commit).collect()
    }

    async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        let mut leases = self
            .parked(Lane::Work, request.wait, |state, now, entropy| state.lease_work(&request, now, entropy))
            .await;
        for lease in &mut leases {
            lease.store_time_slack = self.slack_of(lease.store_time);
        }
        Ok(leases)
    }

    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<Result<(), StoreError>> {
        let finish = |finished| {
            let answer = self.change(|state, now| state.finish_work(finished, now));
            answer.map_err(|refusal| refusal.of(Operation::FinishWork))
        };
        finished.into_iter().map(finish).collect()
    }

    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        let mail = SentMail::of(&request.item);
        self.change(|state, now| state.enqueue_once(request, now))
            .map(|outcome| self.warn_of(mail, outcome))
            .map_err(|refusal| refusal.of(Operation::EnqueueOnce))
    }

    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        self.change(|state, now| state.start_once(request, now))
            .map_err(|refusal| refusal.of(Operation::StartOnce))
    }

    async fn renew_sessions(&self, request: RenewSessions) -> Result<usize, StoreError> {
        Ok(self.change(|state, now| state.renew_served_sessions(&request, now)))
    }

    async fn enqueue_existing(&self, request: Enqueue) -> Result<(), StoreError> {
        self.change(|state, now| state.enqueue_existing(request, now))
            .map_err(|refusal| refusal.of(Operation::EnqueueExisting))
    }

    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        self.look(|state, _| state.status(instance)).map_err(at(Operation::ReadStatus))
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        Some(self.changes.listen(instance).changes)
    }

    async fn next_due(&self, lane: Lane) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.look(|state, now| state.next_due(lane, now)))
    }

    fn stolen_leases(&self) -> Option<StolenLeases> {
        Some(self.listen())
    }

    async fn block_instance(&self, block: BlockInstance) -> Result<(), StoreError> {
        self.change(|state, now| state.block_instance(block, now))
            .map_err(|refusal| refusal.of(Operation::BlockInstance))
    }

    async fn hold_work(&self, hold: HoldWork) -> Result<(), StoreError> {
        self.change(|state, now| state.hold_work(hold, now))
            .map_err(|refusal| refusal.of(Operation::HoldWork))
    }

    async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        self.change(|state, now| state.begin_suspect(lane, token, now))
            .map_err(|refusal| refusal.of(Operation::BeginSuspect))
    }

    async fn retry_blocked(&self, instance: &str) -> Result<bool, StoreError> {
        Ok(self.change(|state, now| state.retry_blocked(instance, now)))
    }

    async fn revoke_work(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        self.change(|state, now| state.revoke_work(&revoke, now))
            .map_err(|refusal| refusal.of(Operation::RevokeWork))
    }

    async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        Ok(self.look(|state, _| state.blocks_of(instance)))
    }

    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        Ok(self.look(|state, now| state.overview_of(instance, now)))
    }

    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        Ok(self.look(|state, now| instances.iter().filter_map(|name| state.child_of(name, now)).collect()))
    }

    async fn announce_node(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        self.change(|state, now| state.announce_node(node, now));
        Ok(())
    }

    async fn forget_node(&self, id: &str) -> Result<(), StoreError> {
        self.change(|state, _| state.forget_node(id));
        Ok(())
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        Ok(self.look(|state, _| state.live_nodes()))
    }
}

/// The flat form in which the required methods refuse.
fn at(operation: Operation) -> impl Fn(Refusal) -> ProviderError {
    move |refusal| refusal.of(operation).into()
}
