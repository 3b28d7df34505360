//! Processes that cancel, prune, clean up and continue on a file are killed, and others go on.
//!
//! `ABIDE_KILLS=200` kills more often. When, is chance: what is checked holds at any moment.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_host::{SystemClock, SystemEntropy};
use abide_model::{Clock as _, Entropy as _, EventKind};
use abide_provider::{InstanceFilter, OrphanFilter, ProviderAdmin as _};
use abide_runtime::{AutoPruneConfig, RetentionConfig, Runtime};
use abide_sqlite::SqliteProvider;

use super::past::Past;
use super::{keep, keeps};
use crate::e2e::support::{Folder, Node};

const CHILD: &str = "pruning::killed::works_until_it_is_killed";
const FOLDER: &str = "ABIDE_PRUNING_FOLDER";
const ROUND: &str = "ABIDE_PRUNING_ROUND";

/// How many that ended are kept.
const KEEP: u32 = 2;

/// Nothing takes as long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// The instances that never end.
const ETERNAL: [&str; 5] = ["WithContinue", "ByPolicy", "InCode", "ByClient", "InBulk"];

/// Finished families go when they are as old as this: those of the processes before, and perhaps of this one.
const KEEP_FAMILIES: Duration = Duration::from_millis(100);

async fn goes_on(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let said = ctx.schedule_activity("Echo", input).await?;
    ctx.continue_as_new(said).await
}

