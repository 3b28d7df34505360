//! Activities that fail, and are tried again; and one that takes too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{
    ActivityContext, BackoffStrategy, Client, OrchestrationContext, OrchestrationRegistry, RetryPolicy,
};

async fn fetch_all(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    let patient = RetryPolicy::new(5).with_backoff(BackoffStrategy::Exponential {
        base: Duration::from_millis(1),
        multiplier: 2.0,
        max: Duration::from_millis(10),
    });
    let page = ctx.schedule_activity_with_retry("Fetch", "page", patient).await?;

    let hasty = RetryPolicy::new(2).with_backoff(BackoffStrategy::None);
    let missing = ctx.schedule_activity_with_retry("Fetch", "nowhere", hasty).await;

    let bounded = RetryPolicy::new(3).with_timeout(Duration::from_millis(20));
    let slow = ctx.schedule_activity_with_retry("Hang", "", bounded).await;

    Ok(format!("{page}\n{missing:?}\n{slow:?}"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let attempts = Arc::new(AtomicU32::new(0));
    let activities = ActivityRegistry::builder()
        .register("Fetch", move |_ctx: ActivityContext, what: String| {
            let attempts = attempts.clone();
            async move {
                match (what.as_str(), attempts.fetch_add(1, Ordering::SeqCst) + 1) {
                    ("page", attempt @ 3..) => Ok(format!("a page, at attempt {attempt}")),
                    (what, attempt) => Err(format!("no {what} at attempt {attempt}")),
                }
            }
        })
        .register("Hang", |ctx: ActivityContext, _input: String| async move {
            // Nobody waits for the answer any more, and it is told so.
            ctx.cancelled().await;
            Err("given up".to_string())
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder().register("FetchAll", fetch_all).build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);

    client.start_orchestration("fetch-1", "FetchAll", "").await?;
    let report: String = client.wait_for_orchestration_typed("fetch-1", Duration::from_secs(10)).await??;
    println!("{report}");

    runtime.shutdown(None).await;
    Ok(())
}
