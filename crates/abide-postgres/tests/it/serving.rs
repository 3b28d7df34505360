//! Services with different handlers on one store, what is blocked, and which nodes live: what only this store can get wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use abide_model::{ExecutionStatus, WorkItem};
use abide_postgres::PostgresProvider;
use abide_provider::{
    BlockInstance, BlockKind, Handlers, InstanceLease, LeaseInstances, LeaseWork, NodeAnnouncement,
    NodeOrchestration, Provider as _, Rejection, ServedTags, ServedVersions, Serving, TagFilter, WorkLease,
};
use futures::FutureExt as _;
use futures::executor::block_on;

use crate::nodes::{listening, two};
use crate::support::database::{Database, wait_until};
use crate::support::items::*;
use crate::support::rules;

const LONG: Duration = Duration::from_secs(60);

/// A node with these orchestrations, in any version that the registry chooses and in 1.0.0, and these activities.
fn serving(build: &str, orchestrations: &[&str], activities: &[&str]) -> Serving {
    let versions =
        ServedVersions { exact: BTreeSet::from(["1.0.0".parse().unwrap()]), resolves_unversioned: true };
    let orchestrations: BTreeMap<_, _> =
        orchestrations.iter().map(|name| ((*name).to_owned(), versions.clone())).collect();
    let handlers = Handlers {
        build: build.to_owned(),
        orchestrations: Some(orchestrations),
        activities: Some(activities.iter().map(|name| (*name).to_owned()).collect()),
        pins: None,
    };
    Serving { handlers: Arc::new(handlers), takes_suspect: true }
}

fn instances(serving: &Serving, limit: usize, wait: Duration) -> LeaseInstances {
    LeaseInstances { limit, lease_for: LONG, wait, capabilities: None, serving: Some(serving.clone()) }
}

fn work(serving: &Serving, limit: usize, wait: Duration) -> LeaseWork {
    let tags = TagFilter::DefaultOnly;
    LeaseWork { limit, lease_for: LONG, wait, session: None, tags, serving: Some(serving.clone()) }
}

fn lease(store: &PostgresProvider, serving: &Serving) -> Vec<InstanceLease> {
    block_on(store.lease_instances(instances(serving, 9, Duration::ZERO))).unwrap()
}

fn lease_work(store: &PostgresProvider, serving: &Serving) -> Vec<WorkLease> {
    block_on(store.lease_work(work(serving, 9, Duration::ZERO))).unwrap()
}

fn names(leases: &[InstanceLease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.instance.as_str()).collect()
}

fn start_of(instance: &str, name: &str) -> WorkItem {
    let mut item = start(instance);
    if let WorkItem::StartOrchestration { orchestration, .. } = &mut item {
        name.clone_into(orchestration);
    }
    item
}

fn activity_named(activity_name: &str, id: u64) -> WorkItem {
    let mut item = activity("a", id);
    if let WorkItem::ActivityExecute { name, .. } = &mut item {
        activity_name.clone_into(name);
    }
    item
}

fn send(store: &PostgresProvider, item: WorkItem) {
    block_on(store.enqueue_for_orchestrator(item, None)).unwrap();
}

fn block(lease: &InstanceLease, build: &str) -> BlockInstance {
    BlockInstance {
        token: lease.token.clone(),
        kind: BlockKind::Panic,
        detail: "it panicked".to_owned(),
        build: build.to_owned(),
        event_id: None,
        retry_after: Some(LONG),
    }
}

fn announcement(id: &str, orchestration: &str) -> NodeAnnouncement {
    NodeAnnouncement {
        id: id.to_owned(),
        build: "b1".to_owned(),
        orchestrations: vec![NodeOrchestration {
            name: orchestration.to_owned(),
            versions: vec!["1.0.0".to_owned()],
            resolves_unversioned: true,
        }],
        activities: Vec::new(),
        orchestration_slots: 1,
        worker_slots: 1,
        pins: Vec::new(),
        tags: ServedTags::Any,
    }
}

fn ids(store: &PostgresProvider) -> Vec<String> {
    block_on(store.nodes()).unwrap().into_iter().map(|node| node.announcement.id).collect()
}

/// How often a statement was sent.
fn sent(store: &PostgresProvider, statement: &str) -> u64 {
    let counts = store.statements_sent();
    counts.into_iter().find(|(name, _)| *name == statement).map_or(0, |(_, count)| count)
}

#[test]
fn what_a_waiting_node_cannot_run_is_told_to_the_one_that_can() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    let (orders, refunds) = (serving("b1", &["Order"], &["Charge"]), serving("b1", &["Refund"], &["Refund"]));
    std::thread::scope(|scope| {
        // Both wait. The store that sends has somebody who waits, who is not to keep it from the other.
        let _here = scope.spawn(|| block_on(here.lease_instances(instances(&orders, 1, LONG))).unwrap());
        let refund = scope.spawn(|| block_on(there.lease_instances(instances(&refunds, 1, LONG))).unwrap());
        let _work = scope.spawn(|| block_on(here.lease_work(work(&orders, 1, LONG))).unwrap());
        let refund_work = scope.spawn(|| block_on(there.lease_work(work(&refunds, 1, LONG))).unwrap());
        wait_until(|| here.is_waiting() && there.is_waiting());
        send(&here, start_of("r", "Refund"));
        block_on(here.enqueue_for_worker(activity_named("Refund", 2))).unwrap();
        assert_eq!(names(&refund.join().unwrap()), ["r"]);
        assert_eq!(refund_work.join().unwrap().len(), 1);
        // Those that wait here end with what is theirs.
        send(&here, start_of("o", "Order"));
        block_on(here.enqueue_for_worker(activity_named("Charge", 3))).unwrap();
    });
}

