//! Leases that are taken away are told, with the reason.

use abide_model::{EventKind, ExecutionStatus, PruneOptions};
use abide_provider::{Provider as _, StolenBecause, StolenLease, StolenLeases};
use futures::{FutureExt as _, StreamExt as _};

use crate::support::items::*;
use crate::support::store::*;

/// An instance `a` with activities 2 and 3, both leased, that has mail.
fn with_leased_work(store: &Store) -> ([String; 2], StolenLeases) {
    store.create("a", TurnBuilder::starting(1).work(activity("a", 2)).work(activity("a", 3)));
    let tokens = [store.lease_work().token, store.lease_work().token];
    store.enqueue(signal("a", ""));
    (tokens, store.provider.stolen_leases().unwrap())
}

/// What was told so far: once the store has done something else, everything before it was told.
fn heard(store: &Store, told: &mut StolenLeases) -> Vec<StolenLease> {
    store.settle();
    std::iter::from_fn(|| told.next().now_or_never().flatten()).collect()
}

fn dropped(id: u64) -> abide_model::Event {
    event(id, EventKind::ActivityCancelRequested { reason: "dropped_future".to_owned() }).with_source(2)
}

#[test]
fn an_activity_whose_future_was_dropped() {
    on_both(|store| {
        let ([token, _], mut told) = with_leased_work(store);
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).revoking("a", 2).under(&lease));
        assert_eq!(heard(store, &mut told), [StolenLease { token, because: StolenBecause::Dropped }]);
    });
}

#[test]
fn activities_of_an_execution_that_ended_each_with_its_reason() {
    for status in [ExecutionStatus::Completed, ExecutionStatus::Failed, ExecutionStatus::ContinuedAsNew] {
        on_both(|store| {
            let ([first, second], mut told) = with_leased_work(store);
            let lease = store.lease();
            let turn = TurnBuilder::of_execution(1).recorded(dropped(2)).revoking("a", 3).revoking("a", 2);
            store.commit(turn.ending(status, "").under(&lease));
            let expected = [
                StolenLease { token: first, because: StolenBecause::Dropped },
                StolenLease { token: second, because: StolenBecause::OrchestrationEnded { status } },
            ];
            assert_eq!(heard(store, &mut told), expected);
        });
    }
}

#[test]
fn activities_of_an_execution_that_was_pruned() {
    on_both(|store| {
        let (tokens, mut told) = with_leased_work(store);
        let lease = store.lease();
        let turn = TurnBuilder::of_execution(1).mail(continue_as_new("a"));
        store.commit(turn.ending(ExecutionStatus::ContinuedAsNew, "next").under(&lease));
        assert_eq!(heard(store, &mut told), []);
        let lease = store.lease();
        store.commit(TurnBuilder::starting(2).pruning(PruneOptions::default()).under(&lease));
        let because = StolenBecause::InstanceDeleted;
        let stolen = tokens.map(|token| StolenLease { token, because: because.clone() });
        assert_eq!(heard(store, &mut told), stolen);
    });
}

#[test]
fn everyone_who_listens_is_told_and_nobody_of_the_past() {
    on_both(|store| {
        let (_, mut first) = with_leased_work(store);
        let mut second = store.provider.stolen_leases().unwrap();
        drop(store.provider.stolen_leases());
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).revoking("a", 2).under(&lease));
        store.settle();
        let mut late = store.provider.stolen_leases().unwrap();
        let counts = [&mut first, &mut second, &mut late].map(|told| heard(store, told).len());
        assert_eq!(counts, [1, 1, 0]);
    });
}

#[test]
fn what_nobody_holds_is_not_told_of() {
    on_both(|store| {
        let ([finished, abandoned], mut told) = with_leased_work(store);
        store.finish(&finished, None).unwrap();
        store.abandon_work(&abandoned, None).unwrap();
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).revoking("a", 2).revoking("a", 3).under(&lease));
        assert_eq!(heard(store, &mut told), []);
    });
}

#[test]
fn a_lease_that_ran_out_is_not_told_of() {
    on_both(|store| {
        let (_, mut told) = with_leased_work(store);
        store.advance(LEASE);
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).revoking("a", 2).under(&lease));
        assert_eq!(heard(store, &mut told), []);
    });
}

/// A refused commit takes nothing away.
#[test]
fn only_what_was_committed_is_told() {
    on_both(|store| {
        let ([token, _], mut told) = with_leased_work(store);
        let lease = store.lease();
        store.refused(TurnBuilder::starting(1).revoking("a", 2).under(&lease));
        assert_eq!(heard(store, &mut told), []);
        store.renew_work(&token, LEASE).unwrap();
    });
}
