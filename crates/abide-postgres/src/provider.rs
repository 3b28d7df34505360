//! The contract, on PostgreSQL: every method is something on the desk, a search for leases, or a read.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use abide_model::{
    Event, ExecutionStatus, KvEntry, OrchestrationStatus, ScheduledActivityIdentifier, SystemStats,
    Timestamp, WorkItem,
};
use abide_provider::rows::{MessageRow, WorkRow};
use abide_provider::{
    Abilities, Authority, BlockInstance, BlockedInstance, Changes, ChildOverview, CommitRows, Committed,
    Consumed, DispatcherCapabilityFilter, Enqueue, ExecutionMetadata, FinishedWork, HoldWork, InstanceLease,
    InstanceOverview, Lane, LeaseInstances, LeaseWork, MailOutcome, Node, NodeAnnouncement, OVERVIEW_COUNT,
    OVERVIEW_OUTPUT, OVERVIEW_ROWS, Operation, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    Rejection, RenewSessions, RevokeWork, RevokedWork, SentMail, SessionFetchConfig, Start, StolenLeases,
    StoreError, TagFilter, Turn, TurnCommit, WorkLease,
};
use async_trait::async_trait;
use tokio_postgres::Row;

use crate::PostgresProvider;
use crate::encode::{EncodedTurn, Right, column, delay, id_column, json, millis, number, time};
use crate::lease_instances::InstanceSearch;
use crate::lease_work::{ServedWork, WorkSearch};
use crate::news::News;
use crate::node::abandon::{Abandon, AbandonInstance, AbandonWork, Attempt};
use crate::node::call::Values;
use crate::node::commit::{Commit, Written};
use crate::node::enqueue::{Enqueue as Message, Once};
use crate::node::finish::Finish;
use crate::node::look::Look;
use crate::node::renew::{RenewInstance, RenewWork};
use crate::overview::{child_of, overview_of};
use crate::read::{StoredHistory, corrupt, damaged, kv_of, stored_history};
use crate::rows::{NewMessage, NewWork};
use crate::statements::Sql;
use crate::status::Unreadable;
use crate::terms::Terms;
use crate::text::{spelt, unspell};
use crate::token::{MailboxToken, WorkToken};

#[async_trait]
impl Provider for PostgresProvider {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
    fn name(&self) -> &str {
        "postgres"
    }

    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn durability(&self) -> Option<&str> {
        self.shared.durability.get().map(String::as_str)
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let operation = Operation::FetchOrchestrationItem;
        let request = LeaseInstances {
            limit: 1,
            lease_for: lock_timeout,
            wait: poll_timeout,
            capabilities: filter.cloned(),
            serving: None,
        };
        let Some(lease) = self.lease(operation, request).await?.pop() else { return Ok(None) };
        match self.load(operation, &lease).await {
            Ok((history, kv)) => Ok(Some(lease.into_item(history, kv))),
            Err(error) => {
                // An error holds no lease.
                let given_back = self.abandon_orchestration_item(&lease.token, None, true).await;
                if given_back.is_err() {
                    tracing::debug!(target: "abide::postgres", "a lease that could not be given back runs out by itself");
                }
                Err(error.into())
            }
        }
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
        let operation = Operation::AckOrchestrationItem;
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
        let right = Right::Authority(Authority::Lease { token: lock_token.to_owned() }, Consumed::All);
        self.run(operation, commit(operation, None, right, turn)?).await?;
        Ok(())
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delayed: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let operation = Operation::AbandonOrchestrationItem;
        let token = MailboxToken::parse(lock_token).ok_or_else(|| StoreError::lease_lost(operation))?;
        let how = Abandon { delay: delay(delayed), attempt: Attempt::from_flag(ignore_attempt) };
        Ok(self.run(operation, AbandonInstance { token, how }).await?)
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.history(Operation::Read, instance, None).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.history(Operation::ReadWithExecution, instance, Some(execution_id)).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        let operation = Operation::AppendWithExecution;
        let turn = Turn::of_past(execution_id, new_events);
        self.run(operation, commit(operation, Some(instance), Right::None, turn)?).await?;
        Ok(())
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        let operation = Operation::EnqueueForWorker;
        let row = WorkRow::of(item).map_err(|error| invalid(operation, &error))?;
        let work = NewWork::of(&row, operation)?;
        let bytes = work.item.len();
        let values: Values = vec![Box::new(vec![work])];
        let row = self.one_row_carrying(operation, (Sql::EnqueueWork, bytes), values).await?;
        self.shared.tell(News::of_work(row.get("routes"), None));
        Ok(())
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
        let operation = Operation::AckWorkItem;
        let finish = finish(FinishedWork { token: token.to_owned(), completion }, operation)?;
        Ok(self.run(operation, finish).await?)
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        let operation = Operation::RenewWorkItemLock;
        let token = WorkToken::parse(token).ok_or_else(|| StoreError::lease_lost(operation))?;
        Ok(self.run(operation, RenewWork { token, extend: millis(extend_for) }).await?)
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        let times = (extend_for, idle_timeout);
        Ok(self.renew_sessions_of(owner_ids, times, ServedWork::default()).await?)
    }

