//! What describing an instance reads does not depend on the length of its history: counted in pages, by the
//! server.
//!
//! `ABIDE_FLAT_ROWS` sets the length, up to 100,000 events.

use std::time::Duration;

use abide_model::{AppErrorKind, ErrorDetails, Event, EventKind, WorkItem};
use abide_postgres::PostgresProvider;
use abide_provider::{
    BlockInstance, BlockKind, ExecutionMetadata, InstanceLease, LeaseInstances, Provider as _, Turn,
};
use futures::executor::block_on;

use crate::flat::many;
use crate::support::database::Database;
use crate::support::items::{activity, commit, event, signal, start, started};

/// The events of a short history, beyond its start.
const FEW: u64 = 10;

/// The events of a long history, at most.
const MOST: u64 = 100_000;

/// Events of one turn.
const EVENTS_PER_TURN: u64 = 10;

/// Pages that a read may take more of a long history, because its index is deeper. Two are measured.
const DEEPER: i64 = 4;

/// The reads of `Client::describe`, with the values for the instance `a` and its child.
const READS: [(&str, &str); 5] = [
    ("read_overview", "('a', 1000, 50, 8192)"),
    ("read_blocks", "('a')"),
    ("read_children", "(ARRAY['child'])"),
    ("read_statuses", "(ARRAY['a'])"),
    ("list_nodes", "(1)"),
];

/// What is described.
#[derive(Debug, Clone, Copy)]
enum Situation {
    Running,
    Failed,
    Blocked,
    Parent,
}

fn lease(store: &PostgresProvider) -> InstanceLease {
    let (lease_for, wait) = (Duration::from_secs(60), Duration::ZERO);
    let request = LeaseInstances { limit: 1, lease_for, wait, capabilities: None, serving: None };
    block_on(store.lease_instances(request)).unwrap().remove(0)
}

fn enqueue(store: &PostgresProvider, item: WorkItem) {
    block_on(store.enqueue_for_orchestrator(item, None)).unwrap();
}

fn run_turn(store: &PostgresProvider, lease: &InstanceLease, turn: Turn) {
    block_on(store.commit_turns(vec![commit(lease, turn)])).remove(0).unwrap();
}

fn begin(store: &PostgresProvider, instance: &str, item: WorkItem, worker_items: Vec<WorkItem>) {
    enqueue(store, item);
    let metadata = ExecutionMetadata {
        orchestration_name: Some("Order".to_owned()),
        orchestration_version: Some("1.0.0".to_owned()),
        ..ExecutionMetadata::default()
    };
    let events = vec![started(instance)];
    let turn = Turn { execution_id: 1, events, worker_items, metadata, ..Turn::default() };
    run_turn(store, &lease(store), turn);
}

/// Makes the histories of all instances longer by this many events.
fn lengthen(database: &Database, events: u64) {
    let turns = events / EVENTS_PER_TURN;
    database.run(&format!(
        "INSERT INTO abide.turn (mailbox, execution, first_event, last_event, length, events)
         SELECT b.no, 1, i * {EVENTS_PER_TURN} - 8, i * {EVENTS_PER_TURN} + 1, {EVENTS_PER_TURN},
                repeat('x', 1000)
         FROM abide.mailbox AS b, generate_series(1, {turns}) AS i;
         UPDATE abide.mailbox SET last_event = {events} + 1"
    ));
}

/// The instance `a` in a situation, behind a history of this many events.
fn arrange(database: &Database, store: &PostgresProvider, situation: Situation, events: u64) {
    database.empty_for_good();
    begin(store, "a", start("a"), vec![activity("a", 2)]);
    if let Situation::Parent = situation {
        let mut child = start("child");
        if let WorkItem::StartOrchestration { parent_instance, parent_id, .. } = &mut child {
            (*parent_instance, *parent_id) = (Some("a".to_owned()), Some(2));
        }
        begin(store, "child", child, Vec::new());
    }
    lengthen(database, events);
    match situation {
        Situation::Running | Situation::Parent => {}
        Situation::Failed => {
            enqueue(store, signal("a"));
            run_turn(store, &lease(store), failure(events + 2));
        }
        Situation::Blocked => {
            enqueue(store, signal("a"));
            let block = BlockInstance {
                token: lease(store).token,
                kind: BlockKind::Panic,
                detail: "out of eggs".to_owned(),
                build: "b1".to_owned(),
                event_id: None,
                retry_after: None,
            };
            block_on(store.block_instance(block)).unwrap();
        }
    }
    database.analyse();
}

fn failure(id: u64) -> Turn {
    let kind = AppErrorKind::OrchestrationFailed;
    let details = ErrorDetails::Application { kind, message: "out of eggs".to_owned(), retryable: false };
    let events: Vec<Event> = vec![event("a", id, EventKind::OrchestrationFailed { details })];
    let metadata = ExecutionMetadata {
        status: Some("Failed".to_owned()),
        output: Some("out of eggs".to_owned()),
        ..ExecutionMetadata::default()
    };
    Turn { execution_id: 1, events, metadata, ..Turn::default() }
}

/// The pages of each read, the least of three tries: the first ones may read the server's own tables.
fn pages(database: &Database) -> Vec<i64> {
    let least = |(name, values): &(&str, &str)| {
        (0..3).map(|_| database.pages(&format!("EXECUTE {name}{values}"))).min().unwrap()
    };
    READS.iter().map(least).collect()
}

#[test]
fn what_a_description_reads_does_not_depend_on_the_length_of_the_history() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    database.leave_alone();
    let texts = PostgresProvider::statement_texts(database.schema()).unwrap();
    for (name, _) in READS {
        let (_, text) = texts.iter().find(|(known, _)| *known == name).unwrap();
        database.run(&format!("PREPARE {name} AS {text}"));
    }
    let length = many().min(MOST);
    for situation in [Situation::Running, Situation::Failed, Situation::Blocked, Situation::Parent] {
        let [short, long] = [FEW, length].map(|events| {
            arrange(&database, &store, situation, events);
            pages(&database)
        });
        for (((read, _), short), long) in READS.iter().zip(&short).zip(&long) {
            println!("{situation:?}: {read}: {short} pages of {FEW} events, {long} of {length}");
            assert!(long - short <= DEEPER, "{situation:?}: {read}: {short} pages, {long} of a long history");
        }
    }
}
