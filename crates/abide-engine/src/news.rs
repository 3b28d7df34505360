//! What an arrival brings, taken out of its event.

use abide_model::{ErrorDetails, EventKind, PruneResult};

use crate::tape::Answer;

/// What arrived, with its content.
#[derive(Debug)]
pub(crate) enum News {
    Start {
        input: String,
        status: Option<String>,
    },
    Cancel {
        reason: String,
    },
    Signal {
        name: String,
        data: String,
    },
    QueueMessage {
        name: String,
        data: String,
    },
    Answer(Answer),
    /// A failure that code may not catch: the execution ends with the same.
    SystemFailure(ErrorDetails),
}

/// What the event brings; `None` if it is no arrival.
pub(crate) fn news(kind: EventKind) -> Option<News> {
    match kind {
        EventKind::OrchestrationStarted { input, initial_custom_status, .. } => {
            Some(News::Start { input, status: initial_custom_status })
        }
        EventKind::OrchestrationCancelRequested { reason } => Some(News::Cancel { reason }),
        EventKind::ExternalEvent { name, data } => Some(News::Signal { name, data }),
        EventKind::QueueEventDelivered { name, data } => Some(News::QueueMessage { name, data }),
        EventKind::ActivityCompleted { result } | EventKind::SubOrchestrationCompleted { result } => {
            Some(News::Answer(Answer::Ended(Ok(result))))
        }
        EventKind::ActivityFailed { details } | EventKind::SubOrchestrationFailed { details } => {
            Some(failure(details))
        }
        EventKind::TimerFired { .. } => Some(News::Answer(Answer::Fired)),
        EventKind::HistoryPruned { executions_deleted, events_deleted, error } => {
            let result = PruneResult { instances_processed: 1, executions_deleted, events_deleted };
            Some(News::Answer(Answer::Pruned(error.map_or(Ok(result), Err))))
        }
        EventKind::OrchestrationCompleted { .. }
        | EventKind::OrchestrationFailed { .. }
        | EventKind::OrchestrationContinuedAsNew { .. }
        | EventKind::OrchestrationChained { .. }
        | EventKind::ActivityScheduled { .. }
        | EventKind::ActivityCancelRequested { .. }
        | EventKind::TimerCreated { .. }
        | EventKind::ExternalSubscribed { .. }
        | EventKind::ExternalSubscribedCancelled { .. }
        | EventKind::QueueSubscribed { .. }
        | EventKind::QueueSubscriptionCancelled { .. }
        | EventKind::SubOrchestrationScheduled { .. }
        | EventKind::SubOrchestrationCancelRequested { .. }
        | EventKind::CustomStatusUpdated { .. }
        | EventKind::KeyValueSet { .. }
        | EventKind::KeyValueCleared { .. }
        | EventKind::KeyValuesCleared
        | EventKind::HistoryPruneRequested { .. } => None,
    }
}

fn failure(details: ErrorDetails) -> News {
    if details.is_system() {
        News::SystemFailure(details)
    } else {
        News::Answer(Answer::Ended(Err(details.display_message())))
    }
}
