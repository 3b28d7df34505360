//! Event → work to enqueue, when the ask is recorded for the first time.

use abide_model::{EventId, EventKind, INITIAL_EXECUTION_ID, WorkItem, build_child_instance_id};

use super::record::Recorded;
use crate::turn::Identity;

/// What recording this event sets in motion.
pub(crate) fn work(recorded: &Recorded, id: EventId, who: &Identity) -> Option<WorkItem> {
    match &recorded.kind {
        EventKind::ActivityScheduled { name, input, session_id, tag } => Some(WorkItem::ActivityExecute {
            instance: who.instance.clone(),
            execution_id: who.execution_id,
            id: id.get(),
            name: name.clone(),
            input: input.clone(),
            session_id: session_id.clone(),
            tag: tag.clone(),
        }),
        EventKind::TimerCreated { fire_at_ms } => Some(WorkItem::TimerFired {
            instance: who.instance.clone(),
            execution_id: who.execution_id,
            id: id.get(),
            fire_at_ms: *fire_at_ms,
        }),
        EventKind::SubOrchestrationScheduled { name, instance, input } => {
            let child = build_child_instance_id(&who.instance, instance);
            Some(start(child, [name, input], recorded.version.as_deref(), Some((who, id))))
        }
        EventKind::OrchestrationChained { name, instance, input } => {
            Some(start(instance.clone(), [name, input], recorded.version.as_deref(), None))
        }
        EventKind::ExternalSubscribed { .. }
        | EventKind::QueueSubscribed { .. }
        | EventKind::CustomStatusUpdated { .. }
        | EventKind::KeyValueSet { .. }
        | EventKind::KeyValueCleared { .. }
        | EventKind::KeyValuesCleared
        | EventKind::HistoryPruneRequested { .. } => None,
        // Arrivals, cancellations and ends are no asks; what they set in motion is decided where they are
        // recorded.
        EventKind::OrchestrationStarted { .. }
        | EventKind::OrchestrationCompleted { .. }
        | EventKind::OrchestrationFailed { .. }
        | EventKind::OrchestrationContinuedAsNew { .. }
        | EventKind::OrchestrationCancelRequested { .. }
        | EventKind::ActivityCompleted { .. }
        | EventKind::ActivityFailed { .. }
        | EventKind::ActivityCancelRequested { .. }
        | EventKind::TimerFired { .. }
        | EventKind::ExternalEvent { .. }
        | EventKind::ExternalSubscribedCancelled { .. }
        | EventKind::QueueEventDelivered { .. }
        | EventKind::QueueSubscriptionCancelled { .. }
        | EventKind::SubOrchestrationCompleted { .. }
        | EventKind::SubOrchestrationFailed { .. }
        | EventKind::SubOrchestrationCancelRequested { .. }
        | EventKind::HistoryPruned { .. } => None,
    }
}

/// The start of an instance, on behalf of a parent if somebody waits for its result.
fn start(
    instance: String,
    [name, input]: [&String; 2],
    version: Option<&str>,
    parent: Option<(&Identity, EventId)>,
) -> WorkItem {
    WorkItem::StartOrchestration {
        instance,
        orchestration: name.clone(),
        input: input.clone(),
        version: version.map(str::to_owned),
        parent_instance: parent.map(|(who, _)| who.instance.clone()),
        parent_id: parent.map(|(_, id)| id.get()),
        parent_execution_id: parent.map(|(who, _)| who.execution_id),
        execution_id: INITIAL_EXECUTION_ID,
    }
}
