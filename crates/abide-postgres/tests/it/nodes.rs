//! Two nodes on one schema: what one makes, the other hears of at once; and what happens when nobody tells.

use std::time::{Duration, Instant};

use abide_model::ScheduledActivityIdentifier;
use abide_postgres::PostgresProvider;
use abide_provider::{
    InstanceLease, LeaseInstances, LeaseWork, Provider, ProviderAdmin, StolenBecause, TagFilter, Turn,
    WorkLease,
};
use futures::executor::block_on;
use futures::{FutureExt as _, StreamExt as _};

use crate::support::database::Database;
use crate::support::items::{activity, commit, completed, first_turn, signal, start};

/// Longer than anything here takes; nothing waits for it to pass.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Within this time one node hears of what another did, where the machine has nothing else to do.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(50);

pub(crate) fn two(database: &Database) -> (PostgresProvider, PostgresProvider) {
    let (one, other) = (listening(database), listening(database));
    // The later one has seen the other, and is heard of.
    wait_until(|| !one.is_alone());
    assert!(!other.is_alone());
    (one, other)
}

/// A node that looks so rarely that whatever comes was told.
pub(crate) fn listening(database: &Database) -> PostgresProvider {
    let store = block_on(database.builder().safety_poll(LONG).open()).unwrap();
    // Whoever begins to listen looks for everything once: that is over.
    wait_until(|| store.is_listening());
    store
}

fn instances(wait: Duration) -> LeaseInstances {
    LeaseInstances { limit: 4, lease_for: LONG, wait, capabilities: None, serving: None }
}

fn work(wait: Duration) -> LeaseWork {
    LeaseWork { limit: 4, lease_for: LONG, wait, session: None, tags: TagFilter::DefaultOnly, serving: None }
}

pub(crate) fn lease(store: &PostgresProvider, wait: Duration) -> InstanceLease {
    block_on(store.lease_instances(instances(wait))).unwrap().pop().expect("an instance to lease")
}

fn lease_work(store: &PostgresProvider, wait: Duration) -> WorkLease {
    block_on(store.lease_work(work(wait))).unwrap().pop().expect("work to lease")
}

/// The shortest of some tries: the machine may be busy with something else, but not all the time.
pub(crate) fn quickest(mut attempt: impl FnMut(usize) -> Duration) -> Duration {
    (0..5).map(&mut attempt).min().unwrap()
}

#[test]
fn a_start_on_one_node_is_leased_on_the_other_at_once() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    let took = quickest(|number| {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| (lease(&there, LONG), now()));
            // It must have looked in vain, and wait.
            wait_until(|| there.is_waiting());
            let sent = now();
            block_on(here.enqueue_for_orchestrator(start(&format!("i{number}")), None)).unwrap();
            let (leased, at) = waiting.join().unwrap();
            assert_eq!(leased.instance, format!("i{number}"));
            at.duration_since(sent)
        })
    });
    assert!(took < AT_ONCE, "{took:?}");
}

#[test]
fn an_activity_that_one_node_asks_for_runs_on_the_other_at_once() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    let took = quickest(|number| {
        let id = format!("i{number}");
        block_on(here.enqueue_for_orchestrator(start(&id), None)).unwrap();
        let turn = lease(&here, Duration::ZERO);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| (lease_work(&there, LONG), now()));
            wait_until(|| there.is_waiting());
            let sent = now();
            let asked = commit(&turn, first_turn(&id, vec![activity(&id, 2)]));
            block_on(here.commit_turns(vec![asked])).remove(0).unwrap();
            let (leased, at) = waiting.join().unwrap();
            block_on(there.ack_work_item(&leased.token, Some(completed(&id, 2)))).unwrap();
            at.duration_since(sent)
        })
    });
    assert!(took < AT_ONCE, "{took:?}");
}

#[test]
fn a_timer_that_one_node_sets_is_leased_by_the_other_when_it_is_due() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| (lease(&there, LONG), now()));
        wait_until(|| there.is_waiting());
        let sent = now();
        let delay = Duration::from_millis(300);
        block_on(here.enqueue_for_orchestrator(start("later"), Some(delay))).unwrap();
        let (leased, at) = waiting.join().unwrap();
        assert_eq!(leased.instance, "later");
        let took = at.duration_since(sent);
        assert!(took >= delay && took < Duration::from_secs(5), "{took:?}");
    });
}

#[test]
fn a_lease_that_one_node_takes_away_is_told_to_the_other_with_its_reason() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    let mut stolen = there.stolen_leases().unwrap();
    let (held, turn) = held_work(&here, &there, "a");
    let cancelled = ScheduledActivityIdentifier { instance: "a".to_owned(), execution_id: 1, activity_id: 2 };
    let cancel = Turn { execution_id: 1, cancelled_activities: vec![cancelled], ..Turn::default() };
    block_on(here.commit_turns(vec![commit(&turn, cancel)])).remove(0).unwrap();
    let told = block_on(stolen.next()).unwrap();
    assert_eq!((told.token, told.because), (held.token.clone(), StolenBecause::Dropped));
    assert!(block_on(there.renew_work_item_lock(&held.token, LONG)).is_err());
}

