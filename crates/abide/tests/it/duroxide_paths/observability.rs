//! 10: what a runtime tells about itself.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::observability::{
    LogFormat, MetricsProvider, MetricsSnapshot, ObservabilityConfig, ObservabilityHandle, init_logging,
};

const fn is_equal<T: Debug + Clone + PartialEq + Eq + Default>() {}
const fn is_option<T: Debug + Clone + Default>() {}
const fn is_shared<T: Send + Sync + 'static>() {}
const _: () = {
    is_equal::<LogFormat>();
    is_equal::<MetricsSnapshot>();
    is_option::<ObservabilityConfig>();
    is_shared::<MetricsProvider>();
    is_shared::<ObservabilityHandle>();
};

const _: fn(&ObservabilityConfig) -> Result<(), String> = init_logging;

fn _config(level: String, name: String, interval: Duration) -> ObservabilityConfig {
    let log_format = match LogFormat::default() {
        LogFormat::Json => LogFormat::Json,
        LogFormat::Pretty => LogFormat::Pretty,
        LogFormat::Compact => LogFormat::Compact,
    };
    ObservabilityConfig {
        log_format,
        log_level: level,
        service_name: name,
        service_version: None::<String>,
        gauge_poll_interval: interval,
    }
}

fn _snapshot(snapshot: MetricsSnapshot) -> [u64; 17] {
    let MetricsSnapshot {
        orch_starts,
        orch_completions,
        orch_failures,
        orch_application_errors,
        orch_infrastructure_errors,
        orch_configuration_errors,
        orch_poison,
        activity_success,
        activity_app_errors,
        activity_infra_errors,
        activity_config_errors,
        activity_poison,
        orch_dispatcher_items_fetched,
        worker_dispatcher_items_fetched,
        orch_continue_as_new,
        suborchestration_calls,
        provider_errors,
        ..
    } = snapshot;
    [
        orch_starts,
        orch_completions,
        orch_failures,
        orch_application_errors,
        orch_infrastructure_errors,
        orch_configuration_errors,
        orch_poison,
        activity_success,
        activity_app_errors,
        activity_infra_errors,
        activity_config_errors,
        activity_poison,
        orch_dispatcher_items_fetched,
        worker_dispatcher_items_fetched,
        orch_continue_as_new,
        suborchestration_calls,
        provider_errors,
    ]
}

const _: fn(&ObservabilityConfig) -> Result<MetricsProvider, String> = MetricsProvider::new;
const _: fn(&MetricsProvider) -> MetricsSnapshot = MetricsProvider::snapshot;
const _: fn(&MetricsProvider, &str, &str, &str) = MetricsProvider::record_orchestration_start;
const _: fn(&MetricsProvider, &str, &str, &str, f64, u64, u64) =
    MetricsProvider::record_orchestration_completion;
const _: fn(&MetricsProvider, &str, &str, &str, &str) = MetricsProvider::record_orchestration_failure;
const _: fn(&MetricsProvider, &str, u64) = MetricsProvider::record_continue_as_new;
const _: fn(&MetricsProvider, &str, &str, f64, u32, Option<&str>) =
    MetricsProvider::record_activity_execution;
const _: fn(&MetricsProvider, &str, &str, &str) = MetricsProvider::record_suborchestration_call;
const _: fn(&MetricsProvider, &str, &str, f64, &str) = MetricsProvider::record_suborchestration_duration;
const _: fn(&MetricsProvider, &str, f64, &str) = MetricsProvider::record_provider_operation;
const _: fn(&MetricsProvider, &str, &str) = MetricsProvider::record_provider_error;
const _: [fn(&MetricsProvider); 11] = [
    MetricsProvider::record_orchestration_application_error,
    MetricsProvider::record_orchestration_infrastructure_error,
    MetricsProvider::record_orchestration_configuration_error,
    MetricsProvider::record_orchestration_poison,
    MetricsProvider::record_activity_success,
    MetricsProvider::record_activity_app_error,
    MetricsProvider::record_activity_infra_error,
    MetricsProvider::record_activity_config_error,
    MetricsProvider::record_activity_poison,
    MetricsProvider::increment_active_orchestrations,
    MetricsProvider::decrement_active_orchestrations,
];
const _: [fn(&MetricsProvider, u64); 4] = [
    MetricsProvider::record_orch_dispatcher_items_fetched,
    MetricsProvider::record_orch_dispatcher_processing_duration,
    MetricsProvider::record_worker_dispatcher_items_fetched,
    MetricsProvider::record_worker_dispatcher_execution_duration,
];
const _: fn(&MetricsProvider, u64, u64) = MetricsProvider::update_queue_depths;
const _: fn(&MetricsProvider) -> (u64, u64) = MetricsProvider::get_queue_depths;
const _: fn(&MetricsProvider, i64) = MetricsProvider::set_active_orchestrations;
const _: fn(&MetricsProvider) -> i64 = MetricsProvider::get_active_orchestrations;

const _: fn(&ObservabilityConfig) -> Result<ObservabilityHandle, String> = ObservabilityHandle::init;
const _: fn(&ObservabilityHandle) -> &Arc<MetricsProvider> = ObservabilityHandle::metrics_provider;
const _: fn(&ObservabilityHandle) -> MetricsSnapshot = ObservabilityHandle::metrics_snapshot;

async fn _ends(metrics: MetricsProvider, handle: ObservabilityHandle) -> Result<(), String> {
    let () = metrics.shutdown().await?;
    handle.shutdown().await
}
