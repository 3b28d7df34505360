//! A node that is alone tells nobody; who comes is told from then on, and misses nothing of what happened while it came.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Sleep, Timestamp};
use abide_postgres::PostgresProvider;
use abide_provider::{Provider as _, ProviderAdmin as _, StolenBecause, TagFilter};
use abide_throwaway::{Settings, own};
use futures::StreamExt as _;
use futures::executor::block_on;

use crate::nodes::{AT_ONCE, LONG, lease, listening, now, quickest, two};
use crate::support::database::{Database, wait_until};
use crate::support::items::{activity, commit, first_turn, start};

/// How often a statement was sent so far.
fn sent(store: &PostgresProvider, statement: &str) -> u64 {
    store.statements_sent().iter().find(|(name, _)| *name == statement).map_or(0, |(_, count)| *count)
}

/// An instance from its start to its removal: much that others would want to hear of.
fn live_through(store: &PostgresProvider, id: &str) {
    enqueue(store, id);
    let turn = lease(store, Duration::ZERO);
    let asked = commit(&turn, first_turn(id, vec![activity(id, 2)]));
    block_on(store.commit_turns(vec![asked])).remove(0).unwrap();
    block_on(store.delete_instance(id, true)).unwrap();
}

fn enqueue(store: &PostgresProvider, id: &str) {
    block_on(store.enqueue_for_orchestrator(start(id), None)).unwrap();
}

/// What is enqueued here is leased there, where somebody waits for it; says how long it took.
fn hand_over(here: &PostgresProvider, there: &PostgresProvider, id: &str) -> Duration {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| (lease(there, LONG), now()));
        // It must have looked in vain, and wait.
        wait_until(|| there.is_waiting());
        let begun = now();
        enqueue(here, id);
        let (leased, at) = waiting.join().unwrap();
        assert_eq!(leased.instance, id);
        at.duration_since(begun)
    })
}

#[test]
fn a_node_that_is_alone_tells_nobody() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    assert!(store.is_alone());
    for number in 0..10 {
        live_through(&store, &format!("i{number}"));
    }
    assert_eq!((sent(&store, "tell"), sent(&store, "alone")), (0, 1));
    // Whatever had been left to be told would be told now. It is only that there was something, and what comes next.
    let other = listening(&database);
    wait_until(|| sent(&store, "tell") == 1);
    assert!(hand_over(&store, &other, "next") < LONG / 2);
    assert_eq!(sent(&store, "tell"), 2);
}

#[test]
fn two_nodes_tell_each_other() {
    let Some(database) = Database::new() else { return };
    let (one, other) = two(&database);
    for (here, there) in [(&one, &other), (&other, &one)] {
        let took = quickest(|number| hand_over(here, there, &format!("{here:p} {number}")));
        assert!(took < AT_ONCE, "{took:?}");
        let id = format!("{here:p}");
        let mut changes = there.changes(&id).unwrap();
        enqueue(here, &id);
        let turn = lease(here, Duration::ZERO);
        block_on(here.commit_turns(vec![commit(&turn, first_turn(&id, Vec::new()))])).remove(0).unwrap();
        block_on(changes.next()).unwrap();
    }
}

#[test]
fn who_comes_later_is_told_from_then_on() {
    let Some(database) = Database::new() else { return };
    let first = listening(&database);
    live_through(&first, "a");
    for number in 0..3 {
        // One that comes and goes, and one that comes while the others have company.
        let (second, third) = (listening(&database), listening(&database));
        assert!(hand_over(&first, &second, &format!("{number} to the second")) < LONG / 2);
        assert!(hand_over(&first, &third, &format!("{number} to the third")) < LONG / 2);
        assert!(hand_over(&third, &first, &format!("{number} to the first")) < LONG / 2);
    }
}

