//! A loop without end: every few rounds it continues as new, so that its history stays short.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus, PruneOptions};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
struct Meter {
    readings: u32,
    sum: i64,
}

/// How many readings an execution takes before the next one takes over.
const ROUNDS: usize = 3;

async fn measure(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let mut meter: Meter = serde_json::from_str(&input).map_err(|error| error.to_string())?;
    for _ in 0..ROUNDS {
        let reading = ctx.dequeue_event("readings").await;
        if reading == "stop" {
            return Ok(format!("{} readings, {} in sum", meter.readings, meter.sum));
        }
        meter.readings += 1;
        meter.sum += reading.parse::<i64>().map_err(|error| format!("{reading}: {error}"))?;
    }
    // What waits in the queue is carried over.
    ctx.continue_as_new(serde_json::to_string(&meter).map_err(|error| error.to_string())?).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let activities = ActivityRegistry::builder().build();
    let orchestrations = OrchestrationRegistry::builder().register("Measure", measure).build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);

    client.start_orchestration("meter", "Measure", serde_json::to_string(&Meter::default())?).await?;
    for reading in 1..=7 {
        client.enqueue_event("meter", "readings", reading.to_string()).await?;
    }
    client.enqueue_event("meter", "readings", "stop").await?;

    let status = client.wait_for_orchestration("meter", Duration::from_secs(10)).await?;
    if let OrchestrationStatus::Completed { output, .. } = status {
        println!("{output}");
    }
    let executions = client.list_executions("meter").await?;
    println!("{} executions", executions.len());

    let options = PruneOptions { keep_last: Some(1), ..Default::default() };
    let pruned = client.prune_executions("meter", options).await?;
    println!("{} of them pruned", pruned.executions_deleted);

    runtime.shutdown(None).await;
    Ok(())
}
