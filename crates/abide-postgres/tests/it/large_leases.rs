//! A lease on a large payload lasts until the payload has arrived, and no longer than that.

use std::time::Duration;

use abide_model::{EventKind, WorkItem};
use abide_postgres::PostgresProvider;
use abide_provider::{ExecutionMetadata, LeaseInstances, LeaseWork, Provider as _, TagFilter, Turn};
use futures::executor::block_on;

use crate::nodes::{LONG, listening};
use crate::support::database::{Database, wait_until};
use crate::support::items::{activity, commit, event, first_turn, start};

const MIB: usize = 1024 * 1024;

/// Short, so that the payload decides how long a lease lasts.
const SHORT_LEASE: Duration = Duration::from_secs(1);

fn instances(wait: Duration) -> LeaseInstances {
    LeaseInstances { limit: 8, lease_for: SHORT_LEASE, wait, capabilities: None, serving: None }
}

fn work() -> LeaseWork {
    LeaseWork {
        limit: 8,
        lease_for: SHORT_LEASE,
        wait: Duration::ZERO,
        session: None,
        tags: TagFilter::Any,
        serving: None,
    }
}

/// How many seconds the leases of a table have left, rounded up.
fn seconds_left(database: &Database, table: &str) -> i64 {
    database.number(&format!(
        "SELECT max((leased_until - abide.now() + 999) / 1000) FROM abide.{table} WHERE lease IS NOT NULL"
    ))
}

fn large_start(instance: &str, bytes: usize) -> WorkItem {
    let mut large = start(instance);
    if let WorkItem::StartOrchestration { input, .. } = &mut large {
        *input = "x".repeat(bytes);
    }
    large
}

/// Leases while `act` creates what there is to lease.
fn while_waiting(store: &PostgresProvider, act: impl FnOnce()) {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(store.lease_instances(instances(LONG))).unwrap());
        wait_until(|| store.is_waiting());
        act();
        assert_eq!(waiting.join().unwrap().len(), 1);
    });
}

#[test]
fn what_is_left_ready_does_not_count() {
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().connections(1).open()).unwrap();
    block_on(store.enqueue_for_orchestrator(start("i"), None)).unwrap();
    let patient = LeaseInstances { lease_for: LONG, ..instances(Duration::ZERO) };
    let lease = block_on(store.lease_instances(patient)).unwrap().remove(0);
    let large = |id| {
        let mut large = activity("i", id);
        if let WorkItem::ActivityExecute { input, .. } = &mut large {
            *input = "x".repeat(8 * MIB);
        }
        large
    };
    let turn = first_turn("i", (2..8).map(large).collect());
    block_on(store.commit_turns(vec![commit(&lease, turn)])).remove(0).unwrap();

    assert_eq!(block_on(store.lease_work(work())).unwrap().len(), 2, "16 MiB in one call");
    let left = seconds_left(&database, "work");
    assert!((30..=33).contains(&left), "{left} s for 16 MiB, of 48 MiB that were ready");
}

#[test]
fn a_large_start_that_is_handed_to_a_waiting_call_is_leased_until_it_arrives() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    while_waiting(&store, || {
        block_on(store.enqueue_for_orchestrator(large_start("i", 8 * MIB), None)).unwrap();
    });
    let left = seconds_left(&database, "mailbox");
    assert!((14..=17).contains(&left), "{left} s for 8 MiB");
}

#[test]
fn a_large_successor_that_is_handed_to_a_waiting_call_is_leased_until_it_arrives() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    block_on(store.enqueue_for_orchestrator(start("i"), None)).unwrap();
    let patient = LeaseInstances { lease_for: LONG, ..instances(Duration::ZERO) };
    let lease = block_on(store.lease_instances(patient)).unwrap().remove(0);
    let mut turn = first_turn("i", Vec::new());
    turn.events.push(event("i", 2, EventKind::OrchestrationContinuedAsNew { input: String::new() }));
    turn.metadata = ExecutionMetadata { status: Some("ContinuedAsNew".to_owned()), ..turn.metadata };
    let successor = WorkItem::ContinueAsNew {
        instance: "i".to_owned(),
        orchestration: "Order".to_owned(),
        input: "x".repeat(8 * MIB),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    };
    let turn = Turn { orchestrator_items: vec![successor], ..turn };
    while_waiting(&store, || {
        block_on(store.commit_turns(vec![commit(&lease, turn)])).remove(0).map(drop).unwrap();
    });
    let left = seconds_left(&database, "mailbox");
    assert!((14..=17).contains(&left), "{left} s for 8 MiB");
}
