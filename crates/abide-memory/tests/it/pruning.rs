//! Pruning with a commit.

use abide_model::{EventKind, ExecutionStatus, PruneOptions};
use abide_provider::{PRUNE_BATCH, Provider as _, ProviderAdmin as _};
use futures::executor::block_on;

use crate::support::*;

/// An instance `a` whose executions 1 to 4 ended a second after each other, each with work left, and a fifth runs.
fn five_executions() -> Store {
    let store = Store::new();
    store.enqueue(start("a"));
    for execution in 1..=4 {
        let lease = store.lease();
        let turn = TurnBuilder::starting(execution).work(work_of(execution)).mail(continue_as_new("a"));
        store.commit(turn.ending(ExecutionStatus::ContinuedAsNew, "next").under(&lease));
        store.advance(seconds(1));
    }
    let lease = store.lease();
    store.commit(TurnBuilder::starting(5).work(work_of(5)).under(&lease));
    store
}

fn work_of(execution: u64) -> abide_model::WorkItem {
    abide_model::WorkItem::ActivityExecute {
        instance: "a".to_owned(),
        execution_id: execution,
        id: 2,
        name: String::new(),
        input: String::new(),
        session_id: None,
        tag: None,
    }
}

fn left_after(store: &Store, options: PruneOptions) -> Vec<u64> {
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(5).pruning(options).under(&lease));
    let dump = store.dump();
    let left: Vec<u64> = dump.executions.into_keys().map(|(_, execution)| execution).collect();
    let with_work: Vec<u64> = dump.work.into_values().map(|work| work.execution).collect();
    assert_eq!(with_work, left, "work of pruned executions goes with them, and no other");
    left
}

#[test]
fn the_last_executions_are_kept_the_current_one_included() {
    let keep = |keep_last| PruneOptions { keep_last, completed_before: None };
    assert_eq!(left_after(&five_executions(), keep(Some(3))), [3, 4, 5]);
    for same in [None, Some(0), Some(1)] {
        assert_eq!(left_after(&five_executions(), keep(same)), [5]);
    }
    assert_eq!(left_after(&five_executions(), keep(Some(u32::MAX))), [1, 2, 3, 4, 5]);
}

#[test]
fn only_what_completed_before_goes() {
    let before = |time| PruneOptions { keep_last: None, completed_before: Some(time) };
    assert_eq!(left_after(&five_executions(), before(BEGIN + 2_000)), [3, 4, 5]);
    assert_eq!(left_after(&five_executions(), before(BEGIN)), [1, 2, 3, 4, 5]);
}

#[test]
fn both_conditions_must_hold() {
    let options = PruneOptions { keep_last: Some(4), completed_before: Some(u64::MAX) };
    assert_eq!(left_after(&five_executions(), options), [2, 3, 4, 5]);
}

#[test]
fn an_execution_that_never_ended_stays() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(TurnBuilder::starting(2).pruning(PruneOptions::default()).under(&lease));
    assert_eq!(store.dump().executions.len(), 2);
}

#[test]
fn a_commit_prunes_a_batch_and_who_asks_prunes_all() {
    let store = Store::with_instance("a");
    let current = PRUNE_BATCH * 3;
    for execution in 1..=current {
        let mut end = event(2, EventKind::OrchestrationContinuedAsNew { input: String::new() });
        end.execution_id = execution;
        block_on(store.provider.append_with_execution("a", execution, vec![end])).unwrap();
    }
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(current).pruning(PruneOptions::default()).under(&lease));
    let lowest = store.dump().executions.into_keys().map(|(_, execution)| execution).min();
    assert_eq!(lowest, Some(PRUNE_BATCH + 1), "the oldest");
    let pruned = block_on(store.provider.prune_executions("a", PruneOptions::default())).unwrap();
    assert_eq!(pruned.executions_deleted, current - PRUNE_BATCH - 1);
}
