//! 8 and 9: the suite for stores of others, and the harness that loads them.
//!
//! `provider_validation` is the crate `abide-conformance` itself, whose own tests name each of its functions in both places.
//! Here is one of each area and form.

use std::sync::Arc;
use std::time::Duration;

use duroxide::provider_validation::{Event, EventKind, ExecutionMetadata, ProviderFactory};
use duroxide::providers::Provider;
use duroxide::{provider_validation, provider_validations};

struct Factory;

/// All that may be overridden, as the documentation has it.
#[async_trait::async_trait]
impl provider_validations::ProviderFactory for Factory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        Arc::new(duroxide::providers::memory::InMemoryProvider::new())
    }
    fn lock_timeout(&self) -> Duration {
        Duration::from_secs(5)
    }
    fn short_poll_threshold(&self) -> Duration {
        Duration::from_millis(100)
    }
    async fn corrupt_instance_history(&self, _instance: &str) {}
    async fn get_max_attempt_count(&self, _instance: &str) -> u32 {
        0
    }
}

fn _re_exported(event: Event, kind: EventKind, metadata: ExecutionMetadata) -> impl Sized {
    let parts: (duroxide::Event, duroxide::EventKind, duroxide::providers::ExecutionMetadata) =
        (event, kind, metadata);
    parts
}

macro_rules! each {
    ($factory:ident: $($area:ident :: $function:ident),* $(,)?) => {
        $(provider_validation::$area::$function($factory).await;)*
    };
}

async fn _at_the_root<F: ProviderFactory>(factory: &F) {
    each!(factory:
        instance_creation::test_null_version_handling, atomicity::test_multi_operation_atomic_ack,
        error_handling::test_invalid_lock_token_on_ack, instance_locking::test_exclusive_instance_lock,
        lock_expiration::test_lock_expires_after_timeout, multi_execution::test_execution_isolation,
        queue_semantics::test_worker_queue_fifo_ordering, management::test_list_instances,
        cancellation::test_renew_fails_when_entry_deleted,
    );
    provider_validations::test_null_version_handling(factory).await;
    provider_validations::test_multi_operation_atomic_ack(factory).await;
    provider_validations::test_invalid_lock_token_on_ack(factory).await;
    provider_validations::test_exclusive_instance_lock(factory).await;
    provider_validations::test_lock_expires_after_timeout(factory).await;
    provider_validations::test_execution_isolation(factory).await;
    provider_validations::test_worker_queue_fifo_ordering(factory).await;
    provider_validations::test_list_instances(factory).await;
    provider_validations::test_renew_fails_when_entry_deleted(factory).await;
}

async fn _in_modules<F: ProviderFactory>(factory: &F) {
    each!(factory:
        deletion::test_delete_terminal_instances, prune::test_prune_safety,
        bulk_deletion::test_delete_instance_bulk_safety_and_limits,
        capability_filtering::test_fetch_filter_boundary_versions, custom_status::test_custom_status_set,
        kv_store::test_kv_set_and_get,
    );
    provider_validations::deletion::test_delete_terminal_instances(factory).await;
    provider_validations::prune::test_prune_safety(factory).await;
    provider_validations::bulk_deletion::test_delete_instance_bulk_safety_and_limits(factory).await;
    provider_validations::capability_filtering::test_fetch_filter_boundary_versions(factory).await;
    provider_validations::custom_status::test_custom_status_set(factory).await;
    provider_validations::kv_store::test_kv_set_and_get(factory).await;
}

async fn _of_any_factory(factory: &dyn ProviderFactory, provider: &dyn Provider) {
    each!(factory:
        poison_message::attempt_count_is_per_message, sessions::test_session_affinity_same_worker,
        tag_filtering::test_multi_tag_filter,
    );
    provider_validations::poison_message::attempt_count_is_per_message(factory).await;
    provider_validations::sessions::test_session_affinity_same_worker(factory).await;
    provider_validations::tag_filtering::test_multi_tag_filter(factory).await;
    let threshold: Duration = factory.short_poll_threshold();
    provider_validation::long_polling::test_short_poll_returns_immediately(provider, threshold).await;
    provider_validations::long_polling::test_long_poll_waits_for_timeout(provider).await;
    let () = provider_validation::run_all_validations(&Factory).await;
}

