//! How many transactions a step takes. The server numbers each transaction that writes, and nothing else
//! writes to the server of this test.

use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_postgres::PostgresProvider;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime};
use abide_throwaway::{Settings, own};

use crate::support::database::Database;

const STEPS: i64 = 100;

/// The number of the next transaction that writes.
const NEXT: &str = "SELECT txid_snapshot_xmax(txid_current_snapshot())";

/// One activity after another, on a runtime.
async fn run_steps(store: Arc<PostgresProvider>) {
    let activities = ActivityRegistry::builder()
        .register("Echo", |_: ActivityContext, input: String| async move { Ok(input) })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Chain", |ctx: OrchestrationContext, _: String| async move {
            for step in 0..STEPS {
                ctx.schedule_activity("Echo", step.to_string()).await?;
            }
            Ok("done".to_owned())
        })
        .build();
    let client = Client::new(store.clone());
    let runtime = Runtime::start_with_store(store, activities, orchestrations).await;
    client.start_orchestration("chain", "Chain", "").await.unwrap();
    client.wait_for_orchestration("chain", Duration::from_secs(60)).await.unwrap();
    runtime.shutdown(None).await;
}

fn sent(store: &PostgresProvider) -> i64 {
    store.statements_sent().into_iter().map(|(_, times)| i64::try_from(times).unwrap()).sum()
}

#[test]
fn a_step_is_one_transaction() {
    let Some(server) = own(&Settings::common().set("autovacuum", "off")).unwrap() else { return };
    let database = Database::at(server.url());
    let store = Arc::new(database.open());
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (numbered, statements) = (database.number(NEXT), sent(&store));
    threads.block_on(run_steps(store.clone()));
    let (transactions, statements) = (database.number(NEXT) - numbered, sent(&store) - statements);
    println!("{transactions} transactions that write, {statements} statements, {STEPS} steps");
    assert!(transactions > STEPS, "each step is durable when the next one runs: {transactions}");
    assert!(transactions <= statements, "{transactions} transactions for {statements} statements");
    // The start, the end, and a few leases; not one more for each step.
    assert!(transactions < STEPS + STEPS / 4, "{transactions} transactions for {STEPS} steps");
}