fn node() -> Node {
    Node::new()
        .orchestration("WithContinue", |ctx, input| async move {
            let said = ctx.schedule_activity("Echo", input).await?;
            ctx.continue_as_new_pruned(said, keep(KEEP)).await
        })
        .orchestration("ByPolicy", goes_on)
        .orchestration("ByClient", goes_on)
        .orchestration("InBulk", goes_on)
        .orchestration("InCode", |ctx, input| async move {
            let said = ctx.schedule_activity("Echo", input).await?;
            ctx.prune_history(keep(1)).await?;
            ctx.continue_as_new(said).await
        })
        .orchestration("Wait", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
        .orchestration("Family", |ctx, _| async move {
            let _child =
                ctx.schedule_sub_orchestration_with_id("Wait", format!("child-{}", ctx.instance_id()), "");
            ctx.set_custom_status("open");
            ctx.schedule_activity("Forever", "").await
        })
        .activity("Forever", |ctx, _| async move {
            ctx.cancelled().await;
            Ok(String::new())
        })
        .with(|options| {
            let overrides = [("ByPolicy".to_owned(), keeps(KEEP))].into();
            options.auto_prune = AutoPruneConfig { overrides, ..AutoPruneConfig::default() };
            // Every kill is an attempt of what ran.
            options.max_attempts = u32::MAX;
        })
}

async fn open(folder: &Path) -> Arc<SqliteProvider> {
    let url = format!("sqlite:{}", folder.join("data.db").display());
    Arc::new(SqliteProvider::new(&url, None).await.unwrap())
}

fn retention() -> RetentionConfig {
    let every = Duration::from_millis(20);
    RetentionConfig { every, batch: 3, ..RetentionConfig::keeping_for(KEEP_FAMILIES) }
}

async fn run(store: Arc<SqliteProvider>, retention: Option<RetentionConfig>) -> Arc<Runtime> {
    let (activities, orchestrations, mut options) = node().into_parts();
    options.retention = retention;
    let builder = Runtime::builder().with_provider(store).with_options(options);
    builder.with_activities(activities).with_orchestrations(orchestrations).build().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of another test"]
async fn works_until_it_is_killed() {
    let (Ok(folder), Ok(round)) = (std::env::var(FOLDER), std::env::var(ROUND)) else { return };
    let folder = PathBuf::from(folder);
    let store = open(&folder).await;
    let _runtime = run(store.clone(), Some(retention())).await;
    let client = Client::new(store);
    for name in ETERNAL {
        client.start_orchestration(name, name, "").await.unwrap();
    }
    std::fs::write(folder.join(format!("ready-{round}")), "").unwrap();
    // More than there is time for.
    for number in 0..1_000 {
        let family = format!("family-{round}-{number}");
        client.start_orchestration(&family, "Family", "").await.unwrap();
        // Every other one has everything open by then.
        if number % 2 == 1 {
            let often = Duration::from_millis(1);
            client.wait_for_status_change(&family, 0, often, PATIENCE).await.unwrap();
        }
        client.cancel_instance(&family, "enough").await.unwrap();
        let _perhaps_removed_already = client.wait_for_orchestration(&family, PATIENCE).await;
        clean_up(&client).await;
    }
}

/// What a client may clean up.
async fn clean_up(client: &Client) {
    client.prune_executions("ByClient", keep(KEEP)).await.unwrap();
    let in_bulk =
        InstanceFilter { instance_ids: Some(vec!["InBulk".to_owned()]), ..InstanceFilter::default() };
    client.prune_executions_bulk(in_bulk, keep(KEEP)).await.unwrap();
    client.cleanup_orphaned_instances(OrphanFilter::default()).await.unwrap();
}

/// A process that is killed when the test is over, in whatever way.
struct Worker(Child);

impl Worker {
    fn start(folder: &Path, round: u64) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([CHILD, "--exact", "--ignored", "--nocapture"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.env(FOLDER, folder).env(ROUND, round.to_string()).spawn().unwrap())
    }

    fn kill(mut self) {
        assert!(self.0.try_wait().unwrap().is_none(), "it ended by itself");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It has ended already, or does now.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

async fn pass(time: Duration) {
    let clock = SystemClock::new();
    clock.sleep_until(clock.monotonic() + time).await;
}

/// Waits until it is so.
async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let clock = SystemClock::new();
    while !is_so().await {
        assert!(clock.monotonic() < PATIENCE, "still waiting until {what}");
        pass(Duration::from_millis(1)).await;
    }
}

/// What must hold whenever a process dies. Gives how many families there are.
async fn look(store: &SqliteProvider) -> usize {
    for name in ETERNAL {
        let Some(past) = Past::read(store, name).await else { continue };
        past.whole().unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        match name {
            "WithContinue" | "ByPolicy" => {
                assert_eq!(past.ids(), past.expected(u64::from(KEEP)), "{name}");
            }
            "InCode" if past.has(|kind| matches!(kind, EventKind::HistoryPruned { .. })) => {
                assert_eq!(past.ids().len(), 1, "{past:#?}");
            }
            // It depends on when somebody came to prune it.
            _ => {}
        }
    }
    for instance in store.list_instances().await.unwrap() {
        let past = Past::read(store, &instance).await.unwrap();
        past.whole().unwrap_or_else(|wrong| panic!("{instance}: {wrong}"));
    }
    let families = families(store).await;
    for family in &families {
        let Some(past) = Past::read(store, family).await else { continue };
        let asked = past.has(|kind| matches!(kind, EventKind::ActivityScheduled { .. }));
        let work = work_of(store, family).await;
        assert_eq!(work, i64::from(asked && !past.has_ended()), "{family}: {past:#?}");
    }
    families.len()
}

async fn families(store: &SqliteProvider) -> Vec<String> {
    instances_like(store, "family-").await
}

async fn instances_like(store: &SqliteProvider, prefix: &str) -> Vec<String> {
    let all = store.list_instances().await.unwrap();
    all.into_iter().filter(|id| id.starts_with(prefix)).collect()
}

async fn work_of(store: &SqliteProvider, instance: &str) -> i64 {
    count(store, format!("work WHERE mailbox = (SELECT no FROM mailbox WHERE id = '{instance}')")).await
}

/// How many are asked for and have not begun.
async fn waiting_starts(store: &SqliteProvider) -> i64 {
    count(store, r#"message WHERE item LIKE '{"StartOrchestration"%'"#.to_owned()).await
}

async fn count(store: &SqliteProvider, rows: String) -> i64 {
    let query = format!("SELECT count(*) FROM {rows}");
    let count = store.inspect(move |connection| connection.query_row(&query, [], |row| row.get(0)));
    count.await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_prune_and_cancel_are_killed() {
    let kills = std::env::var("ABIDE_KILLS").ok().map_or(8, |kills| kills.parse().unwrap());
    let folder = Folder::new();
    let mut families = 0;
    for round in 0..kills {
        let worker = Worker::start(folder.path(), round);
        let ready = folder.path().join(format!("ready-{round}"));
        until("the worker is ready", async || ready.exists()).await;
        pass(Duration::from_micros(SystemEntropy.next_u64() % 150_000)).await;
        worker.kill();
        families += look(&*open(folder.path()).await).await;
    }
    assert!(families > 0);
    go_on(folder.path()).await;
}

/// Whatever was begun ends, in a process that is not killed, and then what need not stay goes.
async fn go_on(folder: &Path) {
    let store = open(folder).await;
    let runtime = run(store.clone(), None).await;
    let client = Client::new(store.clone());
    // Those who were killed may have left no child behind. Now there is one.
    client.start_orchestration("family-last", "Family", "").await.unwrap();
    until("the last family has a child", async || {
        instances_like(&store, "child-family-last").await.len() == 1
    })
    .await;
    until("everything has begun", async || waiting_starts(&store).await == 0).await;
    let mut executions = 0;
    for name in ETERNAL {
        let number = async || client.get_instance_info(name).await.unwrap().current_execution_id;
        until("there is something to prune", async || number().await > u64::from(KEEP) + 1).await;
        client.cancel_instance(name, "the end").await.unwrap();
        client.wait_for_orchestration(name, PATIENCE).await.unwrap();
        executions += number().await;
    }
    let families = families(&store).await;
    for family in &families {
        // Whoever was killed may not have come to it.
        client.cancel_instance(family, "enough").await.unwrap();
        client.wait_for_orchestration(family, PATIENCE).await.unwrap();
    }
    println!("{executions} executions, {} families", families.len());
    assert!(executions > 10);
    what_a_client_cleans_up_goes(&store, &client).await;
    // And nothing else did.
    assert_eq!(self::families(&store).await, families);
    runtime.shutdown(None).await;
    look(&store).await;
    what_is_old_goes(store).await;
}

async fn what_a_client_cleans_up_goes(store: &SqliteProvider, client: &Client) {
    // Children end after their parents, and go when they have.
    until("no child is left", async || {
        clean_up(client).await;
        waiting_starts(store).await == 0 && instances_like(store, "child-").await.is_empty()
    })
    .await;
    for name in ["ByClient", "InBulk"] {
        let last = client.get_instance_info(name).await.unwrap().current_execution_id;
        let kept = (last + 1 - u64::from(KEEP)..=last).collect::<Vec<_>>();
        assert_eq!(client.list_executions(name).await.unwrap(), kept, "{name}");
    }
}

/// By now everything has ended.
async fn what_is_old_goes(store: Arc<SqliteProvider>) {
    let runtime = run(store.clone(), Some(retention())).await;
    until("every instance is gone", async || store.list_instances().await.unwrap().is_empty()).await;
    runtime.shutdown(None).await;
    for table in ["execution", "turn", "work"] {
        assert_eq!(count(&store, table.to_owned()).await, 0, "{table}");
    }
}
