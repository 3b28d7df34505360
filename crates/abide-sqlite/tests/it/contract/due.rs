//! When time alone makes something leasable.

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::{Lane, Provider as _};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

fn due(store: &Store, lane: Lane) -> Option<u64> {
    block_on(store.provider.next_due(lane)).unwrap().map(Timestamp::as_millis)
}

#[test]
fn of_instances_it_is_hidden_mail_and_the_end_of_leases() {
    on_both(|store| {
        assert_eq!(due(store, Lane::Instances), None);
        store.create_idle("a");
        assert_eq!(due(store, Lane::Instances), None);
        store.enqueue(timer("a", 2, BEGIN + 90_000));
        assert_eq!(due(store, Lane::Instances), Some(BEGIN + 90_000));
        store.enqueue(timer("a", 3, BEGIN + 80_000));
        assert_eq!(due(store, Lane::Instances), Some(BEGIN + 80_000));
        store.enqueue(signal("a", ""));
        assert_eq!(due(store, Lane::Instances), Some(BEGIN + 80_000), "what is ready now is not due later");
        let lease = store.lease();
        assert_eq!(due(store, Lane::Instances), Some(BEGIN + 30_000), "the lease ends first");
        store.enqueue_delayed(start("b"), seconds(10));
        assert_eq!(due(store, Lane::Instances), Some(BEGIN + 10_000));
        store.commit(TurnBuilder::of_execution(1).removing_timer(3).under(&lease));
        store.advance(seconds(10));
        store.settle();
        assert_eq!(due(store, Lane::Instances), Some(BEGIN + 90_000));
    });
}

#[test]
fn what_is_due_already_is_found_by_a_lease_and_then_not_due_any_more() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue(timer("a", 2, BEGIN + 1_000));
        store.advance(seconds(1));
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        assert_eq!(due(store, Lane::Instances), None);
    });
}

#[test]
fn the_end_of_an_execution_takes_its_timers_out() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).mail(timer("a", 2, BEGIN + 1_000)));
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).ending(ExecutionStatus::Completed, "").under(&lease));
        assert_eq!(due(store, Lane::Instances), None);
    });
}

#[test]
fn of_work_it_is_delays_and_the_end_of_leases_and_locks() {
    on_both(|store| {
        store.enqueue_work(activity("a", 2));
        assert_eq!(due(store, Lane::Work), None);
        let work = store.lease_work();
        assert_eq!(due(store, Lane::Work), Some(BEGIN + 30_000));
        store.abandon_work(&work.token, Some(seconds(5))).unwrap();
        assert_eq!(due(store, Lane::Work), Some(BEGIN + 5_000));
        store.enqueue_work(activity_with("a", 3, Some("s"), None));
        let work = store.lease_work_as("me", seconds(2)).unwrap();
        assert_eq!(due(store, Lane::Work), Some(BEGIN + 2_000), "the lock of a session ends");
        store.finish(&work.token, None).unwrap();
        store.advance(seconds(5));
        store.settle();
        assert_eq!(due(store, Lane::Work), None);
        assert_eq!(due(store, Lane::Instances), None);
    });
}
