//! Messages, as scripts write them.

use abide_engine::model::{AppErrorKind, ErrorDetails, PoisonMessageType, WorkItem};

use super::INSTANCE;

/// A parent: its instance, the event that scheduled the child, its execution.
type Parent<'a> = (&'a str, u64, u64);

pub(crate) fn start(input: &str) -> WorkItem {
    start_of(None, input)
}

/// A start by a parent.
pub(crate) fn start_by(parent: Parent<'_>, input: &str) -> WorkItem {
    start_of(Some(parent), input)
}

fn start_of(parent: Option<Parent<'_>>, input: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: INSTANCE.to_owned(),
        orchestration: "N".to_owned(),
        input: input.to_owned(),
        version: None,
        parent_instance: parent.map(|(instance, ..)| instance.to_owned()),
        parent_id: parent.map(|(_, id, _)| id),
        parent_execution_id: parent.map(|(.., execution_id)| execution_id),
        execution_id: 1,
    }
}

pub(crate) fn continued(input: &str, carry: &[(&str, &str)], status: Option<&str>) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: INSTANCE.to_owned(),
        orchestration: "N".to_owned(),
        input: input.to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: carry.iter().map(|(q, d)| ((*q).to_owned(), (*d).to_owned())).collect(),
        initial_custom_status: status.map(str::to_owned),
    }
}

/// A continue-as-new of a child.
pub(crate) fn continued_by(parent: Parent<'_>, input: &str) -> WorkItem {
    let (parent_instance, parent_id, parent_execution_id) = parent;
    WorkItem::ContinueAsNew {
        instance: INSTANCE.to_owned(),
        orchestration: "N".to_owned(),
        input: input.to_owned(),
        version: None,
        parent_instance: Some(parent_instance.to_owned()),
        parent_id: Some(parent_id),
        parent_execution_id: Some(parent_execution_id),
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

pub(crate) fn done(id: u64, result: &str) -> WorkItem {
    done_in(1, id, result)
}

pub(crate) fn done_in(execution_id: u64, id: u64, result: &str) -> WorkItem {
    WorkItem::ActivityCompleted { instance: INSTANCE.to_owned(), execution_id, id, result: result.to_owned() }
}

pub(crate) fn failed(id: u64, message: &str) -> WorkItem {
    failed_with(id, app_error(message))
}

pub(crate) fn failed_with(id: u64, details: ErrorDetails) -> WorkItem {
    WorkItem::ActivityFailed { instance: INSTANCE.to_owned(), execution_id: 1, id, details }
}

pub(crate) fn app_error(message: &str) -> ErrorDetails {
    ErrorDetails::Application {
        kind: AppErrorKind::ActivityFailed,
        message: message.to_owned(),
        retryable: false,
    }
}

pub(crate) fn fired(id: u64, fire_at_ms: u64) -> WorkItem {
    WorkItem::TimerFired { instance: INSTANCE.to_owned(), execution_id: 1, id, fire_at_ms }
}

pub(crate) fn signal(name: &str, data: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: INSTANCE.to_owned(), name: name.to_owned(), data: data.to_owned() }
}

pub(crate) fn message(queue: &str, data: &str) -> WorkItem {
    WorkItem::QueueMessage { instance: INSTANCE.to_owned(), name: queue.to_owned(), data: data.to_owned() }
}

pub(crate) fn cancel(reason: &str) -> WorkItem {
    WorkItem::CancelInstance { instance: INSTANCE.to_owned(), reason: reason.to_owned() }
}

pub(crate) fn child_done(id: u64, result: &str) -> WorkItem {
    child_done_in(1, id, result)
}

/// A child's result for the execution of its parent that scheduled it.
pub(crate) fn child_done_in(parent_execution_id: u64, id: u64, result: &str) -> WorkItem {
    WorkItem::SubOrchCompleted {
        parent_instance: INSTANCE.to_owned(),
        parent_execution_id,
        parent_id: id,
        result: result.to_owned(),
    }
}

pub(crate) fn child_failed(id: u64, details: ErrorDetails) -> WorkItem {
    WorkItem::SubOrchFailed {
        parent_instance: INSTANCE.to_owned(),
        parent_execution_id: 1,
        parent_id: id,
        details,
    }
}

/// What a child's code returned as its error.
pub(crate) fn child_error(message: &str) -> ErrorDetails {
    ErrorDetails::Application {
        kind: AppErrorKind::OrchestrationFailed,
        message: message.to_owned(),
        retryable: false,
    }
}

/// An activity that was tried too often.
pub(crate) fn poisoned(name: &str, id: u64) -> ErrorDetails {
    ErrorDetails::Poison {
        attempt_count: 11,
        max_attempts: 10,
        message_type: PoisonMessageType::Activity {
            instance: INSTANCE.to_owned(),
            execution_id: 1,
            activity_name: name.to_owned(),
            activity_id: id,
        },
        message: "{}".to_owned(),
    }
}
