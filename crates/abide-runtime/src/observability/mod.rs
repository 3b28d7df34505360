//! What a runtime tells about itself: metrics, and logs if a program wants ours.
//!
//! Metrics go to the `metrics` facade, logs to `tracing`. The library installs neither a recorder nor a subscriber: that is
//! for the program, which may call [`init_logging`]. Start with [`MetricsProvider`]; [`InstrumentedProvider`] measures the
//! store.
//!
//! Deliberately absent: an exporter, and labels without bounds. Of names, versions and tags each label has at most 1,000
//! different values of at most 256 bytes; what comes after them is `other`.
//!
//! | metric | kind | labels |
//! |---|---|---|
//! | `abide_orchestration_starts_total` | counter | `orchestration_name`, `version`, `initiated_by`: `client`, `continueAsNew` |
//! | `abide_orchestration_completions_total` | counter | `orchestration_name`, `version`, `status`: `success`, `failed`, `continuedAsNew`; `final_turn_count`: `1-5`, `6-10`, `11-50`, `50+` |
//! | `abide_orchestration_duration_seconds` | histogram | `orchestration_name`, `version`, `status` |
//! | `abide_orchestration_turns` | histogram | `orchestration_name` |
//! | `abide_orchestration_history_size` | histogram | `orchestration_name` |
//! | `abide_orchestration_failures_total` | counter | `orchestration_name`, `version`, `error_type`, `error_category` |
//! | `abide_orchestration_infrastructure_errors_total` | counter | `orchestration_name`, `error_category` |
//! | `abide_orchestration_configuration_errors_total` | counter | `orchestration_name`, `error_category` |
//! | `abide_orchestration_continue_as_new_total` | counter | `orchestration_name` |
//! | `abide_orchestration_poison_total` | counter | |
//! | `abide_activity_executions_total` | counter | `activity_name`, `outcome`: `success`, `app_error`, `infra_error`, `config_error`, `cancelled`; `retry_attempt`: `0`, `1`, `2`, `3+`; `tag`, `default` if none |
//! | `abide_activity_duration_seconds` | histogram | `activity_name`, `outcome`, `tag` |
//! | `abide_activity_infrastructure_errors_total` | counter | `activity_name` |
//! | `abide_activity_configuration_errors_total` | counter | `activity_name` |
//! | `abide_activity_poison_total` | counter | |
//! | `abide_suborchestration_calls_total` | counter | `parent_orchestration`, `child_orchestration`, `outcome` |
//! | `abide_suborchestration_duration_seconds` | histogram | `parent_orchestration`, `child_orchestration`, `outcome` |
//! | `abide_outcomes_withdrawn_total` | counter | `kind`: `start`, `orchestration`, `suborchestration`, `activity` |
//! | `abide_provider_operation_duration_seconds` | histogram | `operation`, `status`: `success`, `error` |
//! | `abide_provider_errors_total` | counter | `operation`, `error_type`: the kind below |
//! | `abide_storage_errors_total` | counter | `operation`, `kind`: `not_applied`, `unknown`, `lease_lost`, `busy`, `conflict`, `corrupt`, `invalid`, `other` |
//! | `abide_lease_renewals_total` | counter | `kind`: `instance`, `work`, `session`; `outcome`: `renewed`, `lost`, `failed` |
//! | `abide_orchestration_dispatcher_items_fetched` | counter | |
//! | `abide_worker_dispatcher_items_fetched` | counter | |
//! | `abide_orchestration_dispatcher_processing_duration_ms` | histogram | |
//! | `abide_worker_dispatcher_execution_duration_ms` | histogram | |
//! | `abide_executions_pruned_total` | counter | |
//! | `abide_prunes_refused_total` | counter | |
//! | `abide_instances_removed_total` | counter | |
//! | `abide_active_orchestrations` | gauge | |
//! | `abide_instances_resident` | gauge | |
//! | `abide_instances_blocked` | gauge | `kind` |
//! | `abide_orchestrator_queue_depth` | gauge | |
//! | `abide_worker_queue_depth` | gauge | |

mod config;
mod instrumented;
mod logging;
mod metrics;

use std::sync::Arc;

pub use config::{LogFormat, ObservabilityConfig};
pub use instrumented::InstrumentedProvider;
pub use logging::init_logging;
pub use metrics::{LeaseKind, MetricsProvider, MetricsSnapshot, RenewalOutcome, StorageErrorKind};

/// The metrics of a runtime, for whoever wants to look at them or add to them.
#[derive(Debug)]
pub struct ObservabilityHandle {
    metrics: Arc<MetricsProvider>,
}

impl ObservabilityHandle {
    /// Starts counting. Installs nothing: logs go to whichever subscriber the program has, metrics to its recorder.
    ///
    /// # Errors
    ///
    /// None today.
    pub fn init(config: &ObservabilityConfig) -> Result<Self, String> {
        Ok(Self { metrics: Arc::new(MetricsProvider::new(config)?) })
    }

    /// What counts.
    #[must_use]
    pub fn metrics_provider(&self) -> &Arc<MetricsProvider> {
        &self.metrics
    }

    /// Stops. There is nothing to flush: whoever installed a recorder or a subscriber flushes it.
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
    pub fn metrics_snapshot(&self) -> MetricsSnapshot {
        self.metrics.snapshot()
    }
}
