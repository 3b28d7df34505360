//! A process that is killed and started again while commits stall.

use std::io::Read as _;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_client::Client;
use abide_host::SystemClock;
use abide_model::Clock as _;
use abide_postgres::PostgresProvider;
use abide_provider::Provider;
use futures::executor::block_on;

use super::node::{assert_all_complete, start_instances};
use super::{MOST, POOL, runtime_on, sessions, stuck, threads, wait_until_then};
use crate::support::database::{Database, wait_until};
use crate::support::items::start;
use crate::support::process::{Process, told};

const CHILD: &str = "stalled_commits::killed::child_that_starts_instances";

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

/// So often the process is started again, at equal distances.
const RESTARTS: u32 = 5;

/// Makes the tables before commits stall, and the route of what is started: a call that needs a route waits
/// for the lock of the commit that adds it, and not for the standby.
pub(super) fn prepare(database: &Database) {
    block_on(database.open().enqueue_for_orchestrator(start("first"), None)).unwrap();
    wait_until(|| sessions(database) == 0);
}

/// Each start adds one session, and other applications find a place on the server.
pub(super) fn start_again_and_again(database: &Database, url: &str, end: Duration) {
    let clock = SystemClock::new();
    let pause = end.saturating_sub(clock.monotonic()) / (RESTARTS + 1);
    let mut watch = || {
        let now = sessions(database);
        assert!(now <= 2 * MOST, "{now} sessions, {} of them stuck", stuck(database));
    };
    let mut process = Process::start(CHILD, database.url(), database.schema());
    until(&mut watch, || stuck(database) >= POOL);
    let mut left_by_first = 0;
    for round in 0..RESTARTS {
        wait_until_then(&clock, end.saturating_sub(pause * (RESTARTS - round)), &mut watch);
        drop(process);
        // Only those are left that wait for the standby.
        until(&mut watch, || sessions(database) == stuck(database));
        let before = stuck(database);
        if round == 0 {
            left_by_first = before;
            assert!((POOL..MOST).contains(&before), "{before}");
        }
        assert_eq!(before, left_by_first + usize::try_from(round).unwrap());
        drop(Database::at(url.to_owned()));
        process = Process::start(CHILD, database.url(), database.schema());
        until(&mut watch, || stuck(database) > before);
    }
    wait_until_then(&clock, end, &mut watch);
    drop(process);
    assert_eq!(stuck(database), left_by_first + usize::try_from(RESTARTS).unwrap());
}

/// With the standby, another node completes what they started.
pub(super) fn assert_completes(database: &Database) {
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
