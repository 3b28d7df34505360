//! Leases that are taken away, and changes, are told.

use abide_model::{Event, EventKind, ExecutionStatus, PruneOptions};
use abide_provider::{Changes, Provider as _, ProviderAdmin as _, StolenBecause, StolenLease, StolenLeases};
use futures::{FutureExt as _, StreamExt as _};

use crate::support::*;

/// An instance `a` with activities 2 and 3, both leased, that has mail.
fn with_leased_work() -> (Store, [String; 2], StolenLeases) {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).work(activity("a", 2)).work(activity("a", 3)));
    let tokens = [store.lease_work().token, store.lease_work().token];
    store.enqueue(signal("a", ""));
    let told = store.provider.stolen_leases().unwrap();
    (store, tokens, told)
}

fn heard(told: &mut StolenLeases) -> Vec<StolenLease> {
    std::iter::from_fn(|| told.next().now_or_never().flatten()).collect()
}

fn cancel_requested(id: u64, reason: &str) -> Event {
    event(id, EventKind::ActivityCancelRequested { reason: reason.to_owned() }).with_source(2)
}

#[test]
fn an_activity_whose_future_was_dropped() {
    let (store, [token, _], mut told) = with_leased_work();
    let lease = store.lease();
    let turn = TurnBuilder::of_execution(1).revoking("a", 2);
    store.commit(turn.under(&lease));
    assert_eq!(heard(&mut told), [StolenLease { token, because: StolenBecause::Dropped }]);
}

#[test]
fn activities_of_an_execution_that_ended_each_with_its_reason() {
    let (store, [dropped, ended], mut told) = with_leased_work();
    let lease = store.lease();
    let mut turn = TurnBuilder::of_execution(1).revoking("a", 2).revoking("a", 3).into_turn();
    turn.events.push(cancel_requested(2, "dropped_future"));
    turn.metadata.status = Some("Completed".to_owned());
    let mut commit = TurnBuilder::of_execution(1).under(&lease);
    commit.turn = turn;
    store.commit(commit);
    let status = ExecutionStatus::Completed;
    assert_eq!(
        heard(&mut told),
        [
            StolenLease { token: dropped, because: StolenBecause::Dropped },
            StolenLease { token: ended, because: StolenBecause::OrchestrationEnded { status } },
        ]
    );
}

#[test]
fn activities_of_an_execution_that_was_pruned() {
    let (store, tokens, mut told) = with_leased_work();
    let lease = store.lease();
    store.commit(
        TurnBuilder::of_execution(1)
            .ending(ExecutionStatus::ContinuedAsNew, "next")
            .mail(continue_as_new("a"))
            .under(&lease),
    );
    assert_eq!(heard(&mut told), []);
    let lease = store.lease();
    store.commit(TurnBuilder::starting(2).pruning(PruneOptions::default()).under(&lease));
    let stolen = tokens.map(|token| StolenLease { token, because: StolenBecause::InstanceDeleted });
    assert_eq!(heard(&mut told), stolen);
}

#[test]
fn everyone_who_listens_is_told_and_nobody_of_the_past() {
    let (store, _, mut first) = with_leased_work();
    let mut second = store.provider.stolen_leases().unwrap();
    drop(store.provider.stolen_leases());
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).revoking("a", 2).under(&lease));
    let mut late = store.provider.stolen_leases().unwrap();
    assert_eq!([heard(&mut first).len(), heard(&mut second).len(), heard(&mut late).len()], [1, 1, 0]);
}

#[test]
fn work_that_nobody_holds_is_not_told_of() {
    let (store, _, mut told) = with_leased_work();
    store.advance(LEASE);
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).revoking("a", 2).under(&lease));
    assert_eq!(heard(&mut told), []);
}

#[test]
fn finishing_and_abandoning_take_nothing_away() {
    let (store, [finished, abandoned], mut told) = with_leased_work();
    store.finish(&finished, None).unwrap();
    store.abandon_work(&abandoned, None).unwrap();
    assert_eq!(heard(&mut told), []);
}

fn is_told(changes: &mut Changes) -> bool {
    changes.next().now_or_never().flatten().is_some()
}

#[test]
fn what_others_see_is_a_change() {
    let store = Store::new();
    let mut changes = store.provider.changes("a").unwrap();
    store.create("a", TurnBuilder::starting(1));
    assert!(is_told(&mut changes), "it came to be");
    let step = |turn: TurnBuilder| {
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        store.commit(turn.under(&lease));
    };
    step(TurnBuilder::of_execution(1).event(2, status_said(None)));
    assert!(is_told(&mut changes), "a custom status");
    step(TurnBuilder::of_execution(1).event(3, value_cleared("k")));
    assert!(is_told(&mut changes), "a value");
    step(TurnBuilder::of_execution(1).ending(ExecutionStatus::Completed, ""));
    assert!(is_told(&mut changes), "its end");
    at_once(store.provider.delete_instance("a", false)).unwrap();
    assert!(is_told(&mut changes), "it is gone");
    assert!(!is_told(&mut changes));
}

#[test]
fn what_nobody_sees_is_no_change() {
    let (store, [token, _], _) = with_leased_work();
    let mut changes = store.provider.changes("a").unwrap();
    store.finish(&token, None).unwrap();
    let lease = store.lease();
    store.abandon(&lease.token, None).unwrap();
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).event(2, started()).under(&lease));
    store.create("b", TurnBuilder::starting(1));
    at_once(store.provider.prune_executions("a", PruneOptions::default())).unwrap();
    assert!(!is_told(&mut changes));
}