#[test]
fn a_commit_hands_nothing_to_a_call_that_does_not_serve_it() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let (orders, refunds) = (serving("b1", &["Order"], &["Charge"]), serving("b1", &["Refund"], &["Refund"]));
    send(&store, start_of("o", "Order"));
    let held = lease(&store, &orders).remove(0);
    let mut waiting = Box::pin(store.lease_work(work(&refunds, 4, LONG)));
    let mut waiting_too = Box::pin(store.lease_instances(instances(&refunds, 4, LONG)));
    block_on(async {
        assert!((&mut waiting).now_or_never().is_none() && (&mut waiting_too).now_or_never().is_none());
        while !store.is_waiting() {
            let _nothing = ((&mut waiting).now_or_never(), (&mut waiting_too).now_or_never());
            std::thread::yield_now();
        }
    });
    send(&store, signal("o"));
    let turn = first_turn("o", vec![activity("o", 2)]);
    block_on(store.commit_turns(vec![commit(&held, turn)])).remove(0).unwrap();
    assert!((&mut waiting).now_or_never().is_none() && (&mut waiting_too).now_or_never().is_none());
    assert_eq!(names(&lease(&store, &orders)), ["o"]);
    assert_eq!(lease_work(&store, &orders).len(), 1);
}

/// A start that is handed to a waiting call is not settled: the mailbox must not count as one that waits for a start.
#[test]
fn mail_that_came_before_the_start_does_not_end_the_instance() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let orders = serving("b1", &["Order"], &[]);
    send(&store, signal("o"));
    let mut waiting = Box::pin(store.lease_instances(instances(&orders, 1, LONG)));
    while !store.is_waiting() {
        assert!((&mut waiting).now_or_never().is_none());
        std::thread::yield_now();
    }
    send(&store, start_of("o", "Order"));
    let held = block_on(waiting).unwrap().remove(0);
    let is_marked = || database.number("SELECT (flags & 4)::bigint FROM abide.mailbox WHERE id = 'o'") > 0;
    assert!(!is_marked());

    // Whatever the mark says, an instance or its start is not forgotten.
    let mark = || database.run("UPDATE abide.mailbox SET flags = flags | 4");
    mark();
    assert_eq!(database.number("SELECT cardinality(abide.forget_expired(ARRAY(SELECT no FROM abide.mailbox), '{}', 9e15::bigint))::bigint"), 1);
    block_on(store.commit_turns(vec![commit(&held, first_turn("o", Vec::new()))])).remove(0).unwrap();
    mark();
    send(&store, signal("o"));
    assert_eq!(names(&lease(&store, &orders)), ["o"]);
    assert_eq!(database.number("SELECT count(*) FROM abide.instance WHERE status = 'Running'"), 1);
}

/// A route that is new costs a look more, once; then a call of a node that serves it is one statement.
#[test]
fn a_route_is_learnt_once() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let orders = serving("b1", &["Order"], &["Charge"]);
    let looks = |names: &[&str]| names.iter().map(|name| sent(&store, name)).sum::<u64>();
    for (round, statements) in [(1, 4), (2, 2), (3, 2)] {
        send(&store, start_of(&format!("o{round}"), "Order"));
        block_on(store.enqueue_for_worker(activity_named("Charge", round + 1))).unwrap();
        let before = looks(&["lease_instances", "lease_work"]);
        assert_eq!(lease(&store, &orders).len(), 1);
        assert_eq!(lease_work(&store, &orders).len(), 1);
        assert_eq!(looks(&["lease_instances", "lease_work"]) - before, statements, "round {round}");
    }
}

/// Steps of an instance add no routes.
#[test]
fn routes_are_shared_by_what_needs_the_same() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let orders = serving("b1", &["Order"], &["Charge"]);
    let count = || {
        database.number("SELECT (SELECT count(*) FROM abide.route) + (SELECT count(*) FROM abide.work_route)")
    };
    let mut counts = Vec::new();
    for number in 0..3 {
        let name = format!("o{number}");
        send(&store, start_of(&name, "Order"));
        let held = lease(&store, &orders).remove(0);
        let turn = first_turn(&name, vec![activity(&name, 2)]);
        block_on(store.commit_turns(vec![commit(&held, turn)])).remove(0).unwrap();
        send(&store, signal(&name));
        assert_eq!(names(&lease(&store, &orders)), [name]);
        counts.push(count());
    }
    assert_eq!(counts[1..], [counts[0]; 2]);
    // Their numbers have no gaps: whoever knows one knows those before it.
    assert_eq!(database.number("SELECT max(no) - count(*) FROM abide.route"), 0);
    assert_eq!(database.number("SELECT max(no) - count(*) FROM abide.work_route"), 0);
}

