//! Messages, work and events, as short as a test needs them.

use abide_model::{Event, EventKind, ScheduledActivityIdentifier, WorkItem};

/// The orchestration that instances of the tests run.
pub(crate) const ORCHESTRATION: &str = "Order";
/// Its version.
pub(crate) const VERSION: &str = "1.0.0";

pub(crate) fn start(instance: &str) -> WorkItem {
    start_of(instance, ORCHESTRATION, Some(VERSION))
}

pub(crate) fn start_of(instance: &str, orchestration: &str, version: Option<&str>) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: orchestration.to_owned(),
        input: "{}".to_owned(),
        version: version.map(str::to_owned),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn start_with_input(instance: &str, text: &str) -> WorkItem {
    let mut item = start(instance);
    if let WorkItem::StartOrchestration { input, .. } = &mut item {
        text.clone_into(input);
    }
    item
}

/// The start of a child: the event of the parent's first execution that asks for it is `parent_id`.
pub(crate) fn start_child(instance: &str, parent: &str, parent_id: u64) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Child".to_owned(),
        input: "{}".to_owned(),
        version: Some(VERSION.to_owned()),
        parent_instance: Some(parent.to_owned()),
        parent_id: Some(parent_id),
        parent_execution_id: Some(1),
        execution_id: 1,
    }
}

pub(crate) fn continue_as_new(instance: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: ORCHESTRATION.to_owned(),
        input: "next".to_owned(),
        version: Some(VERSION.to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

/// A signal, the plainest message there is.
pub(crate) fn signal(instance: &str, data: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.to_owned(), name: "go".to_owned(), data: data.to_owned() }
}

pub(crate) fn queue_message(instance: &str, data: &str) -> WorkItem {
    WorkItem::QueueMessage { instance: instance.to_owned(), name: "inbox".to_owned(), data: data.to_owned() }
}

pub(crate) fn timer(instance: &str, id: u64, fire_at_ms: u64) -> WorkItem {
    WorkItem::TimerFired { instance: instance.to_owned(), execution_id: 1, id, fire_at_ms }
}

pub(crate) fn cancel(instance: &str) -> WorkItem {
    WorkItem::CancelInstance { instance: instance.to_owned(), reason: "test".to_owned() }
}

/// An activity of the first execution.
pub(crate) fn activity(instance: &str, id: u64) -> WorkItem {
    activity_with(instance, id, None, None)
}

pub(crate) fn activity_with(instance: &str, id: u64, session: Option<&str>, tag: Option<&str>) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        name: "Charge".to_owned(),
        input: format!("input of {id}"),
        session_id: session.map(str::to_owned),
        tag: tag.map(str::to_owned),
    }
}

pub(crate) fn completed(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        result: format!("result of {id}"),
    }
}

/// Names an activity of the first execution.
pub(crate) fn identifier(instance: &str, id: u64) -> ScheduledActivityIdentifier {
    ScheduledActivityIdentifier { instance: instance.to_owned(), execution_id: 1, activity_id: id }
}

pub(crate) fn event(instance: &str, execution_id: u64, id: u64, kind: EventKind) -> Event {
    Event::with_event_id(id, instance, execution_id, None, kind)
}

pub(crate) fn started() -> EventKind {
    started_with(Vec::new())
}

/// A start that brings unread queue messages along.
pub(crate) fn started_with(carried: Vec<(String, String)>) -> EventKind {
    EventKind::OrchestrationStarted {
        name: ORCHESTRATION.to_owned(),
        version: VERSION.to_owned(),
        input: "{}".to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: (!carried.is_empty()).then_some(carried),
        initial_custom_status: None,
    }
}
