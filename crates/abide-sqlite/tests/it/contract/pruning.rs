//! Deleting earlier executions with a commit.

use abide_model::{ExecutionStatus, PruneOptions};
use abide_provider::Provider as _;
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

/// Executions 1 to `count` of `a`, a second apart; each but the last has ended, and left an activity behind.
fn with_executions(store: &Store, count: u64) {
    store.enqueue(start("a"));
    for execution in 1..=count {
        let lease = store.lease();
        let mut turn = TurnBuilder::starting(execution);
        if execution < count {
            turn = turn.ending(ExecutionStatus::ContinuedAsNew, "next").mail(continue_as_new("a"));
        }
        let mut commit = turn.work(activity("a", 2)).under(&lease);
        for item in &mut commit.turn.worker_items {
            if let abide_model::WorkItem::ActivityExecute { execution_id, .. } = item {
                *execution_id = execution;
            }
        }
        store.commit(commit);
        store.advance(seconds(1));
    }
    store.enqueue(signal("a", ""));
}

fn prune(store: &Store, execution: u64, keep_last: Option<u32>, completed_before: Option<u64>) -> String {
    let lease = store.lease();
    let options = PruneOptions { keep_last, completed_before };
    let turn = TurnBuilder::of_execution(execution);
    let turn = if execution > lease.position.execution_id { TurnBuilder::starting(execution) } else { turn };
    store.commit(turn.pruning(options).under(&lease));
    let left =
        ["SELECT no FROM execution", "SELECT execution AS no FROM turn", "SELECT execution AS no FROM work"]
            .map(|rows| {
                store.value::<String>(&format!("SELECT group_concat(DISTINCT no) FROM ({rows} ORDER BY no)"))
            });
    assert!(left.iter().all(|kept| *kept == left[0]), "rows of executions that are gone: {left:?}");
    left[0].clone()
}

#[test]
fn the_last_ones_and_the_current_one_are_kept() {
    for (keep_last, kept) in
        [(None, "5"), (Some(0), "5"), (Some(1), "5"), (Some(3), "3,4,5"), (Some(9), "1,2,3,4,5")]
    {
        on_both(|store| {
            with_executions(store, 5);
            assert_eq!(prune(store, 5, keep_last, None), kept, "{keep_last:?}");
        });
    }
}

#[test]
fn only_what_ended_before_is_deleted() {
    on_both(|store| {
        with_executions(store, 5);
        assert_eq!(prune(store, 5, Some(2), Some(BEGIN + 2_000)), "3,4,5", "executions 1 and 2 ended before");
        store.enqueue(signal("a", ""));
        assert_eq!(prune(store, 5, Some(4), Some(u64::MAX)), "3,4,5");
    });
}

#[test]
fn the_execution_that_the_commit_starts_counts() {
    on_both(|store| {
        with_executions(store, 3);
        // Execution 3 never ended: it is kept whatever its number.
        let lease = store.lease();
        let options = PruneOptions { keep_last: Some(1), completed_before: None };
        store.commit(TurnBuilder::starting(4).pruning(options).under(&lease));
        let kept: String = store.value("SELECT group_concat(no) FROM execution");
        assert_eq!(kept, "3,4");
    });
}

#[test]
fn other_instances_are_left_alone() {
    on_both(|store| {
        let ended = TurnBuilder::starting(1).ending(ExecutionStatus::ContinuedAsNew, "");
        store.create("b", ended.mail(continue_as_new("b")));
        let lease = store.lease();
        store.commit(TurnBuilder::starting(2).under(&lease));
        with_executions(store, 3);
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(3).pruning(PruneOptions::default()).under(&lease));
        assert_eq!(block_on(store.provider.read_with_execution("b", 1)).unwrap().len(), 1);
        assert_eq!(block_on(store.provider.read_with_execution("a", 1)).unwrap().len(), 0);
        assert_eq!(block_on(store.provider.read_with_execution("a", 3)).unwrap().len(), 1);
    });
}
