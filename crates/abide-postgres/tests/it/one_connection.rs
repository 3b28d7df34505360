//! A whole runtime whose store has one connection for its ordinary work: nothing waits for what holds it.

use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_model::OrchestrationStatus;
use abide_provider::Provider;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime};

use crate::support::database::Database;

const INSTANCES: usize = 40;

/// Some activities side by side, one after them, a child, and a timer.
async fn busy(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let side_by_side = (0..3).map(|number| ctx.schedule_activity("Echo", format!("{input}-{number}")));
    let results = ctx.join(side_by_side.collect()).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    ctx.schedule_timer(Duration::from_millis(5)).await;
    ctx.schedule_sub_orchestration("Child", results.join(" ")).await
}

async fn child(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("Echo", input).await
}

#[test]
fn a_runtime_needs_no_second_connection() {
    let Some(database) = Database::new() else { return };
    let store: Arc<dyn Provider> =
        Arc::new(futures::executor::block_on(database.builder().connections(1).open()).unwrap());
    let orchestrations =
        OrchestrationRegistry::builder().register("Busy", busy).register("Child", child).build();
    let echo = |_: ActivityContext, input: String| async move { Ok(input) };
    let activities = ActivityRegistry::builder().register("Echo", echo).build();
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    threads.block_on(async {
        let runtime = Runtime::start_with_store(Arc::clone(&store), activities, orchestrations).await;
        let client = Client::new(store);
        for number in 0..INSTANCES {
            client.start_orchestration(&format!("i{number}"), "Busy", number.to_string()).await.unwrap();
        }
        for number in 0..INSTANCES {
            let ended = client.wait_for_orchestration(&format!("i{number}"), Duration::from_secs(60)).await;
            let expected = format!("{number}-0 {number}-1 {number}-2");
            assert!(
                matches!(ended.unwrap(), OrchestrationStatus::Completed { output, .. } if output == expected),
                "i{number}"
            );
        }
        runtime.shutdown(None).await;
    });
}
