//! Ask → event.

use abide_model::{Action, EventId, EventKind, Timestamp, auto_child_suffix, is_auto_generated_sub_orch_id};

use super::{Ask, Extra};

/// Where and when an ask is recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) execution_id: u64,
    pub(crate) id: EventId,
    pub(crate) now: Timestamp,
}

/// An ask as its event, with the version it names: versions are not part of the record.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) kind: EventKind,
    pub(crate) version: Option<String>,
}

/// The event that records `ask`.
pub(crate) fn record(ask: Ask, place: Place) -> Recorded {
    let Ask { action, extra, .. } = ask;
    let plain = |kind| Recorded { kind, version: None };
    match action {
        Action::CallActivity { name, input, session_id, tag, .. } => {
            plain(EventKind::ActivityScheduled { name, input, session_id, tag })
        }
        Action::CreateTimer { fire_at_ms, .. } => {
            let fire_at_ms = deadline(&extra, place.now).unwrap_or(fire_at_ms);
            plain(EventKind::TimerCreated { fire_at_ms })
        }
        Action::WaitExternal { name, .. } => plain(EventKind::ExternalSubscribed { name }),
        Action::DequeueEvent { name, .. } => plain(EventKind::QueueSubscribed { name }),
        Action::StartSubOrchestration { name, version, instance, input, .. } => {
            let instance = child_instance(instance, place);
            Recorded { kind: EventKind::SubOrchestrationScheduled { name, instance, input }, version }
        }
        Action::StartOrchestrationDetached { name, version, instance, input, .. } => {
            Recorded { kind: EventKind::OrchestrationChained { name, instance, input }, version }
        }
        Action::UpdateCustomStatus { status } => plain(EventKind::CustomStatusUpdated { status }),
        Action::SetKeyValue { key, value, last_updated_at_ms } => {
            plain(EventKind::KeyValueSet { key, value, last_updated_at_ms })
        }
        Action::ClearKeyValue { key } => plain(EventKind::KeyValueCleared { key }),
        Action::ClearKeyValues => plain(EventKind::KeyValuesCleared),
        Action::PruneHistory { keep_last, completed_before, .. } => {
            plain(EventKind::HistoryPruneRequested { keep_last, completed_before })
        }
        // Never an ask: it is the end (`Tape::ask_next`).
        Action::ContinueAsNew { input, .. } => plain(EventKind::OrchestrationContinuedAsNew { input }),
    }
}

/// When a timer recorded at `now` fires.
pub(crate) fn deadline(extra: &Extra, now: Timestamp) -> Option<u64> {
    match extra {
        Extra::Delay(delay) => Some(now.saturating_add(*delay).as_millis()),
        Extra::Nothing | Extra::Keys(_) | Extra::Try(_) => None,
    }
}

/// The id of a child: its own if the code gave it one, else named after the event that schedules it.
pub(crate) fn child_instance(asked: String, place: Place) -> String {
    if is_auto_generated_sub_orch_id(&asked) {
        auto_child_suffix(place.execution_id, place.id.get())
    } else {
        asked
    }
}
