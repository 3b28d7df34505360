//! Deleting instances that have much: gone at once, removed in parts, by whichever node is there. Mail that waited for a start for too long.

use abide_provider::{Provider as _, ProviderAdmin as _};
use futures::channel::oneshot;
use futures::executor::block_on;
use futures::future::{Either, select};

use crate::support::database::{Database, wait_until};
use crate::support::items::{signal, start};

/// How many rows one transaction removes here.
const ROWS: u32 = 64;

/// Many times that: an execution and a turn each.
const EXECUTIONS: u64 = 2_000;

/// An instance with so many executions that ended; with two events each.
fn put_large(database: &Database, id: &str, mailbox: i64) {
    database.run(&format!(
        "INSERT INTO abide.instance (no, id, name, status, created_at, completed_at, has_past)
             VALUES ({mailbox}, '{id}', 'Order', 'Completed', 1, 1, true);
         INSERT INTO abide.mailbox (no, id, execution, last_event, status)
             VALUES ({mailbox}, '{id}', {EXECUTIONS}, 2, 'Completed');
         INSERT INTO abide.execution (mailbox, no, status, started_at, completed_at)
             SELECT {mailbox}, i, CASE WHEN i = {EXECUTIONS} THEN 'Completed' ELSE 'ContinuedAsNew' END, i, i
             FROM generate_series(1, {EXECUTIONS}) AS i;
         INSERT INTO abide.turn (mailbox, execution, first_event, last_event, length, events)
             SELECT {mailbox}, i, 1, 2, 2, '[]' FROM generate_series(1, {EXECUTIONS}) AS i;
         INSERT INTO abide.message (mailbox, class, item) VALUES ({mailbox}, 0, '{{}}');
         INSERT INTO abide.kv_store (mailbox, key, value, updated_at) VALUES ({mailbox}, 'k', 'v', 1);"
    ));
}

fn dead_rows(database: &Database) -> i64 {
    let tables = ["turn", "execution", "message", "work", "kv_store", "kv_delta"].map(|table| {
        format!("(SELECT count(*) FROM abide.{table} WHERE mailbox NOT IN (SELECT no FROM abide.mailbox))")
    });
    database.number(&format!("SELECT {}", tables.join(" + ")))
}

#[test]
fn a_large_instance_is_gone_at_once_and_its_rows_go_in_parts() {
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().removal_rows(ROWS).open()).unwrap();
    put_large(&database, "large", 1_000_000);

    let deleted = block_on(store.delete_instance("large", false)).unwrap();

    assert_eq!(deleted.instances_deleted, 1);
    assert_eq!(deleted.executions_deleted, EXECUTIONS);
    assert_eq!(deleted.events_deleted, 2 * EXECUTIONS);
    assert_eq!(deleted.queue_messages_deleted, 1);
    assert!(block_on(store.read("large")).unwrap().is_empty());
    let metrics = block_on(store.get_system_metrics()).unwrap();
    assert_eq!((metrics.total_instances, metrics.total_executions, metrics.total_events), (0, 0, 0));
    assert_eq!(block_on(store.get_queue_depths()).unwrap().orchestrator_queue, 0);
    // The name is free while the rows of its predecessor are being removed.
    block_on(store.enqueue_for_orchestrator(start("large"), None)).unwrap();
    assert_eq!(block_on(store.get_queue_depths()).unwrap().orchestrator_queue, 1);

    wait_until(|| database.number("SELECT count(*) FROM abide.tombstone") == 0);

    assert_eq!(dead_rows(&database), 0);
    let parts =
        store.statements_sent().iter().find(|(name, _)| *name == "remove_part").map(|(_, sent)| *sent);
    let rows = 2 * EXECUTIONS + 2;
    assert!(parts >= Some(rows / u64::from(ROWS)), "{rows} rows went in {parts:?} parts");
}

