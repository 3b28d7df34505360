//! What the store refused, and when it took something, as the runtime's metrics tell it.
//!
//! Metrics are the only place where a worker can see from outside that a commit came too late: for the runtime that is the
//! end of it, and rightly so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abide::providers::Operation;
use abide::seams::Clock;
use abide_host::SystemClock;
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

use crate::journal::{Journal, Note};

const REFUSALS: &str = "abide_storage_errors_total";
const CALLS: &str = "abide_provider_operation_duration_seconds";

/// A recorder of metrics that writes the few of them that are evidence to a journal.
#[derive(Debug)]
pub(crate) struct Refusals {
    journal: Journal,
    committed: Arc<Committed>,
}

impl Refusals {
    pub(crate) fn new(journal: Journal) -> Self {
        let committed =
            Committed { journal: journal.clone(), clock: SystemClock::new(), next_ms: AtomicU64::new(0) };
        Self { journal, committed: Arc::new(committed) }
    }
}

fn label(key: &Key, name: &str) -> String {
    key.labels().find(|label| label.key() == name).map(|label| label.value().to_owned()).unwrap_or_default()
}

impl Recorder for Refusals {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        if key.name() != REFUSALS {
            return Counter::noop();
        }
        let (operation, kind) = (label(key, "operation"), label(key, "kind"));
        Counter::from_arc(Arc::new(Refused { journal: self.journal.clone(), operation, kind }))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let commits = [Operation::CommitTurn, Operation::FinishWork].map(Operation::as_str);
        let is_commit = key.name() == CALLS
            && commits.contains(&label(key, "operation").as_str())
            && label(key, "status") == "success";
        if is_commit { Histogram::from_arc(Arc::clone(&self.committed)) } else { Histogram::noop() }
    }
}

struct Refused {
    journal: Journal,
    operation: String,
    kind: String,
}

impl CounterFn for Refused {
    fn increment(&self, _: u64) {
        self.journal.note(Note::Refused { operation: self.operation.clone(), kind: self.kind.clone() });
    }

    fn absolute(&self, _: u64) {}
}

/// A commit that follows a noted one within this time is not noted: that there are gaps is what is looked for.
const OFTEN_ENOUGH_MS: u64 = 20;

#[derive(Debug)]
struct Committed {
    journal: Journal,
    clock: SystemClock,
    /// Commits are noted again from here on, in milliseconds of the clock's life.
    next_ms: AtomicU64,
}

impl HistogramFn for Committed {
    fn record(&self, _: f64) {
        let now_ms = u64::try_from(self.clock.monotonic().as_millis()).unwrap_or(u64::MAX);
        let is_due = |next_ms| (next_ms <= now_ms).then_some(now_ms.saturating_add(OFTEN_ENOUGH_MS));
        if self.next_ms.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_due).is_ok() {
            self.journal.note(Note::Committed);
        }
    }
}
