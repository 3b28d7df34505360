//! Commits that do not end, because the server waits for a standby that nobody has: how many sessions a node
//! has meanwhile.
//!
//! A minute of it in a normal run; `ABIDE_STALL_SECONDS=300` is the full length (`cargo xtask torture
//! stall`).

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_host::SystemClock;
use abide_model::{Clock as _, OrchestrationStatus};
use abide_postgres::PostgresProvider;
use abide_provider::{Provider, ProviderError};
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime};
use abide_throwaway::{Server, Settings, own};
use futures::StreamExt as _;
use futures::executor::block_on;
use futures::future::{Either, select};
use futures::stream::FuturesUnordered;

use crate::support::database::{Database, wait_until};
use crate::support::items::start;
use crate::support::process::{Process, told};

/// What a node has if it is not told otherwise.
const POOL: usize = 4;

/// The most sessions that it may have.
const MOST: usize = POOL + 2;

/// Fewer than the nodes of these tests would use up if every call that is given up cost a session.
const SERVER_CONNECTIONS: &str = "30";

fn server() -> Option<Server> {
    own(&Settings::common().set("max_connections", SERVER_CONNECTIONS)).unwrap()
}

fn database(server: &Server) -> Database {
    let database = Database::at(server.url());
    // The test's own changes do not wait for the standby.
    database.run("SET synchronous_commit = off");
    database
}

/// Commits wait for a standby that nobody has, until this is dropped.
struct Stall<'d>(&'d Database);

impl<'d> Stall<'d> {
    fn begin(database: &'d Database) -> Self {
        database.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
        database.run("SELECT pg_reload_conf()");
        wait_until(|| {
            !database
                .rows(
                    "SELECT FROM pg_settings WHERE name = 'synchronous_standby_names' AND setting = 'nobody'",
                    &[],
                )
                .is_empty()
        });
        Self(database)
    }
}

impl Drop for Stall<'_> {
    fn drop(&mut self) {
        self.0.run("ALTER SYSTEM RESET synchronous_standby_names");
        self.0.run("SELECT pg_reload_conf()");
    }
}

/// How many sessions nodes of this schema have.
fn sessions(database: &Database) -> usize {
    count(database, "true")
}

/// How many of them wait for the standby.
fn stuck(database: &Database) -> usize {
    count(database, "wait_event = 'SyncRep'")
}

fn count(database: &Database, which: &str) -> usize {
    let query =
        format!("SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, $1) AND {which}");
    let name = format!("abide {} ", database.schema());
    usize::try_from(database.rows(&query, &[&name])[0].get::<_, i64>(0)).unwrap()
}

async fn order(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("Echo", input).await
}

async fn runtime_on(store: &Arc<dyn Provider>) -> Arc<Runtime> {
    let orchestrations = OrchestrationRegistry::builder().register("Order", order).build();
    let run = |_: ActivityContext, input: String| async move { Ok(input) };
    let activities = ActivityRegistry::builder().register("Echo", run).build();
    Runtime::start_with_store(Arc::clone(store), activities, orchestrations).await
}

fn threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn seconds() -> u64 {
    std::env::var("ABIDE_STALL_SECONDS").ok().map_or(60, |value| value.parse().unwrap())
}

/// Starts another instance every 50 ms, and waits 2 s for each, until it is told to stop. None is started
/// twice: that would wait for the lock of the first start, and not for the standby.
async fn start_instances(
    store: &dyn Provider,
    prefix: &str,
    is_over: &AtomicBool,
    acknowledged: &Mutex<Vec<String>>,
) {
    let clock = SystemClock::new();
    let mut under_way = FuturesUnordered::new();
    for number in 0.. {
        if is_over.load(Ordering::Acquire) {
            return;
        }
        let id = format!("{prefix}-{number}");
        let patience = clock.sleep_until(clock.monotonic() + Duration::from_secs(2));
        under_way.push(async move {
            match select(store.enqueue_for_orchestrator(start(&id), None), patience).await {
                Either::Left((Ok(()), _)) => Some(id),
                Either::Left((Err(_), _)) | Either::Right(_) => None,
            }
        });
        let mut next = clock.sleep_until(clock.monotonic() + Duration::from_millis(50));
        loop {
            match select(under_way.next(), &mut next).await {
                Either::Left((Some(answer), _)) => acknowledged.lock().unwrap().extend(answer),
                Either::Left((None, _)) => break next.await,
                Either::Right(_) => break,
            }
        }
    }
}

/// Every instance in the store comes to its end, the ones of this list among them.
async fn assert_all_complete(client: &Client, acknowledged: &[String]) {
    for id in client.list_all_instances().await.unwrap().iter().chain(acknowledged) {
        let ended = client.wait_for_orchestration(id, Duration::from_secs(60)).await;
        assert!(matches!(ended, Ok(OrchestrationStatus::Completed { .. })), "{id}: {ended:?}");
    }
}

