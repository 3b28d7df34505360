//! Rows that belong to nobody, and columns that say nothing that is understood.

use abide_model::ExecutionStatus;
use abide_provider::{BlockInstance, BlockKind, LeaseWork, Provider as _, Rejection, TagFilter};
use futures::executor::block_on;

use super::damage;
use crate::support::items::*;
use crate::support::store::*;

/// Work whose instance does not exist. No call makes such a row; a repair by hand might.
#[test]
fn work_of_an_unknown_instance_stops_no_worker() {
    on_both(|store| {
        store.enqueue_work(activity("gone", 2));
        store.enqueue_work(activity("a", 3));
        store.damage("DELETE FROM mailbox WHERE id = 'gone'");
        assert_eq!(activities(&store.lease_work_with(lease_work(9))), [3]);
    });
}

#[test]
fn work_of_an_unknown_instance_in_a_session_stops_no_worker() {
    on_both(|store| {
        store.enqueue_work(activity_with("gone", 2, Some("s"), None));
        store.enqueue_work(activity("a", 3));
        store.enqueue_work(activity_with("a", 4, Some("t"), None));
        store.enqueue_work(activity_with("a", 5, Some("s"), None));
        store.damage("DELETE FROM mailbox WHERE id = 'gone'");
        let leased = store.lease_work_with(lease_work_of_sessions(9, "me", LEASE));
        assert_eq!(activities(&leased), [3, 4, 5]);
        store.enqueue_work(activity("a", 6));
        assert_eq!(activities(&store.lease_work_with(lease_work_of_sessions(9, "me", LEASE))), [6]);
    });
}

#[test]
fn mail_of_an_unknown_instance_stops_nobody() {
    on_both(|store| {
        store.enqueue(start("gone"));
        store.damage("DELETE FROM mailbox");
        store.enqueue(start("a"));
        assert_eq!(store.lease().instance, "a");
        assert!(store.try_lease().is_none());
    });
}

/// A completion for work whose instance was removed under it.
#[test]
fn work_of_an_instance_that_vanished_cannot_be_finished_and_others_can() {
    on_both(|store| {
        store.enqueue_work(activity("gone", 2));
        store.enqueue_work(activity("a", 3));
        let leased = store.lease_work_with(lease_work(2));
        store.damage("DELETE FROM mailbox WHERE id = 'gone'");
        assert!(store.finish(&leased[0].token, Some(completed("gone", 2))).is_err());
        store.finish(&leased[1].token, Some(completed("a", 3))).unwrap();
    });
}

#[test]
fn a_mailbox_with_an_unreadable_text_stops_nobody() {
    for column in ["name", "version", "status", "parent", "id", "pin"] {
        println!("in {column}");
        let store = Store::in_memory();
        store.create_idle("a");
        store.create_idle("b");
        damage(&store, "mailbox", column, "no = 1", b"\xff\xfe");
        store.enqueue(signal("b", ""));
        // Not through the name, which may be the damaged part.
        store.damage("UPDATE mailbox SET ready = 1 WHERE no = 1");
        store.damage("INSERT INTO message (mailbox, visible_at, no, class, item) VALUES (1, 0, 1, 0, '{}')");
        store.enqueue_work(activity("b", 2));
        store.damage("UPDATE work SET mailbox = 1 WHERE activity = 2");
        store.enqueue_work(activity("b", 3));
        assert_eq!(store.lease().instance, "b");
        let request = LeaseWork { tags: TagFilter::Any, ..lease_work(9) };
        assert!(activities(&store.lease_work_with(request)).contains(&3));
    }
}

#[test]
fn work_with_an_unreadable_tag_or_session_stops_nobody() {
    for column in ["tag", "session"] {
        println!("in {column}");
        let store = Store::in_memory();
        store.enqueue_work(activity_with("a", 2, Some("s"), Some("gpu")));
        store.enqueue_work(activity("a", 3));
        store.enqueue_work(activity_with("a", 4, Some("t"), None));
        damage(&store, "work", column, "activity = 2", b"\xff\xfe");
        if column == "session" {
            damage(&store, "lane", column, "session = 's'", b"\xff\xfe");
        }
        let request = LeaseWork { tags: TagFilter::Any, ..lease_work_of_sessions(9, "me", LEASE) };
        let leased = activities(&store.lease_work_with(request));
        assert!(leased.contains(&3) && leased.contains(&4), "{leased:?}");
    }
}

/// Such an instance must not look like one that never ran: its mail would be dropped.
#[test]
fn an_instance_with_a_damaged_status_can_be_blocked_as_corrupt() {
    for status in ["'Sleeping'", "''", "CAST(x'ff' AS TEXT)"] {
        on_both(|store| {
            store.create_idle("a");
            store.damage(&format!("UPDATE mailbox SET status = {status} WHERE id = 'a'"));
            store.enqueue(signal("a", "kept"));
            let lease = store.lease();
            assert_eq!(lease.status, Some(ExecutionStatus::Running));
            assert_eq!((lease.position.execution_id, lease.orchestration_name.as_str()), (1, "Order"));
            let history = block_on(store.provider.read_history_after(&lease, 0)).unwrap_err();
            assert_eq!(history.rejection(), Some(Rejection::Corrupt), "{history}");
            block_on(store.provider.block_instance(BlockInstance {
                token: lease.token,
                kind: BlockKind::Corrupt,
                detail: history.message,
                build: "b1".to_owned(),
                event_id: None,
                retry_after: None,
            }))
            .unwrap();
            assert!(store.try_lease().is_none());
            let blocks = block_on(store.provider.read_blocks("a")).unwrap();
            assert_eq!(blocks.len(), 1, "it is listed");
            // Repaired, it goes on with the mail that it had.
            store.damage("UPDATE mailbox SET status = 'Running' WHERE id = 'a'");
            assert!(block_on(store.provider.retry_blocked("a")).unwrap());
            let lease = store.lease();
            assert_eq!(contents(&lease), ["kept"]);
            assert_eq!(block_on(store.provider.read_history_after(&lease, 0)).unwrap().len(), 1);
        });
    }
}

#[test]
fn a_fetch_of_an_instance_with_a_damaged_status_says_so() {
    on_both(|store| {
        store.create_idle("a");
        store.damage("UPDATE mailbox SET status = 'Sleeping' WHERE id = 'a'");
        store.enqueue(signal("a", "kept"));
        let fetched = block_on(store.provider.fetch_orchestration_item(LEASE, seconds(0), None)).unwrap();
        let (item, ..) = fetched.unwrap();
        assert!(item.history_error.is_some_and(|error| error.contains("status")));
    });
}

/// Values are texts of the user: what is damaged there is an error for who reads it, and for nobody else.
#[test]
fn a_damaged_value_is_an_error_for_its_reader_only() {
    on_both(|store| {
        let values = [value_set("x", "1"), status_said(Some("fine"))];
        store.create("a", TurnBuilder::starting(1).events(2, values));
        store.create_idle("b");
        damage(store, "kv_delta", "value", "key = 'x'", b"\xff");
        damage(store, "custom_status", "value", "version = 1", b"\xff");
        assert!(block_on(store.provider.get_kv_value("a", "x")).is_err());
        assert!(block_on(store.provider.get_kv_all_values("a")).is_err());
        assert!(block_on(store.provider.get_custom_status("a", 0)).is_err());
        assert_eq!(block_on(store.provider.get_kv_value("b", "x")).unwrap(), None);
        store.enqueue(signal("a", ""));
        store.enqueue(signal("b", ""));
        assert_eq!(store.lease_with(lease_instances(2)).len(), 2);
    });
}
