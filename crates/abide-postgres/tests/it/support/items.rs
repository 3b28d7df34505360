//! Messages, activities and turns.

use abide_model::{Event, EventKind, WorkItem};
use abide_provider::{Authority, Consumed, ExecutionMetadata, InstanceLease, Turn, TurnCommit};

pub(crate) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn signal(instance: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.to_owned(), name: "go".to_owned(), data: String::new() }
}

pub(crate) fn activity(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        name: "Charge".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    }
}

pub(crate) fn completed(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        result: "done".to_owned(),
    }
}

pub(crate) fn event(instance: &str, id: u64, kind: EventKind) -> Event {
    Event::with_event_id(id, instance, 1, None, kind)
}

pub(crate) fn started(instance: &str) -> Event {
    let kind = EventKind::OrchestrationStarted {
        name: "Order".to_owned(),
        version: "1.0.0".to_owned(),
        input: String::new(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    event(instance, 1, kind)
}

/// A turn under a lease that used up all its messages.
pub(crate) fn commit(lease: &InstanceLease, turn: Turn) -> TurnCommit {
    TurnCommit {
        instance: lease.instance.clone(),
        authority: Authority::Lease { token: lease.token.clone() },
        consumed: Consumed::All,
        left: Vec::new(),
        turn,
    }
}

/// The first turn of an instance, with activities.
pub(crate) fn first_turn(instance: &str, worker_items: Vec<WorkItem>) -> Turn {
    let metadata = ExecutionMetadata {
        orchestration_name: Some("Order".to_owned()),
        orchestration_version: Some("1.0.0".to_owned()),
        ..ExecutionMetadata::default()
    };
    Turn { execution_id: 1, events: vec![started(instance)], worker_items, metadata, ..Turn::default() }
}
