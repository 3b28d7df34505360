//! What is counted and measured, and how it reaches an exporter.
//!
//! Everything goes two ways: into the `metrics` facade, for whichever recorder the program installed, and into counts that
//! can be read back ([`MetricsProvider::snapshot`]). Each thing is counted once, in one series, with the labels of the table
//! in the module's documentation.
//!
//! Handles of the facade are not kept: a recorder may be installed after the runtime has started, and handles from before
//! would be dead. Values of labels are kept (`labels.rs`), so that a call allocates its list of labels and nothing else.
//!
//! Deliberately absent: a recorder, an exporter, and labels without bounds such as ids of instances or executions.

mod activities;
mod dispatchers;
mod labels;
mod names;
mod orchestrations;
mod snapshot;
mod store;
mod withdrawn;

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use metrics::SharedString;

pub use snapshot::MetricsSnapshot;
pub(super) use store::record_call;
pub use store::{LeaseKind, RenewalOutcome, StorageErrorKind};

use super::ObservabilityConfig;
use labels::Values;
use snapshot::Counts;

/// What a caller that does not say more is taken to have said.
const UNKNOWN: &str = "unknown";

/// Counts and measures.
pub struct MetricsProvider {
    counts: Counts,
    active_orchestrations: AtomicI64,
    orchestrator_queue: AtomicU64,
    worker_queue: AtomicU64,
    values: LabelValues,
}

/// Values that come from users, or from whoever calls a public method.
#[derive(Debug, Default)]
struct LabelValues {
    orchestrations: Values,
    versions: Values,
    activities: Values,
    tags: Values,
    /// How something began or ended, or what was called: words of ours, unless somebody else calls.
    words: Values,
}

impl MetricsProvider {
    /// Starts counting from zero, and tells the recorder, if there is one, what the metrics mean.
    ///
    /// # Errors
    ///
    /// None today.
    pub fn new(config: &ObservabilityConfig) -> Result<Self, String> {
        let _ = config;
        names::describe();
        Ok(Self {
            counts: Counts::default(),
            active_orchestrations: AtomicI64::new(0),
            orchestrator_queue: AtomicU64::new(0),
            worker_queue: AtomicU64::new(0),
            values: LabelValues::default(),
        })
    }

    /// Stops. There is nothing to flush: whoever installed the recorder flushes it.
    ///
    /// # Errors
    ///
    /// None today.
    #[expect(clippy::unused_async, reason = "a frozen signature")]
    pub async fn shutdown(self) -> Result<(), String> {
        Ok(())
    }

    /// What has been counted so far.
    #[must_use]
    pub fn snapshot(&self) -> MetricsSnapshot {
        self.counts.snapshot()
    }

    /// A word as a value of a label.
    fn word(&self, word: &str) -> SharedString {
        self.values.words.limit(word)
    }
}

/// The snapshot.
impl fmt::Debug for MetricsProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MetricsProvider").field(&self.snapshot()).finish()
    }
}

/// The number as the facade takes it; rounded if it is beyond what anybody counts.
fn float(number: u64) -> f64 {
    Duration::from_secs(number).as_secs_f64()
}
