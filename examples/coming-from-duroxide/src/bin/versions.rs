//! New code while old instances are under way: what has begun goes on as it began.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::{ActivityRegistry, VersionPolicy};
use duroxide::runtime::{OrchestrationStatus, Runtime};
use duroxide::{Client, OrchestrationContext, OrchestrationRegistry};
use semver::Version;

async fn greet_v1(ctx: OrchestrationContext, name: String) -> Result<String, String> {
    ctx.schedule_wait("go").await;
    Ok(format!("hello {name} ({})", ctx.orchestration_version()))
}

async fn greet_v2(ctx: OrchestrationContext, name: String) -> Result<String, String> {
    let guid = ctx.new_guid().await?;
    ctx.schedule_wait("go").await;
    Ok(format!("welcome {name} ({}, {} digits)", ctx.orchestration_version(), guid.len()))
}

/// Says go until it has ended: a signal for nobody is lost.
async fn finish(client: &Client, instance: &str) -> Result<String, Box<dyn std::error::Error>> {
    loop {
        client.raise_event(instance, "go", "").await?;
        match client.wait_for_orchestration(instance, Duration::from_millis(20)).await {
            Ok(OrchestrationStatus::Completed { output, .. }) => return Ok(output),
            Ok(status) => return Err(format!("{status:?}").into()),
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);
    let client = Client::new(store.clone());
    let none = ActivityRegistry::builder().build();

    // The first deploy.
    let first = OrchestrationRegistry::builder().register("Greet", greet_v1).build();
    let runtime = Runtime::start_with_store(store.clone(), none.clone(), first.clone()).await;
    client.start_orchestration("old", "Greet", "Ada").await?;
    while client.read_execution_history("old", 1).await?.is_empty() {
        tokio::task::yield_now().await;
    }
    runtime.shutdown(None).await;

    // The second knows both versions; the latest is for those that start now.
    let both = OrchestrationRegistry::builder_from(&first)
        .register_versioned("Greet", "2.0.0", greet_v2)
        .build_result()?;
    let runtime = Runtime::start_with_store(store, none, both.clone()).await;
    client.start_orchestration("new", "Greet", "Bob").await?;
    client.start_orchestration_versioned("asked", "Greet", "1.0.0", "Cid").await?;
    println!("{}", finish(&client, "old").await?);
    println!("{}", finish(&client, "new").await?);
    println!("{}", finish(&client, "asked").await?);

    // Or not, if the new one has to wait a little longer.
    both.set_version_policy("Greet", VersionPolicy::Exact(Version::new(1, 0, 0)));
    client.start_orchestration("pinned", "Greet", "Dan").await?;
    println!("{}", finish(&client, "pinned").await?);

    runtime.shutdown(None).await;
    Ok(())
}
