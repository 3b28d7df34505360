//! Deleting instances that have much: gone at once, removed in parts. Mail that waited for a start for too long.

use abide_model::ExecutionStatus;
use abide_provider::{DeleteInstanceResult, Provider as _, ProviderAdmin as _};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

/// How many rows one transaction removes here.
const ROWS: u32 = 64;

/// More than a few transactions remove: an execution and a turn each.
const EXECUTIONS: u64 = 1_000;

/// The tables that have rows by the number of a mailbox.
const TABLES: [&str; 7] = ["turn", "execution", "message", "work", "kv_store", "kv_delta", "custom_status"];

fn delete(store: &Store, id: &str) -> DeleteInstanceResult {
    block_on(store.provider.delete_instance(id, true)).unwrap()
}

/// How many rows are left of mailboxes that are not there any more.
fn dead_rows(store: &Store) -> i64 {
    let counts = TABLES
        .map(|table| format!("(SELECT count(*) FROM {table} WHERE mailbox NOT IN (SELECT no FROM mailbox))"));
    store.value(&format!("SELECT {}", counts.join(" + ")))
}

fn wait_until_removed(store: &Store) {
    while store.count("tombstone") > 0 {
        std::thread::yield_now();
    }
    assert_eq!(dead_rows(store), 0);
}

fn wait_until(store: &Store, is_so: impl Fn(&Store) -> bool) {
    while !is_so(store) {
        std::thread::yield_now();
    }
}

/// The thread that copies the log may be at it.
fn empty_log(store: &Store) {
    while block_on(store.provider.checkpoint()).is_err() {
        std::thread::yield_now();
    }
}

/// Starts an instance, and completes it.
fn run(store: &Store, id: &str) {
    store.create(id, TurnBuilder::starting(1).ending(ExecutionStatus::Completed, "done"));
    assert_eq!(block_on(store.provider.read(id)).unwrap().len(), 1);
}

#[test]
fn a_large_instance_is_gone_at_once_and_its_rows_go_in_parts() {
    for store in [Store::removing(ROWS), Store::on_file_removing(ROWS)] {
        store.create_with_past("large", EXECUTIONS - 1);
        store.enqueue(signal("large", "unread"));
        let before = store.provider.transactions();

        let deleted = delete(&store, "large");

        assert_eq!(deleted.instances_deleted, 1);
        assert_eq!(deleted.executions_deleted, EXECUTIONS);
        assert_eq!(deleted.events_deleted, EXECUTIONS);
        assert_eq!(deleted.queue_messages_deleted, 1);
        assert!(block_on(store.provider.read("large")).unwrap().is_empty());
        assert!(block_on(store.provider.get_instance_info("large")).is_err());
        assert!(block_on(store.provider.list_instances()).unwrap().is_empty());
        let metrics = block_on(store.provider.get_system_metrics()).unwrap();
        assert_eq!((metrics.total_instances, metrics.total_executions, metrics.total_events), (0, 0, 0));
        assert_eq!(block_on(store.provider.get_queue_depths()).unwrap().orchestrator_queue, 0);
        // The name is free while the rows of its predecessor are being removed.
        run(&store, "large");
        assert_eq!(block_on(store.provider.list_executions("large")).unwrap(), [1]);

        wait_until_removed(&store);

        let parts = store.provider.transactions() - before;
        let rows = 2 * EXECUTIONS + 1;
        assert!(parts >= rows / u64::from(ROWS), "{rows} rows went in {parts} transactions");
        assert_eq!(block_on(store.provider.list_executions("large")).unwrap(), [1]);
    }
}

#[test]
fn a_removal_goes_on_after_the_store_was_closed() {
    let store = Store::on_file_removing(1);
    store.create_with_past("large", EXECUTIONS - 1);
    delete(&store, "large");
    // As slow as before: it must not be over before anybody looks.
    let store = store.reopened_removing(1);
    assert!(dead_rows(&store) > 0, "the removal was over before the store was closed");
    wait_until_removed(&store.reopened());
}

