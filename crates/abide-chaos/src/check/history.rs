//! Whether a history is whole.

use std::collections::{BTreeMap, BTreeSet};

use abide::{Event, EventKind};

use super::{Past, Rule, Violation};

pub(super) fn violations(instance: &str, past: &Past) -> Vec<Violation> {
    let mut found = executions(instance, past);
    for (execution, events) in &past.executions {
        let mut of_one = History { instance, execution: *execution, events, found: Vec::new() };
        of_one.numbers();
        of_one.ends();
        of_one.times();
        of_one.answers();
        found.append(&mut of_one.found);
    }
    found
}

/// From one, without a gap, and all but the last continued as new.
fn executions(instance: &str, past: &Past) -> Vec<Violation> {
    let mut found = Vec::new();
    let numbers: Vec<u64> = past.executions.keys().copied().collect();
    if !numbers.iter().copied().eq(1..=u64::try_from(numbers.len()).unwrap_or(u64::MAX)) {
        found.push(Violation::new(Rule::Executions, instance, format!("its executions are {numbers:?}")));
    }
    let continued = |events: &Vec<Event>| {
        matches!(events.last().map(|end| &end.kind), Some(EventKind::OrchestrationContinuedAsNew { .. }))
    };
    let last = numbers.last().copied();
    for (execution, events) in &past.executions {
        if continued(events) != (Some(*execution) != last) {
            let detail = format!("execution {execution} of {} ends with {:?}", numbers.len(), events.last());
            found.push(Violation::new(Rule::Executions, instance, detail));
        }
    }
    found
}

struct History<'a> {
    instance: &'a str,
    execution: u64,
    events: &'a [Event],
    found: Vec<Violation>,
}

impl History<'_> {
    fn broken(&mut self, rule: Rule, detail: impl Into<String>) {
        let subject = format!("{} execution {}", self.instance, self.execution);
        self.found.push(Violation::new(rule, subject, detail));
    }

    fn numbers(&mut self) {
        let pin = self.events.first().map(|event| event.duroxide_version.clone());
        for (event, expected) in self.events.iter().zip(1..) {
            let is_ours = event.event_id == expected
                && event.instance_id == self.instance
                && event.execution_id == self.execution
                && Some(&event.duroxide_version) == pin.as_ref();
            if !is_ours {
                self.broken(Rule::Events, format!("event {expected} is {event:?}"));
            }
        }
    }

    fn ends(&mut self) {
        let starts = |event: &Event| matches!(event.kind, EventKind::OrchestrationStarted { .. });
        let positions = |is: &dyn Fn(&Event) -> bool| -> Vec<usize> {
            self.events.iter().enumerate().filter(|(_, event)| is(event)).map(|(at, _)| at).collect()
        };
        let (begun, ended) = (positions(&starts), positions(&Event::is_terminal));
        if begun != [0] {
            self.broken(Rule::OneStart, format!("it starts at positions {begun:?}"));
        }
        if ended.len() > 1 || ended.first().is_some_and(|at| at + 1 != self.events.len()) {
            let length = self.events.len();
            self.broken(Rule::OneEnd, format!("of {length} events, those at {ended:?} are ends"));
        }
    }

    fn times(&mut self) {
        for pair in self.events.windows(2) {
            if let [before, after] = pair
                && after.timestamp_ms < before.timestamp_ms
            {
                let detail = format!("event {} is earlier than the one before", after.event_id);
                self.broken(Rule::Time, detail);
            }
        }
        for event in self.events {
            if let EventKind::TimerFired { fire_at_ms } = event.kind
                && event.timestamp_ms < fire_at_ms
            {
                let early = fire_at_ms - event.timestamp_ms;
                self.broken(Rule::TimerNotEarly, format!("event {} is {early} ms early", event.event_id));
            }
        }
    }

    fn answers(&mut self) {
        let mut asked: BTreeMap<u64, Family> = BTreeMap::new();
        let mut answered = BTreeSet::new();
        for event in self.events {
            match role(&event.kind) {
                Role::Asks(family) => {
                    asked.insert(event.event_id, family);
                }
                Role::Answers(family) => {
                    let source = event.source_event_id.unwrap_or_default();
                    if asked.get(&source) != Some(&family) {
                        self.broken(Rule::Asked, format!("nobody asked for {event:?}"));
                    }
                    if !answered.insert(source) {
                        self.broken(
                            Rule::AnsweredOnce,
                            format!("event {source} is answered again: {event:?}"),
                        );
                    }
                }
                Role::Neither => {}
            }
        }
    }
}

/// What belongs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Activity,
    Timer,
    Child,
    Signal,
    Queue,
    Prune,
}

/// What part an event plays.
enum Role {
    Asks(Family),
    /// With a result, or by taking back what was asked.
    Answers(Family),
    Neither,
}

fn role(kind: &EventKind) -> Role {
    match kind {
        EventKind::ActivityScheduled { .. } => Role::Asks(Family::Activity),
        EventKind::ActivityCompleted { .. }
        | EventKind::ActivityFailed { .. }
        | EventKind::ActivityCancelRequested { .. } => Role::Answers(Family::Activity),
        EventKind::TimerCreated { .. } => Role::Asks(Family::Timer),
        EventKind::TimerFired { .. } => Role::Answers(Family::Timer),
        EventKind::SubOrchestrationScheduled { .. } => Role::Asks(Family::Child),
        EventKind::SubOrchestrationCompleted { .. }
        | EventKind::SubOrchestrationFailed { .. }
        | EventKind::SubOrchestrationCancelRequested { .. } => Role::Answers(Family::Child),
        EventKind::ExternalSubscribed { .. } => Role::Asks(Family::Signal),
        EventKind::ExternalSubscribedCancelled { .. } => Role::Answers(Family::Signal),
        EventKind::QueueSubscribed { .. } => Role::Asks(Family::Queue),
        EventKind::QueueSubscriptionCancelled { .. } => Role::Answers(Family::Queue),
        EventKind::HistoryPruneRequested { .. } => Role::Asks(Family::Prune),
        EventKind::HistoryPruned { .. } => Role::Answers(Family::Prune),
        EventKind::OrchestrationStarted { .. }
        | EventKind::OrchestrationCompleted { .. }
        | EventKind::OrchestrationFailed { .. }
        | EventKind::OrchestrationContinuedAsNew { .. }
        | EventKind::OrchestrationCancelRequested { .. }
        | EventKind::OrchestrationChained { .. }
        | EventKind::ExternalEvent { .. }
        | EventKind::QueueEventDelivered { .. }
        | EventKind::CustomStatusUpdated { .. }
        | EventKind::KeyValueSet { .. }
        | EventKind::KeyValueCleared { .. }
        | EventKind::KeyValuesCleared => Role::Neither,
    }
}
