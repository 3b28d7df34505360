//! What came of a program: everything that a fault must not change, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use abide_memory::Dump;
use abide_model::{Event, EventKind};

/// What came of all instances, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Digest(BTreeMap<String, Outcome>);

/// What came of one instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Outcome {
    status: String,
    output: String,
    custom_status: String,
    values: BTreeMap<String, String>,
    /// Name, input and end of every activity that has one, in all executions, sorted.
    activities: Vec<String>,
}

impl Digest {
    pub(super) fn of(dump: &Dump) -> Self {
        let mut digest = Self::default();
        for (name, instance) in &dump.instances {
            let outcome = digest.0.entry(name.clone()).or_default();
            outcome.status = instance.status.clone().unwrap_or_else(|| "not an instance".to_owned());
            outcome.custom_status = instance.custom_status.clone().unwrap_or_default();
            let execution = dump.executions.get(&(name.clone(), instance.execution));
            outcome.output = execution.and_then(|execution| execution.output.clone()).unwrap_or_default();
        }
        for ((name, _), execution) in &dump.executions {
            let events: Vec<Event> = execution.events.iter().map(|json| event(json)).collect();
            check(name, &events);
            digest.0.entry(name.clone()).or_default().activities.extend(finished(&events));
        }
        for ((name, key), (value, _)) in &dump.kv_store {
            digest.0.entry(name.clone()).or_default().values.insert(key.clone(), value.clone());
        }
        for ((name, key), change) in &dump.kv_delta {
            let value = change.as_ref().map(|(value, _)| value.clone()).unwrap_or_default();
            digest.0.entry(name.clone()).or_default().values.insert(format!("{key} (changed)"), value);
        }
        for outcome in digest.0.values_mut() {
            outcome.activities.sort();
        }
        digest
    }
}

/// The events of all executions, without the times at which they were written.
pub(super) fn histories(dump: &Dump) -> String {
    let mut text = String::new();
    for ((instance, number), execution) in &dump.executions {
        let _infallible = writeln!(text, "{instance} {number}");
        for event in execution.events.iter().map(|json| event(json)) {
            let (id, answers) = (event.event_id, event.source_event_id);
            let _infallible = writeln!(text, "  {id} {answers:?} {:?}", event.kind);
        }
    }
    text
}

fn event(json: &str) -> Event {
    serde_json::from_str(json).expect("a readable event")
}

/// What holds for every history, whatever went wrong while it was written.
fn check(name: &str, events: &[Event]) {
    let ids: Vec<u64> = events.iter().map(|event| event.event_id).collect();
    let expected: Vec<u64> = (1..).take(ids.len()).collect();
    assert_eq!(ids, expected, "{name}: the events are numbered without gaps");
    let ends = events.iter().position(Event::is_terminal);
    assert!(ends.is_none_or(|end| end + 1 == events.len()), "{name}: nothing follows the end: {events:#?}");
    let mut answered = BTreeSet::new();
    for event in events.iter().filter(|event| is_answer(&event.kind)) {
        assert!(answered.insert(event.source_event_id), "{name}: answered twice: {event:?}");
    }
}

fn is_answer(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ActivityCompleted { .. }
            | EventKind::ActivityFailed { .. }
            | EventKind::TimerFired { .. }
            | EventKind::SubOrchestrationCompleted { .. }
            | EventKind::SubOrchestrationFailed { .. }
    )
}

/// The activities that have an end.
fn finished(events: &[Event]) -> impl Iterator<Item = String> {
    events.iter().filter_map(|scheduled| {
        let EventKind::ActivityScheduled { name, input, .. } = &scheduled.kind else { return None };
        let answer = events.iter().find_map(|event| {
            (event.source_event_id == Some(scheduled.event_id)).then(|| end_of(&event.kind))?
        });
        answer.map(|end| format!("{name}({input}) {end}"))
    })
}

fn end_of(kind: &EventKind) -> Option<&'static str> {
    if matches!(kind, EventKind::ActivityCompleted { .. }) {
        Some("completed")
    } else if matches!(kind, EventKind::ActivityFailed { .. }) {
        Some("failed")
    } else if matches!(kind, EventKind::ActivityCancelRequested { .. }) {
        Some("cancelled")
    } else {
        None
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, outcome) in &self.0 {
            writeln!(f, "{name}: {} {:?}", outcome.status, outcome.output)?;
            if !outcome.custom_status.is_empty() {
                writeln!(f, "  says {:?}", outcome.custom_status)?;
            }
            for (key, value) in &outcome.values {
                writeln!(f, "  {key} = {value:?}")?;
            }
            for activity in &outcome.activities {
                writeln!(f, "  {activity}")?;
            }
        }
        Ok(())
    }
}