#[test]
fn rows_that_nobody_counted_go_when_their_time_is_over() {
    let store = Store::on_file_removing(ROWS);
    store.create_with_past("large", EXECUTIONS - 1);
    let hour_ahead = BEGIN + 3_600_000;
    store.damage(&format!(
        "INSERT INTO tombstone (mailbox, held_until) SELECT no, {hour_ahead} FROM mailbox WHERE id = 'large'"
    ));
    store.damage("DELETE FROM mailbox WHERE id = 'large'");
    let store = store.reopened();
    store.settle();
    assert_eq!(store.count("execution"), i64::try_from(EXECUTIONS).unwrap());
    store.advance(seconds(3_600));
    store.settle();
    wait_until_removed(&store);
}

#[test]
fn leases_of_a_large_instance_are_told_and_its_work_is_never_leased() {
    for session in [None, Some("s")] {
        let store = Store::removing(2);
        let mut turn = TurnBuilder::starting(1);
        for id in 2..=600 {
            turn = turn.work(activity_with("large", id, session, None));
        }
        store.create("large", turn);
        let leased = store.lease_work_as("worker", LEASE).unwrap();
        store.create("other", TurnBuilder::starting(1).work(activity_with("other", 2, session, None)));
        let mut stolen = store.provider.stolen_leases().unwrap();

        let deleted = delete(&store, "large");

        assert_eq!(deleted.queue_messages_deleted, 599);
        let told = block_on(futures::StreamExt::next(&mut stolen)).unwrap();
        assert_eq!(told.token, leased.token);
        assert!(store.finish(&leased.token, None).is_err());
        assert_eq!(block_on(store.provider.get_queue_depths()).unwrap().worker_queue, 1);
        let next = loop {
            // What is in the way is removed by calls that meet it, so many each.
            if let Some(next) = store.lease_work_as("worker", LEASE) {
                break next;
            }
        };
        assert_eq!(next.item, activity_with("other", 2, session, None));
        assert!(store.lease_work_as("worker", LEASE).is_none());
        wait_until_removed(&store);
    }
}

#[test]
fn small_instances_are_removed_by_their_deletion() {
    let store = Store::on_file();
    run(&store, "small");
    delete(&store, "small");
    assert_eq!(store.count("tombstone"), 0);
    assert_eq!(dead_rows(&store), 0);
}

/// Enough for several parts.
const CHILDREN: u64 = 2_600;

fn with_children(store: &Store, status: &str) {
    run(store, "root");
    let counted = format!(
        "WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < {CHILDREN})"
    );
    store.damage(&format!(
        "{counted} INSERT INTO mailbox (no, id, execution, status, parent, created_at)
         SELECT 1000 + i, 'child-' || i, 1, iif(i = {CHILDREN}, '{status}', 'Completed'),
                iif(i % 2 = 0, 'child-' || (i - 1), 'root'), i FROM counted"
    ));
    store.damage(&format!(
        "{counted} INSERT INTO execution (mailbox, no, status, started_at)
         SELECT 1000 + i, 1, 'Completed', i FROM counted"
    ));
    store.damage("UPDATE counter SET mailbox = 1000000");
}

#[test]
fn a_tree_that_is_too_large_for_one_transaction_goes_from_its_leaves_up() {
    let store = Store::on_file();
    with_children(&store, "Completed");
    let before = store.provider.transactions();
    let deleted = block_on(store.provider.delete_instance("root", false)).unwrap();
    assert_eq!(deleted.instances_deleted, CHILDREN + 1);
    assert_eq!(deleted.executions_deleted, CHILDREN + 1);
    assert!(store.provider.transactions() - before >= 5);
    assert!(block_on(store.provider.list_instances()).unwrap().is_empty());
    wait_until_removed(&store);
}

