//! The provided methods, in terms of the required ones.
//!
//! A required method cannot say "unknown", so its retryable errors count as such: whoever repeats the call is
//! then told "invalid token" if the first one was applied after all; a message is sent twice.

use std::collections::BTreeMap;
use std::time::Duration;

use abide_model::{
    Event, EventKind, ExecutionStatus, INITIAL_EXECUTION_ID, KvEntry, OrchestrationStatus, StepTry,
    Timestamp, WorkItem,
};

use crate::rows::{MessageRow, Starter};
use crate::{
    AdminRefusal, Authority, BlockInstance, ChildOverview, Committed, Consumed, Enqueue, ErrorKind,
    FinishedWork, HoldWork, InstanceInfo, InstanceLease, InstanceOverview, LeaseInstances, LeaseWork,
    Message, MessageId, Operation, OrchestrationItem, ParentLink, Position, Preloaded, Provider,
    ProviderError, Rejection, RenewSessions, Start, StoreError, Turn, TurnCommit, WorkLease, cut_output,
};

pub(crate) async fn lease_instances<P: Provider + ?Sized>(
    provider: &P,
    request: LeaseInstances,
) -> Result<Vec<InstanceLease>, StoreError> {
    if request.limit == 0 {
        return Ok(Vec::new());
    }
    let fetched = provider
        .fetch_orchestration_item(request.lease_for, request.wait, request.capabilities.as_ref())
        .await
        .map_err(|error| failed_fetch(Operation::LeaseInstances, &error))?;
    Ok(fetched.map(lease_of).into_iter().collect())
}

fn lease_of((item, token, attempt): (OrchestrationItem, String, u32)) -> InstanceLease {
    let last = item.history.last();
    let status = match (&item.history_error, last) {
        (None, None) => None,
        (Some(_), _) | (None, Some(_)) => Some(status_of(&item.history)),
    };
    let position = Position {
        incarnation: 0,
        execution_id: if status.is_none() { 0 } else { item.execution_id },
        last_event_id: last.map_or(0, Event::event_id),
    };
    let mut messages: Vec<_> =
        (1..).zip(item.messages).map(|(id, item)| Message { id: MessageId(id), attempt, item }).collect();
    start_first(&mut messages, status);
    let parent = match status {
        None => messages.first().and_then(|first| Starter::of(&first.item)?.parent),
        Some(_) => item.history.iter().find_map(|event| ParentLink::of_event(&event.kind)),
    };
    let history = match item.history_error {
        None => Ok(item.history),
        Some(error) => Err(error),
    };
    InstanceLease {
        instance: item.instance,
        token,
        attempt,
        store_time: None,
        store_time_slack: Duration::ZERO,
        position,
        status,
        orchestration_name: item.orchestration_name,
        orchestration_version: item.version,
        parent,
        messages,
        refused: None,
        preloaded: Some(Box::new(Preloaded { history, kv: item.kv_snapshot.into_iter().collect() })),
    }
}

/// A fetch gives mail in the order of enqueueing; a lease begins with what starts an execution.
fn start_first(messages: &mut [Message], status: Option<ExecutionStatus>) {
    let starts = |message: &Message| match status {
        None => Starter::of(&message.item).is_some(),
        Some(ExecutionStatus::ContinuedAsNew) => matches!(message.item, WorkItem::ContinueAsNew { .. }),
        Some(ExecutionStatus::Running | ExecutionStatus::Completed | ExecutionStatus::Failed) => false,
    };
    if let Some(first) = messages.iter().position(starts) {
        messages[..=first].rotate_right(1);
    }
}

fn status_of(history: &[Event]) -> ExecutionStatus {
    let ends = history.iter().rev().find_map(|event| crate::rows::end_of(&event.kind));
    ends.map_or(ExecutionStatus::Running, |(status, _)| status)
}

pub(crate) async fn read_history_after<P: Provider + ?Sized>(
    provider: &P,
    lease: &InstanceLease,
    after: u64,
) -> Result<Vec<Event>, StoreError> {
    let history = match &lease.preloaded {
        Some(preloaded) => preloaded
            .history
            .clone()
            .map_err(|error| StoreError::rejected(Operation::ReadHistoryAfter, Rejection::Corrupt, error))?,
        None => provider
            .read_with_execution(&lease.instance, lease.position.execution_id)
            .await
            .map_err(|error| unreadable(&error))?,
    };
    Ok(history.into_iter().filter(|event| event.event_id > after).collect())
}

