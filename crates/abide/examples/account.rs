//! An instance that never ends: it takes requests from a queue, keeps a value, and begins anew after each.

mod db;

use std::time::Duration;

use abide::PruneOptions;
use abide::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum Request {
    Deposit { id: String, cents: u64 },
    Withdraw { id: String, cents: u64 },
    Close,
}

async fn account(ctx: OrchestrationContext, balance: u64) -> Result<u64, String> {
    // Somebody else writes these messages: one that cannot be read must not end the account.
    let next = match ctx.try_dequeue_event_typed::<Request>("requests").await {
        Ok(Request::Deposit { id, cents }) => {
            ctx.set_kv_value(id, "deposited");
            balance.saturating_add(cents)
        }
        Ok(Request::Withdraw { id, cents }) => {
            let rest = balance.checked_sub(cents);
            ctx.set_kv_value(id, if rest.is_some() { "paid out" } else { "refused" });
            rest.unwrap_or(balance)
        }
        Ok(Request::Close) => return Ok(balance),
        Err(error) => {
            ctx.trace_warn(error);
            balance
        }
    };
    // A fresh history for each request, and only the last ten executions are kept.
    let prune = PruneOptions { keep_last: Some(10), ..PruneOptions::default() };
    ctx.continue_as_new_pruned_typed(&next, prune).await.map(|_| next)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = db::open_or(":memory:").await?;
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_orchestrations(OrchestrationRegistry::builder().register_typed("Account", account).build())
        .build()
        .await?;
    let client = Client::new(store);
    let patience = Duration::from_secs(10);

    client.start("ada", "Account").typed_input(&0_u64).await?;
    let deposit = Request::Deposit { id: "salary".to_owned(), cents: 500 };
    client.enqueue_event_typed("ada", "requests", &deposit).await?;
    client.enqueue_event("ada", "requests", "give me everything").await?;
    for (id, cents) in [("rent", 400), ("yacht", 9_000)] {
        let withdraw = Request::Withdraw { id: id.to_owned(), cents };
        client.enqueue_event_typed("ada", "requests", &withdraw).await?;
        println!("{id}: {}", client.wait_for_kv_value("ada", id, patience).await?);
    }
    client.enqueue_event_typed("ada", "requests", &Request::Close).await?;
    println!("left: {}", client.wait_for_orchestration_typed::<u64>("ada", patience).await??);

    runtime.shutdown(None).await;
    Ok(())
}
