//! 6: the runtime and its options.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{Provider, WorkItem};
use duroxide::runtime::observability::{MetricsSnapshot, ObservabilityHandle};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{
    ObservabilityConfig, OrchestrationDescriptor, OrchestrationRegistry, OrchestrationStatus, Runtime,
    RuntimeOptions, UnregisteredBackoffConfig, kind_of, limits,
};
use duroxide::{ErrorDetails, SemverRange, TagFilter};

const fn is_shared<T: Send + Sync + 'static>() {}
const fn is_equal<T: Debug + Clone + PartialEq + Eq>() {}
const fn is_option<T: Debug + Clone + Default>() {}
const _: () = {
    is_shared::<Runtime>();
    is_equal::<OrchestrationStatus>();
    is_equal::<OrchestrationDescriptor>();
    is_option::<RuntimeOptions>();
    is_option::<UnregisteredBackoffConfig>();
};

const _: fn(&WorkItem) -> &'static str = kind_of;
const _: fn(&UnregisteredBackoffConfig, u32) -> Duration = UnregisteredBackoffConfig::delay;
const _: fn(&Runtime) -> Option<MetricsSnapshot> = Runtime::metrics_snapshot;
const _: fn(&Runtime) -> Option<&ObservabilityHandle> = Runtime::observability_handle;

fn _statuses(status: OrchestrationStatus) -> (Option<String>, u64, Option<ErrorDetails>) {
    match status {
        OrchestrationStatus::NotFound => (None, 0, None),
        OrchestrationStatus::Running { custom_status, custom_status_version } => {
            (custom_status, custom_status_version, None)
        }
        OrchestrationStatus::Completed { output, custom_status, custom_status_version } => {
            (custom_status.or(Some(output)), custom_status_version, None)
        }
        OrchestrationStatus::Failed { details, custom_status, custom_status_version } => {
            (custom_status, custom_status_version, Some(details))
        }
    }
}

fn _descriptor(name: String, version: String, number: Option<u64>) -> OrchestrationDescriptor {
    OrchestrationDescriptor { name, version, parent_instance: None::<String>, parent_id: number }
}

async fn _start(
    store: Arc<dyn Provider>,
    activities: ActivityRegistry,
    orchestrations: OrchestrationRegistry,
    options: RuntimeOptions,
) -> Arc<Runtime> {
    #[cfg(feature = "sqlite")]
    let _: Arc<Runtime> = Runtime::start(activities.clone(), orchestrations.clone()).await;
    let runtime: Arc<Runtime> =
        Runtime::start_with_store(store.clone(), activities.clone(), orchestrations.clone()).await;
    let _: Option<OrchestrationDescriptor> = runtime.get_orchestration_descriptor("i").await;
    Runtime::start_with_options(store, activities, orchestrations, options).await
}

/// The future of a shutdown owns what it needs, and may be sent.
fn _shutdown(runtime: Arc<Runtime>, patience: Option<u64>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(runtime.shutdown(patience))
}

/// Every field, with its type, the way programs write them.
fn _options(time: Duration, count: usize, range: SemverRange, node: String) -> RuntimeOptions {
    RuntimeOptions {
        dispatcher_min_poll_interval: time,
        dispatcher_long_poll_timeout: time,
        orchestration_concurrency: count,
        worker_concurrency: count,
        orchestrator_lock_timeout: time,
        orchestrator_lock_renewal_buffer: time,
        worker_lock_timeout: time,
        worker_lock_renewal_buffer: time,
        observability: ObservabilityConfig::default(),
        unregistered_backoff: UnregisteredBackoffConfig { base_delay: time, max_delay: time },
        max_attempts: 1_u32,
        activity_cancellation_grace_period: time,
        supported_replay_versions: Some(range),
        session_lock_timeout: time,
        session_lock_renewal_buffer: time,
        session_idle_timeout: time,
        session_cleanup_interval: time,
        max_sessions_per_runtime: count,
        worker_node_id: Some(node),
        worker_tag_filter: TagFilter::default(),
        ..Default::default()
    }
}

// 6.2

const fn is(value: usize, documented: usize) {
    assert!(value == documented, "a documented constant changed");
}

const _: () = {
    is(limits::MAX_CARRY_FORWARD_EVENTS, 100);
    is(limits::MAX_CUSTOM_STATUS_BYTES, 262_144);
    is(limits::MAX_WORKER_TAGS, 5);
    is(limits::MAX_TAG_NAME_BYTES, 256);
    is(limits::MAX_KV_KEYS, 150);
    is(limits::MAX_KV_VALUE_BYTES, 65_536);
};

// 6.3, of which the hooks are carried over

#[cfg(feature = "test-hooks")]
mod hooks {
    use std::time::Duration;

    use duroxide::runtime::test_hooks;

    const _: fn(Duration, Option<&str>) = test_hooks::set_orch_processing_delay;
    const _: fn(&str) -> Option<Duration> = test_hooks::get_orch_processing_delay;
    const _: fn() = test_hooks::clear_orch_processing_delay;
}
