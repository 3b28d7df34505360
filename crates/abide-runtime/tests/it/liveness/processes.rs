//! A process whose threads are all blocked by activities that never yield, and a healthy one beside it on the same file.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_host::SystemClock;
use abide_model::Clock as _;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime};
use abide_sqlite::SqliteProvider;

use crate::support::output;

const OTHERS: usize = 40;
const LIMIT: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(60);
const THREADS: usize = 2;

/// In the child: the file it works on.
const FILE: &str = "ABIDE_BLOCKED_FILE";
const BLOCKED: &str = "a thread is blocked";

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register(
            "Stuck",
            |ctx: OrchestrationContext, _| async move { ctx.schedule_activity("Blocks", "").await },
        )
        .register("Other", |ctx: OrchestrationContext, _| async move {
            ctx.schedule_activity("Quick", "1").await?;
            ctx.schedule_activity("Quick", "2").await
        })
        .build()
}

/// Every process has the same handlers, but only the child blocks its threads.
fn activities(blocks: impl Fn() + Clone + Send + Sync + 'static) -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Blocks", move |_: ActivityContext, _| {
            let blocks = blocks.clone();
            async move {
                blocks();
                Ok(String::new())
            }
        })
        .register("Quick", |_: ActivityContext, input: String| async move { Ok(input) })
        .build()
}

fn threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build().unwrap()
}

async fn open(file: &Path) -> Arc<SqliteProvider> {
    let url = format!("sqlite:{}", file.display());
    Arc::new(SqliteProvider::new(&url, None).await.unwrap())
}

#[test]
#[ignore = "the process whose threads are blocked; the test below starts it"]
fn the_process_whose_threads_are_blocked() {
    let Ok(file) = std::env::var(FILE) else { return };
    threads().block_on(async {
        let blocks = || {
            println!("{BLOCKED}");
            loop {
                std::thread::park();
            }
        };
        let store = open(Path::new(&file)).await;
        let _node = Runtime::start_with_store(store, activities(blocks), orchestrations()).await;
        // It ends with its parent.
        let _input = std::io::read_to_string(std::io::stdin());
        std::process::exit(0);
    });
}

/// The child, which is killed when the test is over.
struct Blocked {
    child: Child,
}

impl Blocked {
    fn start(file: &Path) -> Self {
        let name = "liveness::processes::the_process_whose_threads_are_blocked";
        let child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(FILE, file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child }
    }

    /// Waits until all of its threads are blocked.
    fn wait_until_blocked(&mut self) {
        let lines = BufReader::new(self.child.stdout.take().unwrap()).lines();
        let blocked = lines.map_while(Result::ok).filter(|line| line.contains(BLOCKED)).take(THREADS);
        assert_eq!(blocked.count(), THREADS);
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

async fn start_others(client: &Client, numbers: std::ops::Range<usize>) {
    for number in numbers {
        client.start_orchestration(format!("other-{number}"), "Other", "").await.unwrap();
    }
}

#[test]
fn instances_beside_a_process_whose_threads_are_blocked_complete_within_fifteen_seconds() {
    let folder = std::env::temp_dir().join(format!("abide-blocked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("store.db");
    threads().block_on(async {
        let store = open(&file).await;
        let client = Client::new(store.clone());
        for number in 0..THREADS {
            client.start_orchestration(format!("stuck-{number}"), "Stuck", "").await.unwrap();
        }
        let mut blocked = Blocked::start(&file);
        blocked.wait_until_blocked();
        // These come while the process still leases, and those when it does not any more.
        start_others(&client, 0..OTHERS / 2).await;
        let node = Runtime::start_with_store(store, activities(|| ()), orchestrations()).await;
        let clock = SystemClock::new();
        start_others(&client, OTHERS / 2..OTHERS).await;
        for number in 0..OTHERS {
            let left = PATIENCE.saturating_sub(clock.monotonic());
            let ended = client.wait_for_orchestration(&format!("other-{number}"), left).await.unwrap();
            assert_eq!(output(ended), "2");
        }
        let took = clock.monotonic();
        println!("took {took:?}");
        assert!(took < LIMIT, "{took:?}");
        node.shutdown(None).await;
        drop(blocked);
    });
    std::fs::remove_dir_all(&folder).unwrap();
}
