//! The contract, on SQLite: every method is a job for the writer, a lease call, or a read.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use abide_model::{
    Event, KvEntry, OrchestrationStatus, ScheduledActivityIdentifier, SystemStats, Timestamp, WorkItem,
};
use abide_provider::rows::{MessageRow, WorkRow};
use abide_provider::{
    Abilities, Authority, BlockInstance, BlockedInstance, Changes, ChildOverview, CommitRows, Committed,
    Consumed, DispatcherCapabilityFilter, Enqueue, ExecutionMetadata, FinishedWork, HoldWork, InstanceLease,
    InstanceOverview, Lane, LeaseInstances, LeaseWork, NewListener, Node, NodeAnnouncement, Operation,
    OrchestrationItem, Provider, ProviderAdmin, ProviderError, Rejection, RenewSessions, RevokeWork,
    RevokedWork, SentMail, SessionFetchConfig, Start, StolenLeases, StoreError, TagFilter, Turn, TurnCommit,
    WorkLease,
};
use async_trait::async_trait;

use crate::SqliteProvider;
use crate::encode::{EncodedMessage, EncodedTurn, EncodedWork, column, number};
use crate::job::{Kind, Phase, Submission, job};
use crate::readers::{corrupt, damaged};
use crate::statements::Sql;
use crate::store::commit::Commit;
use crate::store::lease::{Abandon, Attempt};
use crate::store::read::{Leased, Standing, StoredHistory, StoredStats};
use crate::store::status::{StoredStatus, Unreadable};
use crate::store::work::Finish;
use crate::text::Text;
use crate::writer::Request;
use crate::writer::lease_call::{LeasedInstance, Load, Loaded};

#[async_trait]
impl Provider for SqliteProvider {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
    fn name(&self) -> &str {
        "sqlite"
    }

    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn durability(&self) -> Option<&str> {
        let shared = &self.shared;
        Some(if shared.in_memory() { "memory" } else { shared.durability.pragma() })
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
        let leased = self.lease(Operation::FetchOrchestrationItem, request, Load::Everything).await?.pop();
        Ok(leased.map(item_of))
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
        let commit = Commit {
            operation: Operation::AckOrchestrationItem,
            instance: None,
            authority: Authority::Lease { token: lock_token.to_owned() },
            consumed: Consumed::All,
            turn: encode_turn(turn, Operation::AckOrchestrationItem)?,
        };
        self.run(commit_job(commit)).await?;
        Ok(())
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let (token, abandon) =
            (lock_token.to_owned(), Abandon { delay, attempt: Attempt::from_flag(ignore_attempt) });
        let kind = Kind::write(Operation::AbandonOrchestrationItem, Phase::Commit);
        Ok(self.run(job(kind, move |tx| tx.abandon_instance(&token, &abandon))).await?)
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        let id = instance.to_owned();
        let stored = self.read_with(Operation::Read, move |sql| sql.read_current(&id)).await?;
        Ok(stored.decode(0).map_err(|error| corrupt(Operation::Read, instance, &error))?)
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        let operation = Operation::ReadWithExecution;
        let id = instance.to_owned();
        let stored = self.read_with(operation, move |sql| sql.read_execution(&id, execution_id)).await?;
        Ok(stored.decode(0).map_err(|error| corrupt(operation, instance, &error))?)
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        let operation = Operation::AppendWithExecution;
        let turn = encode_turn(Turn::of_past(execution_id, new_events), operation)?;
        let instance = instance.to_owned();
        let kind = Kind::write(operation, Phase::Commit);
        Ok(self.run(job(kind, move |tx| tx.append(&instance, &turn))).await?)
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        let operation = Operation::EnqueueForWorker;
        let row = WorkRow::of(item).map_err(|error| invalid(operation, &error))?;
        let work = EncodedWork::of(row, operation)?;
        let kind = Kind::write(operation, Phase::Enqueue);
        Ok(self.run(job(kind, move |tx| Ok(tx.enqueue_work(&work)?))).await?)
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
        let leased = self.lease_some_work(Operation::FetchWorkItem, request).await?.pop();
        Ok(leased.map(|lease| (lease.item, lease.token, lease.attempt)))
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        let finished = FinishedWork { token: token.to_owned(), completion };
        Ok(self.run(finish_job(finished, Operation::AckWorkItem)?).await?)
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        let token = token.to_owned();
        let kind = Kind::lease(Operation::RenewWorkItemLock, Phase::Renew);
        Ok(self.run(job(kind, move |tx| tx.renew_work(&token, extend_for))).await?)
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        let owners: Vec<String> = owner_ids.iter().map(|&owner| owner.to_owned()).collect();
        let kind = Kind::lease(Operation::RenewSessionLock, Phase::Renew);
        let renew = job(kind, move |tx| Ok(tx.renew_sessions(&owners, extend_for, idle_timeout)?));
        Ok(self.run(renew).await?)
    }

