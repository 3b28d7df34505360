//! Ask against event: does the code ask what history says it asked?

use abide_model::{Action, Event, EventId, EventKind, Timestamp, is_auto_generated_sub_orch_id};

use super::payload::is_same_input;
use super::record::{Place, child_instance, deadline};
use super::{Ask, Extra};
use crate::policy::{Leniency, Policy};

/// In what `ask` and the event that should record it differ; nothing, if it does.
pub(crate) fn differences(ask: &Ask, event: &Event, policy: Policy) -> Vec<&'static str> {
    use EventKind as E;
    let other_kind = || vec!["kind"];
    match &ask.action {
        Action::CallActivity { name, input, session_id, tag, .. } => {
            let E::ActivityScheduled { name: n, input: i, session_id: s, tag: t } = &event.kind else {
                return other_kind();
            };
            named([
                ("name", name != n),
                ("input", !is_same_input(input, i)),
                ("session", session_id != s),
                ("tag", tag != t),
            ])
        }
        Action::CreateTimer { .. } => {
            let E::TimerCreated { fire_at_ms } = &event.kind else { return other_kind() };
            let asked = deadline(&ask.extra, Timestamp::from_millis(event.timestamp_ms));
            named([("delay", !policy.allows(Leniency::TimerDeadline) && asked != Some(*fire_at_ms))])
        }
        Action::WaitExternal { name, .. } => {
            let E::ExternalSubscribed { name: n } = &event.kind else { return other_kind() };
            named([("name", name != n)])
        }
        Action::DequeueEvent { name, .. } => {
            let E::QueueSubscribed { name: n } = &event.kind else { return other_kind() };
            named([("name", name != n)])
        }
        Action::StartSubOrchestration { name, instance, input, .. } => {
            let E::SubOrchestrationScheduled { name: n, instance: c, input: i } = &event.kind else {
                return other_kind();
            };
            let is_same = policy.allows(Leniency::ChildInstance) || same_child(instance, c, event);
            named([("name", name != n), ("input", !is_same_input(input, i)), ("instance", !is_same)])
        }
        Action::StartOrchestrationDetached { name, instance, input, .. } => {
            let E::OrchestrationChained { name: n, instance: c, input: i } = &event.kind else {
                return other_kind();
            };
            named([("name", name != n), ("instance", instance != c), ("input", input != i)])
        }
        Action::PruneHistory { keep_last, completed_before, .. } => {
            let E::HistoryPruneRequested { keep_last: k, completed_before: c } = &event.kind else {
                return other_kind();
            };
            named([("keep_last", keep_last != k), ("completed_before", completed_before != c)])
        }
        Action::UpdateCustomStatus { .. }
        | Action::SetKeyValue { .. }
        | Action::ClearKeyValue { .. }
        | Action::ClearKeyValues => state_differences(&ask.action, event, policy),
        // Never an ask: it is the end.
        Action::ContinueAsNew { .. } => other_kind(),
    }
}

/// The same for asks that have no answer.
fn state_differences(action: &Action, event: &Event, policy: Policy) -> Vec<&'static str> {
    match (action, &event.kind) {
        (Action::UpdateCustomStatus { status }, EventKind::CustomStatusUpdated { status: s }) => {
            named([("status", !policy.allows(Leniency::StatusValue) && status != s)])
        }
        // The time of a write is not compared: the replayed write was given the recorded one.
        (Action::SetKeyValue { key, value, .. }, EventKind::KeyValueSet { key: k, value: v, .. }) => {
            named([("key", key != k), ("value", value != v)])
        }
        (Action::ClearKeyValue { key }, EventKind::KeyValueCleared { key: k }) => named([("key", key != k)]),
        (Action::ClearKeyValues, EventKind::KeyValuesCleared) => Vec::new(),
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
