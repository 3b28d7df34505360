//! What describing an instance reads does not depend on the length of its history, whatever its situation.

use abide_model::{AppErrorKind, ErrorDetails, EventKind, ExecutionStatus, WorkItem};
use abide_provider::{BlockInstance, BlockKind, Provider as _};
use futures::executor::block_on;

use super::{Cost, Costs, assert_flat, many};
use crate::support::items::*;
use crate::support::store::*;

/// The events of a short history, beyond its start.
const FEW: usize = 10;

/// The events of a long history, at most.
const MOST: usize = 100_000;

/// Events of one turn.
const EVENTS_PER_TURN: usize = 10;

/// Starts the instance `a`, which waits for an activity, and its child.
fn begin(store: &Store) {
    store.create("a", TurnBuilder::starting(1).work(activity("a", 2)));
    let mut item = start("child");
    if let WorkItem::StartOrchestration { parent_instance, parent_id, .. } = &mut item {
        (*parent_instance, *parent_id) = (Some("a".to_owned()), Some(2));
    }
    store.enqueue(item);
    let lease = store.lease();
    assert_eq!(lease.instance, "child");
    store.commit(TurnBuilder::starting(1).under(&lease));
}

/// Makes both histories longer by this many events; returns the id of the next one.
fn lengthen(store: &Store, events: usize) -> u64 {
    let turns = events / EVENTS_PER_TURN;
    store.damage(&format!(
        "WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < {turns})
         INSERT INTO turn (mailbox, execution, first_event, last_event, length, events)
         SELECT mailbox.no, 1, i * {EVENTS_PER_TURN} - 8, i * {EVENTS_PER_TURN} + 1, {EVENTS_PER_TURN}, '[]'
         FROM counted, mailbox"
    ));
    store.damage(&format!("UPDATE mailbox SET last_event = {events} + 1"));
    u64::try_from(events).unwrap() + 2
}

/// The reads of `Client::describe`.
fn describe(store: &Store) -> Costs {
    let provider = &store.provider;
    let children = ["child".to_owned()];
    vec![
        ("overview", Cost::of(store, || block_on(provider.read_overview("a")).unwrap().unwrap()).1),
        ("blocks", Cost::of(store, || block_on(provider.read_blocks("a")).unwrap()).1),
        ("children", Cost::of(store, || block_on(provider.read_children(&children)).unwrap()).1),
        ("status", Cost::of(store, || block_on(provider.read_status("a")).unwrap()).1),
        ("nodes", Cost::of(store, || block_on(provider.nodes()).unwrap()).1),
    ]
}

/// Compares what is read of a short history and of a long one, after something else has happened.
fn flat(situation: &str, happens: impl Fn(&Store, u64)) {
    let [short, long] = [FEW, many().min(MOST)].map(|events| {
        let store = Store::in_memory();
        begin(&store);
        let next = lengthen(&store, events);
        happens(&store, next);
        describe(&store)
    });
    assert_flat(situation, &short, &long);
    let read: Vec<&str> = long.iter().filter(|(_, cost)| cost.total() > 0).map(|(what, _)| *what).collect();
    assert_eq!(read, ["overview", "blocks", "children", "status", "nodes"], "each read is counted");
}

#[test]
fn a_running_parent_is_described_at_the_same_cost_with_a_long_history() {
    flat("a long history of a parent", |_, _| {});
}

#[test]
fn a_failed_instance_is_described_at_the_same_cost_with_a_long_history() {
    flat("a long history that failed", |store, next| {
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        let kind = AppErrorKind::OrchestrationFailed;
        let details = ErrorDetails::Application { kind, message: "out of eggs".to_owned(), retryable: false };
        let turn = TurnBuilder::of_execution(1).event(next, EventKind::OrchestrationFailed { details });
        store.commit(turn.ending(ExecutionStatus::Failed, "out of eggs").under(&lease));
    });
}

#[test]
fn a_blocked_instance_is_described_at_the_same_cost_with_a_long_history() {
    flat("a long history that is blocked", |store, _| {
        store.enqueue(signal("a", ""));
        let block = BlockInstance {
            token: store.lease().token,
            kind: BlockKind::Panic,
            detail: "out of eggs".to_owned(),
            build: "b1".to_owned(),
            event_id: None,
            retry_after: None,
        };
        block_on(store.provider.block_instance(block)).unwrap();
    });
}
