//! Sessions: who owns them, for how long, and what that means for their work.

use abide_provider::{LeaseWork, Provider as _, TagFilter};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

fn of_session(id: u64) -> abide_model::WorkItem {
    activity_with("a", id, Some("s"), None)
}

fn renew(store: &Store, owners: &[&str]) -> usize {
    block_on(store.provider.renew_session_lock(owners, seconds(20), seconds(60))).unwrap()
}

fn cleanup(store: &Store) -> usize {
    block_on(store.provider.cleanup_orphaned_sessions(seconds(60))).unwrap()
}

fn locked_until(store: &Store) -> u64 {
    store.time("SELECT locked_until FROM session")
}

fn last_active(store: &Store) -> u64 {
    store.time("SELECT last_active_at FROM session")
}

#[test]
fn work_of_a_session_needs_one_who_can_own_it() {
    on_both(|store| {
        store.enqueue_work(of_session(2));
        assert!(store.try_lease_work().is_none());
        store.lease_work_as("me", seconds(10)).unwrap();
        assert_eq!(store.value::<String>("SELECT owner FROM session"), "me");
        assert_eq!((locked_until(store), last_active(store)), (BEGIN + 10_000, BEGIN));
    });
}

#[test]
fn a_session_has_one_owner_until_its_lock_ends() {
    on_both(|store| {
        for id in 2..6 {
            store.enqueue_work(of_session(id));
        }
        store.lease_work_as("me", seconds(10)).unwrap();
        assert!(store.lease_work_as("you", seconds(10)).is_none());
        store.advance(millis(9_999));
        assert!(store.unchanged(|| store.lease_work_as("you", seconds(10))).is_none());
        assert_eq!(activity_of(&store.lease_work_as("me", seconds(1)).unwrap()), 3);
        assert_eq!(locked_until(store), BEGIN + 10_999, "taking work locks it anew");
        store.advance(seconds(1));
        assert_eq!(activity_of(&store.lease_work_as("you", seconds(10)).unwrap()), 4);
        assert!(store.lease_work_as("me", seconds(10)).is_none());
    });
}

#[test]
fn two_owners_share_two_sessions_and_neither_gets_the_others() {
    on_both(|store| {
        for (id, session) in [(2, "s"), (3, "t"), (4, "s"), (5, "t"), (6, "s")] {
            store.enqueue_work(activity_with("a", id, Some(session), None));
        }
        assert_eq!(activity_of(&store.lease_work_as("me", LEASE).unwrap()), 2);
        assert_eq!(activity_of(&store.lease_work_as("you", LEASE).unwrap()), 3);
        let mine = store.lease_work_with(lease_work_of_sessions(9, "me", LEASE));
        assert_eq!(activities(&mine), [4, 6]);
        let yours = store.lease_work_with(lease_work_of_sessions(9, "you", LEASE));
        assert_eq!(activities(&yours), [5]);
    });
}

#[test]
fn work_of_sessions_and_other_work_come_in_one_order() {
    on_both(|store| {
        for (id, session) in [(2, None), (3, Some("s")), (4, None), (5, Some("t")), (6, Some("s"))] {
            store.enqueue_work(activity_with("a", id, session, None));
        }
        assert_eq!(activities(&store.lease_work_with(lease_work_of_sessions(4, "me", LEASE))), [2, 3, 4, 5]);
        assert_eq!(activities(&store.lease_work_with(lease_work(9))), [0; 0], "6 belongs to the session");
        assert_eq!(activities(&store.lease_work_with(lease_work_of_sessions(4, "me", LEASE))), [6]);
    });
}

/// An owner that takes work in many tags keeps the session as a whole.
#[test]
fn a_session_is_owned_with_all_of_its_tags() {
    on_both(|store| {
        store.enqueue_work(activity_with("a", 2, Some("s"), None));
        store.enqueue_work(activity_with("a", 3, Some("s"), Some("gpu")));
        let gpu =
            |owner| LeaseWork { tags: TagFilter::tags(["gpu"]), ..lease_work_of_sessions(1, owner, LEASE) };
        store.lease_work_as("me", LEASE).unwrap();
        assert!(store.lease_work_with(gpu("you")).is_empty());
        assert_eq!(activities(&store.lease_work_with(gpu("me"))), [3]);
        store.enqueue_work(activity_with("a", 4, Some("s"), Some("gpu")));
        assert!(store.lease_work_with(gpu("you")).is_empty(), "what comes later is owned too");
        store.advance(LEASE);
        assert_eq!(activities(&store.lease_work_with(gpu("you"))), [3]);
    });
}