    async fn cleanup_orphaned_sessions(&self, _idle_timeout: Duration) -> Result<usize, ProviderError> {
        let kind = Kind::write(Operation::CleanupOrphanedSessions, Phase::Housekeeping);
        Ok(self.run(job(kind, |tx| Ok(tx.forget_sessions()?))).await?)
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let (token, abandon) =
            (token.to_owned(), Abandon { delay, attempt: Attempt::from_flag(ignore_attempt) });
        let kind = Kind::write(Operation::AbandonWorkItem, Phase::Commit);
        Ok(self.run(job(kind, move |tx| tx.abandon_work(&token, &abandon))).await?)
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let token = token.to_owned();
        let kind = Kind::lease(Operation::RenewOrchestrationItemLock, Phase::Renew);
        Ok(self.run(job(kind, move |tx| tx.renew_instance(&token, extend_for))).await?)
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        let operation = Operation::EnqueueForOrchestrator;
        let mail = SentMail::of(&item);
        let row = MessageRow::of(item).map_err(|error| invalid(operation, &error))?;
        let message = EncodedMessage::of(row, operation)?;
        let kind = Kind::write(operation, Phase::Enqueue);
        let outcome = self.run(job(kind, move |tx| Ok(tx.enqueue_delayed(&message, delay)?))).await?;
        self.warn_of(mail, outcome);
        Ok(())
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        let id = instance.to_owned();
        let status = self.read_with(Operation::GetCustomStatus, move |sql| sql.custom_status(&id)).await?;
        let Some((value, version)) = status.filter(|(_, version)| *version > last_seen_version) else {
            return Ok(None);
        };
        let value = value.map(Text::decode).transpose();
        Ok(Some((value.map_err(|error| damaged(Operation::GetCustomStatus, instance, &error))?, version)))
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        let (id, key) = (instance.to_owned(), key.to_owned());
        let value = self.read_with(Operation::GetKvValue, move |sql| sql.kv_value(&id, &key)).await?;
        let value = value.map(Text::decode).transpose();
        Ok(value.map_err(|error| damaged(Operation::GetKvValue, instance, &error))?)
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        let id = instance.to_owned();
        let operation = Operation::GetKvAllValues;
        let stored = self.read_with(operation, move |sql| sql.kv_merged(&id)).await?;
        let values = stored.decode().map_err(|error| damaged(operation, instance, &error))?;
        Ok(values.into_iter().map(|(key, entry)| (key, entry.value)).collect())
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        let operation = Operation::GetInstanceStats;
        let id = instance.to_owned();
        let stored = self.read_with(operation, move |sql| sql.stats(&id)).await?;
        let stats = stored.map(StoredStats::compute).transpose();
        Ok(stats.map_err(|error| corrupt(operation, instance, &error))?)
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    async fn lease_instances(&self, request: LeaseInstances) -> Result<Vec<InstanceLease>, StoreError> {
        let leased = self.lease(Operation::LeaseInstances, request, Load::Messages).await?;
        let (store_time, store_time_slack) = self.handed_over_at();
        let told = |leased: LeasedInstance| InstanceLease { store_time, store_time_slack, ..leased.lease };
        Ok(leased.into_iter().map(told).collect())
    }

    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> Result<Vec<Event>, StoreError> {
        let operation = Operation::ReadHistoryAfter;
        let leased = Leased::of(lease);
        let execution = column(lease.position.execution_id);
        let stored = self.read_with(operation, move |sql| {
            leased.read(sql, |mailbox| StoredHistory::read(sql, mailbox, execution, column(after)))
        });
        let (stored, standing) = stored.await?.ok_or_else(|| StoreError::lease_lost(operation))?;
        if standing == Standing::Damaged {
            return Err(corrupt(operation, &lease.instance, Standing::DAMAGED));
        }
        stored.decode(after).map_err(|error| corrupt(operation, &lease.instance, &error))
    }

    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        let operation = Operation::ReadKvSnapshot;
        let leased = Leased::of(lease);
        let snapshot = self
            .read_with(operation, move |sql| leased.read(sql, |mailbox| sql.kv_snapshot(mailbox)))
            .await?;
        let (stored, _) = snapshot.ok_or_else(|| StoreError::lease_lost(operation))?;
        stored.decode().map_err(|error| damaged(operation, &lease.instance, &error))
    }

    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<Result<Committed, StoreError>> {
        let jobs = turns.into_iter().map(|commit| {
            let operation = Operation::CommitTurn;
            let TurnCommit { instance, authority, consumed, left: _, turn } = commit;
            let turn = encode_turn(turn, operation)?;
            Ok(commit_job(Commit { operation, instance: Some(instance), authority, consumed, turn }))
        });
        self.run_all(jobs.collect()).await
    }

