//! How many statements a call runs: as many for many rows as for few, where a statement can take many.

use std::collections::BTreeMap;
use std::pin::pin;

use abide_host::SystemClock;
use abide_model::{Clock as _, EventKind, ExecutionStatus, PruneOptions};
use abide_provider::{LeaseWork, PRUNE_BATCH, Provider as _, ProviderAdmin as _};
use futures::executor::block_on;
use futures::{FutureExt as _, StreamExt as _};

use crate::support::items::*;
use crate::support::store::*;

/// How many statements a call runs.
fn statements<T>(store: &Store, call: impl FnOnce() -> T) -> u64 {
    let runs = || block_on(store.provider.costs()).iter().map(|(_, runs, _)| runs).sum::<u64>();
    let before = runs();
    call();
    runs() - before
}

/// Takes `count` activities back with one commit, some of them leased, and says how many statements that took.
fn revoking(store: &Store, count: u64, session: Option<&str>) -> u64 {
    let ids = 2..2 + count;
    let work = ids.clone().map(|id| activity_with("a", id, session, None));
    store.create("a", work.fold(TurnBuilder::starting(1), TurnBuilder::work));
    store.lease_work_with(lease_work_of_sessions(5, "me", LEASE));
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let commit = ids.fold(TurnBuilder::of_execution(1), |turn, id| turn.revoking("a", id)).under(&lease);
    let statements = statements(store, || store.commit(commit));
    assert_eq!(store.count("work"), 0);
    statements
}

#[test]
fn two_thousand_activities_are_taken_back_by_one_statement() {
    on_both(|store| {
        let statements = revoking(store, 2_000, None);
        assert!(statements < 30, "{statements} statements");
    });
}

#[test]
fn two_thousand_activities_of_a_session_are_taken_back_by_a_handful() {
    on_both(|store| {
        let statements = revoking(store, 2_000, Some("s"));
        assert!(statements < 40, "{statements} statements");
        assert_eq!(store.count("lane"), 0);
    });
}

#[test]
fn taking_two_thousand_activities_back_costs_as_many_statements_as_taking_twenty() {
    let [few, many] = [20, 2_000].map(|count| revoking(&Store::in_memory(), count, None));
    assert_eq!(few, many);
}

/// Cancels an instance of which so many activities run: each is recorded, its row goes, its holder is told. Says how many
/// statements that took.
fn cancelling(store: &Store, count: usize) -> u64 {
    let ids = || (2..).take(count);
    let all = ids().map(|id| activity("a", id));
    store.create("a", all.fold(TurnBuilder::starting(1), TurnBuilder::work));
    assert_eq!(store.lease_work_with(lease_work(9_999)).len(), count);
    store.enqueue(cancel("a"));
    let lease = store.lease();
    let mut told = store.provider.stolen_leases().unwrap();
    let turn = ids().fold(TurnBuilder::of_execution(1), |turn, id| {
        let reason = "orchestration_terminal_cancelled".to_owned();
        let cancelled = event(10_000 + id, EventKind::ActivityCancelRequested { reason }).with_source(id);
        turn.recorded(cancelled).revoking("a", id)
    });
    let commit = turn.ending(ExecutionStatus::Failed, "canceled").under(&lease);
    let clock = SystemClock::new();
    let before = clock.monotonic();
    let statements = statements(store, || store.commit(commit));
    println!("{count} in {:?}, {statements} statements", clock.monotonic().saturating_sub(before));
    assert_eq!(store.count("work"), 0);
    store.settle();
    assert_eq!(std::iter::from_fn(|| told.next().now_or_never().flatten()).count(), count);
    statements
}

#[test]
fn the_end_of_an_instance_with_two_thousand_running_activities_is_two_dozen_statements() {
    for count in [1, 2_000] {
        // Where one connection does everything, SQLite copies the log by itself, and is not asked how long it is.
        let expected = if processes_can_share() { CANCELLING } else { CANCELLING - 1 };
        assert_eq!(cancelling(&Store::in_memory(), count), expected);
        // And a look at the neighbours.
        assert!(cancelling(&Store::on_file(), count) <= CANCELLING + 4);
    }
}

