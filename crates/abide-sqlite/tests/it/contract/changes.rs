//! Changes are told to those who listen, after the commit, and to nobody else.

use abide_model::{ExecutionStatus, PruneOptions};
use abide_provider::{Changes, Provider as _, ProviderAdmin as _};
use futures::executor::block_on;
use futures::{FutureExt as _, StreamExt as _};

use crate::support::items::*;
use crate::support::store::*;

/// From now on: whatever was committed before has been told.
fn listen(store: &Store, instance: &str) -> Changes {
    store.settle();
    store.provider.changes(instance).unwrap()
}

/// Whether word has come: once the store has done something else, everything before it was told.
fn is_told(store: &Store, changes: &mut Changes) -> bool {
    store.settle();
    let words = std::iter::from_fn(|| changes.next().now_or_never()).count();
    assert!(words <= 1, "told once, however often it changed");
    words == 1
}

fn step(store: &Store, turn: TurnBuilder) {
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(turn.under(&lease));
}

#[test]
fn what_others_see_is_told() {
    let store = Store::in_memory();
    let mut changes = listen(&store, "a");
    assert!(!is_told(&store, &mut changes));
    store.create_idle("a");
    assert!(is_told(&store, &mut changes), "it came to be");
    for (what, kind) in [
        ("custom status", status_said(Some("x"))),
        ("no custom status", status_said(None)),
        ("a value", value_set("k", "v")),
        ("no value", value_cleared("k")),
    ] {
        let id = store.value::<i64>("SELECT last_event + 1 FROM mailbox WHERE id = 'a'");
        step(&store, TurnBuilder::of_execution(1).event(u64::try_from(id).unwrap(), kind));
        assert!(is_told(&store, &mut changes), "{what}");
    }
    let turn = TurnBuilder::of_execution(1).ending(ExecutionStatus::ContinuedAsNew, "next");
    step(&store, turn.mail(continue_as_new("a")));
    let lease = store.lease();
    store.commit(TurnBuilder::starting(2).under(&lease));
    assert!(!is_told(&store, &mut changes), "it was running, and it is");
    step(&store, TurnBuilder::of_execution(2).ending(ExecutionStatus::Completed, ""));
    assert!(is_told(&store, &mut changes), "an end");
    block_on(store.provider.delete_instance("a", true)).unwrap();
    assert!(is_told(&store, &mut changes), "it is gone");
}

#[test]
fn what_nobody_sees_is_not_told() {
    let store = Store::in_memory();
    store.create_idle("b");
    let continued = TurnBuilder::starting(1).ending(ExecutionStatus::ContinuedAsNew, "next");
    store.create("a", continued.mail(continue_as_new("a")));
    let lease = store.lease();
    store.commit(TurnBuilder::starting(2).work(activity("a", 2)).under(&lease));
    let mut changes = listen(&store, "a");
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.renew(&lease.token, LEASE).unwrap();
    store.abandon(&lease.token, None).unwrap();
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(2).event(3, started()).under(&lease));
    let work = store.lease_work();
    store.finish(&work.token, None).unwrap();
    block_on(store.provider.prune_executions("a", PruneOptions::default())).unwrap();
    store.enqueue(signal("b", ""));
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).ending(ExecutionStatus::Completed, "").under(&lease));
    assert!(!is_told(&store, &mut changes));
}

#[test]
fn a_refused_commit_is_not_told() {
    let store = Store::in_memory();
    store.create_idle("a");
    let mut changes = listen(&store, "a");
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.refused(TurnBuilder::starting(1).ending(ExecutionStatus::Completed, "").under(&lease));
    assert!(!is_told(&store, &mut changes));
}

#[test]
fn there_is_nothing_to_hear_when_the_store_is_closed() {
    on_both(|store| {
        let mut changes = listen(store, "a");
        is_told(store, &mut changes);
        assert_eq!(changes.next().now_or_never(), None);
    });
    let Store { provider, .. } = Store::in_memory();
    let mut changes = provider.changes("a").unwrap();
    drop(provider);
    assert_eq!(changes.next().now_or_never(), Some(None));
}
