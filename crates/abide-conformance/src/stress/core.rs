//! The pump: starts instances for a while, keeps a number of them running, and counts how they end.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use abide_client::{Client, ClientError};
use abide_engine::OrchestrationContext;
use abide_host::SystemClock;
use abide_model::{Clock, ErrorDetails, OrchestrationStatus};
use abide_provider::Provider;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime, RuntimeOptions};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde::{Deserialize, Serialize};

const BETWEEN_STARTS: Duration = Duration::from_millis(1);
const DRAIN: Duration = Duration::from_secs(120);

/// How hard to press.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StressTestConfig {
    /// So many instances run at once.
    pub max_concurrent: usize,
    /// For so many seconds new ones are started.
    pub duration_secs: u64,
    /// So many activities per instance.
    pub tasks_per_instance: usize,
    /// So long each activity takes, in milliseconds.
    pub activity_delay_ms: u64,
    /// So many turns run at once.
    pub orch_concurrency: usize,
    /// So many activities run at once.
    pub worker_concurrency: usize,
    /// An instance that takes longer has failed.
    #[serde(default = "default_wait")]
    pub wait_timeout_secs: u64,
}

const fn default_wait() -> u64 {
    60
}

impl Default for StressTestConfig {
    fn default() -> Self {
        Self {
            max_concurrent: 20,
            duration_secs: 10,
            tasks_per_instance: 5,
            activity_delay_ms: 10,
            orch_concurrency: 2,
            worker_concurrency: 2,
            wait_timeout_secs: default_wait(),
        }
    }
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct StressTestResult {
    /// Instances started.
    pub launched: usize,
    /// Instances that completed.
    pub completed: usize,
    /// Instances that did not.
    pub failed: usize,
    /// Of these, by the store's fault, or poisoned, or too late.
    pub failed_infrastructure: usize,
    /// Of these, by code that does not fit its history.
    pub failed_configuration: usize,
    /// Of these, by their own error.
    pub failed_application: usize,
    /// From the first start to the last end.
    pub total_time: Duration,
    /// Completed instances per second.
    pub orch_throughput: f64,
    /// Activities per second.
    pub activity_throughput: f64,
    /// The time divided by the completed instances, in milliseconds: an inverse throughput.
    pub avg_latency_ms: f64,
}

impl StressTestResult {
    /// How many of the started instances completed, in percent; 0 if none was started.
    #[must_use]
    pub fn success_rate(&self) -> f64 {
        ratio(self.completed, self.launched) * 100.0
    }
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "counts of a test are far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What one instance came to.
enum End {
    Completed,
    Infrastructure,
    Configuration,
    Application,
}

/// Runs instances `stress-test-{n}` of `FanoutOrchestration`, with `{"task_count":N}` as their input.
///
/// # Errors
///
/// If an instance cannot be started.
pub async fn run_stress_test(
    config: StressTestConfig,
    provider: Arc<dyn Provider>,
    activities: ActivityRegistry,
    orchestrations: OrchestrationRegistry,
) -> Result<StressTestResult, Box<dyn Error>> {
    let input = format!("{{\"task_count\":{}}}", config.tasks_per_instance);
    let press = Press { config, orchestration: "FanoutOrchestration", prefix: "stress-test", input };
    press.run(provider, activities, orchestrations).await
}

/// What is started, and how hard.
pub(super) struct Press {
    pub(super) config: StressTestConfig,
    pub(super) orchestration: &'static str,
    pub(super) prefix: &'static str,
    pub(super) input: String,
}

impl Press {
    pub(super) async fn run(
        self,
        provider: Arc<dyn Provider>,
        activities: ActivityRegistry,
        orchestrations: OrchestrationRegistry,
    ) -> Result<StressTestResult, Box<dyn Error>> {
        let options = RuntimeOptions {
            dispatcher_min_poll_interval: Duration::from_millis(100),
            orchestration_concurrency: self.config.orch_concurrency,
            worker_concurrency: self.config.worker_concurrency,
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::builder()
            .with_provider(Arc::clone(&provider))
            .with_activities(activities)
            .with_orchestrations(orchestrations)
            .with_options(options)
            .build()
            .await?;
        let pumped = self.pump(Client::new(provider)).await;
        runtime.shutdown(None).await;
        Ok(pumped?)
    }

    async fn pump(&self, client: Client) -> Result<StressTestResult, ClientError> {
        let clock = SystemClock::new();
        let stop_at = Duration::from_secs(self.config.duration_secs);
        let mut running: FuturesUnordered<BoxFuture<'static, End>> = FuturesUnordered::new();
        let mut ends = Vec::new();
        let mut launched: usize = 0;
        while clock.monotonic() < stop_at {
            if running.len() >= self.config.max_concurrent.max(1) {
                ends.extend(running.next().await);
                continue;
            }
            let instance = format!("{}-{launched}", self.prefix);
            client.start_orchestration(&instance, self.orchestration, self.input.as_str()).await?;
            launched = launched.saturating_add(1);
            running.push(self.wait_for(client.clone(), instance));
            clock.sleep_until(clock.monotonic().saturating_add(BETWEEN_STARTS)).await;
        }
        // What has not ended by then counts as failed; what has, counts as it ended.
        let deadline = clock.sleep_until(clock.monotonic().saturating_add(DRAIN));
        ends.extend(running.take_until(deadline).collect::<Vec<_>>().await);
        Ok(self.summary(launched, &ends, clock.monotonic()))
    }

    fn wait_for(&self, client: Client, instance: String) -> BoxFuture<'static, End> {
        let patience = Duration::from_secs(self.config.wait_timeout_secs);
        async move {
            match client.wait_for_orchestration(&instance, patience).await {
                Ok(OrchestrationStatus::Completed { .. }) => End::Completed,
                Ok(OrchestrationStatus::Failed { details, .. }) => match details {
                    ErrorDetails::Infrastructure { .. } | ErrorDetails::Poison { .. } => End::Infrastructure,
                    ErrorDetails::Configuration { .. } => End::Configuration,
                    ErrorDetails::Application { .. } => End::Application,
                },
                Ok(OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. }) | Err(_) => {
                    End::Infrastructure
                }
            }
        }
        .boxed()
    }

