//! What is counted about dispatchers and queues.

use std::sync::atomic::Ordering;

use metrics::{counter, gauge, histogram};

use super::{MetricsProvider, float, names};

impl MetricsProvider {
    /// So many turns were leased.
    pub fn record_orch_dispatcher_items_fetched(&self, count: u64) {
        self.counts.orch_dispatcher_items_fetched.add(count);
        counter!(names::ORCHESTRATION_ITEMS_FETCHED).increment(count);
    }

    /// How long it took from the lease of a turn to its commit.
    pub fn record_orch_dispatcher_processing_duration(&self, duration_ms: u64) {
        histogram!(names::ORCHESTRATION_PROCESSING_DURATION).record(float(duration_ms));
    }

    /// So many activities were leased.
    pub fn record_worker_dispatcher_items_fetched(&self, count: u64) {
        self.counts.worker_dispatcher_items_fetched.add(count);
        counter!(names::WORKER_ITEMS_FETCHED).increment(count);
    }

    /// How long it took from the lease of an activity to its answer.
    pub fn record_worker_dispatcher_execution_duration(&self, duration_ms: u64) {
        histogram!(names::WORKER_EXECUTION_DURATION).record(float(duration_ms));
    }

    /// So much waits in the queues, says the store.
    pub fn update_queue_depths(&self, orch_depth: u64, worker_depth: u64) {
        self.orchestrator_queue.store(orch_depth, Ordering::Relaxed);
        self.worker_queue.store(worker_depth, Ordering::Relaxed);
        gauge!(names::ORCHESTRATOR_QUEUE_DEPTH).set(float(orch_depth));
        gauge!(names::WORKER_QUEUE_DEPTH).set(float(worker_depth));
    }

    /// What [`update_queue_depths`](Self::update_queue_depths) was told last.
    #[must_use]
    pub fn get_queue_depths(&self) -> (u64, u64) {
        (self.orchestrator_queue.load(Ordering::Relaxed), self.worker_queue.load(Ordering::Relaxed))
    }
}
