//! Many instances that fan out.

use std::error::Error;
use std::sync::Arc;

use abide_provider::Provider;
use async_trait::async_trait;

use super::core::{
    StressTestConfig, StressTestResult, create_default_activities, create_default_orchestrations,
    run_stress_test,
};

/// Makes providers to be stressed.
#[async_trait]
pub trait ProviderStressFactory: Send + Sync {
    /// A provider on an empty store.
    async fn create_provider(&self) -> Arc<dyn Provider>;

    /// How hard to press, if nobody says otherwise.
    fn stress_test_config(&self) -> StressTestConfig {
        StressTestConfig::default()
    }
}

/// Presses as hard as the factory says.
///
/// # Errors
///
/// If the runtime does not start, or an instance cannot be started.
pub async fn run_parallel_orchestrations_test(
    factory: &dyn ProviderStressFactory,
) -> Result<StressTestResult, Box<dyn Error>> {
    run_parallel_orchestrations_test_with_config(factory, factory.stress_test_config()).await
}

/// Presses as hard as `config` says.
///
/// # Errors
///
/// If the runtime does not start, or an instance cannot be started.
pub async fn run_parallel_orchestrations_test_with_config(
    factory: &dyn ProviderStressFactory,
    config: StressTestConfig,
) -> Result<StressTestResult, Box<dyn Error>> {
    let activities = create_default_activities(config.activity_delay_ms);
    let provider = factory.create_provider().await;
    run_stress_test(config, provider, activities, create_default_orchestrations()).await
}
