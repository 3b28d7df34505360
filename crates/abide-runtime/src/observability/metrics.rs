//! Stub.
use super::ObservabilityConfig;
#[derive(Debug, Default, Clone, PartialEq, Eq)]
/// x
pub struct MetricsSnapshot {}
#[derive(Debug, Default)]
/// x
pub struct MetricsProvider {}
#[allow(missing_docs, clippy::all, clippy::pedantic)]
impl MetricsProvider {
    pub fn new(_: &ObservabilityConfig) -> Result<Self, String> {
        Ok(Self {})
    }
    pub fn record_orchestration_start(&self, _: &str, _: &str, _: &str) {}
    pub fn record_orchestration_completion(&self, _: &str, _: &str, _: &str, _: f64, _: u64, _: u64) {}
    pub fn record_orchestration_failure(&self, _: &str, _: &str, _: &str, _: &str) {}
    pub fn record_continue_as_new(&self, _: &str, _: u64) {}
    pub fn record_activity_execution(&self, _: &str, _: &str, _: f64, _: u32, _: Option<&str>) {}
    pub fn record_orchestration_poison(&self) {}
    pub fn record_activity_poison(&self) {}
    pub fn record_lease_renewal(&self, _: &str, _: &str) {}
    pub fn record_executions_pruned(&self, _: u64) {}
    pub fn set_resident_instances(&self, _: usize) {}
    pub fn increment_active_orchestrations(&self) {}
    pub fn decrement_active_orchestrations(&self) {}
    pub fn set_active_orchestrations(&self, _: i64) {}
    pub fn update_queue_depths(&self, _: u64, _: u64) {}
    pub fn record_orch_dispatcher_items_fetched(&self, _: u64) {}
    pub fn record_worker_dispatcher_items_fetched(&self, _: u64) {}
    pub fn snapshot(&self) -> MetricsSnapshot {
        MetricsSnapshot {}
    }
}
#[derive(Debug)]
/// x
pub struct ObservabilityHandle {
    m: std::sync::Arc<MetricsProvider>,
}
#[allow(missing_docs, clippy::all, clippy::pedantic)]
impl ObservabilityHandle {
    pub fn init(c: &ObservabilityConfig) -> Result<Self, String> {
        Ok(Self { m: std::sync::Arc::new(MetricsProvider::new(c)?) })
    }
    pub fn metrics_provider(&self) -> &std::sync::Arc<MetricsProvider> {
        &self.m
    }
    pub fn metrics_snapshot(&self) -> MetricsSnapshot {
        self.m.snapshot()
    }
}
