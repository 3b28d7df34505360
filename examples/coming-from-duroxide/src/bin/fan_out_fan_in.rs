//! Many steps at once, then one that needs all their results. Inputs and outputs are typed.

use std::sync::Arc;
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Page {
    title: String,
    text: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Count {
    title: String,
    words: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    total: usize,
    longest: Option<String>,
}

async fn count_all(ctx: OrchestrationContext, pages: Vec<Page>) -> Result<Report, String> {
    let counting: Vec<_> =
        pages.iter().map(|page| ctx.schedule_activity_typed::<Page, Count>("CountWords", page)).collect();
    let counts = ctx.join(counting).await.into_iter().collect::<Result<Vec<_>, _>>()?;

    let total = counts.iter().map(|count| count.words).sum();
    let longest = counts.into_iter().max_by_key(|count| count.words).map(|count| count.title);
    Ok(Report { total, longest })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let activities = ActivityRegistry::builder()
        .register_typed("CountWords", |_ctx: ActivityContext, page: Page| async move {
            Ok(Count { words: page.text.split_whitespace().count(), title: page.title })
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register_typed::<Vec<Page>, Report, _, _>("CountAll", count_all)
        .build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);

    let pages: Vec<Page> = (1..=20)
        .map(|number| Page { title: format!("page {number}"), text: "lorem ipsum dolor ".repeat(number) })
        .collect();
    client.start_orchestration_typed("count-1", "CountAll", pages).await?;
    let report: Report = client.wait_for_orchestration_typed("count-1", Duration::from_secs(10)).await??;
    println!("{} words, the most on {}", report.total, report.longest.unwrap_or_default());

    runtime.shutdown(None).await;
    Ok(())
}
