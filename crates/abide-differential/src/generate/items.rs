//! Items and events of every kind.

use abide_model::{ErrorDetails, Event, EventKind, Timestamp, WorkItem};

use crate::alphabet;
use crate::habits::Topic;
use crate::rng::Rng;

/// Executions that messages name: few, so that they meet what is there.
pub(super) fn execution_id(rng: &mut Rng) -> u64 {
    below(rng, 3) + 1
}

pub(super) fn event_id(rng: &mut Rng) -> u64 {
    below(rng, 8) + 1
}

/// A number below `end`, or once in a while one at the end of what a store can hold, or beyond it.
pub(super) fn below(rng: &mut Rng, end: u64) -> u64 {
    const EXTREMES: [u64; 5] = [0, (1 << 63) - 2, (1 << 63) - 1, 1 << 63, u64::MAX - 1];
    if rng.percent(1) { *rng.pick(&EXTREMES) } else { rng.below(end) }
}

pub(super) fn details(rng: &mut Rng) -> ErrorDetails {
    ErrorDetails::Infrastructure {
        operation: alphabet::text(rng),
        message: alphabet::text(rng),
        retryable: rng.percent(50),
    }
}

pub(super) fn start(rng: &mut Rng, instance: &str) -> WorkItem {
    let has_parent = rng.percent(30);
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: alphabet::orchestration(rng),
        input: alphabet::text(rng),
        version: rng.maybe(60, alphabet::handler_version),
        parent_instance: has_parent.then(|| alphabet::instance(rng)),
        parent_id: if has_parent { rng.maybe(80, event_id) } else { None },
        parent_execution_id: if has_parent { rng.maybe(60, execution_id) } else { None },
        execution_id: 1,
    }
}

pub(super) fn continue_as_new(rng: &mut Rng, instance: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: alphabet::orchestration(rng),
        input: alphabet::text(rng),
        version: rng.maybe(60, alphabet::handler_version),
        parent_instance: rng.maybe(20, alphabet::instance),
        parent_id: rng.maybe(20, event_id),
        parent_execution_id: rng.maybe(20, execution_id),
        carry_forward_events: carried(rng),
        initial_custom_status: rng.maybe(20, alphabet::text),
    }
}

fn carried(rng: &mut Rng) -> Vec<(String, String)> {
    (0..rng.below(3)).map(|_| (alphabet::key(rng), alphabet::text(rng))).collect()
}

pub(super) fn timer(rng: &mut Rng, instance: &str, ids: (u64, u64), now: u64) -> WorkItem {
    let (execution_id, id) = ids;
    let fire_at_ms = if rng.percent(5) { below(rng, 1) } else { now + alphabet::ahead_ms(rng) };
    WorkItem::TimerFired { instance: instance.to_owned(), execution_id, id, fire_at_ms }
}

pub(super) fn activity(rng: &mut Rng, instance: &str, execution_id: u64, id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id,
        id,
        name: alphabet::orchestration(rng),
        input: alphabet::text(rng),
        session_id: rng.maybe(40, alphabet::session),
        tag: rng.maybe(35, alphabet::tag),
    }
}

pub(super) fn completion(rng: &mut Rng, instance: &str, ids: (u64, u64)) -> WorkItem {
    let (instance, (execution_id, id)) = (instance.to_owned(), ids);
    if rng.percent(70) {
        WorkItem::ActivityCompleted { instance, execution_id, id, result: alphabet::text(rng) }
    } else {
        WorkItem::ActivityFailed { instance, execution_id, id, details: details(rng) }
    }
}

/// Any message for this instance.
pub(super) fn message(rng: &mut Rng, instance: &str, now: u64) -> WorkItem {
    let to = instance.to_owned();
    let ids = (execution_id(rng), event_id(rng));
    match rng.below(13) {
        0 => start(rng, instance),
        1 => continue_as_new(rng, instance),
        2..=4 => WorkItem::QueueMessage { instance: to, name: alphabet::key(rng), data: alphabet::text(rng) },
        5..=6 => timer(rng, instance, ids, now),
        7 => completion(rng, instance, ids),
        8 => WorkItem::CancelInstance { instance: to, reason: alphabet::text(rng) },
        9 => WorkItem::SubOrchCompleted {
            parent_instance: to,
            parent_execution_id: ids.0,
            parent_id: ids.1,
            result: alphabet::text(rng),
        },
        10 => WorkItem::SubOrchFailed {
            parent_instance: to,
            parent_execution_id: ids.0,
            parent_id: ids.1,
            details: details(rng),
        },
        _ => WorkItem::ExternalRaised { instance: to, name: alphabet::key(rng), data: alphabet::text(rng) },
    }
}

pub(super) fn started(rng: &mut Rng) -> EventKind {
    let has_parent = rng.percent(30);
    EventKind::OrchestrationStarted {
        name: alphabet::orchestration(rng),
        version: alphabet::handler_version(rng),
        input: alphabet::text(rng),
        parent_instance: has_parent.then(|| alphabet::instance(rng)),
        parent_id: if has_parent { rng.maybe(80, event_id) } else { None },
        parent_execution_id: if has_parent { rng.maybe(60, execution_id) } else { None },
        carry_forward_events: rng.maybe(30, carried),
        initial_custom_status: rng.maybe(20, alphabet::text),
    }
}

/// An event that changes nothing but the history, the key-value store or the custom status.
pub(super) fn quiet_event(rng: &mut Rng) -> EventKind {
    match rng.below(14) {
        0..=5 => EventKind::KeyValueSet {
            key: alphabet::key(rng),
            value: alphabet::text(rng),
            last_updated_at_ms: below(rng, 1_000),
        },
        6..=7 => EventKind::KeyValueCleared { key: alphabet::key(rng) },
        8 => EventKind::KeyValuesCleared,
        9..=11 => EventKind::CustomStatusUpdated { status: rng.maybe(70, alphabet::text) },
        12 => EventKind::HistoryPruned {
            executions_deleted: rng.below(3),
            events_deleted: rng.below(3),
            error: rng.maybe(30, alphabet::text),
        },
        _ => EventKind::ExternalEvent { name: alphabet::key(rng), data: alphabet::text(rng) },
    }
}

/// The end of an execution: the event, and what the metadata says with it.
pub(super) fn end(rng: &mut Rng) -> (EventKind, &'static str, String) {
    let text = alphabet::text(rng);
    let kind = if rng.habits.topic == Topic::Families { rng.below(8) } else { rng.below(10) };
    match kind {
        0..=2 => (EventKind::OrchestrationCompleted { output: text.clone() }, "Completed", text),
        3..=4 => (EventKind::OrchestrationFailed { details: details(rng) }, "Failed", text),
        _ => (EventKind::OrchestrationContinuedAsNew { input: text.clone() }, "ContinuedAsNew", text),
    }
}

pub(super) fn event(instance: &str, execution_id: u64, event_id: u64, kind: EventKind) -> Event {
    Event::recorded(event_id, instance, execution_id, Timestamp::EPOCH, kind)
}
