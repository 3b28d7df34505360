//! An orchestration as a small server: requests come through a queue, responses are values it keeps.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Deposit { id: String, amount: u64 },
    Withdraw { id: String, amount: u64 },
    Close,
}

#[derive(Debug, Serialize, Deserialize)]
struct Response {
    accepted: bool,
    balance: u64,
}

async fn account(ctx: OrchestrationContext, opening: u64) -> Result<u64, String> {
    let mut balance = opening;
    loop {
        let (id, new_balance) = match ctx.dequeue_event_typed::<Request>("requests").await {
            Request::Deposit { id, amount } => (id, balance.checked_add(amount)),
            Request::Withdraw { id, amount } => (id, balance.checked_sub(amount)),
            Request::Close => return Ok(balance),
        };
        let accepted = new_balance.is_some();
        balance = new_balance.unwrap_or(balance);
        ctx.schedule_activity_typed::<_, ()>("Log", &(id.as_str(), accepted)).await?;
        ctx.set_kv_value_typed(format!("response/{id}"), &Response { accepted, balance });
        ctx.set_kv_value("balance", balance.to_string());
    }
}

/// Somebody else's orchestration may look at the values, too.
async fn audit(ctx: OrchestrationContext, account: String) -> Result<String, String> {
    let balance = ctx.get_kv_value_from_instance(account, "balance").await?;
    Ok(balance.unwrap_or_else(|| "nothing".to_string()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let activities = ActivityRegistry::builder()
        .register_typed("Log", |ctx: ActivityContext, (id, accepted): (String, bool)| async move {
            ctx.trace_info(format!("{id}: {accepted}"));
            Ok(())
        })
        .build();
    let orchestrations =
        OrchestrationRegistry::builder().register_typed("Account", account).register("Audit", audit).build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);
    let patience = Duration::from_secs(10);

    client.start_orchestration_typed("ada", "Account", 100_u64).await?;
    let requests = [
        Request::Deposit { id: "r-1".to_string(), amount: 20 },
        Request::Withdraw { id: "r-2".to_string(), amount: 500 },
        Request::Withdraw { id: "r-3".to_string(), amount: 50 },
    ];
    for request in &requests {
        client.enqueue_event_typed("ada", "requests", request).await?;
    }
    for id in ["r-1", "r-2", "r-3"] {
        let key = format!("response/{id}");
        let response: Response = client.wait_for_kv_value_typed("ada", &key, patience).await?;
        println!(
            "{id}: {}, balance {}",
            if response.accepted { "done" } else { "refused" },
            response.balance
        );
    }
    client.start_orchestration("audit-1", "Audit", "ada").await?;
    let seen: String = client.wait_for_orchestration_typed("audit-1", patience).await??;
    println!("the audit saw {seen}");

    client.enqueue_event_typed("ada", "requests", &Request::Close).await?;
    let left: u64 = client.wait_for_orchestration_typed("ada", patience).await??;
    println!("closed with {left}");

    runtime.shutdown(None).await;
    Ok(())
}
