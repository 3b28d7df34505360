//! Instances with large inputs and results, activities and children.

use std::error::Error;
use std::time::Duration;

use abide_engine::OrchestrationContext;
use abide_host::SystemClock;
use abide_model::Clock;
use abide_runtime::ActivityContext;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};

use super::core::{Press, StressTestConfig, StressTestResult};
use super::parallel_orchestrations::ProviderStressFactory;

/// How hard to press, and with how much.
#[derive(Debug, Clone)]
pub struct LargePayloadConfig {
    /// How hard.
    pub base: StressTestConfig,
    /// The small payload, in KiB.
    pub small_payload_kb: usize,
    /// The medium payload, in KiB.
    pub medium_payload_kb: usize,
    /// The large payload, in KiB.
    pub large_payload_kb: usize,
    /// Activities per instance.
    pub activity_count: usize,
    /// Children per instance.
    pub sub_orch_count: usize,
}

impl Default for LargePayloadConfig {
    fn default() -> Self {
        Self {
            base: StressTestConfig {
                max_concurrent: 5,
                duration_secs: 10,
                tasks_per_instance: 1,
                activity_delay_ms: 5,
                orch_concurrency: 1,
                worker_concurrency: 1,
                wait_timeout_secs: 120,
            },
            small_payload_kb: 10,
            medium_payload_kb: 50,
            large_payload_kb: 100,
            activity_count: 20,
            sub_orch_count: 5,
        }
    }
}

/// Presses as hard, and with as much, as [`LargePayloadConfig::default`] says.
///
/// # Errors
///
/// If the runtime does not start, or an instance cannot be started.
pub async fn run_large_payload_test(
    factory: &dyn ProviderStressFactory,
) -> Result<StressTestResult, Box<dyn Error>> {
    run_large_payload_test_with_config(factory, LargePayloadConfig::default()).await
}

/// Presses as hard, and with as much, as `config` says.
///
/// # Errors
///
/// If the runtime does not start, or an instance cannot be started.
pub async fn run_large_payload_test_with_config(
    factory: &dyn ProviderStressFactory,
    config: LargePayloadConfig,
) -> Result<StressTestResult, Box<dyn Error>> {
    let provider = factory.create_provider().await;
    let activities = activities(Duration::from_millis(config.base.activity_delay_ms));
    let orchestrations = orchestrations(&config);
    let base = StressTestConfig { tasks_per_instance: config.activity_count, ..config.base };
    let press =
        Press { config: base, orchestration: "LargePayload", prefix: "large-payload", input: String::new() };
    press.run(provider, activities, orchestrations).await
}

fn payload(kib: usize) -> String {
    "x".repeat(kib.saturating_mul(1024))
}

fn activities(delay: Duration) -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Echo", move |_: ActivityContext, input: String| async move {
            SystemClock::new().sleep_until(delay).await;
            Ok(input)
        })
        .build()
}

fn orchestrations(config: &LargePayloadConfig) -> OrchestrationRegistry {
    let sizes = [config.small_payload_kb, config.medium_payload_kb, config.large_payload_kb];
    let (activity_count, sub_orch_count, medium) =
        (config.activity_count, config.sub_orch_count, config.medium_payload_kb);
    OrchestrationRegistry::builder()
        .register("LargePayload", move |ctx: OrchestrationContext, _: String| async move {
            for size in sizes.into_iter().cycle().take(activity_count) {
                let sent = payload(size);
                let echoed = ctx.schedule_activity("Echo", sent.clone()).await?;
                if echoed != sent {
                    return Err(format!("a payload of {size} KiB came back as another"));
                }
            }
            let children =
                (0..sub_orch_count).map(|_| ctx.schedule_sub_orchestration("Child", payload(medium)));
            let results = ctx.join(children.collect()).await;
            let returned = results.into_iter().collect::<Result<Vec<_>, _>>()?;
            Ok(format!("{} children", returned.len()))
        })
        .register("Child", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Echo", input).await
        })
        .build()
}
