//! What the store refused, and when it first took something, as the runtime's metrics tell it.
//!
//! Metrics are the only place where a worker can see from outside that a commit came too late: for the runtime that is the
//! end of it, and rightly so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abide::providers::Operation;
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
    has_committed: Arc<AtomicBool>,
}

impl Refusals {
    pub(crate) fn new(journal: Journal) -> Self {
        Self { journal, has_committed: Arc::default() }
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
        if !is_commit || self.has_committed.load(Ordering::Relaxed) {
            return Histogram::noop();
        }
        let committed =
            Committed { journal: self.journal.clone(), has_committed: Arc::clone(&self.has_committed) };
        Histogram::from_arc(Arc::new(committed))
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

struct Committed {
    journal: Journal,
    has_committed: Arc<AtomicBool>,
}

impl HistogramFn for Committed {
    fn record(&self, _: f64) {
        if !self.has_committed.swap(true, Ordering::Relaxed) {
            self.journal.note(Note::FirstCommit);
        }
    }
}