pub(crate) fn read_kv_snapshot(lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
    match &lease.preloaded {
        Some(preloaded) => Ok(preloaded.kv.clone()),
        None => Err(StoreError::rejected(
            Operation::ReadKvSnapshot,
            Rejection::Invalid,
            "this store hands the key-value snapshot out with the lease, and this lease is not one of its own",
        )),
    }
}

pub(crate) async fn commit_turns<P: Provider + ?Sized>(
    provider: &P,
    turns: Vec<TurnCommit>,
) -> Vec<Result<Committed, StoreError>> {
    let mut answers = Vec::with_capacity(turns.len());
    for commit in turns {
        answers.push(commit_turn(provider, commit).await);
    }
    answers
}

async fn commit_turn<P: Provider + ?Sized>(
    provider: &P,
    commit: TurnCommit,
) -> Result<Committed, StoreError> {
    let TurnCommit { instance, authority, consumed, left, mut turn } = commit;
    let Authority::Lease { token } = authority else {
        return Err(StoreError::rejected(
            Operation::CommitTurn,
            Rejection::Busy,
            "this store has no fused steps: finish the activity, then commit under a lease",
        ));
    };
    put_timers_off(&mut turn);
    match consumed {
        Consumed::All => {}
        Consumed::These(_) => send_again(&mut turn, left),
    }
    let Turn {
        execution_id,
        events,
        worker_items,
        retries: _, // a required method cannot say it
        orchestrator_items,
        timer_slack: _, // it is in what they say
        metadata,
        waiting: _,       // no reader in the required methods
        still_refused: _, // no refusal is remembered
        cancelled_activities,
        removed_timers: _, // they fire into nothing
        prune,
        next: _, // it is leased by whoever asks for instances
    } = turn;
    provider
        .ack_orchestration_item(
            &token,
            execution_id,
            events,
            worker_items,
            orchestrator_items,
            metadata,
            cancelled_activities,
        )
        .await
        .map_err(|error| failed_write(Operation::CommitTurn, &error))?;
    let (Some(options), Some(admin)) = (prune, provider.as_management_capability()) else {
        return Ok(Committed::default());
    };
    // The turn is committed: an error here must not make its caller repeat it, so all that it hears is that nothing was
    // pruned. The next commit that asks catches up.
    Ok(Committed::with_pruned(admin.prune_executions(&instance, options).await.ok()))
}

/// An ack cannot say that timers stay hidden for longer than they say, so they say it.
fn put_timers_off(turn: &mut Turn) {
    let slack_ms = Timestamp::EPOCH.saturating_add(turn.timer_slack).as_millis();
    for item in &mut turn.orchestrator_items {
        if let WorkItem::TimerFired { fire_at_ms, .. } = item {
            *fire_at_ms = fire_at_ms.saturating_add(slack_ms);
        }
    }
}

/// An ack takes the whole batch, so what the turn left unread is enqueued anew with it. Unread queue messages of a
/// continuing instance travel in the carry list, which is read before all other mail; other kinds go behind.
fn send_again(turn: &mut Turn, left: Vec<WorkItem>) {
    let carry = turn.orchestrator_items.iter_mut().find_map(|item| match item {
        WorkItem::ContinueAsNew { carry_forward_events, .. } => Some(carry_forward_events),
        WorkItem::StartOrchestration { .. }
        | WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. }
        | WorkItem::CancelInstance { .. }
        | WorkItem::QueueMessage { .. } => None,
    });
    let mut behind = Vec::new();
    match carry {
        None => behind = left,
        Some(carry) => {
            for item in left {
                if let WorkItem::QueueMessage { name, data, .. } = item {
                    carry.push((name, data));
                } else {
                    behind.push(item);
                }
            }
        }
    }
    turn.orchestrator_items.extend(behind);
}

pub(crate) async fn lease_work<P: Provider + ?Sized>(
    provider: &P,
    request: LeaseWork,
) -> Result<Vec<WorkLease>, StoreError> {
    if request.limit == 0 {
        return Ok(Vec::new());
    }
    let fetched = provider
        .fetch_work_item(request.lease_for, request.wait, request.session.as_ref(), &request.tags)
        .await
        .map_err(|error| failed_fetch(Operation::LeaseWork, &error))?;
    let lease = fetched.map(|(item, token, attempt)| WorkLease {
        step: first_try(&item),
        item,
        orchestration_name: String::new(),
        orchestration_version: String::new(),
        token,
        attempt,
        store_time: None,
        store_time_slack: Duration::ZERO,
    });
    Ok(lease.into_iter().collect())
}

