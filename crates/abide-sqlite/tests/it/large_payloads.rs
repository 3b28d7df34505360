//! Deleting and pruning an instance whose turns have large payloads: a part is limited by bytes, so no other
//! call waits for it long.
//!
//! `ABIDE_LARGE_TURNS` is the number of turns, of 8 MiB each: 24 in a normal run, 200 in `cargo xtask torture
//! delete-large`.

use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock as _, ExecutionStatus, PruneOptions};
use abide_provider::ProviderAdmin as _;
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::process::times;
use crate::support::store::*;

/// The longest that another call may take meanwhile.
const LONGEST: Duration = Duration::from_millis(100);

/// A round in which the machine was busy with something else is repeated, until more rounds are good than
/// bad, or this many are bad.
const BAD_ROUNDS: u32 = 3;

/// An instance of which so many executions have ended, each with a turn of 8 MiB.
fn put_large(store: &Store, turns: u64) {
    store.create_with_past("large", turns);
    store.damage(&format!("UPDATE turn SET events = hex(zeroblob(4194304)) WHERE execution <= {turns}"));
    while block_on(store.provider.checkpoint()).is_err() {
        std::thread::yield_now();
    }
}

fn turns() -> u64 {
    times("ABIDE_LARGE_TURNS", 24)
}

fn timed<T>(longest: &mut Duration, call: impl FnOnce() -> T) -> T {
    let clock = SystemClock::new();
    let began = clock.monotonic();
    let answer = call();
    *longest = clock.monotonic().saturating_sub(began).max(*longest);
    answer
}

/// Starts an instance and completes it, in three calls.
fn step(store: &Store, id: &str, longest: &mut Duration) {
    timed(longest, || store.enqueue(start(id)));
    let lease = timed(longest, || store.lease());
    let turn = TurnBuilder::starting(1).ending(ExecutionStatus::Completed, "done");
    timed(longest, || store.commit(turn.under(&lease)));
}

/// The longest call of others while `what` runs and until `is_over`.
fn longest_beside(store: &Store, what: impl FnOnce() + Send, is_over: impl Fn() -> bool) -> Duration {
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let work = scope.spawn(what);
        let mut number = 0;
        while !work.is_finished() || !is_over() {
            step(store, &format!("step-{number}"), &mut longest);
            number += 1;
        }
        work.join().unwrap();
    });
    longest
}

/// Repeats a round until the longest calls of more rounds are short than long.
fn assert_short(round: impl Fn() -> Duration) {
    let (mut short, mut long) = (0, 0);
    while short <= long {
        let longest = round();
        println!("the longest call of others took {longest:?}");
        if longest < LONGEST {
            short += 1;
        } else {
            long += 1;
        }
        assert!(long < BAD_ROUNDS, "in {long} rounds of {}, a call took {LONGEST:?} or more", short + long);
    }
}

#[test]
fn no_call_waits_for_the_deletion_of_large_payloads() {
    assert_short(|| {
        let store = Store::on_file_in_real_time();
        put_large(&store, turns());
        let before = store.provider.transactions();
        let delete = || {
            let deleted = block_on(store.provider.delete_instance("large", true)).unwrap();
            assert_eq!(deleted.executions_deleted, turns() + 1);
            // The turns are not all in the transaction of the call.
            assert!(store.provider.transactions() > before);
        };
        let longest = longest_beside(&store, delete, || store.count("tombstone") == 0);
        let left: i64 = store.value("SELECT count(*) FROM turn WHERE length(events) > 1000000");
        assert_eq!(left, 0);
        longest
    });
}

#[test]
fn no_call_waits_for_a_prune_of_large_payloads() {
    assert_short(|| {
        let store = Store::on_file_in_real_time();
        put_large(&store, turns());
        let prune = || {
            let options = PruneOptions { keep_last: Some(1), completed_before: None };
            let pruned = block_on(store.provider.prune_executions("large", options)).unwrap();
            assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, turns()));
        };
        longest_beside(&store, prune, || true)
    });
}

/// Without a clock that moves, the time of a part is never over: only bytes limit it.
#[test]
fn a_transaction_removes_few_rows_with_large_payloads() {
    const TURNS: u64 = 12;
    let store = Store::on_file();
    put_large(&store, TURNS);
    let before = store.provider.transactions();

    block_on(store.provider.delete_instance("large", true)).unwrap();
    assert_eq!(store.count("mailbox"), 0);
    while store.count("tombstone") > 0 {
        std::thread::yield_now();
    }

    let parts = store.provider.transactions() - before;
    assert!(parts > TURNS, "{TURNS} turns of 8 MiB went in {parts} transactions");

    let store = Store::on_file();
    put_large(&store, TURNS);
    store.create_with_past("small", 100);
    let before = store.provider.transactions();
    let filter = abide_provider::InstanceFilter::default();
    let options = PruneOptions { keep_last: Some(1), completed_before: None };
    let pruned = block_on(store.provider.prune_executions_bulk(filter, options)).unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (2, TURNS + 100));
    let parts = store.provider.transactions() - before;
    assert!(parts >= TURNS, "{TURNS} executions of 8 MiB went in {parts} transactions");
}