    async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        let leased = self.lease_some_work(Operation::LeaseWork, request).await?;
        let (store_time, store_time_slack) = self.handed_over_at();
        Ok(leased.into_iter().map(|lease| WorkLease { store_time, store_time_slack, ..lease }).collect())
    }

    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<Result<(), StoreError>> {
        let jobs = finished.into_iter().map(|finished| finish_job(finished, Operation::FinishWork));
        self.run_all(jobs.collect()).await
    }

    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        let operation = Operation::EnqueueOnce;
        let Enqueue { item, delay, key } = request;
        let mail = SentMail::of(&item);
        let row = MessageRow::of(item).map_err(|error| invalid(operation, &error))?;
        let message = EncodedMessage::of(row, operation)?;
        let kind = Kind::write(operation, Phase::Enqueue);
        let outcome = self.run(job(kind, move |tx| tx.enqueue_once(&message, delay, key))).await?;
        self.warn_of(mail, outcome);
        Ok(())
    }

    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        let operation = Operation::StartOnce;
        let Enqueue { item, delay, key } = request;
        if !matches!(item, WorkItem::StartOrchestration { .. }) {
            let message = "only a StartOrchestration starts an instance";
            return Err(StoreError::rejected(operation, Rejection::Invalid, message));
        }
        let row = MessageRow::of(item).map_err(|error| invalid(operation, &error))?;
        let message = EncodedMessage::of(row, operation)?;
        let kind = Kind::write(operation, Phase::Enqueue);
        self.run(job(kind, move |tx| tx.start_once(&message, delay, key))).await
    }

    async fn renew_sessions(&self, request: RenewSessions) -> Result<usize, StoreError> {
        let kind = Kind::lease(Operation::RenewSessionLock, Phase::Renew);
        self.run(job(kind, move |tx| Ok(tx.renew_served_sessions(&request)?))).await
    }

    async fn enqueue_existing(&self, request: Enqueue) -> Result<(), StoreError> {
        let operation = Operation::EnqueueExisting;
        let Enqueue { item, delay, key } = request;
        let row = MessageRow::of_existing(item).map_err(|error| invalid(operation, &error))?;
        let message = EncodedMessage::of(row, operation)?;
        let kind = Kind::write(operation, Phase::Enqueue);
        self.run(job(kind, move |tx| tx.enqueue_existing(&message, delay, key))).await
    }

    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        let operation = Operation::ReadStatus;
        let id = instance.to_owned();
        let stored = self.read_with(operation, move |sql| sql.status(&id)).await?;
        let status = stored.map_or(Ok(OrchestrationStatus::NotFound), StoredStatus::decode);
        Ok(status.map_err(|error| match error {
            Unreadable::Row(error) => damaged(operation, instance, &error),
            Unreadable::History(error) => corrupt(operation, instance, &error),
        })?)
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        let NewListener { changes, is_first } = self.shared.changes.listen(instance);
        if is_first && !self.shared.in_memory() {
            // The writer may be asleep, with no reason to look at what other processes do.
            self.writer.send(Request::Listen);
        }
        Some(changes)
    }

    async fn next_due(&self, lane: Lane) -> Result<Option<Timestamp>, StoreError> {
        let sql = match lane {
            Lane::Instances => Sql::NextMailboxDue,
            Lane::Work => Sql::NextWorkDue,
        };
        let due = self.read_with(Operation::NextDue, move |statements| statements.next_due(sql)).await?;
        Ok(due.map(|due| Timestamp::from_millis(number(due))))
    }

    fn stolen_leases(&self) -> Option<StolenLeases> {
        let stolen = self.shared.stolen.listen();
        if !self.shared.in_memory() {
            // The writer may be asleep, with no reason to look at what other processes do.
            self.writer.send(Request::Listen);
        }
        Some(Box::pin(stolen))
    }

    async fn block_instance(&self, block: BlockInstance) -> Result<(), StoreError> {
        let kind = Kind::write(Operation::BlockInstance, Phase::Commit);
        self.run(job(kind, move |tx| tx.block_instance(&block))).await
    }

    async fn hold_work(&self, hold: HoldWork) -> Result<(), StoreError> {
        let kind = Kind::write(Operation::HoldWork, Phase::Commit);
        self.run(job(kind, move |tx| tx.hold_work(&hold))).await
    }

    async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        let token = token.to_owned();
        let kind = Kind::lease(Operation::BeginSuspect, Phase::Renew);
        self.run(job(kind, move |tx| tx.begin_suspect(lane, &token))).await
    }

    async fn retry_blocked(&self, instance: &str) -> Result<bool, StoreError> {
        let id = instance.to_owned();
        let kind = Kind::write(Operation::RetryBlocked, Phase::Commit);
        self.run(job(kind, move |tx| tx.retry_blocked(&id))).await
    }

    async fn revoke_work(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        let kind = Kind::write(Operation::RevokeWork, Phase::Commit);
        self.run(job(kind, move |tx| tx.revoke_execution(&revoke))).await
    }

    async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        let id = instance.to_owned();
        self.read_with(Operation::ReadBlocks, move |sql| sql.blocks(&id)).await
    }

    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        let (id, clock) = (instance.to_owned(), self.shared.clock.clone());
        self.read_with(Operation::ReadOverview, move |sql| sql.overview(&id, clock.wall())).await
    }

    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        let (ids, clock) = (instances.to_vec(), self.shared.clock.clone());
        self.read_with(Operation::ReadChildren, move |sql| sql.children_waited_for(&ids, clock.wall())).await
    }

    async fn announce_node(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        let operation = Operation::AnnounceNode;
        let said = serde_json::to_string(&node).map_err(|error| invalid(operation, &error))?;
        // Losing it loses nothing: with the process, its nodes are gone.
        let kind = Kind::lease(operation, Phase::Housekeeping);
        self.run(job(kind, move |tx| Ok(tx.announce_node(&node.id, &said)?))).await
    }

    async fn forget_node(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        let kind = Kind::lease(Operation::ForgetNode, Phase::Housekeeping);
        self.run(job(kind, move |tx| Ok(tx.forget_node(&id)?))).await
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method alone is for one lifetime only"
    )]
    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        let stored = self.read_with(Operation::Nodes, |sql| sql.nodes()).await?;
        let living = stored.into_iter().filter(|stored| self.shared.is_alive(stored));
        Ok(living.map(|stored| stored.node).collect())
    }
}

