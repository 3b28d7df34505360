//! Processes that cancel, prune and continue on a file are killed, and others go on.
//!
//! `ABIDE_KILLS=200` kills more often. When, is chance: what is checked holds at any moment.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_host::{SystemClock, SystemEntropy};
use abide_model::{Clock as _, Entropy as _, EventKind};
use abide_provider::ProviderAdmin as _;
use abide_runtime::{AutoPruneConfig, Runtime};
use abide_sqlite::SqliteProvider;

use super::past::Past;
use super::{keep, keeps};
use crate::e2e::support::Node;

const CHILD: &str = "pruning::killed::works_until_it_is_killed";
const FOLDER: &str = "ABIDE_PRUNING_FOLDER";
const ROUND: &str = "ABIDE_PRUNING_ROUND";

/// How many that ended are kept.
const KEEP: u32 = 2;

/// Nothing takes as long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// The instances that never end.
const ETERNAL: [&str; 3] = ["WithContinue", "ByPolicy", "InCode"];

fn node() -> Node {
    Node::new()
        .orchestration("WithContinue", |ctx, input| async move {
            let said = ctx.schedule_activity("Echo", input).await?;
            ctx.continue_as_new_pruned(said, keep(KEEP)).await
        })
        .orchestration("ByPolicy", |ctx, input| async move {
            let said = ctx.schedule_activity("Echo", input).await?;
            ctx.continue_as_new(said).await
        })
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
        })
}

async fn open(folder: &Path) -> Arc<SqliteProvider> {
    let url = format!("sqlite:{}", folder.join("data.db").display());
    Arc::new(SqliteProvider::new(&url, None).await.unwrap())
}

async fn run(store: Arc<SqliteProvider>) -> Arc<Runtime> {
    let (activities, orchestrations, options) = node().into_parts();
    let builder = Runtime::builder().with_provider(store).with_options(options);
    builder.with_activities(activities).with_orchestrations(orchestrations).build().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of another test"]
async fn works_until_it_is_killed() {
    let (Ok(folder), Ok(round)) = (std::env::var(FOLDER), std::env::var(ROUND)) else { return };
    let folder = PathBuf::from(folder);
    let store = open(&folder).await;
    let _runtime = run(store.clone()).await;
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
        client.wait_for_orchestration(&family, PATIENCE).await.unwrap();
    }
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

/// What must hold whenever a process dies.
async fn look(store: &SqliteProvider) {
    for name in ETERNAL {
        let Some(past) = Past::read(store, name).await else { continue };
        past.whole().unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        if name != "InCode" {
            assert_eq!(past.ids(), past.expected(u64::from(KEEP)), "{name}");
        } else if past.has(|kind| matches!(kind, EventKind::HistoryPruned { .. })) {
            assert_eq!(past.ids().len(), 1, "{past:#?}");
        }
    }
    for family in families(store).await {
        let Some(past) = Past::read(store, &family).await else { continue };
        past.whole().unwrap();
        let asked = past.has(|kind| matches!(kind, EventKind::ActivityScheduled { .. }));
        let work = work_of(store, &family).await;
        assert_eq!(work, i64::from(asked && !past.has_ended()), "{family}: {past:#?}");
    }
}

async fn families(store: &SqliteProvider) -> Vec<String> {
    let all = store.list_instances().await.unwrap();
    all.into_iter().filter(|id| id.starts_with("family-")).collect()
}

async fn work_of(store: &SqliteProvider, instance: &str) -> i64 {
    let instance = instance.to_owned();
    let query = "SELECT count(*) FROM work WHERE mailbox = (SELECT no FROM mailbox WHERE id = ?1)";
    let count = store.inspect(move |rows| rows.query_row(query, [instance], |row| row.get::<_, i64>(0)));
    count.await.unwrap().unwrap()
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("abide-pruning-{:x}", SystemEntropy.next_u64()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_prune_and_cancel_are_killed() {
    let kills = std::env::var("ABIDE_KILLS").ok().map_or(8, |kills| kills.parse().unwrap());
    let folder = folder();
    for round in 0..kills {
        let worker = Worker::start(&folder, round);
        let clock = SystemClock::new();
        while !folder.join(format!("ready-{round}")).exists() {
            assert!(clock.monotonic() < PATIENCE, "the worker is not ready");
            pass(Duration::from_millis(1)).await;
        }
        pass(Duration::from_micros(SystemEntropy.next_u64() % 150_000)).await;
        worker.kill();
        look(&*open(&folder).await).await;
    }
    go_on(&folder).await;
    std::fs::remove_dir_all(folder).unwrap();
}

/// Whatever was begun ends, in a process that is not killed.
async fn go_on(folder: &Path) {
    let store = open(folder).await;
    let runtime = run(store.clone()).await;
    let client = Client::new(store.clone());
    let mut executions = 0;
    for name in ETERNAL {
        client.cancel_instance(name, "the end").await.unwrap();
        client.wait_for_orchestration(name, PATIENCE).await.unwrap();
        executions += client.get_instance_info(name).await.unwrap().current_execution_id;
    }
    let families = families(&store).await;
    for family in &families {
        // Whoever was killed may not have come to it.
        client.cancel_instance(family, "enough").await.unwrap();
        client.wait_for_orchestration(family, PATIENCE).await.unwrap();
    }
    runtime.shutdown(None).await;
    look(&store).await;
    println!("{executions} executions, {} families", families.len());
    assert!(executions > 10 && !families.is_empty());
}
