//! From what a turn decided to what the store is asked to write, and what became of that. The first half is pure.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::{Identity, MailId, TurnOutput};
use abide_model::{
    AppErrorKind, ErrorDetails, Event, EventKind, INITIAL_EVENT_ID, INITIAL_EXECUTION_ID,
    ScheduledActivityIdentifier, Timestamp, WorkItem,
};
use abide_provider::{
    Authority, Committed, Consumed, InstanceLease, Message, MessageId, Operation, ParentLink, Position,
    Rejection, StoreError, Turn, TurnCommit, transfer_time,
};
use futures_util::FutureExt;

use super::revoke::Revocation;
use crate::core::Core;
use crate::dispatch::with_its_poll;
use crate::insist::Told;
use crate::payload_size;
use crate::store_call::PATIENCE;
use crate::store_time::HandedOver;

/// If the store cannot find the activities of an execution, every event of a history that cannot be read is
/// taken for an activity that may be under way, which costs less than reading them would have. The number of
/// the last is read from what is damaged: of absurdly many, only so many are.
const PERHAPS_UNDER_WAY: u64 = 1_000_000;

/// The event that ends an execution whose history cannot be read has at least this id.
pub(crate) const UNREADABLE_END: u64 = 99_999;

/// What to write for a turn under a lease. For the store it is not later than `at_most` now that the turn is over.
pub(crate) fn commit_of(
    lease: &InstanceLease,
    execution_id: u64,
    output: TurnOutput,
    at_most: Timestamp,
) -> TurnCommit {
    let (consumed, left) = consumed_of(&lease.messages, &output.consumed);
    let authority = Authority::Lease { token: lease.token.clone() };
    TurnCommit {
        instance: lease.instance.clone(),
        authority,
        consumed,
        left,
        turn: turn_of(execution_id, output, at_most),
    }
}

/// What to write for a turn that took in nothing but the completion of a finished activity, by the right of that.
pub(crate) fn fused_commit_of(
    authority: Authority,
    who: &Identity,
    output: TurnOutput,
    at_most: Timestamp,
) -> TurnCommit {
    TurnCommit {
        instance: who.instance.clone(),
        authority,
        consumed: Consumed::All,
        left: Vec::new(),
        turn: turn_of(who.execution_id, output, at_most),
    }
}

fn turn_of(execution_id: u64, output: TurnOutput, at_most: Timestamp) -> Turn {
    let TurnOutput {
        events,
        worker_items,
        retries,
        orchestrator_items,
        cancelled_activities,
        removed_timers,
        prune,
        waiting,
        ..
    } = output;
    Turn {
        worker_items,
        retries,
        orchestrator_items,
        timer_slack: timer_slack(&events, at_most),
        cancelled_activities,
        removed_timers,
        prune,
        waiting,
        ..Turn::of_past(execution_id, events)
    }
}

/// How far the time of a turn, which its events carry and its timers are counted from, may be behind the store's by the end of it:
/// the code asked for them until then.
fn timer_slack(events: &[Event], at_most: Timestamp) -> Duration {
    let turn_at = events.last().map_or(at_most, |last| Timestamp::from_millis(last.timestamp_ms));
    at_most.saturating_duration_since(turn_at)
}

fn consumed_of(messages: &[Message], consumed: &[MailId]) -> (Consumed, Vec<WorkItem>) {
    let consumed: BTreeSet<u64> = consumed.iter().map(|id| id.0).collect();
    let left: Vec<_> = messages.iter().filter(|message| !consumed.contains(&message.id.0)).collect();
    if left.is_empty() {
        return (Consumed::All, Vec::new());
    }
    let these = messages.iter().map(|message| message.id).filter(|id| consumed.contains(&id.0));
    (
        Consumed::These(these.collect::<Vec<MessageId>>()),
        left.into_iter().map(|left| left.item.clone()).collect(),
    )
}

/// Who is told of an end that no code decided.
#[derive(Debug)]
pub(crate) struct Relatives {
    pub(crate) parent: Option<ParentLink>,
    pub(crate) children: Vec<String>,
}

