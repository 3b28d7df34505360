//! Fused steps: a commit by the right of a finished activity.

use abide_provider::{Position, Rejection, WorkLease};

use crate::support::items::*;
use crate::support::store::*;

const HERE: Position = Position { incarnation: 1, execution_id: 1, last_event_id: 1 };

/// Instance `a` at [`HERE`], and a lease on its activity 2, which is one of a session.
fn with_activity(store: &Store) -> WorkLease {
    store.create("a", TurnBuilder::starting(1).work(activity_with("a", 2, Some("s"), None)));
    store.lease_work_as("me", LEASE).unwrap()
}

fn next_turn() -> TurnBuilder {
    TurnBuilder::of_execution(1).event(2, status_said(Some("moved on"))).work(activity("a", 3))
}

#[test]
fn a_fused_step_is_one_transaction_that_takes_the_work_and_writes_the_turn() {
    on_both(|store| {
        let work = with_activity(store);
        store.advance(seconds(1));
        let before = store.provider.transactions();
        store.commit(next_turn().fused(&work, HERE));
        assert_eq!(store.provider.transactions(), before + 1);
        assert_eq!(activities(&store.lease_work_with(lease_work(9))), [3]);
        assert_eq!(store.count("message"), 0);
        assert_eq!(store.time("SELECT last_active_at FROM session"), BEGIN + 1_000);
        assert_eq!(store.value::<i64>("SELECT last_event FROM mailbox"), 2);
        assert!(store.finish(&work.token, None).is_err());
    });
}

#[test]
fn whoever_lost_the_work_lost_the_right() {
    on_both(|store| {
        let work = with_activity(store);
        store.advance(LEASE);
        assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::LeaseLost));
        let again = store.lease_work_as("me", LEASE).unwrap();
        assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::LeaseLost));
        store.commit(next_turn().fused(&again, HERE));
        assert_eq!(store.refused(next_turn().fused(&again, HERE)), Some(Rejection::LeaseLost));
    });
}

/// It cannot be leased by what is no start, but that waits for it all the same.
#[test]
fn so_is_a_name_that_is_no_instance_yet_and_has_mail() {
    on_both(|store| {
        store.enqueue(signal("a", ""));
        store.enqueue_work(activity("a", 2));
        let work = store.lease_work();
        let nowhere = Position { execution_id: 0, last_event_id: 0, ..HERE };
        assert_eq!(store.refused(TurnBuilder::starting(1).fused(&work, nowhere)), Some(Rejection::Busy));
        assert_eq!(store.refused(TurnBuilder::of_execution(1).fused(&work, nowhere)), Some(Rejection::Busy));
    });
}

#[test]
fn an_instance_that_is_leased_or_has_mail_is_busy() {
    on_both(|store| {
        let work = with_activity(store);
        store.enqueue(signal("a", ""));
        assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::Busy), "mail");
        let lease = store.lease();
        assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::Busy), "leased");
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        store.commit(next_turn().fused(&work, HERE));
    });
}

#[test]
fn a_timer_that_is_due_is_mail_and_one_that_is_not_is_none() {
    on_both(|store| {
        let work = with_activity(store);
        store.enqueue(timer("a", 9, BEGIN + 1_000));
        store.enqueue(timer("a", 10, BEGIN));
        assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::Busy));
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        store.advance(seconds(1));
        assert_eq!(store.refused(next_turn().fused(&work, HERE)), Some(Rejection::Busy));
        let lease = store.lease();
        store.enqueue(timer("a", 11, BEGIN + 60_000));
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        store.commit(next_turn().fused(&work, HERE));
    });
}

#[test]
fn an_instance_elsewhere_is_busy() {
    on_both(|store| {
        let work = with_activity(store);
        for elsewhere in [
            Position { incarnation: 2, ..HERE },
            Position { execution_id: 2, ..HERE },
            Position { last_event_id: 2, ..HERE },
        ] {
            let refused = store.refused(next_turn().fused(&work, elsewhere));
            assert_eq!(refused, Some(Rejection::Busy), "{elsewhere:?}");
        }
    });
}

#[test]
fn a_turn_that_makes_no_sense_is_refused_as_such() {
    on_both(|store| {
        let work = with_activity(store);
        let invalid = TurnBuilder::of_execution(0).fused(&work, HERE);
        assert_eq!(store.refused(invalid), Some(Rejection::Invalid));
        let conflicting = TurnBuilder::starting(1).fused(&work, HERE);
        assert_eq!(store.refused(conflicting), Some(Rejection::Conflict));
        store.enqueue_work(activity("b", 2));
        let foreign = store.lease_work();
        assert_eq!(store.refused(next_turn().fused(&foreign, HERE)), Some(Rejection::Invalid));
    });
}

/// A step whose mail arrives in the same breath: one of the two orders, and never both.
#[test]
fn mail_and_a_fused_step_in_one_group_are_put_in_an_order() {
    use abide_provider::Provider as _;
    use futures::executor::block_on;
    use futures::future::join;
    on_both(|store| {
        let work = with_activity(store);
        let mail = store.provider.enqueue_for_orchestrator(signal("a", "mail"), None);
        let step = store.provider.commit_turns(vec![next_turn().fused(&work, HERE)]);
        let (sent, stepped) = block_on(join(mail, step));
        sent.unwrap();
        let lease = store.lease();
        assert_eq!(contents(&lease), ["mail"]);
        let last_event = if stepped[0].is_ok() { 2 } else { 1 };
        assert_eq!(lease.position.last_event_id, last_event);
    });
}