/// A required method cannot say which try it is, so each is a step of its own.
fn first_try(item: &WorkItem) -> StepTry {
    StepTry::first(if let WorkItem::ActivityExecute { id, .. } = item { *id } else { 0 })
}

pub(crate) async fn finish_work<P: Provider + ?Sized>(
    provider: &P,
    finished: Vec<FinishedWork>,
) -> Vec<Result<(), StoreError>> {
    let mut answers = Vec::with_capacity(finished.len());
    for FinishedWork { token, completion } in finished {
        let answer = provider.ack_work_item(&token, completion).await;
        answers.push(answer.map_err(|error| lost_or_unknown(Operation::FinishWork, &error)));
    }
    answers
}

pub(crate) async fn enqueue_once<P: Provider + ?Sized>(
    provider: &P,
    request: Enqueue,
) -> Result<(), StoreError> {
    let Enqueue { item, delay, key: _ } = request;
    provider
        .enqueue_for_orchestrator(item, delay)
        .await
        .map_err(|error| failed_write(Operation::EnqueueOnce, &error))
}

pub(crate) async fn start_once<P: Provider + ?Sized>(
    provider: &P,
    request: Enqueue,
) -> Result<Start, StoreError> {
    let WorkItem::StartOrchestration { instance, .. } = &request.item else {
        return Err(StoreError::rejected(
            Operation::StartOnce,
            Rejection::Invalid,
            "only a StartOrchestration starts an instance",
        ));
    };
    let known = provider.get_instance_stats(instance).await;
    match known.map_err(|error| failed_fetch(Operation::StartOnce, &error))? {
        Some(_) => Ok(Start::Exists),
        None => provider.enqueue_once(request).await.map(|()| Start::Created),
    }
}

pub(crate) async fn renew_sessions<P: Provider + ?Sized>(
    provider: &P,
    request: RenewSessions,
) -> Result<usize, StoreError> {
    let RenewSessions { owner, extend_for, idle_timeout, tags: _, serving: _ } = request;
    let renewed = provider.renew_session_lock(&[owner.as_str()], extend_for, idle_timeout).await;
    renewed.map_err(|error| failed_write(Operation::RenewSessionLock, &error))
}

pub(crate) async fn enqueue_existing<P: Provider + ?Sized>(
    provider: &P,
    request: Enqueue,
) -> Result<(), StoreError> {
    let operation = Operation::EnqueueExisting;
    let row = MessageRow::of_existing(request.item.clone());
    let row = row.map_err(|error| StoreError::rejected(operation, Rejection::Invalid, error.to_string()))?;
    let to = row.to;
    let known = provider.get_instance_stats(&to).await;
    match known.map_err(|error| failed_fetch(operation, &error))? {
        Some(_) => provider.enqueue_once(request).await,
        None => Err(AdminRefusal::not_found(to).store_error(operation)),
    }
}

pub(crate) async fn read_status<P: Provider + ?Sized>(
    provider: &P,
    instance: &str,
) -> Result<OrchestrationStatus, ProviderError> {
    let history = provider.read(instance).await?;
    if history.is_empty() {
        return Ok(OrchestrationStatus::NotFound);
    }
    let (custom_status, custom_status_version) =
        provider.get_custom_status(instance, 0).await?.unwrap_or((None, 0));
    let end = history.into_iter().rev().find_map(|event| {
        if let EventKind::OrchestrationCompleted { output } = event.kind {
            Some(Ok(output))
        } else if let EventKind::OrchestrationFailed { details } = event.kind {
            Some(Err(details))
        } else {
            None
        }
    });
    Ok(match end {
        None => OrchestrationStatus::Running { custom_status, custom_status_version },
        Some(Ok(output)) => OrchestrationStatus::Completed { output, custom_status, custom_status_version },
        Some(Err(details)) => OrchestrationStatus::Failed { details, custom_status, custom_status_version },
    })
}

