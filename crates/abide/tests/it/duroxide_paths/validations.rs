//! 8: the suite for stores of others.
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
    let _ = provider_validation::run_all_validations(&Factory).await;
}
