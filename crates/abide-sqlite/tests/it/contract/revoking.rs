//! Activities that are taken back.

use abide_model::WorkItem;
use abide_provider::Provider as _;
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

fn revoke(store: &Store, turn: TurnBuilder) {
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(turn.under(&lease));
}

#[test]
fn what_is_taken_back_is_gone_leased_or_not_and_the_rest_stays() {
    on_both(|store| {
        let turn = (2..6).map(|id| activity("a", id)).fold(TurnBuilder::starting(1), TurnBuilder::work);
        store.create("a", turn);
        let leased = store.lease_work();
        assert_eq!(activity_of(&leased), 2);
        revoke(store, TurnBuilder::of_execution(1).revoking("a", 2).revoking("a", 4).revoking("a", 99));
        assert!(store.renew_work(&leased.token, LEASE).is_err());
        assert!(store.finish(&leased.token, Some(completed("a", 2))).is_err());
        assert_eq!(activities(&store.lease_work_with(lease_work(9))), [3, 5]);
    });
}

#[test]
fn an_activity_enqueued_and_taken_back_by_one_turn_is_never_there() {
    on_both(|store| {
        store.create_idle("a");
        revoke(
            store,
            TurnBuilder::of_execution(1).work(activity("a", 2)).work(activity("a", 3)).revoking("a", 2),
        );
        assert_eq!(activities(&store.lease_work_with(lease_work(9))), [3]);
    });
}

#[test]
fn activities_of_other_executions_and_instances_stay() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1));
        let mut of_second = activity("a", 2);
        if let WorkItem::ActivityExecute { execution_id, .. } = &mut of_second {
            *execution_id = 2;
        }
        for item in [activity("a", 2), of_second, activity("b", 2)] {
            store.enqueue_work(item);
        }
        revoke(store, TurnBuilder::of_execution(1).revoking("a", 2));
        assert_eq!(store.count("work"), 2);
        revoke(store, TurnBuilder::of_execution(1).revoking("b", 2).revoking("nobody", 2));
        assert_eq!(store.value::<i64>("SELECT execution FROM work"), 2);
    });
}

#[test]
fn taking_work_of_a_session_back_lets_the_next_one_through() {
    on_both(|store| {
        let in_session = |id| activity_with("a", id, Some("s"), None);
        store.create(
            "a",
            TurnBuilder::starting(1).work(in_session(2)).work(in_session(3)).work(in_session(4)),
        );
        revoke(store, TurnBuilder::of_execution(1).revoking("a", 2));
        assert_eq!(activity_of(&store.lease_work_as("me", LEASE).unwrap()), 3);
        revoke(store, TurnBuilder::of_execution(1).revoking("a", 3).revoking("a", 4));
        assert!(store.lease_work_as("me", LEASE).is_none());
        assert_eq!(store.count("lane"), 0);
    });
}

/// Work that comes back under the same name is another row: the old token does not fit it.
#[test]
fn a_token_does_not_survive_its_row() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).work(activity("a", 2)));
        let old = store.lease_work();
        revoke(store, TurnBuilder::of_execution(1).revoking("a", 2));
        store.enqueue_work(activity("a", 2));
        let new = store.lease_work();
        store.unchanged(|| {
            assert!(store.finish(&old.token, Some(completed("a", 2))).is_err());
            assert!(block_on(store.provider.abandon_work_item(&old.token, None, false)).is_err());
        });
        store.finish(&new.token, Some(completed("a", 2))).unwrap();
    });
}
