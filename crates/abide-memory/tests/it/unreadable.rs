//! Rows that cannot be read harm nobody else.

use abide_model::{ErrorDetails, ExecutionStatus, PoisonMessageType, WorkItem};
use abide_provider::{Provider as _, Rejection};

use crate::support::*;

#[test]
fn a_history_that_cannot_be_read_is_an_error_with_the_lease_held() {
    let store = Store::with_instance("a");
    store.provider.make_history_unreadable("a", 1);
    store.enqueue(signal("a", ""));
    let (item, token, _) = store.fetch().unwrap();
    assert!(item.history.is_empty() && item.history_error.is_some());
    store.renew(&token, LEASE).unwrap();
}

#[test]
fn readers_of_such_a_history_get_a_permanent_error() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.provider.make_history_unreadable("a", 1);
    let refused = at_once(store.provider.read_history_after(&lease, 0)).unwrap_err();
    assert_eq!(refused.rejection(), Some(Rejection::Corrupt));
    assert!(!at_once(store.provider.read("a")).unwrap_err().retryable);
    assert!(!at_once(store.provider.read_with_execution("a", 1)).unwrap_err().retryable);
    assert!(!at_once(store.provider.get_instance_stats("a")).unwrap_err().retryable);
    assert!(at_once(store.provider.read_history_after(&lease, 1)).unwrap().is_empty());
}

#[test]
fn such_a_history_can_still_be_ended() {
    let store = Store::with_instance("a");
    store.provider.make_history_unreadable("a", 1);
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let end = TurnBuilder::of_execution(1).event(99_999, status_said(None));
    store.commit(end.ending(ExecutionStatus::Failed, "unreadable").under(&lease));
    assert_eq!(store.dump().instances["a"].status.as_deref(), Some("Failed"));
}

#[test]
fn a_message_that_cannot_be_read_is_left_out_and_hidden() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", "2"));
    store.enqueue(signal("a", "3"));
    store.provider.make_message_unreadable(2);
    let lease = store.lease();
    assert_eq!(lease.messages.iter().map(|message| message.id.0).collect::<Vec<_>>(), [3]);
    let damaged = store.dump().messages[&2].clone();
    assert_eq!((damaged.attempts, damaged.visible_at), (1, Some(BEGIN + 1_000)));
    store.commit(TurnBuilder::of_execution(1).under(&lease));
    assert_eq!(store.mail(), [2]);
}

#[test]
fn it_is_hidden_ever_longer_and_put_aside_in_the_end() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", "2"));
    store.provider.make_message_unreadable(2);
    for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60] {
        assert!(store.try_lease().is_none());
        let hidden_until = store.dump().messages[&2].visible_at;
        assert_eq!(hidden_until, Some(store.clock.now() + pause * 1_000));
        store.advance(seconds(pause));
    }
    assert_eq!(store.dump().dead_letters, 0);
    assert!(store.try_lease().is_none());
    let dump = store.dump();
    assert_eq!((dump.dead_letters, dump.messages.len()), (1, 0));
}

#[test]
fn an_instance_with_nothing_to_hand_out_does_not_stop_the_search() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", "2"));
    store.provider.make_message_unreadable(2);
    store.enqueue(start("b"));
    assert_eq!(store.lease().instance, "b");
    assert_eq!(store.dump().instances["a"].leased_until, None);
}

#[test]
fn without_a_readable_start_what_does_not_exist_is_not_leased() {
    let store = Store::new();
    store.enqueue(signal("a", "1"));
    store.enqueue(start("a"));
    store.provider.make_message_unreadable(2);
    assert!(store.try_lease().is_none());
    assert_eq!(store.dump().messages[&1].attempts, 0);
    store.enqueue(start("a"));
    let lease = store.lease();
    assert_eq!(lease.messages.iter().map(|message| message.id.0).collect::<Vec<_>>(), [3, 1]);
}

#[test]
fn work_that_cannot_be_read_is_hidden_and_others_go_on() {
    let store = Store::with_instance("a");
    store.enqueue_work(activity("a", 2));
    store.enqueue_work(activity("a", 3));
    store.provider.make_work_unreadable(2);
    assert_eq!(store.lease_work().item, activity("a", 3));
    let damaged = store.dump().work[&2].clone();
    assert_eq!((damaged.attempts, damaged.visible_at, damaged.leased_until), (1, Some(BEGIN + 1_000), None));
}

#[test]
fn an_activity_that_cannot_be_read_fails_in_the_end() {
    let store = Store::with_instance("a");
    store.enqueue_work(activity("a", 2));
    store.provider.make_work_unreadable(2);
    for _ in 0..10 {
        assert!(store.try_lease_work().is_none());
        store.advance(seconds(60));
    }
    assert_eq!(store.dump().dead_letters, 0);
    assert!(store.try_lease_work().is_none());
    let dump = store.dump();
    assert_eq!((dump.dead_letters, dump.work.len()), (1, 0));
    let poison = ErrorDetails::Poison {
        attempt_count: 11,
        max_attempts: 10,
        message_type: PoisonMessageType::Activity {
            instance: "a".to_owned(),
            execution_id: 1,
            activity_name: "unknown".to_owned(),
            activity_id: 2,
        },
        message: "the stored work item could not be read".to_owned(),
    };
    let failed =
        WorkItem::ActivityFailed { instance: "a".to_owned(), execution_id: 1, id: 2, details: poison };
    assert_eq!(store.lease().messages[0].item, failed);
}