/// What to write if the history cannot be read: the end, behind everything that may be there, a word to the parent, and an
/// end to what is under way. Which activities that are nobody can tell. A store that finds them takes them
/// back afterwards, for the cancel that the instance sends to itself (`revoke.rs`); to another, each id is
/// named that may be one.
pub(crate) fn unreadable_end(
    lease: &InstanceLease,
    relatives: Relatives,
    details: &ErrorDetails,
    now_ms: u64,
    revocation: Revocation,
) -> TurnCommit {
    let Relatives { parent, children } = relatives;
    let last = lease.position.last_event_id;
    let execution_id = lease.position.execution_id.max(INITIAL_EXECUTION_ID);
    let mut end = Event::with_event_id(
        UNREADABLE_END.max(last.saturating_add(1)),
        lease.instance.clone(),
        execution_id,
        None,
        EventKind::OrchestrationFailed { details: details.clone() },
    );
    end.timestamp_ms = now_ms;
    let mut turn = Turn::of_past(execution_id, vec![end]);
    turn.metadata.orchestration_name = Some(lease.orchestration_name.clone());
    turn.metadata.orchestration_version = Some(lease.orchestration_version.clone());
    turn.orchestrator_items.extend(parent.and_then(|parent| {
        Some(WorkItem::SubOrchFailed {
            parent_execution_id: parent.execution_id.unwrap_or(INITIAL_EXECUTION_ID),
            parent_id: parent.event_id?,
            parent_instance: parent.instance,
            details: details.clone(),
        })
    }));
    let is_canceled =
        matches!(details, ErrorDetails::Application { kind: AppErrorKind::Cancelled { .. }, .. });
    let reason = if is_canceled { "parent canceled" } else { "parent failed" };
    let cancelled = |child| WorkItem::CancelInstance { instance: child, reason: reason.to_owned() };
    turn.orchestrator_items.extend(children.into_iter().map(cancelled));
    match revocation {
        Revocation::ByExecution => {
            let reason = "its activities are to be taken back".to_owned();
            let instance = lease.instance.clone();
            turn.orchestrator_items.push(WorkItem::CancelInstance { instance, reason });
        }
        Revocation::ById => {
            let ids = last.saturating_sub(PERHAPS_UNDER_WAY).saturating_add(1)..=last;
            let activity = |activity_id| ScheduledActivityIdentifier {
                instance: lease.instance.clone(),
                execution_id,
                activity_id,
            };
            turn.cancelled_activities = ids.map(activity).collect();
        }
    }
    TurnCommit {
        instance: lease.instance.clone(),
        authority: Authority::Lease { token: lease.token.clone() },
        consumed: Consumed::All,
        left: Vec::new(),
        turn,
    }
}

/// A turn that is written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) committed: Committed,
    /// The lease on the next turn, if it came with the answer.
    pub(crate) next: Option<NextTurn>,
    pub(crate) answer: Answer,
}

/// How it is known that a turn is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The store said so.
    Came,
    /// The answer was lost, and the store has what the turn appended. What else the answer said is not known.
    Lost,
}

/// The lease on a turn that came with the commit of the one before.
#[derive(Debug)]
pub(crate) struct NextTurn {
    pub(crate) lease: Box<InstanceLease>,
    pub(crate) granted: HandedOver,
}

impl Written {
    fn of(mut committed: Committed, granted: HandedOver) -> Self {
        let next = committed.next.take().map(|lease| NextTurn { lease, granted });
        Self { committed, next, answer: Answer::Came }
    }

    pub(super) fn without_answer() -> Self {
        Self { committed: Committed::default(), next: None, answer: Answer::Lost }
    }
}

/// What became of a commit.
#[derive(Debug)]
pub(crate) enum CommitEnd {
    /// It is written.
    Done(Written),
    /// The lease was lost, and nothing of the turn is written.
    NotOurs,
    /// What we know of the instance is not what the store has.
    Outdated,
    /// The store will never write this.
    Refused(StoreError),
    /// The runtime gave up.
    GivenUp,
}

/// Commits one turn of the instance with this incarnation, however often that takes.
pub(crate) async fn commit(core: &Arc<Core>, commit: TurnCommit, incarnation: u64) -> CommitEnd {
    let commit = Arc::new(commit);
    match insist_on(core, &commit).await {
        Told::Done(written) => CommitEnd::Done(written),
        Told::GivenUp => CommitEnd::GivenUp,
        Told::Refused { error, perhaps_applied } => {
            let end = refused(error, perhaps_applied);
            let may_be_stored = perhaps_applied && matches!(end, CommitEnd::NotOurs);
            if may_be_stored && Box::pin(is_stored(core, &commit, incarnation)).await {
                CommitEnd::Done(Written::without_answer())
            } else {
                end
            }
        }
    }
}

