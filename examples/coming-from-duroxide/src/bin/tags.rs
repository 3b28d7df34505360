//! Activities with a tag run only on nodes that serve it.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::TagFilter;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, RuntimeOptions};

async fn render(ctx: OrchestrationContext, scene: String) -> Result<String, String> {
    let prepared = ctx.schedule_activity("Where", format!("prepare {scene}"));
    let rendered = ctx.schedule_activity("Where", format!("render {scene}")).with_tag("gpu");
    let printed =
        ctx.schedule_activity_typed::<String, String>("Where", &format!("print {scene}")).with_tag("printer");
    let (prepared, rendered, printed) = ctx.join3(prepared, rendered, printed).await;
    Ok([prepared?, rendered?, printed?].join("\n"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let orchestrations = OrchestrationRegistry::builder().register("Render", render).build();
    let nodes = [
        ("office", TagFilter::default_only()),
        ("farm", TagFilter::tags(["gpu"])),
        ("cellar", TagFilter::tags(["printer", "plotter"])),
    ];
    let mut runtimes = Vec::new();
    for (node, worker_tag_filter) in nodes {
        let activities = ActivityRegistry::builder()
            .register("Where", move |ctx: ActivityContext, what: String| async move {
                Ok(format!("{what}: {node}, {}", ctx.tag().unwrap_or("no tag")))
            })
            .build();
        let options = RuntimeOptions { worker_tag_filter, ..Default::default() };
        let orchestrations = orchestrations.clone();
        runtimes.push(Runtime::start_with_options(store.clone(), activities, orchestrations, options).await);
    }
    let client = Client::new(store);

    client.start_orchestration("scene-1", "Render", "a bridge").await?;
    let places: String = client.wait_for_orchestration_typed("scene-1", Duration::from_secs(10)).await??;
    println!("{places}");

    for runtime in runtimes {
        runtime.shutdown(None).await;
    }
    Ok(())
}
