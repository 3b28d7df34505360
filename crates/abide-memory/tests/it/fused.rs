//! Fused steps: a commit by the right of a finished activity.

use abide_provider::{Position, Rejection, WorkLease};

use crate::support::*;

const HERE: Position = Position { incarnation: 1, execution_id: 1, last_event_id: 1 };

/// A store with instance `a` at [`HERE`], and a lease on its activity 2.
fn with_activity() -> (Store, WorkLease) {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).work(activity_with("a", 2, Some("s"), None)));
    let work = store.lease_work_as("me", LEASE).unwrap();
    (store, work)
}

fn next_turn() -> TurnBuilder {
    TurnBuilder::of_execution(1).event(2, status_said(Some("moved on"))).work(activity("a", 3))
}

#[test]
fn a_fused_step_takes_the_work_and_writes_the_turn() {
    let (store, work) = with_activity();
    store.advance(seconds(1));
    store.commit(next_turn().fused(&work, HERE));
    let dump = store.dump();
    assert_eq!(dump.instances["a"].last_event_id, 2);
    assert_eq!(dump.work.values().map(|work| work.activity).collect::<Vec<_>>(), [3]);
    assert_eq!(dump.sessions["s"].last_activity, BEGIN + 1_000);
    assert!(store.finish(&work.token, None).is_err());
    assert!(dump.messages.is_empty());
}

#[test]
fn a_session_that_is_not_locked_any_more_was_not_active() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).work(activity_with("a", 2, Some("s"), None)));
    let work = store.lease_work_as("me", seconds(1)).unwrap();
    store.advance(seconds(1));
    store.commit(next_turn().fused(&work, HERE));
    assert_eq!(store.dump().sessions["s"].last_activity, BEGIN);
}

#[test]
fn lost_work_is_a_lost_lease() {
    let (store, work) = with_activity();
    store.advance(LEASE);
    assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::LeaseLost));
}

#[test]
fn work_of_another_instance_is_no_right() {
    let (store, _) = with_activity();
    store.enqueue_work(activity("b", 2));
    let foreign = store.lease_work();
    assert_eq!(store.refused(next_turn().fused(&foreign, HERE)), Some(Rejection::Invalid));
}

#[test]
fn a_leased_instance_is_busy() {
    let (store, work) = with_activity();
    store.enqueue(signal("a", ""));
    store.lease();
    assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::Busy));
}

#[test]
fn an_instance_elsewhere_is_busy() {
    let (store, work) = with_activity();
    for elsewhere in [
        Position { incarnation: 2, ..HERE },
        Position { execution_id: 2, ..HERE },
        Position { last_event_id: 2, ..HERE },
    ] {
        assert_eq!(
            store.refused(next_turn().fused(&work, elsewhere)),
            Some(Rejection::Busy),
            "{elsewhere:?}"
        );
    }
}

#[test]
fn an_instance_with_visible_mail_is_busy() {
    let (store, work) = with_activity();
    store.enqueue(signal("a", ""));
    assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::Busy));
}

#[test]
fn mail_that_was_seen_by_a_fused_step_stays_visible_when_the_clock_goes_back() {
    let (store, work) = with_activity();
    store.enqueue(timer("a", 9, BEGIN + 1_000));
    store.advance(seconds(1));
    assert!(store.try_commit(next_turn().fused(&work, HERE)).is_err());
    store.clock.set_back(seconds(1));
    assert_eq!(store.lease().messages.len(), 1);
}

#[test]
fn mail_that_cannot_be_seen_yet_does_not_disturb() {
    let (store, work) = with_activity();
    store.enqueue(timer("a", 9, BEGIN + 60_000));
    store.commit(next_turn().fused(&work, HERE));
}

#[test]
fn an_invalid_or_conflicting_turn_is_refused_as_such() {
    let (store, work) = with_activity();
    let invalid = TurnBuilder::of_execution(0).fused(&work, HERE);
    assert_eq!(store.refused(invalid), Some(Rejection::Invalid));
    let conflicting = TurnBuilder::starting(1).fused(&work, HERE);
    assert_eq!(store.refused(conflicting), Some(Rejection::Conflict));
}
