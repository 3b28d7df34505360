//! Commits that do not end, because the server waits for a standby that does not exist: how many sessions
//! nodes have meanwhile.
//!
//! A minute of it in a normal run; `ABIDE_STALL_SECONDS=300` is the full length (`cargo xtask torture
//! stall`).

mod killed;
mod node;

use std::sync::Arc;
use std::time::Duration;

use abide_engine::OrchestrationContext;
use abide_host::SystemClock;
use abide_model::Clock as _;
use abide_provider::Provider;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime};
use abide_throwaway::{Server, Settings, own};

use self::node::Node;
use crate::support::database::{Database, wait_until};
use crate::support::silent_proxy::SilentProxy;

/// What a node has if it is not told otherwise.
const POOL: usize = 4;

/// The most sessions that it may have.
const MOST: usize = POOL + 2;

/// Fewer than the nodes of these tests would use up if every call that is given up cost a session.
const SERVER_CONNECTIONS: &str = "40";

fn server() -> Option<Server> {
    own(&Settings::common().set("max_connections", SERVER_CONNECTIONS)).unwrap()
}

fn database(server: &Server) -> Database {
    let database = Database::at(server.url());
    // The test's own changes do not wait for the standby.
    database.run("SET synchronous_commit = off");
    database
}

/// Commits wait for a standby that does not exist, until this is dropped.
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

/// How often the connections of a node are reset.
const RESET_INTERVAL: Duration = Duration::from_secs(2);

#[test]
fn nodes_whose_commits_stall_keep_to_their_sessions_and_recover() {
    let Some(server) = server() else { return };
    let [steady, cut_off, killed] = [(); 3].map(|()| database(&server));
    let url = server.url();
    let proxy = SilentProxy::start(cut_off.url());
    let steady_node = Node::start(&steady, steady.url());
    let cut_off_node = Node::start(&cut_off, proxy.url());
    killed::prepare(&killed);
    let clock = SystemClock::new();
    let stall = Stall::begin(&steady);
    let began = clock.monotonic();
    let until = began + Duration::from_secs(seconds());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let most = steady_node.work_until(until, || {
                // Others find a place on the server.
                drop(Database::at(url.clone()));
            });
            assert_eq!(most, MOST, "it uses what it has");
            steady_node.assert_says_why();
        });
        scope.spawn(|| {
            let mut reset_at = began + RESET_INTERVAL;
            cut_off_node.work_until(until, || {
                if clock.monotonic() >= reset_at {
                    proxy.reset();
                    reset_at += RESET_INTERVAL;
                }
            });
            assert!(stuck(&cut_off) >= POOL, "{} stuck", stuck(&cut_off));
        });
        killed::start_again_and_again(&killed, &url, until);
    });
    drop(stall);
    steady_node.assert_completes();
    cut_off_node.assert_completes();
    killed::assert_completes(&killed);
}

/// Looks every 100 ms until then.
#[expect(clippy::disallowed_methods, reason = "what must not happen for so long can only be watched")]
fn wait_until_then(clock: &SystemClock, then: Duration, mut look: impl FnMut()) {
    while clock.monotonic() < then {
        look();
        std::thread::sleep(Duration::from_millis(100));
    }
}