#[test]
fn another_node_goes_on_with_a_removal() {
    let Some(database) = Database::new() else { return };
    let first = block_on(database.builder().removal_rows(1).open()).unwrap();
    put_large(&database, "large", 1_000_000);
    block_on(first.delete_instance("large", false)).unwrap();
    drop(first);
    assert!(dead_rows(&database) > 0, "the removal was over before its node ended");
    let _second = block_on(database.builder().removal_rows(ROWS).open()).unwrap();
    wait_until(|| database.number("SELECT count(*) FROM abide.tombstone") == 0);
    assert_eq!(dead_rows(&database), 0);
}

#[test]
fn rows_that_nobody_counted_stay_for_a_while() {
    let Some(database) = Database::new() else { return };
    drop(block_on(database.builder().open()).unwrap());
    put_large(&database, "large", 1_000_000);
    database.run(
        "INSERT INTO abide.tombstone (mailbox, held_until) VALUES (1000000, abide.now() + 3600000);
         DELETE FROM abide.mailbox WHERE no = 1000000; DELETE FROM abide.instance WHERE no = 1000000;",
    );
    assert_eq!(database.number("SELECT coalesce(abide.remove_part(10), 0)") / 1_000, 3_599);
    let rows = i64::try_from(2 * EXECUTIONS + 2).unwrap();
    assert_eq!(dead_rows(&database), rows);
    database.run("UPDATE abide.tombstone SET held_until = abide.now()");
    assert_eq!(database.number("SELECT coalesce(abide.remove_part(10), -1)"), 0);
    assert_eq!(dead_rows(&database), rows - 10);
}

/// A finished instance with so many finished children, an execution and a turn of two events each.
fn put_tree(database: &Database, children: u64) {
    database.run(&format!(
        "INSERT INTO abide.instance (no, id, name, status, created_at, completed_at, has_past, parent)
             SELECT 1000000 + i, CASE i WHEN 0 THEN 'root' ELSE 'child ' || i END, 'Order', 'Completed', i, 1, false,
                    CASE WHEN i > 0 THEN 'root' END
             FROM generate_series(0, {children}) AS i;
         INSERT INTO abide.mailbox (no, id, execution, last_event, status)
             SELECT i.no, i.id, 1, 2, 'Completed' FROM abide.instance AS i WHERE i.no >= 1000000;
         INSERT INTO abide.execution (mailbox, no, status, started_at, completed_at)
             SELECT i.no, 1, 'Completed', 1, 1 FROM abide.instance AS i WHERE i.no >= 1000000;
         INSERT INTO abide.turn (mailbox, execution, first_event, last_event, length, events)
             SELECT i.no, 1, 1, 2, 2, '[]' FROM abide.instance AS i WHERE i.no >= 1000000;
         ANALYZE abide.instance; ANALYZE abide.mailbox; ANALYZE abide.execution; ANALYZE abide.turn;"
    ));
}

fn instances(database: &Database) -> i64 {
    database.number("SELECT count(*) FROM abide.instance")
}

#[test]
fn a_large_tree_is_deleted_from_its_leaves_up_in_parts() {
    const CHILDREN: u64 = 20_000;
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().open()).unwrap();
    put_tree(&database, CHILDREN);

    let deleted = block_on(store.delete_instance("root", false)).unwrap();

    assert_eq!((deleted.instances_deleted, deleted.executions_deleted), (CHILDREN + 1, CHILDREN + 1));
    assert_eq!((deleted.events_deleted, deleted.queue_messages_deleted), (2 * (CHILDREN + 1), 0));
    assert_eq!((instances(&database), dead_rows(&database)), (0, 0));
    let sent = store.statements_sent();
    let parts = sent.iter().find(|(name, _)| *name == "delete_instances").map(|(_, sent)| *sent);
    assert!(parts >= Some(CHILDREN / 256), "{CHILDREN} children went in {parts:?} transactions");
}