#[test]
fn a_node_whose_commits_stall_keeps_to_its_sessions_and_says_why() {
    let Some(server) = server() else { return };
    let database = database(&server);
    let store = Arc::new(database.open());
    let provider: Arc<dyn Provider> = store.clone();
    let (is_over, acknowledged) = (AtomicBool::new(false), Mutex::default());
    let clock = SystemClock::new();
    let client = Client::new(Arc::clone(&provider));
    threads().block_on(async {
        let runtime = runtime_on(&provider).await;
        client.start_orchestration("before", "Order", "x").await.unwrap();
        let before = client.wait_for_orchestration("before", Duration::from_secs(60)).await;
        assert!(matches!(before, Ok(OrchestrationStatus::Completed { .. })), "{before:?}");
        std::thread::scope(|scope| {
            let stall = Stall::begin(&database);
            let until = clock.monotonic() + Duration::from_secs(seconds());
            let load = scope.spawn(|| {
                threads().block_on(start_instances(&*store, "i", &is_over, &acknowledged));
            });
            let refusal = scope.spawn(|| refusal_of(&store, &is_over));
            // Also if an assertion fails: the threads would go on for ever.
            let over = Over(&is_over);
            let mut most = 0;
            wait_until_then(&clock, until, || {
                let now = sessions(&database);
                most = most.max(now);
                assert!(now <= MOST, "{now} sessions, {} of them stuck", stuck(&database));
                // Others find a place on the server.
                drop(Database::at(server.url()));
            });
            assert_eq!(most, MOST, "it uses what it has");
            assert!(stuck(&database) >= 1);
            wait_until(|| refusal.is_finished());
            let refusal = refusal.join().expect("no panic").expect("one was refused");
            assert!(refusal.is_retryable(), "{refusal}");
            for part in ["SyncRep", "nothing more is sent", "synchronous_standby_names"] {
                assert!(refusal.message.contains(part), "{refusal}");
            }
            wait_until(|| runtime.health().stalled(Duration::from_secs(10)).is_some());
            drop(over);
            drop(stall);
            load.join().expect("no panic");
        });
        let acknowledged = std::mem::take(&mut *acknowledged.lock().unwrap());
        assert_all_complete(&client, &acknowledged).await;
        assert!(sessions(&database) <= MOST);
        runtime.shutdown(None).await;
    });
}

/// Looks every 100 ms until then.
#[expect(clippy::disallowed_methods, reason = "what must not happen for so long can only be watched")]
fn wait_until_then(clock: &SystemClock, then: Duration, mut look: impl FnMut()) {
    while clock.monotonic() < then {
        look();
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What a caller is told once no session can be used.
fn refusal_of(store: &PostgresProvider, is_over: &AtomicBool) -> Option<ProviderError> {
    while !is_over.load(Ordering::Acquire) {
        match block_on(store.read("before")) {
            Err(error) if error.message.contains("sessions that this node may use") => return Some(error),
            Ok(_) | Err(_) => {}
        }
    }
    None
}

/// Says so when it is dropped.
struct Over<'s>(&'s AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

const CHILD: &str = "stalled_commits::child_that_starts_instances";

#[test]
#[ignore = "a part of the test below, in a process of its own"]
fn child_that_starts_instances() {
    let Some((url, schema)) = told(CHILD) else { return };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            threads().block_on(async {
                let store: Arc<dyn Provider> =
                    Arc::new(PostgresProvider::builder(&url).schema(&schema).open().await.unwrap());
                let _runtime = runtime_on(&store).await;
                let prefix = format!("p{}", std::process::id());
                let never = AtomicBool::new(false);
                start_instances(&*store, &prefix, &never, &Mutex::default()).await;
            });
        });
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        std::process::exit(0);
    });
}

#[test]
fn a_process_that_is_started_again_and_again_adds_one_session_each_time() {
    let Some(server) = server() else { return };
    let database = database(&server);
    // The tables are made before commits stall, and the route of what is started: whoever needs a route that a commit adds
    // waits for the lock of that commit, and not for the standby.
    block_on(database.open().enqueue_for_orchestrator(start("first"), None)).unwrap();
    wait_until(|| sessions(&database) == 0);
    let stall = Stall::begin(&database);
    let mut most = 0;
    let mut watch = || {
        most = most.max(sessions(&database));
        assert!(most <= 2 * MOST, "{most} sessions, {} of them stuck", stuck(&database));
    };
    let process = Process::start(CHILD, database.url(), database.schema());
    until(&mut watch, || stuck(&database) == POOL);
    drop(process);
    for round in 1..=5 {
        // Only those are left that wait for the standby.
        until(&mut watch, || sessions(&database) == stuck(&database));
        let before = stuck(&database);
        assert_eq!(before, POOL + round - 1);
        let process = Process::start(CHILD, database.url(), database.schema());
        until(&mut watch, || stuck(&database) > before);
        drop(process);
    }
    // Others find a place on the server, and with the standby everything goes on.
    drop(Database::at(server.url()));
    drop(stall);
    let provider: Arc<dyn Provider> = Arc::new(database.open());
    threads().block_on(async {
        let runtime = runtime_on(&provider).await;
        assert_all_complete(&Client::new(provider), &[]).await;
        runtime.shutdown(None).await;
    });
}

fn until(watch: &mut impl FnMut(), condition: impl Fn() -> bool) {
    let watch = std::cell::RefCell::new(watch);
    wait_until(|| {
        (watch.borrow_mut())();
        condition()
    });
}
