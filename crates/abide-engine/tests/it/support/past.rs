//! Histories, as tests write them: rows in order, numbered from 1.

use abide_engine::model::{Event, EventKind};

use super::{Code, INSTANCE};

/// The release whose histories must replay here.
pub(crate) const REFERENCE: &str = "0.1.32";
/// The first release of our own.
pub(crate) const OURS: &str = "0.2.0";

/// A row before it has a number: what it refers to, and what it says.
pub(crate) type Row = (Option<u64>, EventKind);

/// Numbers rows as a history that `version` recorded at one second.
pub(crate) fn past(version: &str, rows: Vec<Row>) -> Vec<Event> {
    (1..)
        .zip(rows)
        .map(|(event_id, (source_event_id, kind))| Event {
            event_id,
            source_event_id,
            instance_id: INSTANCE.to_owned(),
            execution_id: 1,
            timestamp_ms: 1_000,
            duroxide_version: version.to_owned(),
            kind,
        })
        .collect()
}

/// Whether `code` could have made `history`: `fits`, or why not.
pub(crate) fn fit(code: &Code, history: Vec<Event>) -> String {
    let execution = super::drive::cold(code, history);
    let finished_but_different = execution.mismatch().map(ToString::to_string);
    let cannot_go_on = match execution.outcome() {
        abide_engine::Outcome::Failed { details } if details.category() == "configuration" => {
            Some(details.to_string())
        }
        _ => None,
    };
    finished_but_different.or(cannot_go_on).unwrap_or_else(|| "fits".to_owned())
}

/// The first line of what [`fit`] says.
pub(crate) fn fit_in_short(code: &Code, history: Vec<Event>) -> String {
    fit(code, history).lines().next().unwrap_or_default().to_owned()
}

pub(crate) fn started(input: &str) -> Row {
    started_with(input, None)
}

pub(crate) fn started_with(input: &str, carry: Option<&[(&str, &str)]>) -> Row {
    let carried = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(queue, data)| ((*queue).to_owned(), (*data).to_owned())).collect()
    };
    let kind = EventKind::OrchestrationStarted {
        name: "N".to_owned(),
        version: "1.0.0".to_owned(),
        input: input.to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: carry.map(carried),
        initial_custom_status: None,
    };
    (None, kind)
}

pub(crate) fn returned(output: &str) -> Row {
    (None, EventKind::OrchestrationCompleted { output: output.to_owned() })
}

pub(crate) fn activity(name: &str, input: &str) -> Row {
    let (name, input) = (name.to_owned(), input.to_owned());
    (None, EventKind::ActivityScheduled { name, input, session_id: None, tag: None })
}

pub(crate) fn activity_done(source: u64, result: &str) -> Row {
    (Some(source), EventKind::ActivityCompleted { result: result.to_owned() })
}

pub(crate) fn activity_dropped(source: u64) -> Row {
    activity_cancelled(source, "dropped_future")
}

pub(crate) fn activity_cancelled(source: u64, reason: &str) -> Row {
    (Some(source), EventKind::ActivityCancelRequested { reason: reason.to_owned() })
}

pub(crate) fn timer(fire_at_ms: u64) -> Row {
    (None, EventKind::TimerCreated { fire_at_ms })
}

pub(crate) fn timer_fired(source: u64, fire_at_ms: u64) -> Row {
    (Some(source), EventKind::TimerFired { fire_at_ms })
}

pub(crate) fn wait(name: &str) -> Row {
    (None, EventKind::ExternalSubscribed { name: name.to_owned() })
}

pub(crate) fn wait_dropped(source: u64) -> Row {
    (Some(source), EventKind::ExternalSubscribedCancelled { reason: "dropped_future".to_owned() })
}

pub(crate) fn signalled(name: &str, data: &str) -> Row {
    (None, EventKind::ExternalEvent { name: name.to_owned(), data: data.to_owned() })
}

pub(crate) fn dequeue(queue: &str) -> Row {
    (None, EventKind::QueueSubscribed { name: queue.to_owned() })
}

pub(crate) fn dequeue_dropped(source: u64) -> Row {
    (Some(source), EventKind::QueueSubscriptionCancelled { reason: "dropped_future".to_owned() })
}

pub(crate) fn delivered(queue: &str, data: &str) -> Row {
    (None, EventKind::QueueEventDelivered { name: queue.to_owned(), data: data.to_owned() })
}

pub(crate) fn child(name: &str, instance: &str, input: &str) -> Row {
    let (name, instance, input) = (name.to_owned(), instance.to_owned(), input.to_owned());
    (None, EventKind::SubOrchestrationScheduled { name, instance, input })
}

pub(crate) fn child_returned(source: u64, result: &str) -> Row {
    (Some(source), EventKind::SubOrchestrationCompleted { result: result.to_owned() })
}

pub(crate) fn status(status: &str) -> Row {
    (None, EventKind::CustomStatusUpdated { status: Some(status.to_owned()) })
}

pub(crate) fn kv_set(key: &str, value: &str, last_updated_at_ms: u64) -> Row {
    (None, EventKind::KeyValueSet { key: key.to_owned(), value: value.to_owned(), last_updated_at_ms })
}

pub(crate) fn kv_cleared(key: &str) -> Row {
    (None, EventKind::KeyValueCleared { key: key.to_owned() })
}

pub(crate) fn cancel_requested(reason: &str) -> Row {
    (None, EventKind::OrchestrationCancelRequested { reason: reason.to_owned() })
}
