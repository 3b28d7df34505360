//! Calling an instance off: its activities are told, and its children too.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{
    ActivityContext, AppErrorKind, Client, ErrorDetails, OrchestrationContext, OrchestrationRegistry,
    OrchestrationStatus,
};
use tokio::sync::mpsc;

async fn parent(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration_with_id("Child", "child", "").await
}

async fn child(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    ctx.schedule_activity("Encode", "film").await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let (says, mut said) = mpsc::unbounded_channel();
    let activities = ActivityRegistry::builder()
        .register("Encode", move |ctx: ActivityContext, film: String| {
            let says = says.clone();
            async move {
                says.send(format!("encoding {film}")).map_err(|error| error.to_string())?;
                let token = ctx.cancellation_token();
                token.cancelled().await;
                says.send(format!("stopped: {}", ctx.is_cancelled())).map_err(|error| error.to_string())?;
                Err("nobody wants it".to_string())
            }
        })
        .build();
    let orchestrations =
        OrchestrationRegistry::builder().register("Parent", parent).register("Child", child).build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);

    client.start_orchestration("parent", "Parent", "").await?;
    println!("{}", said.recv().await.unwrap_or_default());
    client.cancel_instance("parent", "the film is bad").await?;
    println!("{}", said.recv().await.unwrap_or_default());

    for instance in ["parent", "child"] {
        let status = client.wait_for_orchestration(instance, Duration::from_secs(10)).await?;
        if let OrchestrationStatus::Failed {
            details: ErrorDetails::Application { kind: AppErrorKind::Cancelled { reason }, .. },
            ..
        } = status
        {
            println!("{instance}: {reason}");
        }
    }

    runtime.shutdown(None).await;
    Ok(())
}