#[test]
fn a_large_tree_of_which_something_runs_stays_as_it_is() {
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().open()).unwrap();
    put_tree(&database, 2_000);
    database.run("UPDATE abide.instance SET status = 'Running' WHERE id = 'child 7'");
    let refused = block_on(store.delete_instance("root", false)).unwrap_err();
    assert!(refused.message.contains("child 7"), "{refused:?}");
    assert_eq!(instances(&database), 2_001);
    let forced = block_on(store.delete_instance("root", true)).unwrap();
    assert_eq!((forced.instances_deleted, instances(&database)), (2_001, 0));
}

#[test]
fn a_deletion_that_is_given_up_half_way_is_repeated() {
    const CHILDREN: u64 = 5_000;
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().open()).unwrap();
    put_tree(&database, CHILDREN);
    let all = instances(&database);
    let (some_are_gone, half_way) = oneshot::channel();
    let first = std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until(|| instances(&database) < all);
            some_are_gone.send(())
        });
        match block_on(select(store.delete_instance("root", false), half_way)) {
            Either::Left(_) => panic!("{CHILDREN} children were deleted at once"),
            Either::Right(_) => instances(&database),
        }
    });
    assert!(first < all);
    assert!(block_on(store.get_instance_info("root")).is_ok(), "the root goes last");
    block_on(store.delete_instance("root", false)).unwrap();
    assert_eq!((instances(&database), dead_rows(&database)), (0, 0));
}

#[test]
fn many_children_that_are_not_yet_born_go_in_parts() {
    const UNBORN: u64 = 2_000;
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().open()).unwrap();
    put_tree(&database, 1);
    database.run(&format!(
        "INSERT INTO abide.instance (no, id, name, status, created_at)
             SELECT 2000000 + i, 'unborn ' || i, '', '', 0 FROM generate_series(1, {UNBORN}) AS i;
         INSERT INTO abide.mailbox (no, id, execution, last_event, status)
             SELECT i.no, i.id, 0, 0, '' FROM abide.instance AS i WHERE i.no >= 2000000;
         INSERT INTO abide.message (mailbox, class, item, parent)
             SELECT i.no, 1, '{{}}', 'root' FROM abide.instance AS i WHERE i.no >= 2000000;
         ANALYZE abide.message; ANALYZE abide.mailbox; ANALYZE abide.instance;"
    ));
    let deleted = block_on(store.delete_instance("root", true)).unwrap();
    assert_eq!((deleted.instances_deleted, deleted.queue_messages_deleted), (2, UNBORN));
    assert_eq!(database.number("SELECT count(*) FROM abide.message"), 0);
    let sent = store.statements_sent();
    let parts = sent.iter().find(|(name, _)| *name == "delete_unborn").map(|(_, sent)| *sent);
    assert!(parts >= Some(UNBORN / 256), "{UNBORN} starts went in {parts:?} transactions");
}

#[test]
fn mail_that_waited_for_a_start_too_long_goes_in_parts_with_its_mailbox() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    database.stop_clock(1_000_000);
    for _ in 0..20 {
        block_on(store.enqueue_for_orchestrator(signal("missing"), None)).unwrap();
    }
    block_on(store.enqueue_for_orchestrator(signal("late"), None)).unwrap();
    database.set_clock(1_000_000 + 3_599_000);
    block_on(store.enqueue_for_orchestrator(start("late"), None)).unwrap();
    assert_eq!(database.number("SELECT abide.remove_part(3)"), 1_000, "it is removed when it is due");
    database.set_clock(1_000_000 + 3_600_000);

    let mut parts = 0;
    while database.number("SELECT coalesce(abide.remove_part(3), -1)") == 0 {
        parts += 1;
    }

    assert_eq!(parts, 7, "21 messages, three at a time");
    assert_eq!(database.number("SELECT count(*) FROM abide.message"), 2, "what got its start in time stays");
    assert_eq!(database.number("SELECT count(*) FROM abide.message WHERE expires_at IS NOT NULL"), 0);
    assert_eq!(database.number("SELECT count(*) FROM abide.mailbox"), 1);
    assert_eq!(database.number("SELECT count(*) FROM abide.instance"), 1);
    assert_eq!(database.number("SELECT coalesce(abide.remove_part(3), -1)"), -1, "nothing is left");
}