async fn _races<F: ProviderFactory>(factory: &F, stamp: &str) {
    each!(factory:
        race_replay::test_duplicate_start_preserves_pinned_handler,
        race_replay::test_continue_as_new_unregistered_backoff,
        race_replay::test_continue_as_new_poisoned_successor_is_own_execution,
        race_replay::test_continue_as_new_duplicate_start,
        race_replay::test_queue_race_cancellation_replay,
        race_replay::test_continue_as_new_queue_race_replay,
        race_replay::test_queue_replay_version_stamp_roundtrip,
        race_replay::test_positional_wait_race_replay,
        race_replay::test_legacy_queue_race_decision_preserved,
    );
    provider_validations::race_replay::test_continue_as_new_transition_delivery(factory, stamp).await;
}

// 9

mod stress {
    use std::error::Error;
    use std::fmt::Debug;
    use std::sync::Arc;
    use std::time::Duration;

    use duroxide::OrchestrationRegistry;
    use duroxide::provider_stress_test as inner;
    use duroxide::provider_stress_tests::large_payload::{
        LargePayloadConfig, run_large_payload_test, run_large_payload_test_with_config,
    };
    use duroxide::provider_stress_tests::parallel_orchestrations::{
        ProviderStressFactory, run_parallel_orchestrations_test, run_parallel_orchestrations_test_with_config,
    };
    use duroxide::provider_stress_tests::{
        StressTestConfig, StressTestResult, create_default_activities, create_default_orchestrations,
        print_comparison_table, run_stress_test,
    };
    use duroxide::providers::Provider;
    use duroxide::runtime::registry::ActivityRegistry;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    const fn is_config<T: Debug + Clone + Default + Serialize + DeserializeOwned>() {}
    const fn is_plain<T: Debug + Clone>() {}
    const _: () = {
        is_config::<StressTestConfig>();
        is_plain::<(StressTestResult, LargePayloadConfig)>();
    };

    const _: fn(&StressTestResult) -> f64 = StressTestResult::success_rate;
    const _: fn(&[(String, String, StressTestResult)]) = print_comparison_table;
    const _: fn(u64) -> ActivityRegistry = create_default_activities;
    const _: fn() -> OrchestrationRegistry = create_default_orchestrations;
    const _: fn(inner::core::StressTestConfig) -> StressTestConfig = |config| config;
    const _: fn(inner::large_payload::LargePayloadConfig) -> LargePayloadConfig = |config| config;

    fn configs(count: usize, time: u64) -> LargePayloadConfig {
        let base = StressTestConfig {
            max_concurrent: count,
            duration_secs: time,
            tasks_per_instance: count,
            activity_delay_ms: time,
            orch_concurrency: count,
            worker_concurrency: count,
            wait_timeout_secs: time,
        };
        LargePayloadConfig {
            base,
            small_payload_kb: count,
            medium_payload_kb: count,
            large_payload_kb: count,
            activity_count: count,
            sub_orch_count: count,
        }
    }

    fn result(count: usize, total_time: Duration, number: f64) -> StressTestResult {
        StressTestResult {
            launched: count,
            completed: count,
            failed: count,
            failed_infrastructure: count,
            failed_configuration: count,
            failed_application: count,
            total_time,
            orch_throughput: number,
            activity_throughput: number,
            avg_latency_ms: number,
        }
    }

    #[async_trait::async_trait]
    impl ProviderStressFactory for super::Factory {
        async fn create_provider(&self) -> Arc<dyn Provider> {
            Arc::new(duroxide::providers::memory::InMemoryProvider::new())
        }
        fn stress_test_config(&self) -> StressTestConfig {
            StressTestConfig::default()
        }
    }

    async fn runs(
        factory: &dyn inner::parallel_orchestrations::ProviderStressFactory,
        config: StressTestConfig,
        large: LargePayloadConfig,
    ) -> Result<[StressTestResult; 5], Box<dyn Error>> {
        let (activities, code) = (create_default_activities(0), create_default_orchestrations());
        Ok([
            run_stress_test(config.clone(), factory.create_provider().await, activities, code).await?,
            run_parallel_orchestrations_test(factory).await?,
            run_parallel_orchestrations_test_with_config(factory, config).await?,
            run_large_payload_test(factory).await?,
            run_large_payload_test_with_config(factory, large).await?,
        ])
    }
}
