//! Messages, work and events, as short as a test needs them.

use abide_model::{Event, EventKind, ScheduledActivityIdentifier, Timestamp, WorkItem};

pub(crate) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: "{}".to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn start_child(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Child".to_owned(),
        input: "{}".to_owned(),
        version: None,
        parent_instance: Some("parent".to_owned()),
        parent_id: Some(7),
        parent_execution_id: Some(2),
        execution_id: 1,
    }
}

pub(crate) fn continue_as_new(instance: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: "next".to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

pub(crate) fn signal(instance: &str, data: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.to_owned(), name: "go".to_owned(), data: data.to_owned() }
}

pub(crate) fn queue_message(instance: &str, data: &str) -> WorkItem {
    WorkItem::QueueMessage { instance: instance.to_owned(), name: "inbox".to_owned(), data: data.to_owned() }
}

pub(crate) fn timer(instance: &str, id: u64, fire_at_ms: u64) -> WorkItem {
    WorkItem::TimerFired { instance: instance.to_owned(), execution_id: 1, id, fire_at_ms }
}

pub(crate) fn activity(instance: &str, id: u64) -> WorkItem {
    activity_with(instance, id, None, None)
}

pub(crate) fn activity_with(instance: &str, id: u64, session: Option<&str>, tag: Option<&str>) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        name: "charge".to_owned(),
        input: "{}".to_owned(),
        session_id: session.map(ToOwned::to_owned),
        tag: tag.map(ToOwned::to_owned),
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

pub(crate) fn identifier(instance: &str, activity_id: u64) -> ScheduledActivityIdentifier {
    ScheduledActivityIdentifier { instance: instance.to_owned(), execution_id: 1, activity_id }
}

pub(crate) fn event(event_id: u64, kind: EventKind) -> Event {
    Event::recorded(event_id, "a", 1, Timestamp::EPOCH, kind)
}

pub(crate) fn started() -> EventKind {
    EventKind::OrchestrationStarted {
        name: "Order".to_owned(),
        version: "1.0.0".to_owned(),
        input: "{}".to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    }
}

pub(crate) fn status_said(status: Option<&str>) -> EventKind {
    EventKind::CustomStatusUpdated { status: status.map(ToOwned::to_owned) }
}

pub(crate) fn value_set(key: &str, value: &str) -> EventKind {
    EventKind::KeyValueSet { key: key.to_owned(), value: value.to_owned(), last_updated_at_ms: 9 }
}

pub(crate) fn value_cleared(key: &str) -> EventKind {
    EventKind::KeyValueCleared { key: key.to_owned() }
}

/// The data of signals and queue messages, the kind of everything else.
pub(crate) fn said(item: &WorkItem) -> String {
    match item {
        WorkItem::ExternalRaised { data, .. } | WorkItem::QueueMessage { data, .. } => data.clone(),
        WorkItem::StartOrchestration { .. }
        | WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. }
        | WorkItem::CancelInstance { .. }
        | WorkItem::ContinueAsNew { .. } => abide_model::kind_of(item).to_owned(),
    }
}
