//! The shortest way from a start to a result.

use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime, RuntimeOptions};

use crate::support::{LONG, World, in_virtual_time, output};

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Greet", |_: ActivityContext, name: String| async move { Ok(format!("Hello, {name}!")) })
        .build()
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Hello", |ctx: OrchestrationContext, name: String| async move {
            ctx.schedule_timer(Duration::from_secs(60)).await;
            ctx.schedule_activity("Greet", name).await
        })
        .build()
}

#[test]
fn an_orchestration_ends_in_virtual_time() {
    in_virtual_time(async {
        let world = World::new(1);
        let runtime = world
            .runtime(world.store.clone(), activities(), orchestrations(), RuntimeOptions::default())
            .await;
        let client = world.client();
        client.start_orchestration("hello-1", "Hello", "Rust").await.unwrap();
        let status = client.wait_for_orchestration("hello-1", LONG).await.unwrap();
        assert_eq!(output(status), "Hello, Rust!");
        runtime.shutdown(None).await;
        assert_eq!(Arc::strong_count(&world.store), 2);
    });
}

#[tokio::test]
async fn an_orchestration_ends_on_sqlite() {
    let store = Arc::new(abide_sqlite::SqliteProvider::new_in_memory().await.unwrap());
    let orchestrations = OrchestrationRegistry::builder()
        .register("Hello", |ctx: OrchestrationContext, name: String| async move {
            ctx.schedule_activity("Greet", name).await
        })
        .build();
    let runtime = Runtime::start_with_store(store.clone(), activities(), orchestrations).await;
    let client = Client::new(store.clone());
    client.start_orchestration("hello-1", "Hello", "Rust").await.unwrap();
    let status = client.wait_for_orchestration("hello-1", Duration::from_secs(10)).await.unwrap();
    assert_eq!(output(status), "Hello, Rust!");
    runtime.shutdown(None).await;
    drop(client);
    assert_eq!(Arc::strong_count(&store), 1);
}