#[test]
fn a_lease_taken_away_while_nobody_listened_is_found_out_when_somebody_does_again() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    let mut stolen = there.stolen_leases().unwrap();
    let (held, _turn) = held_work(&here, &there, "a");
    // The row goes without a word, and the connection for notices goes too.
    database.run("DELETE FROM abide.work");
    assert!(stolen.next().now_or_never().is_none());
    database.cut_listeners();
    let told = block_on(stolen.next()).unwrap();
    assert_eq!((told.token, told.because), (held.token, StolenBecause::Unknown));
}

#[test]
fn those_who_look_at_an_instance_hear_what_another_node_did_to_it() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    let mut changes = there.changes("a").unwrap();
    let mut others = there.changes("b").unwrap();
    block_on(here.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let turn = lease(&here, Duration::ZERO);
    block_on(here.commit_turns(vec![commit(&turn, first_turn("a", Vec::new()))])).remove(0).unwrap();
    block_on(changes.next()).unwrap();
    block_on(here.delete_instance("a", true)).unwrap();
    block_on(changes.next()).unwrap();
    assert!(others.next().now_or_never().is_none(), "nothing happened to b");
}

#[test]
fn what_nobody_told_is_found_by_looking_now_and_then() {
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().safety_poll(Duration::from_millis(100)).open()).unwrap();
    block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let held = lease(&store, Duration::ZERO);
    block_on(store.commit_turns(vec![commit(&held, first_turn("a", Vec::new()))])).remove(0).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lease(&store, LONG));
        wait_until(|| store.is_waiting());
        signal_without_a_word(&database);
        assert_eq!(waiting.join().unwrap().messages[0].item, signal("a"));
    });
}

#[test]
fn what_came_while_nobody_listened_is_found_when_somebody_does_again() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    block_on(here.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let held = lease(&here, LONG);
    block_on(here.commit_turns(vec![commit(&held, first_turn("a", Vec::new()))])).remove(0).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lease(&there, LONG));
        wait_until(|| there.is_waiting());
        signal_without_a_word(&database);
        // It looks by itself once a minute.
        let before = now();
        database.cut_listeners();
        assert_eq!(waiting.join().unwrap().messages[0].item, signal("a"));
        assert!(now().duration_since(before) < LONG / 2, "it was found by the look that comes anyway");
    });
}

/// As if a node had died between its commit and its notice.
fn signal_without_a_word(database: &Database) {
    database.run(
        "INSERT INTO abide.message (mailbox, class, item)
         SELECT no, 0, '{\"ExternalRaised\":{\"instance\":\"a\",\"name\":\"go\",\"data\":\"\"}}' FROM abide.mailbox;
         SELECT abide.settle(ARRAY(SELECT no FROM abide.mailbox), NULL, abide.now())",
    );
}

#[test]
fn an_idle_node_sends_nothing() {
    let Some(database) = Database::new() else { return };
    let (store, _other) = two(&database);
    let wait = Duration::from_secs(2);
    std::thread::scope(|scope| {
        let lanes = [
            scope.spawn(|| block_on(store.lease_instances(instances(wait))).unwrap().len()),
            scope.spawn(|| block_on(store.lease_work(work(wait))).unwrap().len()),
        ];
        assert_eq!(lanes.map(|lane| lane.join().unwrap()), [0, 0]);
    });
    // One look each, and nothing while they waited; and one, at the beginning, whether others are there.
    assert_eq!(store.statements_sent(), [("alone", 1), ("lease_instances", 1), ("lease_work", 1)]);
}

#[test]
fn one_connection_is_enough() {
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().connections(1).open()).unwrap();
    let all = (0..50).map(|number| {
        let store = &store;
        async move {
            let id = format!("i{number}");
            store.enqueue_for_orchestrator(start(&id), None).await.unwrap();
            store.get_instance_stats(&id).await.unwrap();
            let leases = store.lease_instances(instances(Duration::from_millis(50))).await.unwrap();
            for turn in &leases {
                store.renew_orchestration_item_lock(&turn.token, LONG).await.unwrap();
                let asked = commit(turn, first_turn(&turn.instance, vec![activity(&turn.instance, 2)]));
                store.commit_turns(vec![asked]).await.remove(0).unwrap();
            }
            for leased in store.lease_work(work(Duration::from_millis(50))).await.unwrap() {
                store.ack_work_item(&leased.token, None).await.unwrap();
            }
            leases.len()
        }
    });
    let leased: usize = block_on(futures::future::join_all(all)).into_iter().sum();
    assert_eq!(leased, 50);
}

/// Work of an instance, leased by `there`; and the lease on the instance, held by `here`.
fn held_work(here: &PostgresProvider, there: &PostgresProvider, id: &str) -> (WorkLease, InstanceLease) {
    block_on(here.enqueue_for_orchestrator(start(id), None)).unwrap();
    let turn = lease(here, Duration::ZERO);
    let asked = commit(&turn, first_turn(id, vec![activity(id, 2)]));
    block_on(here.commit_turns(vec![asked])).remove(0).unwrap();
    let held = lease_work(there, Duration::ZERO);
    block_on(here.enqueue_for_orchestrator(signal(id), None)).unwrap();
    (held, lease(here, Duration::ZERO))
}

#[expect(clippy::disallowed_methods, reason = "how long it takes between two nodes is what is asked")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

fn wait_until(condition: impl Fn() -> bool) {
    crate::support::database::wait_until(condition);
}
