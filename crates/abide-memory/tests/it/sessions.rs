//! Sessions.

use abide_provider::Provider as _;

use crate::support::*;

fn of_session(id: u64) -> abide_model::WorkItem {
    activity_with("a", id, Some("s"), None)
}

fn renew(store: &Store, owners: &[&str]) -> usize {
    at_once(store.provider.renew_session_lock(owners, seconds(20), seconds(60))).unwrap()
}

fn cleanup(store: &Store) -> usize {
    at_once(store.provider.cleanup_orphaned_sessions(seconds(60))).unwrap()
}

fn locked_until(store: &Store) -> u64 {
    store.dump().sessions["s"].locked_until
}

#[test]
fn work_of_a_session_needs_one_who_can_own_it() {
    let store = Store::new();
    store.enqueue_work(of_session(2));
    assert!(store.try_lease_work().is_none());
    store.lease_work_as("me", seconds(10)).unwrap();
    let session = store.dump().sessions["s"].clone();
    assert_eq!((session.owner.as_str(), session.locked_until), ("me", BEGIN + 10_000));
    assert_eq!(session.last_activity, BEGIN);
}

#[test]
fn a_session_has_one_owner_until_its_lock_runs_out() {
    let store = Store::new();
    for id in 2..5 {
        store.enqueue_work(of_session(id));
    }
    store.lease_work_as("me", seconds(10)).unwrap();
    assert!(store.lease_work_as("you", seconds(10)).is_none());
    store.lease_work_as("me", seconds(10)).unwrap();
    store.advance(seconds(10));
    store.lease_work_as("you", seconds(10)).unwrap();
    assert_eq!(store.dump().sessions["s"].owner, "you");
}

#[test]
fn one_who_can_own_sessions_takes_other_work_too() {
    let store = Store::new();
    store.enqueue_work(activity("a", 2));
    assert!(store.lease_work_as("me", seconds(10)).is_some());
    assert!(store.dump().sessions.is_empty());
}

#[test]
fn using_a_session_keeps_it_active_while_it_is_locked() {
    let store = Store::new();
    store.enqueue_work(of_session(2));
    let work = store.lease_work_as("me", seconds(10)).unwrap();
    let last_activity = || store.dump().sessions["s"].last_activity;
    store.advance(seconds(4));
    store.renew_work(&work.token, LEASE).unwrap();
    assert_eq!(last_activity(), BEGIN + 4_000);
    store.advance(seconds(5));
    store.finish(&work.token, None).unwrap();
    assert_eq!(last_activity(), BEGIN + 9_000);
}

#[test]
fn using_a_session_that_is_not_locked_any_more_does_nothing() {
    let store = Store::new();
    store.enqueue_work(of_session(2));
    let work = store.lease_work_as("me", seconds(10)).unwrap();
    store.advance(seconds(10));
    store.renew_work(&work.token, LEASE).unwrap();
    store.finish(&work.token, None).unwrap();
    assert_eq!(store.dump().sessions["s"].last_activity, BEGIN);
}

#[test]
fn renewing_locks_what_is_theirs_and_was_used() {
    let store = Store::new();
    store.enqueue_work(of_session(2));
    store.lease_work_as("me", seconds(10)).unwrap();
    assert_eq!(renew(&store, &["you"]), 0);
    assert_eq!(renew(&store, &["you", "me"]), 1);
    assert_eq!(locked_until(&store), BEGIN + 20_000);
    store.advance(seconds(20));
    assert_eq!(renew(&store, &["me"]), 0);
}

#[test]
fn renewing_never_shortens_and_ends_with_idleness() {
    let store = Store::new();
    store.enqueue_work(of_session(2));
    store.lease_work_as("me", seconds(100)).unwrap();
    assert_eq!(renew(&store, &["me"]), 1);
    assert_eq!(locked_until(&store), BEGIN + 100_000);
    store.advance(millis(59_999));
    assert_eq!(renew(&store, &["me"]), 1);
    store.advance(millis(1));
    assert_eq!(renew(&store, &["me"]), 0);
}

#[test]
fn only_sessions_without_lock_and_work_are_forgotten() {
    let store = Store::new();
    store.enqueue_work(of_session(2));
    let work = store.lease_work_as("me", seconds(10)).unwrap();
    assert_eq!(cleanup(&store), 0);
    store.advance(seconds(10));
    assert_eq!(cleanup(&store), 0, "its work is still there, leased or not");
    store.finish(&work.token, None).unwrap();
    assert_eq!(cleanup(&store), 1);
    assert!(store.dump().sessions.is_empty());
}
