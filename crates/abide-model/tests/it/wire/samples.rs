//! One of everything: each variant, and those with optional fields both with and without them.

use abide_model::{
    AppErrorKind, ConfigErrorKind, ErrorDetails, Event, EventKind, PoisonMessageType, WorkItem,
};

/// An event whose header is the same everywhere, so that the snapshots do not depend on build or clock.
pub(super) fn event(kind: EventKind) -> Event {
    Event {
        event_id: 3,
        source_event_id: None,
        instance_id: "i".to_owned(),
        execution_id: 1,
        timestamp_ms: 7,
        duroxide_version: "0.1.32".to_owned(),
        kind,
    }
}

pub(super) fn cancelled() -> ErrorDetails {
    ErrorDetails::Application {
        kind: AppErrorKind::Cancelled { reason: "r".into() },
        message: String::new(),
        retryable: false,
    }
}

pub(super) fn every_error() -> Vec<ErrorDetails> {
    let application =
        |kind| ErrorDetails::Application { kind, message: "went wrong".into(), retryable: true };
    let configuration = |message| ErrorDetails::Configuration {
        kind: ConfigErrorKind::Nondeterminism,
        resource: "R".into(),
        message,
    };
    let poison = |message_type| ErrorDetails::Poison {
        attempt_count: 11,
        max_attempts: 10,
        message_type,
        message: "m".into(),
    };
    vec![
        ErrorDetails::Infrastructure {
            operation: "ack".into(),
            message: "disk full".into(),
            retryable: true,
        },
        configuration(None),
        configuration(Some("m".into())),
        application(AppErrorKind::ActivityFailed),
        application(AppErrorKind::OrchestrationFailed),
        application(AppErrorKind::Panicked),
        cancelled(),
        poison(PoisonMessageType::Orchestration { instance: "i".into(), execution_id: 1 }),
        poison(PoisonMessageType::Activity {
            instance: "i".into(),
            execution_id: 1,
            activity_name: "A".into(),
            activity_id: 2,
        }),
        poison(PoisonMessageType::FailedDeserialization {
            instance: "i".into(),
            execution_id: 1,
            error: "e".into(),
        }),
    ]
}

/// Every kind of event.
pub(super) fn every_event_kind() -> Vec<EventKind> {
    [life_events(), activity_and_timer_events(), message_and_child_events(), state_events()].concat()
}

fn life_events() -> Vec<EventKind> {
    vec![
        EventKind::OrchestrationStarted {
            name: "N".into(),
            version: "1.0.0".into(),
            input: "in".into(),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: None,
            initial_custom_status: None,
        },
        EventKind::OrchestrationStarted {
            name: "N".into(),
            version: "1.0.0".into(),
            input: "in".into(),
            parent_instance: Some("p".into()),
            parent_id: Some(2),
            parent_execution_id: Some(4),
            carry_forward_events: Some(vec![("q".into(), "a".into())]),
            initial_custom_status: Some("s".into()),
        },
        EventKind::OrchestrationCompleted { output: "out".into() },
        EventKind::OrchestrationFailed { details: cancelled() },
        EventKind::OrchestrationContinuedAsNew { input: "next".into() },
        EventKind::OrchestrationCancelRequested { reason: "r".into() },
    ]
}

fn activity_and_timer_events() -> Vec<EventKind> {
    vec![
        EventKind::ActivityScheduled { name: "A".into(), input: "x".into(), session_id: None, tag: None },
        EventKind::ActivityScheduled {
            name: "A".into(),
            input: "x".into(),
            session_id: Some("s".into()),
            tag: Some("gpu".into()),
        },
        EventKind::ActivityCompleted { result: "r".into() },
        EventKind::ActivityFailed { details: cancelled() },
        EventKind::ActivityCancelRequested { reason: "dropped_future".into() },
        EventKind::TimerCreated { fire_at_ms: 1_700_000_000_000 },
        EventKind::TimerFired { fire_at_ms: 1_700_000_000_000 },
    ]
}