#[test]
fn a_large_tree_of_which_something_runs_stays_whole() {
    let store = Store::on_file();
    with_children(&store, "Running");
    store.unchanged(|| {
        let refused = block_on(store.provider.delete_instance("root", false)).unwrap_err();
        assert!(refused.to_string().contains("still running"), "{refused}");
        let bulk = block_on(store.provider.delete_instance_bulk(abide_provider::InstanceFilter::default()));
        assert_eq!(bulk.unwrap().instances_deleted, 0);
    });
    let deleted = block_on(store.provider.delete_instance("root", true)).unwrap();
    assert_eq!(deleted.instances_deleted, CHILDREN + 1);
}

#[test]
fn a_large_tree_is_deleted_with_many_others() {
    let store = Store::on_file();
    with_children(&store, "Completed");
    run(&store, "alone");
    let deleted = block_on(store.provider.delete_instance_bulk(abide_provider::InstanceFilter::default()));
    assert_eq!(deleted.unwrap().instances_deleted, CHILDREN + 2);
}

#[test]
fn the_log_stays_small_while_much_is_removed() {
    const BYTES: u64 = 24 * 1_024 * 1_024;
    let store = Store::on_file();
    store.create_with_past("large", 20_000);
    empty_log(&store);
    delete(&store, "large");
    let mut largest = 0;
    while store.count("tombstone") > 0 {
        largest = largest.max(store.log_size());
    }
    assert!(largest < BYTES, "the log grew to {largest} bytes");
    let limit: i64 = store.value("PRAGMA journal_size_limit");
    assert_eq!(limit, 32 * 1_024 * 1_024);
}

/// Mail for what does not exist, and for what is started in time.
fn wait_for_starts(store: &Store, messages: u64) {
    for number in 0..messages {
        store.enqueue(signal("missing", &number.to_string()));
    }
    store.enqueue(signal("late", "early"));
}

#[test]
fn mail_that_waited_for_a_start_too_long_goes_in_parts_with_its_mailbox() {
    for store in [Store::removing(2), Store::on_file_removing(2)] {
        wait_for_starts(&store, 20);
        store.advance(seconds(3_599));
        store.enqueue(start("late"));
        store.settle();
        assert_eq!((store.count("message"), store.count("mailbox")), (22, 2));
        let before = store.provider.transactions();
        store.advance(seconds(1));
        store.settle();

        wait_until(&store, |store| store.count("message") == 2 && store.count("mailbox") == 1);

        let parts = store.provider.transactions() - before;
        assert!(parts >= 10, "20 messages, two at a time, went in {parts} transactions");
        let unread = "SELECT count(*) FROM message WHERE expires_at IS NOT NULL";
        wait_until(&store, |store| store.value::<i64>(unread) == 0);
        assert_eq!(store.lease().messages.len(), 2, "what got its start in time stays");
    }
}

#[test]
fn mail_that_waited_for_a_start_too_long_goes_after_the_store_was_closed() {
    let store = Store::on_file_removing(ROWS);
    wait_for_starts(&store, 3);
    let store = store.reopened();
    store.advance(seconds(3_600));
    store.settle();
    wait_until(&store, |store| store.count("message") == 0 && store.count("mailbox") == 0);
}

#[test]
fn a_start_is_not_held_up_by_much_mail_that_waited_too_long() {
    let store = Store::removing(2);
    wait_for_starts(&store, 50);
    store.advance(seconds(3_600));
    store.enqueue(start("missing"));
    assert_eq!(store.lease().messages.len(), 1);
    wait_until(&store, |store| store.count("message") == 1 && store.count("tombstone") == 0);
}

/// An idle store has nothing to do until mail expires.
#[test]
fn mail_that_waits_for_a_start_costs_an_idle_store_nothing() {
    let store = Store::in_memory();
    store.enqueue(signal("missing", ""));
    store.settle();
    let before = store.provider.transactions();
    for _ in 0..59 {
        store.advance(seconds(60));
        store.enqueue(queue_message("missing", "dropped"));
    }
    assert_eq!(store.provider.transactions() - before, 59, "those of the callers alone");
}
