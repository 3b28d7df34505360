//! Histories that cannot be read.

use abide_model::{EventKind, ExecutionStatus, PruneOptions};
use abide_provider::{Provider as _, Rejection};
use futures::executor::block_on;

use super::{damage, each_damage};
use crate::support::items::*;
use crate::support::store::*;

/// An instance whose first turn cannot be read, and mail for it and for two others.
fn with_damaged_history(store: &Store, bytes: &[u8]) {
    store.create_idle("a");
    store.create_idle("c");
    damage(store, "turn", "events", "mailbox = 1", bytes);
    store.enqueue(signal("a", "2"));
    store.enqueue(start("b"));
    store.enqueue(signal("c", "3"));
}

#[test]
fn it_is_leased_with_the_reason_and_everybody_else_as_always() {
    each_damage(|store, bytes| {
        with_damaged_history(store, bytes);
        let (item, token, attempt) = store.fetch().unwrap();
        assert_eq!((item.instance.as_str(), attempt), ("a", 1));
        assert!(item.history.is_empty() && item.history_error.is_some());
        assert_eq!(item.messages, [signal("a", "2")]);
        store.renew(&token, LEASE).unwrap();
        for (name, events) in [("b", 0), ("c", 1)] {
            let (item, _, _) = store.fetch().unwrap();
            assert_eq!((item.instance.as_str(), item.history.len()), (name, events));
            assert_eq!(item.history_error, None);
        }
    });
}

#[test]
fn readers_get_a_permanent_error() {
    each_damage(|store, bytes| {
        with_damaged_history(store, bytes);
        let lease = store.lease();
        let read = block_on(store.provider.read_history_after(&lease, 0)).unwrap_err();
        assert_eq!(read.rejection(), Some(Rejection::Corrupt), "{read}");
        assert!(read.message.contains("'a'"), "it says whose: {read}");
        for error in [
            block_on(store.provider.read("a")).unwrap_err(),
            block_on(store.provider.read_with_execution("a", 1)).unwrap_err(),
            block_on(store.provider.get_instance_stats("a")).unwrap_err(),
        ] {
            assert!(!error.retryable, "{error}");
        }
        assert_eq!(block_on(store.provider.read("c")).unwrap().len(), 1);
        assert_eq!(
            block_on(store.provider.read_history_after(&lease, 1)).unwrap(),
            [],
            "what is known is not read"
        );
    });
}

/// Payloads do not belong into errors, and so into logs.
#[test]
fn errors_do_not_repeat_what_is_stored() {
    on_both(|store| {
        with_damaged_history(store, b"[{\"secret\": \"4711\"}, \"4711\"]");
        let (item, _, _) = store.fetch().unwrap();
        let read = block_on(store.provider.read("a")).unwrap_err();
        for text in [item.history_error.unwrap(), read.to_string()] {
            assert!(!text.contains("4711") && !text.contains("secret"), "{text}");
        }
    });
}

#[test]
fn it_can_be_ended_without_being_read() {
    each_damage(|store, bytes| {
        with_damaged_history(store, bytes);
        let lease = store.lease();
        let failed = EventKind::OrchestrationCompleted { output: "given up".to_owned() };
        let end = TurnBuilder::of_execution(1).event(99_999, failed.clone());
        store.commit(end.ending(ExecutionStatus::Failed, "unreadable").under(&lease));
        assert_eq!(store.value::<String>("SELECT status FROM mailbox WHERE id = 'a'"), "Failed");
        assert_eq!(store.value::<i64>("SELECT last_event FROM mailbox WHERE id = 'a'"), 99_999);
        let tail = block_on(store.provider.read_history_after(&lease, 1)).unwrap();
        assert_eq!(tail, [event(99_999, failed)], "what came after can be read");
        assert!(block_on(store.provider.read("a")).is_err());
    });
}

#[test]
fn the_required_method_appends_to_it_too() {
    each_damage(|store, bytes| {
        with_damaged_history(store, bytes);
        let (_, token, _) = store.fetch().unwrap();
        store.ack(&token, vec![event(99_999, status_said(None))]).unwrap();
        assert_eq!(store.value::<i64>("SELECT count(*) FROM turn WHERE mailbox = 1"), 2);
    });
}

#[test]
fn one_turn_of_many_is_enough_to_damage_it() {
    each_damage(|store, bytes| {
        store.create_idle("a");
        for id in 2..5 {
            store.enqueue(signal("a", ""));
            let lease = store.lease();
            store.commit(TurnBuilder::of_execution(1).event(id, status_said(None)).under(&lease));
        }
        damage(store, "turn", "events", "first_event = 3", bytes);
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        let read = |after| block_on(store.provider.read_history_after(&lease, after));
        assert_eq!(read(0).unwrap_err().rejection(), Some(Rejection::Corrupt));
        assert_eq!(read(2).unwrap_err().rejection(), Some(Rejection::Corrupt));
        assert_eq!(read(3).unwrap().len(), 1);
    });
}

/// An earlier execution that cannot be read hurts neither its successor nor whoever deletes it.
#[test]
fn it_can_be_pruned() {
    each_damage(|store, bytes| {
        let continued = TurnBuilder::starting(1).ending(ExecutionStatus::ContinuedAsNew, "next");
        store.create("a", continued.mail(continue_as_new("a")));
        damage(store, "turn", "events", "execution = 1", bytes);
        let lease = store.lease();
        store.commit(TurnBuilder::starting(2).pruning(PruneOptions::default()).under(&lease));
        assert_eq!(block_on(store.provider.read("a")).unwrap().len(), 1);
        assert_eq!(block_on(store.provider.read_with_execution("a", 1)).unwrap(), []);
        assert_eq!(store.count("turn"), 1);
    });
}
