//! The program ends in the middle, and the next one goes on where it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, EventKind, OrchestrationContext, OrchestrationRegistry};

async fn migrate(ctx: OrchestrationContext, table: String) -> Result<String, String> {
    let copied = ctx.schedule_activity("Copy", table).await?;
    ctx.set_kv_value("copied", copied.as_str());
    let switched = ctx.schedule_wait("switch").await;
    Ok(format!("{copied}, switched {switched}"))
}

/// Everything a program sets up when it starts.
async fn start(
    url: &str,
    copies: &Arc<AtomicU32>,
) -> Result<(Arc<Runtime>, Client), Box<dyn std::error::Error>> {
    let store = Arc::new(SqliteProvider::new(url, None).await?);
    let copies = copies.clone();
    let activities = ActivityRegistry::builder()
        .register("Copy", move |_ctx: ActivityContext, table: String| {
            let count = copies.fetch_add(1, Ordering::SeqCst) + 1;
            async move { Ok(format!("{table} copied {count} time(s)")) }
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder().register("Migrate", migrate).build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    Ok((runtime, Client::new(store)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let copies = Arc::new(AtomicU32::new(0));
    let patience = Duration::from_secs(10);

    let (runtime, client) = start(&database.url(), &copies).await?;
    client.start_orchestration("m-1", "Migrate", "users").await?;
    let progress = client.wait_for_kv_value("m-1", "copied", patience).await?;
    println!("before: {progress}");
    runtime.shutdown(Some(0)).await;
    drop(client);

    let (runtime, client) = start(&database.url(), &copies).await?;
    client.raise_event("m-1", "switch", "over").await?;
    let done: String = client.wait_for_orchestration_typed("m-1", patience).await??;
    println!("after: {done}");

    let history = client.read_execution_history("m-1", 1).await?;
    let activities =
        history.iter().filter(|event| matches!(event.kind, EventKind::ActivityScheduled { .. })).count();
    println!("{} events, {activities} of them a scheduled activity", history.len());

    runtime.shutdown(None).await;
    Ok(())
}
