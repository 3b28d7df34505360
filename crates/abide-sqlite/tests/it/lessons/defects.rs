//! Defects of §3.1 and §3.4.

use abide_model::WorkItem;
use abide_provider::Provider as _;
use abide_sqlite::{OpenError, SqliteProvider};
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::folder::Folder;
use crate::support::items::*;
use crate::support::store::*;

/// Mail for somebody who does not exist stops nobody, is kept, and is delivered if they ever start.
fn orphan_stops_nobody(store: &Store, orphan: &WorkItem, addressee: &str) {
    store.enqueue(orphan.clone());
    for name in ["b", "c", "d"] {
        store.enqueue(start(name));
    }
    assert_eq!(names(&store.lease_with(lease_instances(2))), ["b", "c"]);
    assert_eq!(store.fetch().unwrap().0.instance, "d");
    for _ in 0..3 {
        assert!(store.unchanged(|| store.try_lease()).is_none());
    }
    store.enqueue(start(addressee));
    let lease = store.lease();
    assert_eq!(
        lease.messages.iter().map(|message| &message.item).collect::<Vec<_>>(),
        [&start(addressee), orphan]
    );
    assert_eq!(attempts(&lease), [1, 1], "looking past it was no attempt");
}

#[test]
fn lesson_1a_a_signal_to_a_typo_stops_nobody() {
    on_both(|store| orphan_stops_nobody(store, &signal("typo", "hello"), "typo"));
}

#[test]
fn lesson_1b_cancelling_what_is_missing_stops_nobody() {
    on_both(|store| orphan_stops_nobody(store, &cancel("missing"), "missing"));
}

#[test]
fn lesson_1c_cancelling_a_child_that_never_started_stops_nobody() {
    on_both(|store| {
        // The first turn schedules a child, drops it, and completes.
        store.create("parent", TurnBuilder::starting(1).mail(cancel("parent::sub::2")));
        orphan_stops_nobody(store, &signal("ghost", "hello"), "ghost");
        store.enqueue(start("after"));
        assert_eq!(store.lease().instance, "after");
    });
}

#[test]
fn lesson_9_work_that_cannot_be_read_stops_no_worker_and_is_counted() {
    on_both(|store| {
        store.create_idle("a");
        for id in 2..5 {
            store.enqueue_work(activity("a", id));
        }
        store.damage("UPDATE work SET item = '{\"ActivityExec' WHERE activity = 2");
        assert_eq!(activities(&store.lease_work_with(lease_work(9))), [3, 4]);
        assert_eq!(store.value::<i64>("SELECT attempts FROM work WHERE activity = 2"), 1);
        store.advance(seconds(1));
        assert!(store.try_lease_work().is_none());
        assert_eq!(store.value::<i64>("SELECT attempts FROM work WHERE activity = 2"), 2);
    });
}

#[test]
fn lesson_10_a_message_that_cannot_be_read_is_not_swallowed_by_the_commit() {
    on_both(|store| {
        store.create_idle("a");
        for data in ["first", "second", "third"] {
            store.enqueue(signal("a", data));
        }
        let text: String = store.value("SELECT item FROM message WHERE item LIKE '%second%'");
        store.damage("UPDATE message SET item = 'garbage' WHERE item LIKE '%second%'");
        let lease = store.lease();
        assert_eq!(contents(&lease), ["first", "third"]);
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        assert_eq!(store.count("message"), 1, "it was not handed out, so it was not consumed");

        // A node that understands it gets it: here, because it is repaired.
        store.damage(&format!("UPDATE message SET item = '{text}'"));
        assert!(store.try_lease().is_none());
        store.advance(seconds(1));
        assert_eq!(contents(&store.lease()), ["second"]);
    });
}

#[test]
fn lesson_34_a_failing_migration_fails_the_opening() {
    let folder = Folder::new("lesson-34");
    let file = Connection::open(database_in(&folder)).unwrap();
    // A file of ours that was never migrated, and a table that is in the way.
    file.execute_batch("PRAGMA application_id = 0x61626964; CREATE TABLE work (something TEXT)").unwrap();
    drop(file);
    let opened = block_on(SqliteProvider::new(database_in(&folder).to_str().unwrap(), None));
    assert!(matches!(opened, Err(OpenError::Migration { version: 1, .. })), "{opened:?}");
    let file = Connection::open(database_in(&folder)).unwrap();
    let tables: String =
        file.query_row("SELECT group_concat(name) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, "work");
    assert_eq!(file.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[test]
fn v0_1_21_queue_messages_for_nobody_are_dropped_and_cost_no_turns() {
    on_both(|store| {
        store.enqueue(queue_message("nobody", "lost"));
        store.enqueue(signal("nobody", "kept"));
        store.enqueue(queue_message("nobody", "lost too"));
        store.enqueue(start("b"));
        assert_eq!(store.lease().instance, "b");
        assert_eq!(store.count("message"), 2);
        let before = store.provider.transactions();
        for _ in 0..5 {
            assert!(store.try_lease().is_none());
        }
        assert_eq!(
            store.provider.transactions(),
            before,
            "what cannot be leased is no reason for a transaction"
        );
    });
}

#[test]
fn v0_1_21_an_orphan_does_not_make_a_waiting_call_busy() {
    let provider = block_on(SqliteProvider::new_in_memory()).unwrap();
    block_on(provider.enqueue_for_orchestrator(signal("nobody", ""), None)).unwrap();
    let before = provider.transactions();
    let request = abide_provider::LeaseInstances { wait: millis(200), ..lease_instances(1) };
    assert!(block_on(provider.lease_instances(request)).unwrap().is_empty());
    assert_eq!(provider.transactions(), before);
}
