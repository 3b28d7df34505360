//! Ask against event: does the code ask what history says it asked?

use abide_model::{Action, Event, EventId, EventKind, Timestamp, is_auto_generated_sub_orch_id};

use super::record::{Place, child_instance, deadline};
use super::{Ask, Extra};
use crate::policy::{Leniency, Policy};

/// In what `ask` and the event that should record it differ; nothing, if it does.
pub(crate) fn differences(ask: &Ask, event: &Event, policy: Policy) -> Vec<&'static str> {
    match (&ask.action, &event.kind) {
        (
            Action::CallActivity { name, input, session_id, tag, .. },
            EventKind::ActivityScheduled { name: n, input: i, session_id: s, tag: t },
        ) => named([
            ("name", name != n),
            ("input", input != i),
            ("session", session_id != s),
            ("tag", tag != t),
        ]),
        (Action::CreateTimer { .. }, EventKind::TimerCreated { fire_at_ms }) => {
            let is_same = policy.allows(Leniency::TimerDeadline)
                || deadline(&ask.extra, Timestamp::from_millis(event.timestamp_ms)) == Some(*fire_at_ms);
            named([("delay", !is_same)])
        }
        (Action::WaitExternal { name, .. }, EventKind::ExternalSubscribed { name: n })
        | (Action::DequeueEvent { name, .. }, EventKind::QueueSubscribed { name: n }) => {
            named([("name", name != n)])
        }
        (
            Action::StartSubOrchestration { name, instance, input, .. },
            EventKind::SubOrchestrationScheduled { name: n, instance: c, input: i },
        ) => {
            let is_same_child = policy.allows(Leniency::ChildInstance) || same_child(instance, c, event);
            named([("name", name != n), ("input", input != i), ("instance", !is_same_child)])
        }
        (
            Action::StartOrchestrationDetached { name, instance, input, .. },
            EventKind::OrchestrationChained { name: n, instance: c, input: i },
        ) => named([("name", name != n), ("instance", instance != c), ("input", input != i)]),
        (Action::UpdateCustomStatus { status }, EventKind::CustomStatusUpdated { status: s }) => {
            named([("status", !policy.allows(Leniency::StatusValue) && status != s)])
        }
        // The time of a write is not compared: the replayed write was given the recorded one.
        (Action::SetKeyValue { key, value, .. }, EventKind::KeyValueSet { key: k, value: v, .. }) => {
            named([("key", key != k), ("value", value != v)])
        }
        (Action::ClearKeyValue { key }, EventKind::KeyValueCleared { key: k }) => named([("key", key != k)]),
        (Action::ClearKeyValues, EventKind::KeyValuesCleared) => Vec::new(),
        (
            Action::PruneHistory { keep_last, completed_before, .. },
            EventKind::HistoryPruneRequested { keep_last: k, completed_before: c },
        ) => named([("keep_last", keep_last != k), ("completed_before", completed_before != c)]),
        _ => vec!["kind"],
    }
}

/// The names of the fields that differ. Nothing is allocated where nothing does.
fn named<const N: usize>(fields: [(&'static str, bool); N]) -> Vec<&'static str> {
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Whether the recorded child id is the one the code asked for, or the one it would be given.
fn same_child(asked: &str, recorded: &str, event: &Event) -> bool {
    if !is_auto_generated_sub_orch_id(asked) {
        return asked == recorded;
    }
    let place = Place {
        execution_id: event.execution_id,
        id: EventId::new(event.event_id),
        now: Timestamp::from_millis(event.timestamp_ms),
    };
    child_instance(asked.to_owned(), place) == recorded
}

/// The action as an error message prints it: a timer with the deadline it would have been given.
pub(crate) fn printed(ask: &Ask, event: &Event) -> Action {
    match (&ask.action, &ask.extra) {
        (Action::CreateTimer { scheduling_event_id, .. }, Extra::Delay(delay)) => Action::CreateTimer {
            scheduling_event_id: *scheduling_event_id,
            fire_at_ms: Timestamp::from_millis(event.timestamp_ms).saturating_add(*delay).as_millis(),
        },
        (action, _) => action.clone(),
    }
}
