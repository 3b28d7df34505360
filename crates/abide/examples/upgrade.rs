//! A deploy in the middle: what runs goes on with its old code, what starts gets the new.

mod db;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use abide::prelude::*;

async fn order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ctx.set_custom_status("waiting for the payment");
    ctx.dequeue_event("paid").await;
    Ok(format!("{order} shipped"))
}

async fn order_with_gift(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ctx.schedule_activity("Wrap", order.clone()).await?;
    ctx.dequeue_event("paid").await;
    Ok(format!("{order} shipped, with a ribbon"))
}

async fn process(
    folder: &Path,
    orchestrations: OrchestrationRegistry,
) -> Result<(Arc<Runtime>, Client), Box<dyn std::error::Error>> {
    let store = db::open_or(&folder.join("orders.db").to_string_lossy()).await?;
    let wrap = |_: ActivityContext, order: String| async move { Ok(order) };
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_activities(ActivityRegistry::builder().register("Wrap", wrap).build())
        .with_orchestrations(orchestrations)
        .build()
        .await?;
    Ok((runtime, Client::new(store)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("abide-upgrade-{}", std::process::id()));
    let patience = Duration::from_secs(10);

    // Yesterday.
    let code = OrchestrationRegistry::builder().register("Order", order).build(); // version 1.0.0
    let (runtime, client) = process(&folder, code).await?;
    client.start_orchestration("old", "Order", "a book").await?;
    client.wait_for_status_change("old", 0, patience, patience).await?; // its version is chosen when it begins
    runtime.shutdown(None).await;
    drop(client);

    // Today: both versions.
    let code = OrchestrationRegistry::builder()
        .register("Order", order)
        .register_versioned("Order", "2.0.0", order_with_gift)
        .build();
    let (runtime, client) = process(&folder, code).await?;
    client.start_orchestration("new", "Order", "a lamp").await?;
    for instance in ["old", "new"] {
        client.enqueue_event(instance, "paid", "").await?;
        let result = client.wait_for_orchestration_typed::<String>(instance, patience).await??;
        let version = client.get_instance_info(instance).await?.orchestration_version;
        println!("{instance} ({version}): {result}");
    }
    runtime.shutdown(None).await;
    drop(client);
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}
