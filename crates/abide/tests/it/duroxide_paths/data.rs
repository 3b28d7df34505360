//! 4: what histories are made of, and what an end is told in.

use std::fmt::Debug;

use duroxide::providers::{KvEntry, WorkItem};
use duroxide::{
    Action, AppErrorKind, BackoffStrategy, CompletionResult, ConfigErrorKind, Either2, Either3, ErrorDetails,
    Event, EventKind, LogLevel, OrchestrationDescriptor, OrchestrationStatus, PoisonMessageType,
    PruneOptions, PruneResult, RetryPolicy, ScheduleKind, ScheduledActivityIdentifier, SemverRange,
    SystemStats,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

// 4: derives

const fn is_plain<T: Debug + Clone>() {}
const fn is_compared<T: Debug + Clone + PartialEq + Eq>() {}
const fn is_stored<T: Debug + Clone + PartialEq + Eq + Serialize + DeserializeOwned>() {}
const fn is_compared_and_stored<T: Debug + Clone + PartialEq + Serialize + DeserializeOwned>() {}

const _: () = {
    is_stored::<(Event, EventKind, ErrorDetails)>();
    is_stored::<(PoisonMessageType, ConfigErrorKind, AppErrorKind)>();
    is_stored::<WorkItem>();
    is_compared::<(OrchestrationStatus, OrchestrationDescriptor, ScheduledActivityIdentifier, KvEntry)>();
    is_compared::<(Either2<u8, u8>, Either3<u8, u8, u8>)>();
    is_compared_and_stored::<SystemStats>();
    is_plain::<(Action, CompletionResult, ScheduleKind, LogLevel, RetryPolicy, BackoffStrategy)>();
    is_plain::<(PruneOptions, PruneResult, SemverRange)>();
};

// 4.1

fn _events<A: Into<String>, B: Into<String>>(a: A, b: B, kind: EventKind) -> [Event; 3] {
    let with_id = Event::with_event_id(1, a, 1, None::<u64>, kind.clone());
    let new = Event::new(b, 1, Some(2_u64), kind);
    let Event { event_id, source_event_id, instance_id, execution_id, timestamp_ms, duroxide_version, kind } =
        new.clone();
    let (_, _): (u64, u64) = (execution_id, timestamp_ms);
    [
        Event { event_id, source_event_id, instance_id, execution_id, timestamp_ms, duroxide_version, kind },
        with_id,
        new,
    ]
}

const _: fn(&Event) -> u64 = Event::event_id;
const _: fn(&Event) -> Option<u64> = Event::source_event_id;
const _: fn(&Event) -> bool = Event::is_terminal;

// 4.2: every kind with every field, in the documented order, and the two that are new

fn ends_and_arrivals(kind: EventKind) -> (Vec<String>, Option<ErrorDetails>) {
    match kind {
        EventKind::OrchestrationStarted {
            name,
            version,
            input,
            parent_instance,
            parent_id,
            parent_execution_id,
            carry_forward_events,
            initial_custom_status,
        } => {
            let _: (Option<String>, Option<u64>, Option<u64>) =
                (parent_instance, parent_id, parent_execution_id);
            let _: (Option<Vec<(String, String)>>, Option<String>) =
                (carry_forward_events, initial_custom_status);
            (vec![name, version, input], None)
        }
        EventKind::OrchestrationCompleted { output } => (vec![output], None),
        EventKind::OrchestrationContinuedAsNew { input } => (vec![input], None),
        EventKind::OrchestrationFailed { details }
        | EventKind::ActivityFailed { details }
        | EventKind::SubOrchestrationFailed { details } => (Vec::new(), Some(details)),
        EventKind::ActivityCompleted { result } | EventKind::SubOrchestrationCompleted { result } => {
            (vec![result], None)
        }
        EventKind::ExternalEvent { name, data } | EventKind::QueueEventDelivered { name, data } => {
            (vec![name, data], None)
        }
        EventKind::OrchestrationCancelRequested { reason } => (vec![reason], None),
        EventKind::TimerFired { fire_at_ms } => (vec![fire_at_ms.to_string()], None),
        EventKind::HistoryPruned { executions_deleted, events_deleted, error } => {
            let _: (u64, u64, Option<String>) = (executions_deleted, events_deleted, error);
            (Vec::new(), None)
        }
        request => (requests(request), None),
    }
}

fn requests(kind: EventKind) -> Vec<String> {
    match kind {
        EventKind::ActivityScheduled { name, input, session_id, tag } => {
            let _: (Option<String>, Option<String>) = (session_id, tag);
            vec![name, input]
        }
        EventKind::TimerCreated { fire_at_ms } => vec![u64::to_string(&fire_at_ms)],
        EventKind::ExternalSubscribed { name } | EventKind::QueueSubscribed { name } => vec![name],
        EventKind::OrchestrationChained { name, instance, input }
        | EventKind::SubOrchestrationScheduled { name, instance, input } => vec![name, instance, input],
        EventKind::ActivityCancelRequested { reason }
        | EventKind::SubOrchestrationCancelRequested { reason }
        | EventKind::ExternalSubscribedCancelled { reason }
        | EventKind::QueueSubscriptionCancelled { reason } => vec![reason],
        EventKind::CustomStatusUpdated { status } => Option::<String>::into_iter(status).collect(),
        EventKind::KeyValueSet { key, value, last_updated_at_ms } => {
            vec![key, value, u64::to_string(&last_updated_at_ms)]
        }
        EventKind::KeyValueCleared { key } => vec![key],
        EventKind::KeyValuesCleared => Vec::new(),
        EventKind::HistoryPruneRequested { keep_last, completed_before } => {
            let _: (Option<u32>, Option<u64>) = (keep_last, completed_before);
            Vec::new()
        }
        end @ (EventKind::OrchestrationStarted { .. }
        | EventKind::OrchestrationCompleted { .. }
        | EventKind::OrchestrationFailed { .. }
        | EventKind::OrchestrationContinuedAsNew { .. }
        | EventKind::OrchestrationCancelRequested { .. }
        | EventKind::ActivityCompleted { .. }
        | EventKind::ActivityFailed { .. }
        | EventKind::SubOrchestrationCompleted { .. }
        | EventKind::SubOrchestrationFailed { .. }
        | EventKind::TimerFired { .. }
        | EventKind::ExternalEvent { .. }
        | EventKind::QueueEventDelivered { .. }
        | EventKind::HistoryPruned { .. }) => ends_and_arrivals(end).0,
    }
}

// 4.3 and 4.4: no variant more, none less, no field more, none less

fn _actions(action: Action) -> (u64, Vec<String>, Option<String>) {
    match action {
        Action::CallActivity { scheduling_event_id, name, input, session_id, tag } => {
            (scheduling_event_id, vec![name, input], session_id.or(tag))
        }
        Action::CreateTimer { scheduling_event_id, fire_at_ms } => {
            (scheduling_event_id.max(fire_at_ms), Vec::new(), None)
        }
        Action::WaitExternal { scheduling_event_id, name }
        | Action::DequeueEvent { scheduling_event_id, name } => (scheduling_event_id, vec![name], None),
        Action::StartOrchestrationDetached { scheduling_event_id, name, version, instance, input }
        | Action::StartSubOrchestration { scheduling_event_id, name, version, instance, input } => {
            (scheduling_event_id, vec![name, instance, input], version)
        }
        Action::ContinueAsNew { input, version } => (0, vec![input], version),
        Action::UpdateCustomStatus { status } => (0, Vec::new(), status),
        Action::SetKeyValue { key, value, last_updated_at_ms } => {
            (last_updated_at_ms, vec![key, value], None)
        }
        Action::ClearKeyValue { key } => (0, vec![key], None),
        Action::ClearKeyValues => (0, Vec::new(), None),
        Action::PruneHistory { scheduling_event_id, keep_last, completed_before } => {
            let _: (Option<u32>, Option<u64>) = (keep_last, completed_before);
            (scheduling_event_id, Vec::new(), None)
        }
    }
}

fn _completions(result: CompletionResult) -> Option<String> {
    match result {
        CompletionResult::ActivityOk(text)
        | CompletionResult::ActivityErr(text)
        | CompletionResult::SubOrchOk(text)
        | CompletionResult::SubOrchErr(text)
        | CompletionResult::ExternalData(text) => Some(text),
        CompletionResult::TimerFired => None,
    }
}

// 4.5

const _: fn(&ErrorDetails) -> &'static str = ErrorDetails::category;
const _: fn(&ErrorDetails) -> bool = ErrorDetails::is_retryable;
const _: fn(&ErrorDetails) -> String = ErrorDetails::display_message;

fn _errors(details: ErrorDetails) -> (Option<bool>, [u32; 2], Vec<String>) {
    match details {
        ErrorDetails::Infrastructure { operation, message, retryable } => {
            (Some(retryable), [0, 0], vec![operation, message])
        }
        ErrorDetails::Configuration { kind: ConfigErrorKind::Nondeterminism, resource, message } => {
            (None, [0, 0], message.into_iter().chain([resource]).collect())
        }
        ErrorDetails::Application { kind, message, retryable } => match kind {
            AppErrorKind::ActivityFailed | AppErrorKind::OrchestrationFailed | AppErrorKind::Panicked => {
                (Some(retryable), [0, 0], vec![message])
            }
            AppErrorKind::Cancelled { reason } => (Some(retryable), [0, 0], vec![reason]),
        },
        ErrorDetails::Poison { attempt_count, max_attempts, message_type, message } => {
            (None, [attempt_count, max_attempts], vec![message, poison(message_type)])
        }
    }
}

fn poison(message_type: PoisonMessageType) -> String {
    match message_type {
        PoisonMessageType::Orchestration { instance, execution_id } => format!("{instance}{execution_id}"),
        PoisonMessageType::Activity { instance, execution_id, activity_name, activity_id } => {
            format!("{instance}{execution_id}{activity_name}{activity_id}")
        }
        PoisonMessageType::FailedDeserialization { instance, execution_id, error } => {
            format!("{instance}{execution_id}{error}")
        }
    }
}