    async fn cleanup_orphaned_sessions(&self, _idle_timeout: Duration) -> Result<usize, ProviderError> {
        let row = self.one_row(Operation::CleanupOrphanedSessions, Sql::ForgetSessions, Vec::new()).await?;
        Ok(count(row.get(0)))
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delayed: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let operation = Operation::AbandonWorkItem;
        let token = WorkToken::parse(token).ok_or_else(|| StoreError::lease_lost(operation))?;
        let how = Abandon { delay: delay(delayed), attempt: Attempt::from_flag(ignore_attempt) };
        Ok(self.run(operation, AbandonWork { token, how }).await?)
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let operation = Operation::RenewOrchestrationItemLock;
        let token = MailboxToken::parse(token).ok_or_else(|| StoreError::lease_lost(operation))?;
        Ok(self.run(operation, RenewInstance { token, extend: millis(extend_for) }).await?)
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delayed: Option<Duration>,
    ) -> Result<(), ProviderError> {
        let operation = Operation::EnqueueForOrchestrator;
        let mail = SentMail::of(&item);
        let message = message(operation, item)?;
        let what = Message { message, delay: delay(delayed), key: None, once: Once::Always };
        let sent = self.run(operation, what).await?;
        self.warn_of(mail, sent.outcome);
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
        let operation = Operation::GetCustomStatus;
        let rows = self.rows(operation, Sql::CustomStatus, vec![Box::new(spelt(instance))]).await?;
        let status =
            rows.first().map(|row| (row.get::<_, Option<String>>(0).map(unspell), number(row.get(1))));
        Ok(status.filter(|(_, version)| *version > last_seen_version))
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        let values: Values = vec![Box::new(spelt(instance)), Box::new(spelt(key))];
        let rows = self.rows(Operation::GetKvValue, Sql::KvValue, values).await?;
        Ok(rows.first().and_then(|row| row.get::<_, Option<String>>(0)).map(unspell))
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        let rows =
            self.rows(Operation::GetKvAllValues, Sql::KvMerged, vec![Box::new(spelt(instance))]).await?;
        Ok(kv_of(&rows).into_iter().map(|(key, entry)| (key, entry.value)).collect())
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        let operation = Operation::GetInstanceStats;
        let rows = self.rows(operation, Sql::InstanceStats, vec![Box::new(spelt(instance))]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let stats = StoredHistory::of_turns(row.get(0)).stats(row.get(1));
        Ok(Some(stats.map_err(|error| corrupt(operation, instance, &error))?))
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    async fn lease_instances(&self, request: LeaseInstances) -> Result<Vec<InstanceLease>, StoreError> {
        self.lease(Operation::LeaseInstances, request).await
    }

    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> Result<Vec<Event>, StoreError> {
        self.leased_history(Operation::ReadHistoryAfter, lease, after)
            .await?
            .map_err(|error| corrupt(Operation::ReadHistoryAfter, &lease.instance, &error))
    }

    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        self.leased_kv(Operation::ReadKvSnapshot, lease).await
    }

    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<Result<Committed, StoreError>> {
        let operation = Operation::CommitTurn;
        let commits = turns.into_iter().map(|turn| {
            let TurnCommit { instance, authority, consumed, left: _, turn } = turn;
            commit(operation, Some(&instance), Right::Authority(authority, consumed), turn)
        });
        let answers = self.run_all(operation, commits.collect()).await;
        answers.into_iter().map(|answer| answer.map(Written::hand_over)).collect()
    }

    async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        self.lease_some_work(Operation::LeaseWork, request).await
    }

    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<Result<(), StoreError>> {
        let operation = Operation::FinishWork;
        let all = finished.into_iter().map(|finished| finish(finished, operation));
        self.run_all(operation, all.collect()).await
    }

    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        let operation = Operation::EnqueueOnce;
        let mail = SentMail::of(&request.item);
        let message = message(operation, request.item)?;
        let what =
            Message { message, delay: delay(request.delay), key: Some(request.key), once: Once::Always };
        let sent = self.run(operation, what).await?;
        self.warn_of(mail, sent.outcome);
        Ok(())
    }

    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        let operation = Operation::StartOnce;
        if !matches!(request.item, WorkItem::StartOrchestration { .. }) {
            let message = "only a StartOrchestration starts an instance";
            return Err(StoreError::rejected(operation, Rejection::Invalid, message));
        }
        let message = message(operation, request.item)?;
        let what =
            Message { message, delay: delay(request.delay), key: Some(request.key), once: Once::UnlessThere };
        self.run(operation, what).await.map(|sent| sent.start)
    }

    async fn renew_sessions(&self, request: RenewSessions) -> Result<usize, StoreError> {
        let times = (request.extend_for, request.idle_timeout);
        self.renew_sessions_of(&[&request.owner], times, ServedWork::of(&request)).await
    }

    async fn enqueue_existing(&self, request: Enqueue) -> Result<(), StoreError> {
        let operation = Operation::EnqueueExisting;
        MessageRow::of_existing(request.item.clone())
            .map_err(|error| StoreError::rejected(operation, Rejection::Invalid, error.to_string()))?;
        let message = message(operation, request.item)?;
        let what =
            Message { message, delay: delay(request.delay), key: Some(request.key), once: Once::IfThere };
        self.run(operation, what).await.map(drop)
    }

    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        let operation = Operation::ReadStatus;
        let Some(stored) = self.run(operation, Look(spelt(instance))).await? else {
            return Ok(OrchestrationStatus::NotFound);
        };
        Ok(stored.decode().map_err(|error| match error {
            Unreadable::Row(error) => damaged(operation, instance, &error),
            Unreadable::History(error) => corrupt(operation, instance, &error),
        })?)
    }

    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        let most = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        // A character may be spelt by two.
        let output = i32::try_from(OVERVIEW_OUTPUT * 2).unwrap_or(i32::MAX);
        let values: Values = vec![
            Box::new(spelt(instance)),
            Box::new(column(OVERVIEW_COUNT)),
            Box::new(most(OVERVIEW_ROWS)),
            Box::new(output),
        ];
        let rows = self.rows(Operation::ReadOverview, Sql::ReadOverview, values).await?;
        Ok(rows.first().and_then(overview_of))
    }

    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        let ids: Vec<String> = instances.iter().map(|id| spelt(id)).collect();
        let rows = self.rows(Operation::ReadChildren, Sql::ReadChildren, vec![Box::new(ids)]).await?;
        Ok(rows.iter().filter_map(child_of).collect())
    }

    fn changes(&self, instance: &str) -> Option<Changes> {
        Some(self.shared.changes.listen(instance).changes)
    }

    async fn next_due(&self, lane: Lane) -> Result<Option<Timestamp>, StoreError> {
        let sql = match lane {
            Lane::Instances => Sql::NextMailboxDue,
            Lane::Work => Sql::NextWorkDue,
        };
        let rows = self.rows(Operation::NextDue, sql, Vec::new()).await?;
        Ok(rows.first().and_then(|row| row.get::<_, Option<i64>>(0)).map(time))
    }

    fn stolen_leases(&self) -> Option<StolenLeases> {
        Some(Box::pin(self.shared.stolen.listen()))
    }

    async fn block_instance(&self, block: BlockInstance) -> Result<(), StoreError> {
        self.block(block).await
    }

    async fn hold_work(&self, hold: HoldWork) -> Result<(), StoreError> {
        self.hold(hold).await
    }

    async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        self.begin(lane, token).await
    }

    async fn retry_blocked(&self, instance: &str) -> Result<bool, StoreError> {
        self.retry(instance).await
    }

    async fn revoke_work(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        self.revoke(revoke).await
    }

    async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        self.blocks(instance).await
    }

    async fn announce_node(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        self.announce(node).await
    }

    async fn forget_node(&self, id: &str) -> Result<(), StoreError> {
        self.forget(id).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.live_nodes(Operation::Nodes).await
    }
}

