//! What the load's instances do, as an engine would decide it.

use abide_model::{Event, EventKind, ExecutionStatus, Timestamp, WorkItem};
use abide_provider::{
    Authority, Consumed, ExecutionMetadata, InstanceLease, Position, Turn, TurnCommit, WorkLease,
};

/// Takes in what clients send.
pub(crate) const COLLECTOR: &str = "collector";

/// Not an instance: what is sent there stays.
pub(crate) const SINK: &str = "sink";

/// A chain that goes on longer than others, and how many activities it runs.
pub(crate) const LONG_CHAIN: &str = "long";
pub(crate) const LONG_CHAIN_ACTIVITIES: u64 = 35;

/// How many activities a chain runs.
fn activities(instance: &str) -> u64 {
    if instance == LONG_CHAIN { LONG_CHAIN_ACTIVITIES } else { 3 }
}

const RESULT: &str = "\"done\"";

pub(crate) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "load".to_owned(),
        input: "{}".to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn completion_of(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        result: RESULT.to_owned(),
    }
}

pub(super) fn mail(name: &str) -> WorkItem {
    WorkItem::ExternalRaised {
        instance: COLLECTOR.to_owned(),
        name: name.to_owned(),
        data: "\"for you\"".to_owned(),
    }
}

/// What an instance does with its mail. `None` if it should not have got that.
pub(crate) fn turn_of(lease: &InstanceLease) -> Option<TurnCommit> {
    let mut taken = Vec::new();
    for message in &lease.messages {
        match &message.item {
            WorkItem::StartOrchestration { .. } => {}
            WorkItem::ActivityCompleted { id, result, .. } => {
                taken.push((Some(*id), EventKind::ActivityCompleted { result: result.clone() }));
            }
            WorkItem::ExternalRaised { name, data, .. } => {
                taken.push((None, EventKind::ExternalEvent { name: name.clone(), data: data.clone() }));
            }
            WorkItem::ActivityExecute { .. }
            | WorkItem::ActivityFailed { .. }
            | WorkItem::TimerFired { .. }
            | WorkItem::SubOrchCompleted { .. }
            | WorkItem::SubOrchFailed { .. }
            | WorkItem::CancelInstance { .. }
            | WorkItem::ContinueAsNew { .. }
            | WorkItem::QueueMessage { .. } => return None,
        }
    }
    if lease.instance != COLLECTOR && taken.len() != usize::from(lease.position.last_event_id > 0) {
        return None;
    }
    Some(TurnCommit {
        instance: lease.instance.clone(),
        authority: Authority::Lease { token: lease.token.clone() },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: next(&lease.instance, lease.position.last_event_id, taken),
    })
}

/// The turn of an instance whose activity has just finished here.
pub(crate) fn fused_turn_of(work: &WorkLease, instance: &str, id: u64, incarnation: u64) -> TurnCommit {
    let expected = Position { incarnation, execution_id: 1, last_event_id: id };
    let completed = EventKind::ActivityCompleted { result: RESULT.to_owned() };
    TurnCommit {
        instance: instance.to_owned(),
        authority: Authority::FinishedWork { token: work.token.clone(), expected },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: next(instance, id, vec![(Some(id), completed)]),
    }
}

/// The turn behind the event `last`: what was taken in, and what follows.
fn next(instance: &str, last: u64, taken: Vec<(Option<u64>, EventKind)>) -> Turn {
    let mut turn = Turn { execution_id: 1, ..Turn::default() };
    let mut kinds = Vec::new();
    if last == 0 {
        kinds.push((None, started()));
        turn.metadata = ExecutionMetadata {
            orchestration_name: Some("load".to_owned()),
            orchestration_version: Some("1.0.0".to_owned()),
            ..ExecutionMetadata::default()
        };
    }
    kinds.extend(taken);
    let step = last / 3 + 1;
    let end = last + u64::try_from(kinds.len()).unwrap() + 1 + u64::from(instance != COLLECTOR);
    let value = end.to_string();
    kinds.push((None, EventKind::KeyValueSet { key: "end".to_owned(), value, last_updated_at_ms: 1 }));
    if instance == COLLECTOR {
        // It goes on for ever.
    } else if step > activities(instance) {
        turn.metadata.status = Some(ExecutionStatus::Completed.as_str().to_owned());
        turn.metadata.output = Some(RESULT.to_owned());
        kinds.push((None, EventKind::OrchestrationCompleted { output: RESULT.to_owned() }));
    } else {
        let (name, input) = ("step".to_owned(), step.to_string());
        turn.worker_items.push(WorkItem::ActivityExecute {
            instance: instance.to_owned(),
            execution_id: 1,
            id: end,
            name: name.clone(),
            input: input.clone(),
            session_id: None,
            tag: None,
        });
        kinds.push((None, EventKind::ActivityScheduled { name, input, session_id: None, tag: None }));
    }
    turn.orchestrator_items.push(WorkItem::ExternalRaised {
        instance: SINK.to_owned(),
        name: "turn".to_owned(),
        data: format!("{instance}:{end}"),
    });
    turn.events =
        (last + 1..).zip(kinds).map(|(id, (source, kind))| event(instance, id, source, kind)).collect();
    turn
}

fn event(instance: &str, id: u64, source: Option<u64>, kind: EventKind) -> Event {
    let event = Event::recorded(id, instance, 1, Timestamp::from_millis(1_700_000_000_000), kind);
    match source {
        Some(source) => event.with_source(source),
        None => event,
    }
}

fn started() -> EventKind {
    EventKind::OrchestrationStarted {
        name: "load".to_owned(),
        version: "1.0.0".to_owned(),
        input: "{}".to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    }
}
