//! A history as text: `5 ActivityCompleted[2] r`, a line an event, without times.

use abide_model::{Event, EventKind};

/// A line per event.
pub(crate) fn trace(history: &[Event]) -> Vec<String> {
    history.iter().map(line).collect()
}

/// What kinds of events there are, in order.
pub(crate) fn names(history: &[Event]) -> Vec<&'static str> {
    history.iter().map(|event| event.kind.name()).collect()
}

fn line(event: &Event) -> String {
    let source = event.source_event_id.map_or_else(String::new, |source| format!("[{source}]"));
    let line = format!("{} {}{source} {}", event.event_id, event.kind.name(), words(&event.kind));
    line.trim_end().to_owned()
}

fn words(kind: &EventKind) -> String {
    match kind {
        EventKind::OrchestrationStarted { input, .. } | EventKind::OrchestrationContinuedAsNew { input } => {
            input.clone()
        }
        EventKind::OrchestrationCompleted { output } => output.clone(),
        EventKind::OrchestrationFailed { details }
        | EventKind::ActivityFailed { details }
        | EventKind::SubOrchestrationFailed { details } => details.display_message(),
        EventKind::ActivityScheduled { name, input, .. } => format!("{name}({input})"),
        EventKind::ActivityCompleted { result } | EventKind::SubOrchestrationCompleted { result } => {
            result.clone()
        }
        EventKind::ActivityCancelRequested { reason }
        | EventKind::SubOrchestrationCancelRequested { reason }
        | EventKind::OrchestrationCancelRequested { reason }
        | EventKind::ExternalSubscribedCancelled { reason }
        | EventKind::QueueSubscriptionCancelled { reason } => reason.clone(),
        EventKind::ExternalSubscribed { name } | EventKind::QueueSubscribed { name } => name.clone(),
        EventKind::ExternalEvent { name, data } | EventKind::QueueEventDelivered { name, data } => {
            format!("{name}:{data}")
        }
        EventKind::OrchestrationChained { name, instance, input }
        | EventKind::SubOrchestrationScheduled { name, instance, input } => {
            format!("{instance} {name}({input})")
        }
        EventKind::CustomStatusUpdated { status } => status.clone().unwrap_or_default(),
        EventKind::KeyValueSet { key, value, .. } => format!("{key}={value}"),
        EventKind::KeyValueCleared { key } => key.clone(),
        EventKind::HistoryPruned { executions_deleted, .. } => executions_deleted.to_string(),
        EventKind::TimerCreated { .. }
        | EventKind::TimerFired { .. }
        | EventKind::KeyValuesCleared
        | EventKind::HistoryPruneRequested { .. } => String::new(),
    }
}
