//! What is run, as a user would write it.

use std::sync::Arc;
use std::time::Duration;

use abide::providers::Provider;
use abide::runtime::Runtime;
use abide::runtime::registry::ActivityRegistry;
use abide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times};

/// Nothing that is measured takes so long, unless it hangs.
const TOO_LONG: Duration = Duration::from_secs(300);

/// A runtime with default options, and a client.
pub(crate) struct Bench {
    pub(crate) client: Client,
    runtime: Arc<Runtime>,
}

impl Bench {
    pub(crate) async fn start(store: Arc<dyn Provider>) -> Self {
        let runtime = Runtime::start_with_store(Arc::clone(&store), activities(), orchestrations()).await;
        Self { client: Client::new(store), runtime }
    }

    pub(crate) async fn stop(self) {
        self.runtime.shutdown(None).await;
    }

    /// From the start of an instance until a waiting client has heard of its end.
    async fn run(&self, instance: &str, orchestration: &str, input: String) -> Fallible<Duration> {
        let watch = Stopwatch::start();
        self.client.start_orchestration(instance, orchestration, input).await?;
        match self.client.wait_for_orchestration(instance, TOO_LONG).await? {
            OrchestrationStatus::Completed { .. } => Ok(watch.elapsed()),
            other @ (OrchestrationStatus::NotFound
            | OrchestrationStatus::Running { .. }
            | OrchestrationStatus::Failed { .. }) => {
                Err(format!("{instance} did not complete: {other:?}").into())
            }
        }
    }

    /// W1: so many at once, five activities each.
    pub(crate) async fn chains(&self, count: u64) -> Fallible<Duration> {
        let watch = Stopwatch::start();
        let names: Vec<String> = (0..count).map(|number| format!("chain-{number}")).collect();
        let mut all: FuturesUnordered<_> =
            names.iter().map(|name| self.run(name, "Sequence", "5".to_owned())).collect();
        while let Some(ended) = all.next().await {
            let _time = ended?;
        }
        Ok(watch.elapsed())
    }

    /// W2: one at a time, one activity each.
    pub(crate) async fn one_by_one(&self, count: u64) -> Fallible<Times> {
        let mut times = Vec::new();
        for number in 0..count {
            times.push(self.run(&format!("one-{number}"), "Sequence", "1".to_owned()).await?);
        }
        Ok(times.into())
    }

    /// W3: one that joins so many activities.
    pub(crate) async fn fan_out(&self, activities: u64) -> Fallible<Duration> {
        self.run(&format!("fan-{activities}"), "FanOut", activities.to_string()).await
    }

    /// W4: one, so many activities one after the other.
    pub(crate) async fn sequence(&self, activities: u64) -> Fallible<Duration> {
        self.run(&format!("sequence-{activities}"), "Sequence", activities.to_string()).await
    }
}

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Echo", |_: ActivityContext, input: String| async move { Ok(input) })
        .build()
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Sequence", |ctx: OrchestrationContext, input: String| async move {
            for step in 0..count(&input)? {
                ctx.schedule_activity("Echo", step.to_string()).await?;
            }
            Ok(input)
        })
        .register("FanOut", |ctx: OrchestrationContext, input: String| async move {
            let all = (0..count(&input)?).map(|number| ctx.schedule_activity("Echo", number.to_string()));
            Ok(ctx.join(all.collect()).await.len().to_string())
        })
        .build()
}

fn count(input: &str) -> Result<u64, String> {
    input.parse().map_err(|error| format!("'{input}' is no count: {error}"))
}
