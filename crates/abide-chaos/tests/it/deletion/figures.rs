//! How long the calls of a node and of its client take, and how long instances take from start to result.

use std::fmt;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use abide::Client;
use abide::providers::Provider;
use abide::providers::instrumented::InstrumentedProvider;
use abide::runtime::observability::{MetricsProvider, ObservabilityConfig};
use abide::seams::Clock as _;
use abide_host::SystemClock;
use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};

use super::complete;
use crate::support::wait::PATIENCE;

/// The histogram of an instrumented store: every call but administration and lease calls that wait.
const CALLS: &str = "abide_provider_operation_duration_seconds";

static LONGEST: Mutex<Longest> =
    Mutex::new(Longest { operation: String::new(), took: Duration::ZERO, calls: 0 });

/// The longest call since the last measurement began.
#[derive(Default)]
pub(super) struct Longest {
    pub(super) operation: String,
    pub(super) took: Duration,
    pub(super) calls: u64,
}

/// What was measured over some time.
pub(super) struct Figures {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) instances: usize,
    pub(super) longest: Longest,
}

impl Figures {
    /// Runs instances one after the other until `is_over`, and at least a hundred.
    pub(super) fn measure(client: &Client, label: &str, mut is_over: impl FnMut() -> bool) -> Self {
        let clock = SystemClock::new();
        let mut times = Vec::new();
        drop(take_longest());
        while !is_over() || times.len() < 100 {
            let began = clock.monotonic();
            complete(client, &format!("{label}-{}", times.len()));
            times.push(clock.monotonic().saturating_sub(began));
        }
        let longest = take_longest();
        times.sort_unstable();
        let [p50, p99] = [50, 99].map(|part| times[times.len() * part / 100]);
        Self { p50, p99, instances: times.len(), longest }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50, p99, instances, longest: Longest { operation, took, calls } } = self;
        write!(
            f,
            "{instances} instances, p50 {p50:?}, p99 {p99:?}; {calls} calls, longest {took:?} ({operation})"
        )
    }
}

fn take_longest() -> Longest {
    std::mem::take(&mut *LONGEST.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Measures calls from now on, in this process.
pub(super) fn record() {
    static RECORD: Once = Once::new();
    RECORD.call_once(|| metrics::set_global_recorder(Calls).unwrap());
}

/// A client whose calls are measured. A runtime measures its calls without being told to.
pub(super) fn measured_client(store: Arc<dyn Provider>) -> Client {
    let metrics = MetricsProvider::new(&ObservabilityConfig::default()).unwrap();
    let store = InstrumentedProvider::new(store, Some(Arc::new(metrics)));
    Client::builder(Arc::new(store)).retry_for(PATIENCE).call_timeout(PATIENCE).build()
}

struct Calls;

impl Recorder for Calls {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        if key.name() != CALLS {
            return Histogram::noop();
        }
        let operation = key.labels().find(|label| label.key() == "operation");
        let operation = operation.map(|label| label.value().to_owned()).unwrap_or_default();
        Histogram::from_arc(Arc::new(OneCall { operation }))
    }
}

struct OneCall {
    operation: String,
}

impl HistogramFn for OneCall {
    fn record(&self, seconds: f64) {
        let took = Duration::from_secs_f64(seconds);
        let mut longest = LONGEST.lock().unwrap_or_else(PoisonError::into_inner);
        longest.calls += 1;
        if took > longest.took {
            longest.took = took;
            longest.operation.clone_from(&self.operation);
        }
    }
}