impl PostgresProvider {
    /// Warns operators of a message that waits for a start or was dropped.
    fn warn_of(&self, mail: Option<SentMail>, outcome: MailOutcome) {
        self.shared.warnings.warn(mail, outcome, self.shared.settings.clock.monotonic());
    }

    async fn lease(
        &self,
        operation: Operation,
        request: LeaseInstances,
    ) -> Result<Vec<InstanceLease>, StoreError> {
        let takes_nothing =
            request.capabilities.as_ref().is_some_and(|filter| filter.supported_duroxide_versions.is_empty());
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        if takes_nothing {
            self.wait_in_vain(request.wait).await;
            return Ok(Vec::new());
        }
        self.look_until(operation, request.wait, InstanceSearch::new(operation, request, &self.shared)).await
    }

    async fn lease_some_work(
        &self,
        operation: Operation,
        request: LeaseWork,
    ) -> Result<Vec<WorkLease>, StoreError> {
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        if request.tags == TagFilter::None {
            self.wait_in_vain(request.wait).await;
            return Ok(Vec::new());
        }
        self.look_until(operation, request.wait, WorkSearch::new(operation, request, &self.shared)?).await
    }

    /// Whoever takes nothing waits like everybody else, and costs nothing.
    async fn wait_in_vain(&self, wait: Duration) {
        if !wait.is_zero() {
            let clock = &*self.shared.settings.clock;
            clock.sleep_until(clock.monotonic().saturating_add(wait)).await;
        }
    }