#[test]
fn abandoned_work_of_a_session_waits_for_its_owner() {
    on_both(|store| {
        store.enqueue_work(of_session(2));
        let work = store.lease_work_as("me", seconds(10)).unwrap();
        store.abandon_work(&work.token, Some(seconds(5))).unwrap();
        assert!(store.lease_work_as("me", seconds(10)).is_none());
        store.advance(seconds(5));
        assert!(store.lease_work_as("you", seconds(10)).is_none());
        assert_eq!(store.lease_work_as("me", seconds(10)).unwrap().attempt, 2);
    });
}

#[test]
fn a_lease_on_work_may_outlive_the_lock_and_the_other_way_round() {
    on_both(|store| {
        store.enqueue_work(of_session(2));
        store.enqueue_work(of_session(3));
        store.lease_work_as("me", seconds(10)).unwrap();
        store.advance(seconds(10));
        assert_eq!(activity_of(&store.lease_work_as("you", seconds(60)).unwrap()), 3, "2 is still leased");
        store.advance(seconds(20));
        assert!(store.lease_work_as("me", seconds(10)).is_none());
        assert_eq!(
            activity_of(&store.lease_work_as("you", seconds(60)).unwrap()),
            2,
            "its session is yours now"
        );
    });
}

#[test]
fn using_a_session_keeps_it_active_while_it_is_locked() {
    on_both(|store| {
        store.enqueue_work(of_session(2));
        let work = store.lease_work_as("me", seconds(10)).unwrap();
        store.advance(seconds(4));
        store.renew_work(&work.token, LEASE).unwrap();
        assert_eq!(last_active(store), BEGIN + 4_000);
        store.advance(seconds(5));
        store.renew_work(&work.token, LEASE).unwrap();
        assert_eq!(last_active(store), BEGIN + 9_000);
        store.advance(seconds(1));
        store.renew_work(&work.token, LEASE).unwrap();
        store.finish(&work.token, None).unwrap();
        assert_eq!(last_active(store), BEGIN + 9_000, "nobody owns it any more");
    });
}

#[test]
fn renewing_locks_what_is_theirs_and_was_used() {
    on_both(|store| {
        store.enqueue_work(of_session(2));
        store.enqueue_work(activity_with("a", 3, Some("t"), None));
        store.lease_work_as("me", seconds(10)).unwrap();
        store.lease_work_as("you", seconds(10)).unwrap();
        assert_eq!(renew(store, &["nobody"]), 0);
        assert_eq!(renew(store, &["you", "me", "you"]), 2);
        store.advance(millis(19_999));
        store.enqueue_work(of_session(4));
        assert!(store.lease_work_as("you", seconds(10)).is_none());
        store.advance(millis(1));
        assert_eq!(store.unchanged(|| renew(store, &["me", "you"])), 0, "what ended is not revived");
        assert_eq!(activity_of(&store.lease_work_as("you", seconds(10)).unwrap()), 4);
    });
}

#[test]
fn renewing_never_shortens_and_ends_with_idleness() {
    on_both(|store| {
        store.enqueue_work(of_session(2));
        store.lease_work_as("me", seconds(100)).unwrap();
        assert_eq!(renew(store, &["me"]), 1);
        assert_eq!(locked_until(store), BEGIN + 100_000);
        store.advance(millis(59_999));
        assert_eq!(renew(store, &["me"]), 1);
        store.advance(millis(1));
        assert_eq!(renew(store, &["me"]), 0, "idle for a minute");
    });
}

#[test]
fn only_sessions_without_lock_and_work_are_forgotten() {
    on_both(|store| {
        store.enqueue_work(of_session(2));
        let work = store.lease_work_as("me", seconds(10)).unwrap();
        assert_eq!(cleanup(store), 0, "it is locked");
        store.advance(seconds(10));
        assert_eq!(cleanup(store), 0, "its work is still there, leased or not");
        store.abandon_work(&work.token, Some(seconds(5))).unwrap();
        assert_eq!(cleanup(store), 0, "hidden or not");
        store.advance(seconds(5));
        let work = store.lease_work_as("me", seconds(1)).unwrap();
        store.finish(&work.token, None).unwrap();
        assert_eq!(cleanup(store), 0, "it is locked again");
        store.advance(seconds(1));
        assert_eq!(cleanup(store), 1);
        assert_eq!(store.count("session"), 0);
        store.enqueue_work(of_session(3));
        assert!(store.lease_work_as("you", seconds(10)).is_some(), "it can begin anew");
    });
}
