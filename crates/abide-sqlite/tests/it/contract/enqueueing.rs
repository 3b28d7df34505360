//! Enqueueing a message.

use abide_provider::{Provider as _, Start};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

#[test]
fn numbers_are_shared_by_messages_and_work_and_never_used_again() {
    on_both(|store| {
        store.enqueue(start("a"));
        store.enqueue_work(activity("a", 2));
        let work = store.lease_work();
        store.finish(&work.token, None).unwrap();
        let lease = store.lease();
        store.commit(TurnBuilder::starting(1).under(&lease));
        store.enqueue(signal("a", "3"));
        assert_eq!(numbers(&store.lease()), [3]);
        assert_eq!(lease.position.incarnation, 1);
    });
}

#[test]
fn a_message_shows_now_or_after_its_delay_or_when_its_timer_fires() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue_delayed(signal("a", "in 2 s"), seconds(2));
        store.enqueue_delayed(signal("a", "now"), seconds(0));
        store.enqueue_delayed(timer("a", 2, BEGIN + 5_000), seconds(2));
        store.enqueue_delayed(timer("a", 3, BEGIN + 1_000), seconds(2));
        let shown = |expected: &[&str]| {
            let lease = store.lease();
            assert_eq!(contents(&lease), expected);
            store.commit(TurnBuilder::of_execution(1).under(&lease));
            assert!(store.try_lease().is_none());
        };
        shown(&["now"]);
        store.advance(millis(1_999));
        assert!(store.try_lease().is_none());
        store.advance(millis(1));
        shown(&["in 2 s", "TimerFired"]);
        store.advance(millis(2_999));
        assert!(store.try_lease().is_none());
        store.advance(millis(1));
        shown(&["TimerFired"]);
    });
}

#[test]
fn a_timer_of_the_past_is_visible() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue(timer("a", 2, 0));
        store.enqueue(timer("a", 3, BEGIN));
        assert_eq!(store.lease().messages.len(), 2);
    });
}

#[test]
fn a_queue_message_needs_an_instance_or_a_start() {
    on_both(|store| {
        store.create_idle("c");
        store.enqueue(queue_message("c", "kept"));
        store.enqueue(queue_message("a", "lost"));
        store.enqueue(signal("a", "kept"));
        store.enqueue(queue_message("a", "lost too"));
        store.enqueue_delayed(start("a"), seconds(60));
        store.enqueue(queue_message("a", "kept behind a start that cannot be seen"));
        store.enqueue(continue_as_new("b"));
        store.enqueue(queue_message("b", "kept"));
        assert_eq!(store.value::<i64>("SELECT count(*) FROM message WHERE item LIKE '%kept%'"), 4);
        assert_eq!(store.value::<i64>("SELECT count(*) FROM message WHERE item LIKE '%lost%'"), 0);
    });
}

#[test]
fn each_queue_refuses_the_items_of_the_other() {
    on_both(|store| {
        let refused = store.unchanged(|| store.try_enqueue(activity("a", 2), None));
        assert!(!refused.unwrap_err().retryable);
        let refused = store.unchanged(|| block_on(store.provider.enqueue_for_worker(start("a"))));
        assert!(!refused.unwrap_err().retryable);
    });
}

#[test]
fn a_request_is_done_once_an_hour() {
    on_both(|store| {
        store.enqueue_once(start("a"), 1);
        store.unchanged(|| store.enqueue_once(start("a"), 1));
        store.enqueue_once(start("a"), 2);
        assert_eq!(store.count("message"), 2);
        store.advance(millis(3_599_999));
        store.unchanged(|| store.enqueue_once(start("a"), 1));
        store.advance(millis(1));
        store.enqueue_once(start("a"), 1);
        assert_eq!(store.count("message"), 3);
        assert_eq!(store.count("request"), 1, "the forgotten ones are gone");
    });
}

#[test]
fn a_request_is_remembered_after_its_message_was_used_up() {
    let store = Store::on_file();
    store.enqueue_once(start("a"), 1);
    let lease = store.lease();
    store.commit(TurnBuilder::starting(1).under(&lease));
    let store = store.reopened();
    store.enqueue_once(start("a"), 1);
    assert_eq!(store.count("message"), 0);
}

/// Forgetting is done a few at a time; what has not been got round to counts as forgotten all the same.
#[test]
fn a_request_is_forgotten_on_time_however_many_there_are() {
    let store = Store::in_memory();
    store.enqueue(start("a"));
    for key in 0..=255 {
        store.enqueue_once(signal("a", ""), key);
    }
    store.advance(seconds(3_600));
    store.enqueue_once(signal("a", ""), 255);
    assert_eq!(store.count("message"), 258);
    assert!(store.count("request") > 100, "most of them are still there");
    assert_eq!(store.start_once("b", 254), Start::Created);
    store.unchanged(|| assert_eq!(store.start_once("b", 254), Start::Created));
    assert_eq!(store.count("message"), 259);
}

#[test]
fn a_start_is_answered_like_the_first_for_an_hour() {
    on_both(|store| {
        assert_eq!(store.start_once("a", 1), Start::Created);
        let again = || store.unchanged(|| [store.start_once("a", 1), store.start_once("a", 2)]);
        assert_eq!(again(), [Start::Created, Start::Exists], "it waits in the queue");
        let lease = store.lease();
        assert_eq!(again(), [Start::Created, Start::Exists], "it is leased");
        store.commit(TurnBuilder::starting(1).under(&lease));
        store.advance(millis(3_599_999));
        assert_eq!(again(), [Start::Created, Start::Exists], "it runs");
        store.advance(millis(1));
        assert_eq!(again(), [Start::Exists, Start::Exists], "that it did it itself is forgotten");
    });
}

#[test]
fn a_start_is_remembered_by_the_file() {
    let store = Store::on_file();
    assert_eq!(store.start_once("a", 1), Start::Created);
    let store = store.reopened();
    assert_eq!([1, 2].map(|key| store.start_once("a", key)), [Start::Created, Start::Exists]);
    assert_eq!(store.count("message"), 1);
}

#[test]
fn a_start_that_cannot_be_read_is_one() {
    let store = Store::in_memory();
    store.enqueue(start("a"));
    store.damage("UPDATE message SET item = '{'");
    assert_eq!(store.start_once("a", 1), Start::Exists);
}

#[test]
fn enqueueing_makes_no_instance() {
    on_both(|store| {
        store.enqueue(start("a"));
        assert_eq!(block_on(store.provider.get_instance_stats("a")).unwrap(), None);
        assert_eq!(block_on(store.provider.read("a")).unwrap(), []);
        let lease = store.lease();
        assert_eq!((lease.position.execution_id, lease.status), (0, None));
    });
}