#[test]
fn what_happens_while_somebody_comes_is_not_missed() {
    let Some(database) = Database::new() else { return };
    let first = listening(&database);
    enqueue(&first, "taken away");
    let turn = lease(&first, Duration::ZERO);
    let asked = commit(&turn, first_turn("taken away", vec![activity("taken away", 2)]));
    block_on(first.commit_turns(vec![asked])).remove(0).unwrap();

    // The second has looked for everything, and its greeting is on its way.
    database.hold_notices();
    let second = block_on(database.builder().safety_poll(LONG).open()).unwrap();
    let mut stolen = second.stolen_leases().unwrap();
    wait_until(|| database.held_notices() == 1);
    let mut changes = second.changes("new").unwrap();
    let tags = TagFilter::DefaultOnly;
    let work = block_on(second.fetch_work_item(LONG, Duration::ZERO, None, &tags)).unwrap();
    let (_, held, _) = work.expect("there is work");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lease(&second, LONG));
        wait_until(|| second.is_waiting());
        assert!(first.is_alone());
        block_on(first.delete_instance("taken away", true)).unwrap();
        enqueue(&first, "new");
        assert_eq!(sent(&first, "tell"), 0);

        let begun = now();
        database.let_notices_go();
        assert_eq!(waiting.join().unwrap().instance, "new");
        block_on(changes.next()).unwrap();
        let told = block_on(stolen.next()).unwrap();
        assert_eq!((told.token, told.because), (held, StolenBecause::Unknown));
        assert!(now().duration_since(begun) < LONG / 2, "it was found by the look that comes anyway");
    });
    assert_eq!(sent(&first, "tell"), 1);
}

#[test]
fn who_is_left_alone_falls_silent() {
    let Some(database) = Database::new() else { return };
    let (stays, clock) = listening_by_a_clock_that_leaps(&database);
    let leaves = listening(&database);
    wait_until(|| !stays.is_alone());
    // It does not look again and again while it tells.
    for number in 0..10 {
        live_through(&stays, &format!("i{number}"));
    }
    assert!(hand_over(&stays, &leaves, "first") < LONG / 2);
    assert_eq!((sent(&stays, "alone"), stays.is_alone()), (1, false));
    // After a while it does, and sees that it is not alone.
    clock.leap();
    assert!(hand_over(&stays, &leaves, "second") < LONG / 2);
    wait_until(|| sent(&stays, "alone") == 2);
    assert!(hand_over(&stays, &leaves, "third") < LONG / 2);
    assert_eq!((sent(&stays, "alone"), stays.is_alone()), (2, false));

    drop(leaves);
    wait_until(|| database.listeners().len() == 1);
    become_alone(&stays, &clock);
    let (tells, looks) = (sent(&stays, "tell"), sent(&stays, "alone"));
    clock.leap();
    for number in 0..10 {
        live_through(&stays, &format!("j{number}"));
    }
    let comes = listening(&database);
    wait_until(|| sent(&stays, "tell") == tells + 1);
    assert!(hand_over(&stays, &comes, "last") < LONG / 2);
    assert_eq!((sent(&stays, "tell"), sent(&stays, "alone")), (tells + 2, looks));
}

#[test]
fn what_a_node_did_while_its_listener_was_killed_is_told_when_it_is_back() {
    let Some(database) = Database::new() else { return };
    let one = listening(&database);
    let its_listener = database.listeners();
    let other = listening(&database);
    wait_until(|| !one.is_alone());
    database.hold_notices();
    database.cut(&its_listener);
    // It is back, has looked for everything, and says so.
    wait_until(|| database.held_notices() == 1);
    assert!(!one.is_alone() && !one.is_listening());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lease(&other, LONG));
        wait_until(|| other.is_waiting());
        enqueue(&one, "kept");
        let begun = now();
        database.let_notices_go();
        assert_eq!(waiting.join().unwrap().instance, "kept");
        assert!(now().duration_since(begun) < LONG / 2, "it was found by the look that comes anyway");
    });
    assert!(hand_over(&other, &one, "later") < LONG / 2);
}

#[test]
fn nodes_whose_listeners_were_all_killed_find_each_other_again() {
    let Some(database) = Database::new() else { return };
    let (one, other) = two(&database);
    for round in 0..3 {
        let killed = database.listeners();
        database.cut(&killed);
        let are_back = |now: BTreeSet<i32>| now.len() == 2 && now.is_disjoint(&killed);
        wait_until(|| are_back(database.listeners()) && one.is_listening() && other.is_listening());
        assert!(hand_over(&one, &other, &format!("{round} there")) < LONG / 2);
        assert!(hand_over(&other, &one, &format!("{round} and back")) < LONG / 2);
    }
}