/// An instance whose status is damaged must not look like one that never ran: its mail would be dropped.
#[test]
fn an_instance_with_a_damaged_status_can_be_blocked_as_corrupt() {
    for status in ["Sleeping", ""] {
        let Some(database) = Database::new() else { return };
        let store = database.open();
        let orders = serving("b1", &["Order"], &[]);
        send(&store, start("a"));
        let held = lease(&store, &orders).remove(0);
        block_on(store.commit_turns(vec![commit(&held, first_turn("a", Vec::new()))])).remove(0).unwrap();
        database.damage("UPDATE abide.mailbox SET status = $1 WHERE id = 'a'", &[&status]);
        send(&store, signal("a"));
        let held = lease(&store, &orders).remove(0);
        assert_eq!(held.status, Some(ExecutionStatus::Running));
        assert_eq!((held.position.execution_id, held.orchestration_name.as_str()), (1, "Order"));
        let history = block_on(store.read_history_after(&held, 0)).unwrap_err();
        assert_eq!(history.rejection(), Some(Rejection::Corrupt), "{history}");
        let corrupt = BlockInstance { kind: BlockKind::Corrupt, retry_after: None, ..block(&held, "b1") };
        block_on(store.block_instance(corrupt)).unwrap();
        assert!(lease(&store, &orders).is_empty());
        assert_eq!(block_on(store.read_blocks("a")).unwrap().len(), 1, "it is listed");
        // Repaired, it goes on with the mail that it had.
        database.damage("UPDATE abide.mailbox SET status = 'Running' WHERE id = 'a'", &[]);
        assert!(block_on(store.retry_blocked("a")).unwrap());
        let held = lease(&store, &orders).remove(0);
        assert_eq!(held.messages[0].item, signal("a"));
        assert_eq!(block_on(store.read_history_after(&held, 0)).unwrap().len(), 1);
    }
}

#[test]
fn a_node_is_listed_while_its_store_listens() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    block_on(here.announce_node(announcement("one", "Order"))).unwrap();
    block_on(there.announce_node(announcement("two", "Refund"))).unwrap();
    assert_eq!(ids(&here), ["one", "two"]);
    assert_eq!(ids(&there), ["one", "two"]);
    // Cut off, and back.
    let before = database.listeners();
    database.cut_listeners();
    wait_until(|| database.listeners().is_disjoint(&before) && database.listeners().len() == 2);
    wait_until(|| ids(&here) == ["one", "two"] && ids(&there) == ["one", "two"]);
    drop(there);
    wait_until(|| ids(&here) == ["one"]);
    block_on(here.forget_node("one")).unwrap();
    assert!(ids(&here).is_empty());
}

/// A canceled instance is left to a live node that can run it, and taken by any node when that one is gone.
#[test]
fn a_cancel_waits_for_the_live_node_that_has_the_code() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    let (orders, refunds) = (serving("b1", &["Order"], &[]), serving("b1", &["Refund"], &[]));
    send(&here, start("a"));
    let held = lease(&there, &orders).remove(0);
    block_on(there.commit_turns(vec![commit(&held, first_turn("a", Vec::new()))])).remove(0).unwrap();
    block_on(there.announce_node(announcement("orders", "Order"))).unwrap();
    send(&here, WorkItem::CancelInstance { instance: "a".to_owned(), reason: "enough".to_owned() });
    assert!(lease(&here, &refunds).is_empty(), "a live node has the code");
    drop(there);
    wait_until(|| ids(&here).is_empty());
    assert_eq!(names(&lease(&here, &refunds)), ["a"]);
}

/// Deleting an instance with more rows than one transaction removes takes its block along at once.
#[test]
fn a_deleted_instance_is_not_blocked_any_more() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let orders = serving("b1", &["Order"], &["Charge"]);
    send(&store, start("a"));
    let held = lease(&store, &orders).remove(0);
    let turn = first_turn("a", vec![activity("a", 2)]);
    block_on(store.commit_turns(vec![commit(&held, turn)])).remove(0).unwrap();
    database.run(
        "INSERT INTO abide.turn (mailbox, execution, first_event, last_event, length, events)
         SELECT b.no, 1, 10 + i, 10 + i, 1, '[]' FROM abide.mailbox AS b, generate_series(1, 3000) AS i",
    );
    send(&store, signal("a"));
    let held = lease(&store, &orders).remove(0);
    block_on(store.block_instance(block(&held, "b1"))).unwrap();
    let admin = store.as_management_capability().unwrap();
    assert_eq!(block_on(admin.list_blocked(9)).unwrap().len(), 1);
    block_on(admin.delete_instance("a", true)).unwrap();
    assert!(block_on(admin.list_blocked(9)).unwrap().is_empty());
    assert!(block_on(admin.count_blocked()).unwrap().by_kind.is_empty());
    assert_eq!(rules::contradictions(&database, 1), Vec::<String>::new());
}
