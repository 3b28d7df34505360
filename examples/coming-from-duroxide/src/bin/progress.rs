//! Telling how far it is: a status of the code's own, which clients wait for.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};

const FILES: usize = 5;

async fn import(ctx: OrchestrationContext, folder: String) -> Result<String, String> {
    for done in 1..=FILES {
        ctx.schedule_activity("ImportFile", format!("{folder}/{done}.csv")).await?;
        ctx.set_custom_status(format!("{done} of {FILES}"));
    }
    Ok(format!("{folder} is in"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let activities = ActivityRegistry::builder()
        .register("ImportFile", |_ctx: ActivityContext, file: String| async move { Ok(file) })
        .build();
    let orchestrations = OrchestrationRegistry::builder().register("Import", import).build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);

    client.start_orchestration("import-1", "Import", "2031").await?;
    let mut seen = 0;
    let mut bar = String::new();
    loop {
        let (poll, patience) = (Duration::from_millis(5), Duration::from_secs(10));
        match client.wait_for_status_change("import-1", seen, poll, patience).await? {
            OrchestrationStatus::Running { custom_status, custom_status_version } => {
                // Some may be missed, if it is fast; none is seen twice.
                seen = custom_status_version;
                bar = custom_status.unwrap_or_default();
                eprintln!("{bar}");
            }
            OrchestrationStatus::Completed { output, custom_status, custom_status_version } => {
                bar = custom_status.unwrap_or(bar);
                println!("{output}: {bar}, {custom_status_version} changes");
                break;
            }
            OrchestrationStatus::Failed { details, .. } => return Err(details.display_message().into()),
            OrchestrationStatus::NotFound => {}
        }
    }

    runtime.shutdown(None).await;
    Ok(())
}
