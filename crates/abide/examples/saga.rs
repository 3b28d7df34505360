//! Undoing what was done when a later step fails.

mod db;

use std::time::Duration;

use abide::prelude::*;

async fn book(ctx: ActivityContext, what: String) -> Result<String, String> {
    // The other side recognizes a repetition by this key, which is the same in every try.
    println!("book {what}: try {}, key {}", ctx.retry(), ctx.idempotency_key());
    if what == "car" { Err("no cars left".to_owned()) } else { Ok(what) }
}

async fn cancel(_: ActivityContext, what: String) -> Result<String, String> {
    println!("cancel {what}");
    Ok(what)
}

async fn trip(ctx: OrchestrationContext, who: String) -> Result<String, String> {
    let mut booked = Vec::new();
    for step in ["flight", "hotel", "car"] {
        let policy = RetryPolicy::new(3)
            .with_backoff(BackoffStrategy::Fixed { delay: Duration::from_millis(5) })
            .with_timeout(Duration::from_secs(30));
        match ctx.schedule_activity_with_retry("Book", step, policy).await {
            Ok(_) => booked.push(step),
            Err(error) => {
                for done in booked.iter().rev() {
                    ctx.schedule_activity_with_retry("Cancel", *done, RetryPolicy::new(10)).await?;
                }
                return Err(format!("{who} stays at home: {error}"));
            }
        }
    }
    Ok(format!("{who} is off"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = db::open_or(":memory:").await?;
    let activities = ActivityRegistry::builder().register("Book", book).register("Cancel", cancel).build();
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_activities(activities)
        .with_orchestrations(OrchestrationRegistry::builder().register("Trip", trip).build())
        .build()
        .await?;

    let client = Client::new(store);
    client.start_orchestration("trip-1", "Trip", "Ada").await?;
    // Two results: the call's, and the orchestration's.
    match client.wait_for_orchestration_typed::<String>("trip-1", Duration::from_secs(10)).await? {
        Ok(done) => println!("{done}"),
        Err(failure) => println!("failed: {failure}"),
    }

    runtime.shutdown(None).await;
    Ok(())
}