#[test]
fn what_a_lone_node_did_before_it_knew_that_nobody_hears_it_is_told_when_it_is_back() {
    let Some(database) = Database::new() else { return };
    let first = listening(&database);
    let its_listener = database.listeners();
    // A second node has looked for everything; before the first one hears of it, that one's connection is gone.
    database.hold_notices();
    let second = block_on(database.builder().safety_poll(LONG).open()).unwrap();
    wait_until(|| database.held_notices() == 1);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lease(&second, LONG));
        wait_until(|| second.is_waiting());
        enqueue(&first, "a");
        assert!(first.is_alone());
        database.cut(&its_listener);
        // It is back, and has something to say.
        wait_until(|| database.held_notices() == 2);
        let begun = now();
        database.let_notices_go();
        assert_eq!(waiting.join().unwrap().instance, "a");
        assert!(now().duration_since(begun) < LONG / 2, "it was found by the look that comes anyway");
    });
}

#[test]
fn a_lone_node_whose_listener_was_killed_is_silent_again() {
    let Some(database) = Database::new() else { return };
    let (store, clock) = listening_by_a_clock_that_leaps(&database);
    live_through(&store, "a");
    let killed = database.listeners();
    database.cut(&killed);
    let is_back = |now: BTreeSet<i32>| !now.is_empty() && now.is_disjoint(&killed);
    wait_until(|| is_back(database.listeners()) && store.is_listening());
    // It may have seen its own former session.
    become_alone(&store, &clock);
    let tells = sent(&store, "tell");
    live_through(&store, "b");
    let other = listening(&database);
    wait_until(|| sent(&store, "tell") == tells + 1);
    assert!(hand_over(&store, &other, "c") < LONG / 2);
    assert_eq!(sent(&store, "tell"), tells + 2);
}

#[test]
fn a_node_that_cannot_see_whether_it_is_alone_tells_everything() {
    let Some(server) = own(&Settings::common()).unwrap() else { return };
    let admin = Database::at(server.url());
    admin.run(
        "CREATE ROLE app LOGIN PASSWORD 'secret'; GRANT CREATE ON DATABASE postgres TO app;
         REVOKE SELECT ON pg_catalog.pg_locks FROM PUBLIC",
    );
    let (_, place) = admin.url().split_once('@').unwrap();
    let database = Database::at(format!("postgres://app:secret@{place}"));
    let (one, other) = (listening(&database), listening(&database));
    assert!(!one.is_alone() && !other.is_alone());
    assert!(hand_over(&one, &other, "a") < LONG / 2);
    assert!(hand_over(&other, &one, "b") < LONG / 2);
}

/// Lets time pass, and something happen, until the node has seen that nobody else is there.
fn become_alone(store: &PostgresProvider, clock: &LeapingClock) {
    wait_until(|| {
        clock.leap();
        live_through(store, "told to nobody");
        store.is_alone()
    });
}

fn listening_by_a_clock_that_leaps(database: &Database) -> (PostgresProvider, Arc<LeapingClock>) {
    let clock = Arc::new(LeapingClock { clock: SystemClock::new(), seconds: AtomicU64::new(0) });
    let seen: Arc<dyn Clock> = Arc::<LeapingClock>::clone(&clock);
    let store = block_on(database.builder().safety_poll(LONG).clock(seen).open()).unwrap();
    wait_until(|| store.is_listening());
    (store, clock)
}

/// It stands still, however long a test takes, but when it is told to leap. Who sleeps does so by the machine's clock.
struct LeapingClock {
    clock: SystemClock,
    seconds: AtomicU64,
}

impl LeapingClock {
    /// Further than a node goes without looking whether others are still there.
    fn leap(&self) {
        self.seconds.fetch_add(10, Ordering::Relaxed);
    }
}

impl Clock for LeapingClock {
    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.seconds.load(Ordering::Relaxed))
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        let time = monotonic.saturating_sub(self.monotonic());
        self.clock.sleep_until(self.clock.monotonic().saturating_add(time))
    }
}