    fn summary(&self, launched: usize, ends: &[End], total_time: Duration) -> StressTestResult {
        let count = |wanted: fn(&End) -> bool| ends.iter().filter(|end| wanted(end)).count();
        let completed = count(|end| matches!(end, End::Completed));
        let failed_configuration = count(|end| matches!(end, End::Configuration));
        let failed_application = count(|end| matches!(end, End::Application));
        let failed = launched.saturating_sub(completed);
        let seconds = total_time.as_secs_f64().max(f64::EPSILON);
        let orch_throughput = ratio(completed, 1) / seconds;
        StressTestResult {
            launched,
            completed,
            failed,
            failed_infrastructure: failed
                .saturating_sub(failed_configuration.saturating_add(failed_application)),
            failed_configuration,
            failed_application,
            total_time,
            orch_throughput,
            activity_throughput: orch_throughput * ratio(self.config.tasks_per_instance, 1),
            avg_latency_ms: if completed == 0 { 0.0 } else { seconds * 1_000.0 / ratio(completed, 1) },
        }
    }
}

/// Prints results side by side: provider, configuration, result.
#[expect(clippy::print_stdout, reason = "printing is what it is for")]
pub fn print_comparison_table(results: &[(String, String, StressTestResult)]) {
    println!(
        "{:<24} {:<16} {:>8} {:>9} {:>7} {:>9} {:>10} {:>13}",
        "provider",
        "configuration",
        "started",
        "completed",
        "failed",
        "success",
        "per second",
        "activities/s"
    );
    for (provider, configuration, result) in results {
        println!(
            "{provider:<24} {configuration:<16} {:>8} {:>9} {:>7} {:>8.1}% {:>10.1} {:>13.1}",
            result.launched,
            result.completed,
            result.failed,
            result.success_rate(),
            result.orch_throughput,
            result.activity_throughput,
        );
    }
}

/// The activity `ProcessTask`: waits, and says `processed: {input}`.
#[must_use]
pub fn create_default_activities(delay_ms: u64) -> ActivityRegistry {
    let delay = Duration::from_millis(delay_ms);
    ActivityRegistry::builder()
        .register("ProcessTask", move |_: ActivityContext, input: String| async move {
            if !delay.is_zero() {
                let clock = SystemClock::new();
                clock.sleep_until(delay).await;
            }
            Ok(format!("processed: {input}"))
        })
        .build()
}

/// `FanoutOrchestration`: schedules `task_count` activities and joins them.
#[must_use]
pub fn create_default_orchestrations() -> OrchestrationRegistry {
    #[derive(Deserialize)]
    struct Input {
        task_count: usize,
    }
    OrchestrationRegistry::builder()
        .register("FanoutOrchestration", |ctx: OrchestrationContext, input: String| async move {
            let Input { task_count } = serde_json::from_str(&input).map_err(|error| error.to_string())?;
            let tasks = (0..task_count).map(|n| ctx.schedule_activity("ProcessTask", format!("task-{n}")));
            let results = ctx.join(tasks.collect()).await;
            let done = results.into_iter().collect::<Result<Vec<_>, _>>()?;
            Ok(format!("completed {} tasks", done.len()))
        })
        .build()
}
