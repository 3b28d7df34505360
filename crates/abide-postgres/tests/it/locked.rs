//! What is ready and held by another transaction is passed by, and found soon after it is free: nobody tells of that.

use std::time::{Duration, Instant};

use abide_postgres::PostgresProvider;
use abide_provider::{LeaseInstances, LeaseWork, Provider as _, TagFilter};
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::{activity, commit, first_turn, start};

/// Longer than anything here takes; nothing waits for it to pass.
const LONG: Duration = Duration::from_secs(60);

/// How often each is tried.
const TRIES: usize = 9;

/// Half of the tries take no longer. A look is made every 20 ms.
const SOON: Duration = Duration::from_millis(50);

/// None takes longer, however busy the machine is. Without the quick look it would be [`LONG`].
const AT_LAST: Duration = Duration::from_secs(5);

#[test]
fn an_instance_that_another_holds_is_leased_soon_after_it_is_free() {
    let Some(database) = Database::new() else { return };
    let store = open(&database);
    let took = (0..TRIES).map(|number| {
        block_on(store.enqueue_for_orchestrator(start(&format!("i{number}")), None)).unwrap();
        let lease = || leased_instances(&store, LONG);
        from_free_to_leased(&database, &store, "lease_instances", "mailbox WHERE ready IS NOT NULL", lease)
    });
    check(took.collect());
}

#[test]
fn work_that_another_holds_is_leased_soon_after_it_is_free() {
    let Some(database) = Database::new() else { return };
    let store = open(&database);
    let took = (0..TRIES).map(|number| {
        let id = format!("i{number}");
        block_on(store.enqueue_for_orchestrator(start(&id), None)).unwrap();
        let request = LeaseInstances {
            limit: 1,
            lease_for: LONG,
            wait: Duration::ZERO,
            capabilities: None,
            serving: None,
        };
        let turn = block_on(store.lease_instances(request)).unwrap().remove(0);
        let asked = commit(&turn, first_turn(&id, vec![activity(&id, 2)]));
        block_on(store.commit_turns(vec![asked])).remove(0).unwrap();
        let lease = || leased_work(&store, LONG);
        from_free_to_leased(&database, &store, "lease_work", "work WHERE place IS NOT NULL", lease)
    });
    check(took.collect());
}

/// A store that finds by itself only what it looks for soon.
fn open(database: &Database) -> PostgresProvider {
    let store = block_on(database.builder().safety_poll(LONG).open()).unwrap();
    // Whoever begins to listen looks for everything once: that is over.
    wait_until(|| store.is_listening());
    store
}

fn leased_instances(store: &PostgresProvider, wait: Duration) -> usize {
    let request = LeaseInstances { limit: 1, lease_for: LONG, wait, capabilities: None, serving: None };
    block_on(store.lease_instances(request)).unwrap().len()
}

fn leased_work(store: &PostgresProvider, wait: Duration) -> usize {
    let request = LeaseWork {
        limit: 1,
        lease_for: LONG,
        wait,
        session: None,
        tags: TagFilter::DefaultOnly,
        serving: None,
    };
    block_on(store.lease_work(request)).unwrap().len()
}

/// Holds what is ready until somebody has looked for it in vain, and lets go.
fn from_free_to_leased(
    database: &Database,
    store: &PostgresProvider,
    statement: &str,
    ready: &str,
    lease: impl Fn() -> usize + Sync,
) -> Duration {
    database.run("BEGIN");
    assert_eq!(database.rows(&format!("SELECT no FROM abide.{ready} FOR UPDATE"), &[]).len(), 1);
    std::thread::scope(|scope| {
        let before = looks(store, statement);
        let waiting = scope.spawn(|| (lease(), now()));
        // The first two may have been told of it.
        wait_until(|| waiting.is_finished() || looks(store, statement) >= before + 4);
        assert!(!waiting.is_finished(), "what another held was leased, or given up");
        let free = now();
        database.run("COMMIT");
        let (count, at) = waiting.join().unwrap();
        assert_eq!(count, 1);
        at.duration_since(free)
    })
}

/// How often this was sent so far.
fn looks(store: &PostgresProvider, statement: &str) -> u64 {
    store.statements_sent().iter().find(|(name, _)| *name == statement).map_or(0, |(_, count)| *count)
}

fn check(mut took: Vec<Duration>) {
    took.sort_unstable();
    println!("{took:?}");
    assert!(took[TRIES / 2] < SOON, "{took:?}");
    assert!(took[TRIES - 1] < AT_LAST, "{took:?}");
}

#[expect(clippy::disallowed_methods, reason = "how long it takes is what is asked")]
fn now() -> Instant {
    Instant::now()
}