fn message_and_child_events() -> Vec<EventKind> {
    vec![
        EventKind::ExternalSubscribed { name: "go".into() },
        EventKind::ExternalEvent { name: "go".into(), data: "d".into() },
        EventKind::ExternalSubscribedCancelled { reason: "dropped_future".into() },
        EventKind::QueueSubscribed { name: "q".into() },
        EventKind::QueueEventDelivered { name: "q".into(), data: "d".into() },
        EventKind::QueueSubscriptionCancelled { reason: "dropped_future".into() },
        EventKind::OrchestrationChained { name: "N".into(), instance: "j".into(), input: "in".into() },
        EventKind::SubOrchestrationScheduled {
            name: "N".into(),
            instance: "sub::3".into(),
            input: "in".into(),
        },
        EventKind::SubOrchestrationCompleted { result: "r".into() },
        EventKind::SubOrchestrationFailed { details: cancelled() },
        EventKind::SubOrchestrationCancelRequested { reason: "dropped_future".into() },
    ]
}

fn state_events() -> Vec<EventKind> {
    vec![
        EventKind::CustomStatusUpdated { status: None },
        EventKind::CustomStatusUpdated { status: Some("half".into()) },
        EventKind::KeyValueSet { key: "k".into(), value: "v".into(), last_updated_at_ms: 9 },
        EventKind::KeyValueCleared { key: "k".into() },
        EventKind::KeyValuesCleared,
        EventKind::HistoryPruneRequested { keep_last: None, completed_before: None },
        EventKind::HistoryPruneRequested { keep_last: Some(1), completed_before: Some(9) },
        EventKind::HistoryPruned { executions_deleted: 2, events_deleted: 40, error: None },
        EventKind::HistoryPruned { executions_deleted: 0, events_deleted: 0, error: Some("busy".into()) },
    ]
}

/// Every kind of work item.
pub(super) fn every_work_item() -> Vec<WorkItem> {
    [starts(), activity_and_timer_items(), message_and_child_items()].concat()
}

fn starts() -> Vec<WorkItem> {
    let start = |parent: Option<&str>, parent_id, parent_execution_id| WorkItem::StartOrchestration {
        instance: "i".into(),
        orchestration: "N".into(),
        input: "in".into(),
        version: parent.map(|_| "1.0.0".into()),
        parent_instance: parent.map(Into::into),
        parent_id,
        parent_execution_id,
        execution_id: 1,
    };
    let again =
        |parent: Option<&str>, parent_id, parent_execution_id, carried: &[&str]| WorkItem::ContinueAsNew {
            instance: "i".into(),
            orchestration: "N".into(),
            input: "n".into(),
            version: parent.map(|_| "1.0.0".into()),
            parent_instance: parent.map(Into::into),
            parent_id,
            parent_execution_id,
            carry_forward_events: carried.iter().map(|data| ("q".into(), (*data).into())).collect(),
            initial_custom_status: parent.map(|_| "s".into()),
        };
    vec![
        start(None, None, None),
        start(Some("p"), Some(2), Some(4)),
        again(None, None, None, &[]),
        again(Some("p"), Some(2), Some(4), &["a", "b"]),
    ]
}

fn activity_and_timer_items() -> Vec<WorkItem> {
    let execute = |session_id, tag| WorkItem::ActivityExecute {
        instance: "i".into(),
        execution_id: 1,
        id: 2,
        name: "A".into(),
        input: "x".into(),
        session_id,
        tag,
    };
    vec![
        execute(None, None),
        execute(Some("s".into()), Some("gpu".into())),
        WorkItem::ActivityCompleted { instance: "i".into(), execution_id: 1, id: 2, result: "r".into() },
        WorkItem::ActivityFailed { instance: "i".into(), execution_id: 1, id: 2, details: cancelled() },
        WorkItem::TimerFired { instance: "i".into(), execution_id: 1, id: 2, fire_at_ms: 9 },
    ]
}

fn message_and_child_items() -> Vec<WorkItem> {
    vec![
        WorkItem::ExternalRaised { instance: "i".into(), name: "go".into(), data: "d".into() },
        WorkItem::QueueMessage { instance: "i".into(), name: "q".into(), data: "d".into() },
        WorkItem::SubOrchCompleted {
            parent_instance: "p".into(),
            parent_execution_id: 1,
            parent_id: 2,
            result: "r".into(),
        },
        WorkItem::SubOrchFailed {
            parent_instance: "p".into(),
            parent_execution_id: 1,
            parent_id: 2,
            details: cancelled(),
        },
        WorkItem::CancelInstance { instance: "i".into(), reason: "r".into() },
    ]
}
