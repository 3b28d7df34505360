//! The shortest whole program: one orchestration, one activity, a store in memory.

mod db;

use std::time::Duration;

use abide::prelude::*;

async fn greet(_: ActivityContext, name: String) -> Result<String, String> {
    Ok(format!("hello {name}"))
}

async fn welcome(ctx: OrchestrationContext, name: String) -> Result<String, String> {
    let greeting = ctx.schedule_activity("Greet", name).await?;
    ctx.schedule_timer(Duration::from_millis(10)).await; // days, if it must: nothing runs meanwhile
    Ok(greeting + "!")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In memory, or where `--db` says: in a file, or on PostgreSQL. In a program of your own: `abide::providers::open("./shop.db")`.
    let store = db::open_or(":memory:").await?;
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_activities(ActivityRegistry::builder().register("Greet", greet).build())
        .with_orchestrations(OrchestrationRegistry::builder().register("Welcome", welcome).build())
        .build()
        .await?;

    let client = Client::new(store);
    client.start_orchestration("welcome-ada", "Welcome", "Ada").await?;
    let result =
        client.wait_for_orchestration_typed::<String>("welcome-ada", Duration::from_secs(10)).await??;
    println!("{result}");

    runtime.shutdown(None).await;
    Ok(())
}
