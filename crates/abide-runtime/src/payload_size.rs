//! How many bytes a store call carries, for its deadline. Pure.
//!
//! Only what users can make large counts: inputs, results, messages. What is left out is small for each row,
//! and a turn with so many rows that it is not would have to hold them as well.

use abide_model::{ErrorDetails, Event, EventKind, WorkItem};
use abide_provider::TurnCommit;

/// Returns the size of the payloads in a commit.
pub(crate) fn of_commit(commit: &TurnCommit) -> usize {
    let events = commit.turn.events.iter().map(of_event);
    let items = commit.turn.worker_items.iter().chain(&commit.turn.orchestrator_items).chain(&commit.left);
    events.chain(items.map(of_item)).fold(0, usize::saturating_add)
}

/// Returns the size of the payload of a message or an activity.
pub(crate) fn of_item(item: &WorkItem) -> usize {
    match item {
        WorkItem::StartOrchestration { input, .. } | WorkItem::ActivityExecute { input, .. } => input.len(),
        WorkItem::ContinueAsNew { input, carry_forward_events, .. } => {
            carry_forward_events.iter().fold(input.len(), |sum, (_, data)| sum.saturating_add(data.len()))
        }
        WorkItem::ActivityCompleted { result, .. } | WorkItem::SubOrchCompleted { result, .. } => {
            result.len()
        }
        WorkItem::ActivityFailed { details, .. } | WorkItem::SubOrchFailed { details, .. } => {
            of_error(details)
        }
        WorkItem::ExternalRaised { data, .. } | WorkItem::QueueMessage { data, .. } => data.len(),
        WorkItem::CancelInstance { reason, .. } => reason.len(),
        WorkItem::TimerFired { .. } => 0,
    }
}

fn of_event(event: &Event) -> usize {
    match &event.kind {
        EventKind::OrchestrationStarted { input, carry_forward_events, .. } => carry_forward_events
            .iter()
            .flatten()
            .fold(input.len(), |sum, (_, data)| sum.saturating_add(data.len())),
        EventKind::ActivityScheduled { input, .. }
        | EventKind::SubOrchestrationScheduled { input, .. }
        | EventKind::OrchestrationChained { input, .. }
        | EventKind::OrchestrationContinuedAsNew { input } => input.len(),
        EventKind::ActivityCompleted { result } | EventKind::SubOrchestrationCompleted { result } => {
            result.len()
        }
        EventKind::OrchestrationCompleted { output } => output.len(),
        EventKind::OrchestrationFailed { details }
        | EventKind::ActivityFailed { details }
        | EventKind::SubOrchestrationFailed { details } => of_error(details),
        EventKind::ExternalEvent { data, .. } | EventKind::QueueEventDelivered { data, .. } => data.len(),
        EventKind::KeyValueSet { value, .. } => value.len(),
        EventKind::CustomStatusUpdated { status } => status.as_ref().map_or(0, String::len),
        EventKind::ActivityCancelRequested { .. }
        | EventKind::TimerCreated { .. }
        | EventKind::TimerFired { .. }
        | EventKind::ExternalSubscribed { .. }
        | EventKind::SubOrchestrationCancelRequested { .. }
        | EventKind::OrchestrationCancelRequested { .. }
        | EventKind::ExternalSubscribedCancelled { .. }
        | EventKind::QueueSubscribed { .. }
        | EventKind::QueueSubscriptionCancelled { .. }
        | EventKind::KeyValueCleared { .. }
        | EventKind::KeyValuesCleared
        | EventKind::HistoryPruneRequested { .. }
        | EventKind::HistoryPruned { .. } => 0,
    }
}

fn of_error(details: &ErrorDetails) -> usize {
    match details {
        ErrorDetails::Infrastructure { message, .. }
        | ErrorDetails::Application { message, .. }
        | ErrorDetails::Poison { message, .. } => message.len(),
        ErrorDetails::Configuration { message, .. } => message.as_ref().map_or(0, String::len),
    }
}