pub(crate) async fn read_overview<P: Provider + ?Sized>(
    provider: &P,
    instance: &str,
) -> Result<Option<InstanceOverview>, StoreError> {
    let failed = |error: ProviderError| failed_fetch(Operation::ReadOverview, &error);
    if provider.get_instance_stats(instance).await.map_err(failed)?.is_none() {
        return Ok(None);
    }
    if let Some(admin) = provider.as_management_capability() {
        let info = admin.get_instance_info(instance).await.map_err(failed)?;
        return Ok(Some(overview_of(info)));
    }
    let (status, output) = match provider.read_status(instance).await.map_err(failed)? {
        OrchestrationStatus::NotFound => return Ok(None),
        OrchestrationStatus::Running { .. } => (ExecutionStatus::Running, None),
        OrchestrationStatus::Completed { output, .. } => (ExecutionStatus::Completed, Some(output)),
        OrchestrationStatus::Failed { details, .. } => {
            (ExecutionStatus::Failed, Some(details.display_message()))
        }
    };
    let output = output.as_deref().map(cut_output);
    let execution_id = INITIAL_EXECUTION_ID;
    Ok(Some(InstanceOverview { execution_id, status: Some(status), output, ..InstanceOverview::default() }))
}

pub(crate) async fn read_children<P: Provider + ?Sized>(
    provider: &P,
    instances: &[String],
) -> Result<Vec<ChildOverview>, StoreError> {
    let mut found = Vec::new();
    for instance in instances {
        let Some(overview) = provider.read_overview(instance).await? else { continue };
        let first = provider.read_blocks(instance).await?.into_iter().next();
        found.push(ChildOverview {
            instance: instance.clone(),
            orchestration_name: overview.orchestration_name,
            orchestration_version: overview.orchestration_version,
            pin: overview.pin,
            status: overview.status,
            is_leased: overview.lease.is_some(),
            block: first.map(|blocked| blocked.block),
        });
    }
    Ok(found)
}

fn overview_of(info: InstanceInfo) -> InstanceOverview {
    let status: Option<ExecutionStatus> = info.status.parse().ok();
    let updated = Some(Timestamp::from_millis(info.updated_at));
    InstanceOverview {
        orchestration_name: info.orchestration_name,
        orchestration_version: info.orchestration_version,
        execution_id: info.current_execution_id,
        executions: info.current_execution_id,
        output: info.output.as_deref().map(cut_output),
        created: Some(Timestamp::from_millis(info.created_at)),
        updated,
        completed: status.filter(|status| status.is_end()).and(updated),
        status,
        parent: info.parent_instance_id.map(|instance| ParentLink {
            instance,
            execution_id: None,
            event_id: None,
        }),
        ..InstanceOverview::default()
    }
}

/// A fetch that fails holds no lease, and a read that fails had no effect.
fn failed_fetch(operation: Operation, error: &ProviderError) -> StoreError {
    let kind = if error.retryable { ErrorKind::NotApplied } else { ErrorKind::Rejected(Rejection::Invalid) };
    StoreError { operation, kind, message: error.to_string() }
}

/// The only permanent reason not to give a history out is that it cannot be read.
fn unreadable(error: &ProviderError) -> StoreError {
    let kind = if error.retryable { ErrorKind::NotApplied } else { ErrorKind::Rejected(Rejection::Corrupt) };
    StoreError { operation: Operation::ReadHistoryAfter, kind, message: error.to_string() }
}

fn failed_write(operation: Operation, error: &ProviderError) -> StoreError {
    let kind = if error.retryable { ErrorKind::Unknown } else { ErrorKind::Rejected(Rejection::Invalid) };
    StoreError { operation, kind, message: error.to_string() }
}

/// The only permanent reason not to take a finished activity is that it is not the caller's any more.
fn lost_or_unknown(operation: Operation, error: &ProviderError) -> StoreError {
    let kind = if error.retryable { ErrorKind::Unknown } else { ErrorKind::Rejected(Rejection::LeaseLost) };
    StoreError { operation, kind, message: error.to_string() }
}

/// A store that does not remember blocks hides the work for this long at most, so that a repair is noticed.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

pub(crate) async fn block_instance<P: Provider + ?Sized>(
    provider: &P,
    block: BlockInstance,
) -> Result<(), StoreError> {
    let pause = block.retry_after.unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
    let given_back = provider.abandon_orchestration_item(&block.token, Some(pause), true).await;
    given_back.map_err(|error| lost_or_unknown(Operation::BlockInstance, &error))
}

pub(crate) async fn hold_work<P: Provider + ?Sized>(provider: &P, hold: HoldWork) -> Result<(), StoreError> {
    let given_back = provider.abandon_work_item(&hold.token, Some(LONGEST_PAUSE), true).await;
    given_back.map_err(|error| lost_or_unknown(Operation::HoldWork, &error))
}
