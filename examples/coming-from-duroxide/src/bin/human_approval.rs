//! Waiting for a person, but not for ever.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, Either2, OrchestrationContext, OrchestrationRegistry};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Expense {
    what: String,
    wait_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Decision {
    by: String,
    approved: bool,
}

async fn approve(ctx: OrchestrationContext, expense: Expense) -> Result<String, String> {
    ctx.schedule_activity("Notify", format!("please look at: {}", expense.what)).await?;
    let decision = ctx.schedule_wait_typed::<Decision>("decision");
    let deadline = ctx.schedule_timer(Duration::from_millis(expense.wait_ms));
    ctx.set_custom_status("waiting for a decision");
    match ctx.select2(decision, deadline).await {
        Either2::First(Decision { by, approved: true }) => Ok(format!("{} approved by {by}", expense.what)),
        Either2::First(Decision { by, approved: false }) => Err(format!("{} rejected by {by}", expense.what)),
        Either2::Second(()) => {
            ctx.schedule_activity("Notify", format!("nobody looked at: {}", expense.what)).await?;
            Ok(format!("{} escalated", expense.what))
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let activities = ActivityRegistry::builder()
        .register("Notify", |ctx: ActivityContext, text: String| async move {
            ctx.trace_info(text);
            Ok(String::new())
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder().register_typed("Approve", approve).build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);
    let patience = Duration::from_secs(10);

    for (instance, what, wait_ms) in
        [("e-1", "a chair", 60_000), ("e-2", "a yacht", 60_000), ("e-3", "a lamp", 50)]
    {
        let expense = Expense { what: what.to_string(), wait_ms };
        client.start_orchestration_typed(instance, "Approve", expense).await?;
    }
    for (instance, approved) in [("e-1", true), ("e-2", false)] {
        // A signal that nobody waits for is lost: raise it when the status says that somebody does.
        client.wait_for_status_change(instance, 0, Duration::from_millis(5), patience).await?;
        let decision = Decision { by: "Ada".to_string(), approved };
        client.raise_event_typed(instance, "decision", &decision).await?;
    }
    for instance in ["e-1", "e-2", "e-3"] {
        match client.wait_for_orchestration_typed::<String>(instance, patience).await? {
            Ok(outcome) => println!("{outcome}"),
            Err(reason) => println!("no: {reason}"),
        }
    }

    runtime.shutdown(None).await;
    Ok(())
}
