//! Orchestrations that start others: children whose results come back, and one that goes its own way.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};

async fn build_all(ctx: OrchestrationContext, targets: Vec<String>) -> Result<Vec<String>, String> {
    let instance = ctx.instance_id();
    let children: Vec<_> = targets
        .iter()
        .map(|target| {
            let child = format!("{instance}/{target}");
            ctx.schedule_sub_orchestration_with_id_typed::<String, String>("BuildOne", child, target)
        })
        .collect();
    let mut built = Vec::new();
    for (target, result) in targets.iter().zip(ctx.join(children).await) {
        match result {
            Ok(artifact) => built.push(artifact),
            Err(error) => built.push(format!("no {target} ({error})")),
        }
    }
    // Nobody waits for this one.
    ctx.schedule_orchestration_typed("Announce", format!("{instance}-announced"), &built.len());
    Ok(built)
}

async fn build_one(ctx: OrchestrationContext, target: String) -> Result<String, String> {
    let compiled = ctx.schedule_activity("Compile", target).await?;
    // A child of the child, with a name of the runtime's choice.
    ctx.schedule_sub_orchestration("Sign", compiled).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let activities = ActivityRegistry::builder()
        .register("Compile", |_ctx: ActivityContext, target: String| async move {
            if target == "vax" { Err("no such machine".to_string()) } else { Ok(format!("{target}.bin")) }
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register_typed("BuildAll", build_all)
        .register_typed("BuildOne", build_one)
        .register("Sign", |_ctx, artifact| async move { Ok(format!("{artifact}.sig")) })
        .register_typed("Announce", |_ctx, count: usize| async move { Ok(format!("{count} results")) })
        .build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);
    let patience = Duration::from_secs(10);

    client.start_orchestration_typed("release", "BuildAll", vec!["x86", "arm", "vax"]).await?;
    let built: Vec<String> = client.wait_for_orchestration_typed("release", patience).await??;
    println!("{}", built.join(", "));

    let announced: String = client.wait_for_orchestration_typed("release-announced", patience).await??;
    println!("announced: {announced}");
    println!("{} instances in the tree", client.get_instance_tree("release").await?.size());
    println!("{} deleted with it", client.delete_instance("release", false).await?.instances_deleted);

    runtime.shutdown(None).await;
    Ok(())
}