fn commit_job(commit: Commit) -> Submission<Committed> {
    job(Kind::write(commit.operation, Phase::Commit), move |tx| tx.commit(&commit))
}

fn finish_job(finished: FinishedWork, operation: Operation) -> Result<Submission<()>, StoreError> {
    let FinishedWork { token, completion } = finished;
    let completion = match completion {
        None => None,
        Some(item) => {
            let row = MessageRow::of_completion(item).map_err(|error| invalid(operation, &error))?;
            Some(EncodedMessage::of(row, operation)?)
        }
    };
    let finish = Finish { token, completion };
    Ok(job(Kind::write(operation, Phase::Commit), move |tx| tx.finish_work(&finish, operation)))
}

fn encode_turn(turn: Turn, operation: Operation) -> Result<EncodedTurn, StoreError> {
    let rows = CommitRows::of(turn).map_err(|error| invalid(operation, &error))?;
    EncodedTurn::of(rows, operation)
}

fn invalid(operation: Operation, error: &dyn std::error::Error) -> StoreError {
    StoreError::rejected(operation, Rejection::Invalid, error.to_string())
}

/// A leased instance in the form of the required method. What cannot be read of it, it has one way to say.
fn item_of(leased: LeasedInstance) -> (OrchestrationItem, String, u32) {
    let LeasedInstance { lease, loaded } = leased;
    let Some(Loaded { standing, history, kv }) = loaded else {
        return lease.into_item(Ok(Vec::new()), BTreeMap::new());
    };
    let history = match standing {
        Standing::Damaged => Err(Standing::DAMAGED.to_owned()),
        Standing::Sound | Standing::Gone => history.decode(0),
    };
    match kv.decode() {
        Ok(kv) => lease.into_item(history, kv),
        Err(error) => lease.into_item(Err(format!("key-value store: {error}")), BTreeMap::new()),
    }
}