/// Returns whether a commit whose answer was lost is stored: its last event is, with its time and content.
/// Only turns that are counted are looked up.
pub(super) async fn is_stored(core: &Arc<Core>, commit: &TurnCommit, incarnation: u64) -> bool {
    let Some(last) = commit.turn.events.last() else { return false };
    if !commit.turn.events.iter().any(is_counted) {
        return false;
    }
    let position = Position { incarnation, execution_id: last.execution_id, last_event_id: last.event_id };
    let lease = Arc::new(lease_to_read(&commit.instance, position));
    let (store, before) = (Arc::clone(&core.store), last.event_id.saturating_sub(1));
    let call = move || {
        let (store, lease) = (Arc::clone(&store), Arc::clone(&lease));
        async move { store.read_history_after(&lease, before).await }.boxed()
    };
    match core.insist(Operation::ReadHistoryAfter, call).await {
        Told::Done(events) => events.first().is_some_and(|stored| {
            stored.event_id == last.event_id
                && stored.timestamp_ms == last.timestamp_ms
                && stored.kind == last.kind
        }),
        Told::Refused { .. } | Told::GivenUp => false,
    }
}

/// Returns whether metrics count what an event records: a start, an end, or the answer of a child.
fn is_counted(event: &Event) -> bool {
    let is_answer = matches!(
        event.kind,
        EventKind::SubOrchestrationCompleted { .. } | EventKind::SubOrchestrationFailed { .. }
    );
    event.event_id == INITIAL_EVENT_ID || event.is_terminal() || is_answer
}

/// What a store needs to know to read the history of an instance at this position, under no lease.
fn lease_to_read(instance: &str, position: Position) -> InstanceLease {
    InstanceLease {
        instance: instance.to_owned(),
        token: String::new(),
        attempt: 0,
        store_time: None,
        store_time_slack: Duration::ZERO,
        position,
        status: None,
        orchestration_name: String::new(),
        orchestration_version: String::new(),
        parent: None,
        messages: Vec::new(),
        refused: None,
        preloaded: None,
    }
}

/// The same as [`commit`], with the store's own words if it refuses.
pub(super) async fn insist_on(core: &Arc<Core>, commit: &Arc<TurnCommit>) -> Told<Written> {
    let patience = PATIENCE.saturating_add(transfer_time(payload_size::of_commit(commit)));
    let (store, clock, commit) = (Arc::clone(&core.store), Arc::clone(&core.clock), Arc::clone(commit));
    let call = move || {
        let (store, clock, commit) = (Arc::clone(&store), Arc::clone(&clock), vec![(*commit).clone()]);
        async move {
            let none = || Err(StoreError::unknown(Operation::CommitTurn, "the provider gave no answer"));
            let (mut answers, since) = with_its_poll(Arc::clone(&clock), store.commit_turns(commit)).await;
            let granted = HandedOver { since, by: clock.monotonic() };
            answers.pop().unwrap_or_else(none).map(|committed| Written::of(committed, granted))
        }
        .boxed()
    };
    core.wait_for_last_fetches().await;
    let told = core.insist_within(patience, Operation::CommitTurn, call).await;
    if matches!(told, Told::Done(_)) {
        core.pulse.committed(core.clock.monotonic());
    }
    told
}

#[expect(clippy::fn_params_excessive_bools, reason = "one fact about earlier tries")]
fn refused(error: StoreError, perhaps_applied: bool) -> CommitEnd {
    match error.rejection() {
        Some(Rejection::LeaseLost) => CommitEnd::NotOurs,
        // A store that cannot say that a lease is lost says this, and the lease is lost if an earlier try was applied.
        Some(Rejection::Invalid) if perhaps_applied => CommitEnd::NotOurs,
        Some(Rejection::Busy | Rejection::Conflict) => CommitEnd::Outdated,
        Some(_) | None => CommitEnd::Refused(error),
    }
}