    /// The history and the key-value snapshot of a leased instance. A history that cannot be read is no error of the store.
    async fn load(
        &self,
        operation: Operation,
        lease: &InstanceLease,
    ) -> Result<(Result<Vec<Event>, String>, BTreeMap<String, KvEntry>), StoreError> {
        let history = self.leased_history(operation, lease, 0).await?;
        Ok((history, self.leased_kv(operation, lease).await?))
    }

    async fn leased_history(
        &self,
        operation: Operation,
        lease: &InstanceLease,
        after: u64,
    ) -> Result<Result<Vec<Event>, String>, StoreError> {
        let (mailbox, execution) = (column(lease.position.incarnation), column(lease.position.execution_id));
        let id = spelt(&lease.instance);
        let values: Values =
            vec![Box::new(mailbox), Box::new(id), Box::new(execution), Box::new(column(after))];
        let rows = self.rows(operation, Sql::ReadLeased, values).await?;
        if rows.is_empty() {
            return Err(StoreError::lease_lost(operation));
        }
        let damaged_status = |row: &Row| {
            let status: String = row.get(1);
            (execution > 0 && status.parse::<ExecutionStatus>().is_err()).then_some(status)
        };
        if let Some(status) = rows.first().and_then(damaged_status) {
            return Ok(Err(format!("its stored status '{status}' is none that an instance can have")));
        }
        Ok(stored_history(&rows).decode(after))
    }

    async fn leased_kv(
        &self,
        operation: Operation,
        lease: &InstanceLease,
    ) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        let values: Values =
            vec![Box::new(column(lease.position.incarnation)), Box::new(spelt(&lease.instance))];
        let rows = self.rows(operation, Sql::KvLeased, values).await?;
        if rows.is_empty() {
            return Err(StoreError::lease_lost(operation));
        }
        Ok(kv_of(&rows))
    }

    pub(crate) async fn history(
        &self,
        operation: Operation,
        instance: &str,
        execution_id: Option<u64>,
    ) -> Result<Vec<Event>, ProviderError> {
        let id = spelt(instance);
        let rows = match execution_id {
            None => self.rows(operation, Sql::ReadCurrent, vec![Box::new(id)]).await?,
            Some(execution) => {
                let values: Values = vec![Box::new(id), Box::new(column(execution))];
                self.rows(operation, Sql::ReadExecution, values).await?
            }
        };
        let history = stored_history(&rows).decode(0);
        Ok(history.map_err(|error| corrupt(operation, instance, &error))?)
    }
}

fn commit(
    operation: Operation,
    instance: Option<&str>,
    right: Right,
    turn: Turn,
) -> Result<Commit, StoreError> {
    let next = turn.next.as_ref().map(Terms::of_next);
    let rows = CommitRows::of(turn).map_err(|error| invalid(operation, &error))?;
    let encoded = EncodedTurn::of(instance, right, rows, operation)?;
    Ok(Commit(EncodedTurn { next, ..encoded }))
}

fn finish(finished: FinishedWork, operation: Operation) -> Result<Finish, StoreError> {
    let FinishedWork { token, completion } = finished;
    let row =
        completion.map(MessageRow::of_completion).transpose().map_err(|error| invalid(operation, &error))?;
    let item = row.as_ref().map(|row| json(operation, &row.item)).transpose()?;
    let instance = row.map(|row| id_column(operation, &row.to)).transpose()?;
    let token = WorkToken::parse(&token).ok_or_else(|| StoreError::lease_lost(operation))?;
    Ok(Finish { token, instance, item })
}

fn message(operation: Operation, item: WorkItem) -> Result<NewMessage, StoreError> {
    let row = MessageRow::of(item).map_err(|error| invalid(operation, &error))?;
    NewMessage::of(&row, operation)
}

fn invalid(operation: Operation, error: &dyn std::error::Error) -> StoreError {
    StoreError::rejected(operation, Rejection::Invalid, error.to_string())
}

fn count(column: i64) -> usize {
    usize::try_from(number(column)).unwrap_or(usize::MAX)
}
