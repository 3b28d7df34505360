//! One step after the other: what a step returns is the input of the next.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};

async fn ship_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ctx.trace_info(format!("shipping {order}"));
    let reserved = ctx.schedule_activity("Reserve", order).await?;
    let paid = ctx.schedule_activity("Charge", reserved).await?;
    ctx.schedule_activity("Ship", paid).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let activities = ActivityRegistry::builder()
        .register("Reserve", |_ctx: ActivityContext, order: String| async move {
            Ok(format!("{order}, reserved"))
        })
        .register("Charge", |ctx: ActivityContext, order: String| async move {
            ctx.trace_info("charging");
            if order.contains("free") {
                Err("there is nothing to pay".to_string())
            } else {
                Ok(format!("{order}, paid"))
            }
        })
        .register(
            "Ship",
            |_ctx: ActivityContext, order: String| async move { Ok(format!("{order}, shipped")) },
        )
        .build();
    let orchestrations = OrchestrationRegistry::builder().register("ShipOrder", ship_order).build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);

    for (instance, order) in [("order-1", "two boxes"), ("order-2", "a free sample")] {
        client.start_orchestration(instance, "ShipOrder", order).await?;
        match client.wait_for_orchestration(instance, Duration::from_secs(10)).await? {
            OrchestrationStatus::Completed { output, .. } => println!("{instance}: {output}"),
            OrchestrationStatus::Failed { details, .. } => {
                println!("{instance} failed: {}", details.display_message());
            }
            OrchestrationStatus::Running { .. } | OrchestrationStatus::NotFound => {
                println!("{instance}: not yet");
            }
        }
    }

    runtime.shutdown(None).await;
    Ok(())
}
