//! An instance that never ends, on SQLite, in memory and on a file: with a policy it neither grows nor gets slower.
//!
//! It runs 10,000 times, or as often as `ABIDE_EXECUTIONS` says.

use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_model::OrchestrationStatus;
use abide_runtime::registry::{ActivityRegistry, OrchestrationOptions, OrchestrationRegistry};
use abide_runtime::{AutoPruneConfig, Runtime, RuntimeOptions};
use abide_sqlite::SqliteProvider;

use super::keeps;
use crate::e2e::support::Folder;

const PATIENCE: Duration = Duration::from_secs(600);

/// What it takes until it is warm.
const FEW: u64 = 200;

fn many() -> u64 {
    std::env::var("ABIDE_EXECUTIONS").ok().map_or(10_000, |many| many.parse().unwrap())
}

/// The log is copied when it has 1,000 pages, which are 4 MiB. The rest is for what is written meanwhile.
const MOST_LOG: u64 = 16 * 1024 * 1024;

struct Place {
    store: Arc<SqliteProvider>,
    runtime: Arc<Runtime>,
    client: Client,
}

/// What a run of one instance has come to.
#[derive(Debug)]
struct Cost {
    /// Instructions of SQLite for each execution.
    instructions: u64,
    /// Pages of the database that are in use.
    pages: i64,
    /// Pages that it has.
    all_pages: i64,
    executions: Vec<u64>,
}

impl Place {
    async fn in_memory(auto_prune: AutoPruneConfig) -> Self {
        Self::with(SqliteProvider::new_in_memory().await.unwrap(), auto_prune).await
    }

    async fn with(store: SqliteProvider, auto_prune: AutoPruneConfig) -> Self {
        let store = Arc::new(store);
        let eternal = |ctx: abide_engine::OrchestrationContext, input: String| async move {
            let last: u64 = input.parse().map_err(|_| "no number")?;
            if ctx.execution_id() < last { ctx.continue_as_new(input).await } else { Ok(input) }
        };
        let orchestrations = OrchestrationRegistry::builder()
            .register_with_options("Eternal", eternal, OrchestrationOptions { auto_prune: Some(keeps(2)) })
            .build();
        let options = RuntimeOptions { auto_prune, ..RuntimeOptions::default() };
        let builder = Runtime::builder().with_provider(store.clone()).with_options(options);
        let builder =
            builder.with_orchestrations(orchestrations).with_activities(ActivityRegistry::default());
        Self { runtime: builder.build().await.unwrap(), client: Client::new(store.clone()), store }
    }

    /// All instructions so far, but those of asking when something is due: how often that is done depends on real time.
    async fn steps(&self) -> u64 {
        let costs = self.store.costs().await;
        costs.into_iter().filter(|(name, ..)| !name.starts_with("next_")).map(|(_, _, steps)| steps).sum()
    }

    /// How many are in use, and how many there are.
    async fn pages(&self) -> (i64, i64) {
        let query =
            "SELECT page_count - freelist_count, page_count FROM pragma_page_count, pragma_freelist_count";
        let both = self.store.inspect(move |rows| {
            rows.query_row(query, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        });
        both.await.unwrap().unwrap()
    }

    /// Runs an instance so often.
    async fn run(&self, instance: &str, times: u64) -> Cost {
        let before = self.steps().await;
        self.client.start_orchestration(instance, "Eternal", times.to_string()).await.unwrap();
        let end = self.client.wait_for_orchestration(instance, PATIENCE).await.unwrap();
        assert!(matches!(end, OrchestrationStatus::Completed { .. }), "{end:?}");
        let spent = self.steps().await - before;
        let (pages, all_pages) = self.pages().await;
        Cost {
            instructions: spent / times,
            pages,
            all_pages,
            executions: self.client.list_executions(instance).await.unwrap(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_costs_and_takes_on_a_file_stays_the_same() {
    let folder = Folder::new();
    let log_bytes = || std::fs::metadata(folder.path().join("data.db-wal")).map_or(0, |log| log.len());
    let store = SqliteProvider::new(&folder.database(), None).await.unwrap();
    let place = Place::with(store, AutoPruneConfig::default()).await;
    let few = place.run("few", FEW).await;
    let long = place.run("long", many()).await;
    println!("{FEW}: {few:?}\n{}: {long:?}, log {}", many(), log_bytes());
    assert_eq!(few.executions, [FEW - 2, FEW - 1, FEW]);
    assert_eq!(long.executions, [many() - 2, many() - 1, many()]);
    // Another instance is there, and as much of it as of the first.
    assert!(long.pages <= few.pages + 4, "{few:?} became {long:?}");
    assert!(long.all_pages <= few.all_pages + 8, "{few:?} became {long:?}");
    let most = few.instructions + few.instructions / 5;
    assert!(long.instructions <= most, "{few:?} became {long:?}");
    assert!(log_bytes() <= MOST_LOG, "{}", log_bytes());
    place.runtime.shutdown(None).await;
    place.store.checkpoint().await.unwrap();
    assert_eq!(log_bytes(), 0);
}

/// Whether the other tests could fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_policy_it_grows() {
    let place = Place::in_memory(AutoPruneConfig { enabled: false, ..AutoPruneConfig::default() }).await;
    let few = place.run("few", FEW).await;
    let more = place.run("more", 3 * FEW).await;
    assert_eq!(more.executions.len(), 600);
    assert!(more.pages > few.pages + 20 && more.all_pages > few.all_pages + 20, "{few:?} became {more:?}");
    place.runtime.shutdown(None).await;
}
