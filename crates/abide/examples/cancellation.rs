//! A race: the loser is told to stop, and so are the tasks it started.

mod db;

use std::time::Duration;

use abide::prelude::*;
use tokio::task::JoinSet;

async fn search(ctx: ActivityContext, place: String) -> Result<String, String> {
    if place == "desk" {
        return Ok(format!("found on the {place}"));
    }
    let mut helpers = JoinSet::new();
    for corner in ["north", "south"] {
        let token = ctx.cancellation_token(); // what we start ourselves must be told by ourselves
        helpers.spawn(async move {
            token.cancelled().await;
            println!("stopped looking in the {corner}");
        });
    }
    while helpers.join_next().await.is_some() {}
    println!("nobody waits for the {place} any more: {:?}", ctx.cancellation_reason());
    Err("stopped".to_owned()) // read by nobody
}

async fn find(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let desk = ctx.schedule_activity("Search", "desk");
    let cellar = ctx.schedule_activity("Search", "cellar");
    let (_, found) = ctx.select2(cellar, desk).await.into_tuple(); // the other one is dropped
    found
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = db::open_or(":memory:").await?;
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_activities(ActivityRegistry::builder().register("Search", search).build())
        .with_orchestrations(OrchestrationRegistry::builder().register("Find", find).build())
        .build()
        .await?;

    let client = Client::new(store);
    client.start_orchestration("keys", "Find", "").await?;
    println!("{}", client.wait_for_orchestration_typed::<String>("keys", Duration::from_secs(10)).await??);

    runtime.shutdown(None).await; // waits for the activity, which has been told
    Ok(())
}
