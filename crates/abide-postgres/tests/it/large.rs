//! Payloads that take longer to move than a call usually has.
//!
//! The store's clock runs ahead, so that seconds of the machine are enough.

use std::sync::Arc;
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Event, EventKind, WorkItem};
use abide_postgres::PostgresProvider;
use abide_provider::{FinishedWork, LeaseInstances, LeaseWork, Provider as _, TagFilter};
use futures::executor::block_on;

use crate::support::database::Database;
use crate::support::items::{activity, commit, completed, event, first_turn, signal, start, started};
use crate::support::slow_proxy::{HastyClock, slow_proxy};

const MIB: usize = 1024 * 1024;

/// Fifteen seconds of the store's clock at this rate: more than the ten that a call has which carries little.
const PAYLOAD: usize = 24 * MIB;
const BYTES_PER_SECOND: u32 = 8 * 1024 * 1024;
const HASTE: u32 = 5;

/// Less than it takes until the lease arrives, by the server's clock.
const SHORT_LEASE: Duration = Duration::from_secs(1);

fn behind_slow_proxy(database: &Database) -> PostgresProvider {
    let url = slow_proxy(database.url(), BYTES_PER_SECOND);
    let clock = HastyClock { machine: SystemClock::new(), factor: HASTE };
    let builder = PostgresProvider::builder(&url).schema(database.schema()).connections(1);
    block_on(builder.clock(Arc::new(clock)).open()).unwrap()
}

fn instances() -> LeaseInstances {
    LeaseInstances {
        limit: 8,
        lease_for: SHORT_LEASE,
        wait: Duration::ZERO,
        capabilities: None,
        serving: None,
    }
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

fn payload() -> String {
    "x".repeat(PAYLOAD)
}

#[test]
fn a_large_message_and_its_turn_get_through_a_slow_connection() {
    let Some(database) = Database::new() else { return };
    let store = behind_slow_proxy(&database);
    let mut large = signal("i");
    if let WorkItem::ExternalRaised { data, .. } = &mut large {
        *data = payload();
    }
    block_on(store.enqueue_for_orchestrator(start("i"), None)).unwrap();
    block_on(store.enqueue_for_orchestrator(large.clone(), None)).unwrap();

    let [lease] = &block_on(store.lease_instances(instances())).unwrap()[..] else { panic!("no lease") };
    assert_eq!(lease.messages.len(), 2);
    assert!(lease.messages[1].item == large);

    let mut turn = first_turn("i", Vec::new());
    let kind = EventKind::ExternalEvent { name: "go".to_owned(), data: payload() };
    turn.events = vec![started("i"), event("i", 2, kind)];
    let events: Vec<Event> = turn.events.clone();
    block_on(store.commit_turns(vec![commit(lease, turn)])).remove(0).unwrap();
    assert!(block_on(store.read("i")).unwrap() == events);
}

#[test]
fn a_large_activity_and_its_result_get_through_a_slow_connection() {
    let Some(database) = Database::new() else { return };
    let store = behind_slow_proxy(&database);
    block_on(store.enqueue_for_orchestrator(start("i"), None)).unwrap();
    let patient = LeaseInstances { lease_for: Duration::from_secs(300), ..instances() };
    let lease = block_on(store.lease_instances(patient)).unwrap().remove(0);
    let (mut large, mut done) = (activity("i", 2), completed("i", 2));
    if let WorkItem::ActivityExecute { input, .. } = &mut large {
        *input = payload();
    }
    if let WorkItem::ActivityCompleted { result, .. } = &mut done {
        *result = payload();
    }
    block_on(store.commit_turns(vec![commit(&lease, first_turn("i", vec![large.clone()]))]))
        .remove(0)
        .unwrap();

    let leased = block_on(store.lease_work(work())).unwrap().remove(0);
    assert!(leased.item == large);
    let finished = FinishedWork { token: leased.token, completion: Some(done) };
    block_on(store.finish_work(vec![finished])).remove(0).unwrap();
    assert_eq!(database.number("SELECT count(*) FROM abide.work"), 0);
}

/// The clock of the server decides here.
#[test]
fn the_server_cancels_a_call_that_carries_much_later_than_others() {
    let Some(database) = Database::new() else { return };
    let builder = database.builder().connections(1).statement_timeout(Duration::from_secs(1));
    let store = block_on(builder.open()).unwrap();
    block_on(store.enqueue_for_orchestrator(start("i"), None)).unwrap();
    database.run(
        "CREATE FUNCTION abide.dawdle() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(2); RETURN NEW; END $$;
         CREATE TRIGGER dawdle BEFORE INSERT ON abide.message FOR EACH ROW EXECUTE FUNCTION abide.dawdle();",
    );
    let send = |bytes| {
        let mut item = signal("i");
        if let WorkItem::ExternalRaised { data, .. } = &mut item {
            *data = "x".repeat(bytes);
        }
        block_on(store.enqueue_for_orchestrator(item, None))
    };
    let is_canceled = |bytes| send(bytes).is_err_and(|error| error.is_retryable());
    assert!(is_canceled(1), "the server cancels it after a second");
    send(4 * MIB).unwrap();
    assert!(is_canceled(1), "the next call has the usual time");
}

/// The clock of the server decides here, too: it counts the time for which it cannot send.
#[test]
fn the_server_does_not_cancel_a_read_for_ever_whose_answer_takes_longer_than_a_statement_may() {
    let Some(database) = Database::new() else { return };
    let fast = database.open();
    block_on(fast.enqueue_for_orchestrator(start("i"), None)).unwrap();
    let patient = LeaseInstances { lease_for: Duration::from_secs(300), ..instances() };
    let lease = block_on(fast.lease_instances(patient)).unwrap().remove(0);
    let mut turn = first_turn("i", Vec::new());
    let kind = EventKind::ExternalEvent { name: "go".to_owned(), data: "x".repeat(16 * MIB) };
    turn.events = vec![started("i"), event("i", 2, kind)];
    let events: Vec<Event> = turn.events.clone();
    block_on(fast.commit_turns(vec![commit(&lease, turn)])).remove(0).unwrap();
    // Its answers take three seconds.
    let url = slow_proxy(database.url(), 5 * 1024 * 1024);
    let builder = PostgresProvider::builder(&url).schema(database.schema()).connections(1);
    let slow = block_on(builder.statement_timeout(Duration::from_secs(1)).open()).unwrap();

    assert!(block_on(slow.read("i")).unwrap() == events);
    assert!(block_on(slow.read_with_execution("i", 1)).unwrap() == events);

    // Other calls have the usual time.
    database.run(
        "CREATE FUNCTION abide.dawdle() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(2); RETURN NEW; END $$;
         CREATE TRIGGER dawdle BEFORE INSERT ON abide.message FOR EACH ROW EXECUTE FUNCTION abide.dawdle();",
    );
    assert!(
        block_on(slow.enqueue_for_orchestrator(signal("i"), None)).is_err_and(|error| error.is_retryable())
    );
}