/// What a commit costs that cancels everything, however much that is.
const CANCELLING: u64 = 21;

/// The first commit under a policy may find years of executions.
#[test]
fn a_commit_with_much_to_prune_prunes_a_part_with_a_handful_of_statements() {
    on_both(|store| {
        store.create_with_past("a", 10_000);
        for round in 1..=2 {
            store.enqueue(signal("a", ""));
            let lease = store.lease();
            let commit = TurnBuilder::of_execution(10_001).pruning(PruneOptions::default()).under(&lease);
            let statements = statements(store, || store.commit(commit));
            assert!(statements < 30, "{statements} statements");
            let kept = i64::try_from(10_001 - round * PRUNE_BATCH).unwrap();
            assert_eq!(store.count("execution"), kept);
            let lowest: i64 = store.value("SELECT min(no) FROM execution");
            assert_eq!(lowest.unsigned_abs(), round * PRUNE_BATCH + 1, "oldest first");
        }
    });
}

/// Others are served in between.
#[test]
fn pruning_much_by_hand_takes_many_small_transactions() {
    on_both(|store| {
        store.create_with_past("a", 10_000);
        let before = store.provider.transactions();
        let pruned = block_on(store.provider.prune_executions("a", PruneOptions::default())).unwrap();
        assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 10_000));
        let transactions = store.provider.transactions() - before;
        let parts = 10_000_u64.div_ceil(PRUNE_BATCH);
        assert!((parts..parts + 3).contains(&transactions), "{transactions} transactions for {parts} parts");
        assert_eq!(store.count("execution"), 1);
    });
}

/// A call that finds nothing does not even begin a transaction.
#[test]
fn looking_for_nothing_costs_a_glance() {
    on_both(|store| {
        store.create_idle("a");
        let before = store.provider.transactions();
        assert!(statements(store, || assert!(store.try_lease().is_none())) <= 3);
        assert!(statements(store, || assert!(store.try_lease_work().is_none())) <= 3);
        assert_eq!(store.provider.transactions(), before);
    });
}

/// A step of a chain: the activity is finished, its turn leased and committed with the next activity.
#[test]
fn a_step_is_few_statements_and_reads_no_history() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).work(activity("a", 2)));
        let step = |id: u64| {
            let work = store.lease_work();
            store.finish(&work.token, Some(completed("a", id))).unwrap();
            let lease = store.lease();
            let turn = TurnBuilder::of_execution(1).event(id, status_said(None)).work(activity("a", id + 1));
            store.commit(turn.under(&lease));
        };
        step(2);
        let of_third = statements(store, || step(3));
        for id in 4..40 {
            step(id);
        }
        let of_fortieth = statements(store, || step(40));
        assert_eq!(of_third, of_fortieth, "whatever the length of the history");
        assert!(of_third <= 60, "{of_third} statements");
        let history = block_on(store.provider.costs()).into_iter().find(|(name, _, _)| *name == "read_turns");
        assert_eq!(history, None, "no history is read");
    });
}

/// Nobody writes meanwhile, so what was read once is still true.
#[test]
fn a_call_that_waits_costs_one_statement_for_each_look_at_the_neighbours() {
    let store = Store::on_file();
    let _told = store.provider.stolen_leases().unwrap();
    let wait = pin!(store.provider.lease_work(LeaseWork { wait: seconds(3_600), ..lease_work(1) }));
    assert!(wait.now_or_never().is_none());
    // It looks now and then between two requests.
    let after_looks = |looks: u64| -> BTreeMap<&str, u64> {
        let costs = || {
            store.clock.advance(seconds(1));
            block_on(store.provider.costs()).into_iter().map(|(name, runs, _)| (name, runs)).collect()
        };
        let has_looked =
            |costs: &BTreeMap<_, _>| costs.get("data_version").is_some_and(|runs| *runs >= looks);
        std::iter::repeat_with(costs).find(has_looked).unwrap()
    };
    let (before, after) = (after_looks(5), after_looks(25));
    for name in ["list_owners", "next_work_due"] {
        // Once it may still look what there was before it first saw that nobody wrote.
        assert!(after[name] <= before[name] + 1, "{name}: {after:?}");
    }
}
