//! What an execution holds on to in memory, roughly. Pure.

use std::collections::BTreeMap;

use abide_model::{Event, EventKind};

/// What an execution weighs before it has seen anything.
const BASE: usize = 4 * 1024;
/// What an event weighs beside its payload.
const EVENT: usize = 64;

/// What an execution weighs, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Weight {
    total: usize,
    /// What it asked for and has no answer to; after that, nobody needs the input any more.
    open: BTreeMap<u64, usize>,
}

impl Default for Weight {
    fn default() -> Self {
        Self { total: BASE, open: BTreeMap::new() }
    }
}

impl Weight {
    pub(crate) const fn total(&self) -> usize {
        self.total
    }

    /// Takes in what an event may add to what the code holds on to.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Some(input) = event.source_event_id.and_then(|ask| self.open.remove(&ask)) {
            self.total = self.total.saturating_sub(input);
        }
        let payload = payload_of(&event.kind);
        if asks(&event.kind) {
            self.open.insert(event.event_id, payload);
        }
        self.total = self.total.saturating_add(payload).saturating_add(EVENT);
    }
}

fn asks(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ActivityScheduled { .. } | EventKind::SubOrchestrationScheduled { .. })
}

fn payload_of(kind: &EventKind) -> usize {
    match kind {
        EventKind::OrchestrationStarted { input, .. }
        | EventKind::ActivityScheduled { input, .. }
        | EventKind::SubOrchestrationScheduled { input, .. } => input.len(),
        EventKind::ActivityCompleted { result } | EventKind::SubOrchestrationCompleted { result } => {
            result.len()
        }
        EventKind::ExternalEvent { data, .. } | EventKind::QueueEventDelivered { data, .. } => data.len(),
        EventKind::KeyValueSet { value, .. } => value.len(),
        EventKind::CustomStatusUpdated { status } => status.as_ref().map_or(0, String::len),
        EventKind::OrchestrationCompleted { .. }
        | EventKind::OrchestrationFailed { .. }
        | EventKind::ActivityFailed { .. }
        | EventKind::ActivityCancelRequested { .. }
        | EventKind::TimerCreated { .. }
        | EventKind::TimerFired { .. }
        | EventKind::ExternalSubscribed { .. }
        | EventKind::OrchestrationChained { .. }
        | EventKind::SubOrchestrationFailed { .. }
        | EventKind::SubOrchestrationCancelRequested { .. }
        | EventKind::OrchestrationContinuedAsNew { .. }
        | EventKind::OrchestrationCancelRequested { .. }
        | EventKind::ExternalSubscribedCancelled { .. }
        | EventKind::QueueSubscribed { .. }
        | EventKind::QueueSubscriptionCancelled { .. }
        | EventKind::KeyValueCleared { .. }
        | EventKind::KeyValuesCleared
        | EventKind::HistoryPruneRequested { .. }
        | EventKind::HistoryPruned { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: u64, answers: Option<u64>, kind: EventKind) -> Event {
        Event::with_event_id(id, "i", 1, answers, kind)
    }

    #[test]
    fn an_input_counts_until_its_answer_is_there() {
        let ask = EventKind::ActivityScheduled {
            name: "A".to_owned(),
            input: "x".repeat(1_000),
            session_id: None,
            tag: None,
        };
        let answer = EventKind::ActivityCompleted { result: "y".repeat(10) };
        let mut weight = Weight::default();
        for step in 0..1_000 {
            weight.note(&event(2 + 2 * step, None, ask.clone()));
            weight.note(&event(3 + 2 * step, Some(2 + 2 * step), answer.clone()));
        }
        assert_eq!(weight.total(), BASE + 1_000 * (2 * EVENT + 10));
        weight.note(&event(2_002, None, ask));
        assert_eq!(weight.total(), BASE + 1_000 * (2 * EVENT + 10) + EVENT + 1_000);
    }
}
