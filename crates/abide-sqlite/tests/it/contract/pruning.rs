//! Deleting earlier executions with a commit.

use abide_model::{EventKind, ExecutionStatus, PruneOptions, PruneResult};
use abide_provider::{InstanceFilter, PRUNE_BATCH, Provider as _, ProviderAdmin as _};
use futures::executor::block_on;
use rusqlite::Row;

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

/// Appends an execution that ends as a new one, or never.
fn append(store: &Store, execution: u64, end: Option<EventKind>) {
    let mut events = vec![event(1, started())];
    events.extend(end.map(|kind| event(2, kind)));
    for event in &mut events {
        event.execution_id = execution;
    }
    block_on(store.provider.append_with_execution("a", execution, events)).unwrap();
}

/// What is left after a prune, by the words of the contract and by looking at everything.
fn left_by_the_contract(store: &Store, options: &PruneOptions) -> Vec<i64> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, Option<i64>>(2)?));
    let all: Vec<(i64, String, Option<i64>)> = block_on(store.provider.inspect(move |connection| {
        let query = "SELECT no, status, completed_at FROM execution ORDER BY no DESC";
        let mut statement = connection.prepare(query).unwrap();
        statement.query_map([], read).unwrap().map(Result::unwrap).collect()
    }))
    .unwrap();
    let keep = usize::try_from(options.kept()).unwrap();
    let before = options.completed_before.map_or(i64::MAX, |before| i64::try_from(before).unwrap());
    let mut left = all;
    let mut position = 0;
    left.retain(|(_, status, completed_at)| {
        position += 1;
        let goes = position > keep && status != "Running" && completed_at.is_some_and(|at| at < before);
        !goes
    });
    left.iter().rev().map(|(no, ..)| *no).collect()
}

/// Numbers are skipped, executions never end, the clock is set back, and prunes leave gaps.
#[test]
fn what_is_pruned_is_what_the_contract_says_whatever_is_missing() {
    let mut chance: u64 = 1;
    let mut below = |limit: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) % limit
    };
    for round in 0..150 {
        let store = Store::in_memory();
        let mut last = 0;
        for step in 0..6 {
            for _ in 0..=below(6) {
                last += if below(5) == 0 { 1 + below(4) } else { 1 };
                let end = EventKind::OrchestrationContinuedAsNew { input: String::new() };
                append(&store, last, (below(8) > 0).then_some(end));
                if below(3) == 0 {
                    let time = below(30);
                    let ended = format!("status <> 'Running' AND no = {last}");
                    let set = format!("UPDATE execution SET completed_at = {time} WHERE {ended}");
                    block_on(store.provider.inspect(move |connection| connection.execute(&set, [])))
                        .unwrap()
                        .unwrap();
                }
            }
            let keep_last = [None, Some(1), Some(2), Some(4), Some(7), Some(99)];
            let keep_last = keep_last[usize::try_from(below(6)).unwrap()];
            let completed_before = [None, Some(below(30)), Some(u64::MAX >> 2)];
            let completed_before = completed_before[usize::try_from(below(3)).unwrap()];
            let options = PruneOptions { keep_last, completed_before };
            let expected = left_by_the_contract(&store, &options);
            let before = store.count("execution");
            let pruned = block_on(store.provider.prune_executions("a", options.clone())).unwrap();
            let left: String =
                store.value("SELECT group_concat(no) FROM (SELECT no FROM execution ORDER BY no)");
            let expected = expected.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            assert_eq!(left, expected, "round {round}, step {step}, {options:?}");
            assert_eq!(i64::try_from(pruned.executions_deleted).unwrap(), before - store.count("execution"));
        }
    }
}

/// One that has more than a transaction may delete counts once, however many transactions it takes.
#[test]
fn a_bulk_prune_counts_instances_and_not_transactions() {
    let ended = PRUNE_BATCH + 44;
    for (named, processed) in [(None, 2), (Some(["b", "a", "idle"]), 3)] {
        let store = Store::in_memory();
        for name in ["a", "b", "c"] {
            store.create_with_past(name, ended);
        }
        store.create_idle("idle");
        let instance_ids = named.map(|names| names.map(str::to_owned).to_vec());
        let limit = Some(if instance_ids.is_some() { 9 } else { 2 });
        let filter = InstanceFilter { instance_ids, limit, ..InstanceFilter::default() };
        let pruned = block_on(store.provider.prune_executions_bulk(filter, PruneOptions::default())).unwrap();
        let expected = PruneResult {
            instances_processed: processed,
            executions_deleted: 2 * ended,
            events_deleted: 2 * ended,
        };
        assert_eq!(pruned, expected);
        let left: i64 = store.value("SELECT count(*) FROM execution WHERE mailbox = 3");
        assert_eq!(left.unsigned_abs(), ended + 1, "the third is not touched");
    }
}
