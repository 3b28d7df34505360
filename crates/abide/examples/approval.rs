//! Waiting for a person, with a deadline, and showing how far it is.

mod db;

use std::time::Duration;

use abide::prelude::*;

/// An expense, and how long it may wait for a decision.
async fn expense(ctx: OrchestrationContext, (what, limit): (String, Duration)) -> Result<String, String> {
    ctx.set_custom_status(format!("{what}: waiting for a decision"));
    // A queue keeps its messages: an early decision is not lost.
    match ctx.timeout(limit, ctx.dequeue_event("decisions")).await {
        Ok(decision) => Ok(format!("{what}: {decision}")),
        Err(elapsed) => Ok(format!("{what}: rejected, {elapsed}")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = db::open_or(":memory:").await?;
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_orchestrations(OrchestrationRegistry::builder().register_typed("Expense", expense).build())
        .build()
        .await?;
    let client = Client::new(store);
    let patience = Duration::from_secs(10);

    client.start("lunch", "Expense").typed_input(&("lunch", Duration::from_secs(86_400))).await?;
    client.start("yacht", "Expense").typed_input(&("a yacht", Duration::from_millis(100))).await?;
    let status = client.wait_for_status_change("lunch", 0, patience, patience).await?;
    if let OrchestrationStatus::Running { custom_status: Some(text), .. } = status {
        println!("{text}");
    }
    client.enqueue_event("lunch", "decisions", "approved by Grace").await?;

    for instance in ["lunch", "yacht"] {
        println!("{}", client.wait_for_orchestration_typed::<String>(instance, patience).await??);
    }
    runtime.shutdown(None).await;
    Ok(())
}
