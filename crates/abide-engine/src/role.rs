//! What part an event plays in the stream.
//!
//! Whoever decides by the kind of an event asks here for its role. A new kind is a compile error here, and in
//! `news.rs`, which takes the content out of an arrival.

use abide_model::reason::TERMINAL;
use abide_model::{Event, EventId, EventKind};

use crate::ask::Family;

/// The part an event plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role<'a> {
    /// The code asked for something.
    Ask(Asked<'a>),
    /// The code dropped the future of an ask.
    Drop { family: Family, source: Option<EventId> },
    /// Something came from outside.
    Arrival(Arrival),
    /// An ask was cancelled because the execution ended.
    Cleanup { source: Option<EventId> },
    /// The end.
    Terminal,
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    /// Something that has an answer; with the instance of a child.
    Opens(Family, &'a str),
    /// An instance of its own.
    Detached,
    /// Custom status or key-value state.
    State,
}

/// What arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    Start,
    Cancel,
    Signal,
    QueueMessage,
    Answer(Family),
}

/// The part that `event` plays.
pub(crate) fn role(event: &Event) -> Role<'_> {
    let source = event.source_event_id.map(EventId::new);
    match &event.kind {
        EventKind::ActivityScheduled { .. } => Role::Ask(Asked::Opens(Family::Activity, "")),
        EventKind::TimerCreated { .. } => Role::Ask(Asked::Opens(Family::Timer, "")),
        EventKind::ExternalSubscribed { .. } => Role::Ask(Asked::Opens(Family::Wait, "")),
        EventKind::QueueSubscribed { .. } => Role::Ask(Asked::Opens(Family::Dequeue, "")),
        EventKind::SubOrchestrationScheduled { instance, .. } => {
            Role::Ask(Asked::Opens(Family::Child, instance))
        }
        EventKind::HistoryPruneRequested { .. } => Role::Ask(Asked::Opens(Family::Prune, "")),
        EventKind::OrchestrationChained { .. } => Role::Ask(Asked::Detached),
        EventKind::CustomStatusUpdated { .. }
        | EventKind::KeyValueSet { .. }
        | EventKind::KeyValueCleared { .. }
        | EventKind::KeyValuesCleared => Role::Ask(Asked::State),

        EventKind::ActivityCancelRequested { reason } => cancellation(Family::Activity, source, reason),
        EventKind::SubOrchestrationCancelRequested { reason } => cancellation(Family::Child, source, reason),
        EventKind::ExternalSubscribedCancelled { reason } => cancellation(Family::Wait, source, reason),
        EventKind::QueueSubscriptionCancelled { reason } => cancellation(Family::Dequeue, source, reason),

        EventKind::OrchestrationStarted { .. } => Role::Arrival(Arrival::Start),
        EventKind::OrchestrationCancelRequested { .. } => Role::Arrival(Arrival::Cancel),
        EventKind::ExternalEvent { .. } => Role::Arrival(Arrival::Signal),
        EventKind::QueueEventDelivered { .. } => Role::Arrival(Arrival::QueueMessage),
        EventKind::ActivityCompleted { .. } | EventKind::ActivityFailed { .. } => {
            Role::Arrival(Arrival::Answer(Family::Activity))
        }
        EventKind::TimerFired { .. } => Role::Arrival(Arrival::Answer(Family::Timer)),
        EventKind::SubOrchestrationCompleted { .. } | EventKind::SubOrchestrationFailed { .. } => {
            Role::Arrival(Arrival::Answer(Family::Child))
        }
        EventKind::HistoryPruned { .. } => Role::Arrival(Arrival::Answer(Family::Prune)),

        EventKind::OrchestrationCompleted { .. }
        | EventKind::OrchestrationFailed { .. }
        | EventKind::OrchestrationContinuedAsNew { .. } => Role::Terminal,
    }
}

fn cancellation(family: Family, source: Option<EventId>, reason: &str) -> Role<'static> {
    if reason.starts_with(TERMINAL) { Role::Cleanup { source } } else { Role::Drop { family, source } }
}
