//! An instance that continues as new while a call waits is leased by its own commit, without a look at its mail; as if there had been one.

use abide_model::{Event, EventKind, WorkItem};
use abide_postgres::PostgresProvider;
use abide_provider::{ExecutionMetadata, InstanceLease, LeaseInstances, Provider as _, Turn};
use futures::executor::block_on;

use crate::nodes::{LONG, lease, listening};
use crate::support::database::{Database, wait_until};
use crate::support::items::{commit, event, signal, start, started};
use crate::support::rules;

/// What an instance is like when it continues as new.
#[derive(Debug, Clone, Copy, Default)]
struct Given {
    is_child: bool,
    has_timer: bool,
    was_told_more: bool,
}

const GIVEN: [Given; 5] = [
    Given { is_child: false, has_timer: false, was_told_more: false },
    Given { is_child: true, has_timer: false, was_told_more: false },
    Given { is_child: false, has_timer: true, was_told_more: false },
    Given { is_child: false, has_timer: false, was_told_more: true },
    Given { is_child: true, has_timer: true, was_told_more: true },
];

/// How a turn that is alone is committed.
#[derive(Debug, Clone, Copy)]
enum Commit {
    AsItIs,
    AsMany,
}

#[test]
fn whoever_continues_as_new_is_leased_as_if_his_mail_had_been_looked_at() {
    for given in GIVEN {
        let (Some(as_it_is), Some(as_many)) = (Database::new(), Database::new()) else { return };
        let found = seen_after(&as_it_is, given, Commit::AsItIs);
        assert_eq!(found, seen_after(&as_many, given, Commit::AsMany), "{given:?}");
        let mail = if given.was_told_more {
            vec![continuation(given), signal("a")]
        } else {
            vec![continuation(given)]
        };
        assert_eq!(found.mail, mail, "{given:?}");
    }
}

/// What a lease says, but for what is different every time.
#[derive(Debug, PartialEq)]
struct Seen {
    mail: Vec<WorkItem>,
    attempt: u32,
    execution: u64,
    last_event: u64,
    says: String,
}

fn seen(lease: &InstanceLease) -> Seen {
    let InstanceLease { status, orchestration_name, orchestration_version, parent, .. } = lease;
    Seen {
        mail: lease.messages.iter().map(|message| message.item.clone()).collect(),
        attempt: lease.attempt,
        execution: lease.position.execution_id,
        last_event: lease.position.last_event_id,
        says: format!("{status:?} {orchestration_name} {orchestration_version} {parent:?}"),
    }
}

fn seen_after(database: &Database, given: Given, way: Commit) -> Seen {
    let store = listening(database);
    if matches!(way, Commit::AsMany) {
        database.do_one_as_many();
    }
    block_on(store.enqueue_for_orchestrator(first_message(given), None)).unwrap();
    commit_under(&store, &lease(&store, LONG), first(given));
    block_on(store.enqueue_for_orchestrator(signal("a"), None)).unwrap();
    let held = lease(&store, LONG);
    if given.was_told_more {
        block_on(store.enqueue_for_orchestrator(signal("a"), None)).unwrap();
    }
    let next = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lease_first(&store));
        // Mostly it is given what the commit leases; if it is about to look at that moment, it finds the same.
        wait_until(|| store.is_waiting());
        commit_under(&store, &held, last(given));
        waiting.join().unwrap()
    });
    let seen = seen(&next);
    // The lease holds, it used up what it handed out, and the mailbox says what is true.
    let begun = Event::with_event_id(1, "a", 2, None, started("a").kind);
    commit_under(&store, &next, Turn { execution_id: 2, events: vec![begun], ..Turn::default() });
    assert_eq!(database.number("SELECT count(*) FROM abide.message"), 0, "{given:?}, {way:?}");
    let now = u64::try_from(database.number("SELECT abide.now()")).unwrap();
    assert_eq!(rules::contradictions(database, now), Vec::<String>::new(), "{given:?}, {way:?}");
    seen
}

fn lease_first(store: &PostgresProvider) -> InstanceLease {
    let request = LeaseInstances { limit: 1, lease_for: LONG, wait: LONG, capabilities: None, serving: None };
    block_on(store.lease_instances(request)).unwrap().remove(0)
}

fn commit_under(store: &PostgresProvider, lease: &InstanceLease, turn: Turn) {
    block_on(store.commit_turns(vec![commit(lease, turn)])).remove(0).unwrap();
}

fn parent_of(given: Given) -> (Option<String>, Option<u64>) {
    if given.is_child { (Some("parent".to_owned()), Some(7)) } else { (None, None) }
}

fn first_message(given: Given) -> WorkItem {
    let WorkItem::StartOrchestration { instance, orchestration, input, version, execution_id, .. } =
        start("a")
    else {
        panic!("that is a start")
    };
    let (parent_instance, parent_id) = parent_of(given);
    let parent_execution_id = parent_id;
    WorkItem::StartOrchestration {
        instance,
        orchestration,
        input,
        version,
        parent_instance,
        parent_id,
        parent_execution_id,
        execution_id,
    }
}

/// The first turn, which may ask for a timer.
fn first(given: Given) -> Turn {
    let timer =
        WorkItem::TimerFired { instance: "a".to_owned(), execution_id: 1, id: 2, fire_at_ms: 1 << 50 };
    let mut begun = started("a");
    let (parent, event) = parent_of(given);
    if let EventKind::OrchestrationStarted { parent_instance, parent_id, parent_execution_id, .. } =
        &mut begun.kind
    {
        (*parent_instance, *parent_id, *parent_execution_id) = (parent.clone(), event, event);
    }
    let metadata = ExecutionMetadata {
        orchestration_name: Some("Order".to_owned()),
        orchestration_version: Some("1.0.0".to_owned()),
        parent_instance_id: parent,
        ..ExecutionMetadata::default()
    };
    let orchestrator_items = if given.has_timer { vec![timer] } else { Vec::new() };
    Turn { execution_id: 1, events: vec![begun], orchestrator_items, metadata, ..Turn::default() }
}

/// The last turn of its first execution.
fn last(given: Given) -> Turn {
    let ended = event("a", 2, EventKind::OrchestrationContinuedAsNew { input: "more".to_owned() });
    let metadata = ExecutionMetadata {
        status: Some("ContinuedAsNew".to_owned()),
        output: Some("more".to_owned()),
        ..ExecutionMetadata::default()
    };
    let orchestrator_items = vec![continuation(given)];
    Turn { execution_id: 1, events: vec![ended], orchestrator_items, metadata, ..Turn::default() }
}

fn continuation(given: Given) -> WorkItem {
    let (parent_instance, parent_id) = parent_of(given);
    WorkItem::ContinueAsNew {
        instance: "a".to_owned(),
        orchestration: "Order".to_owned(),
        input: "more".to_owned(),
        version: None,
        parent_instance,
        parent_id,
        parent_execution_id: parent_id,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}
