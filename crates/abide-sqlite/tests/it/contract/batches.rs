//! Which messages a lease hands out, and in which order.

use abide_model::ExecutionStatus;
use abide_provider::{BATCH_BYTES, BATCH_MESSAGES, Provider as _};
use futures::executor::block_on;
use futures::future::join_all;

use crate::support::items::*;
use crate::support::store::*;

/// Enqueues many at once, so that a file is not synced for each.
fn enqueue_all(store: &Store, items: impl Iterator<Item = abide_model::WorkItem>) {
    let calls = items.map(|item| store.provider.enqueue_for_orchestrator(item, None));
    for sent in block_on(join_all(calls)) {
        sent.unwrap();
    }
}

#[test]
fn what_starts_it_comes_first_and_the_rest_in_order() {
    on_both(|store| {
        store.enqueue(signal("a", "1"));
        store.enqueue(start("a"));
        store.enqueue(signal("a", "3"));
        store.enqueue(continue_as_new("a"));
        let lease = store.lease();
        assert_eq!(contents(&lease), ["StartOrchestration", "1", "3", "ContinueAsNew"]);
        assert_eq!(numbers(&lease), [2, 1, 3, 4]);
        store.abandon(&lease.token, None).unwrap();
        let (item, _, _) = store.fetch().unwrap();
        let fetched: Vec<String> = item.messages.iter().map(said).collect();
        assert_eq!(fetched, ["1", "StartOrchestration", "3", "ContinueAsNew"], "in ascending order");
        assert_eq!(item.execution_id, 1);
    });
}

#[test]
fn the_successor_of_a_continued_execution_comes_first() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).ending(ExecutionStatus::ContinuedAsNew, "next"));
        store.enqueue(signal("a", "2"));
        store.enqueue(start("a"));
        store.enqueue(continue_as_new("a"));
        assert_eq!(contents(&store.lease()), ["ContinueAsNew", "2", "StartOrchestration"]);
    });
}

#[test]
fn an_execution_that_runs_has_no_message_to_put_first() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue(signal("a", "2"));
        store.enqueue(continue_as_new("a"));
        assert_eq!(contents(&store.lease()), ["2", "ContinueAsNew"]);
    });
}

#[test]
fn mail_that_comes_after_the_lease_is_not_part_of_it() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue(signal("a", "2"));
        let lease = store.lease();
        store.enqueue(signal("a", "3"));
        store.enqueue(timer("a", 2, BEGIN));
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        assert_eq!(contents(&store.lease()), ["3", "TimerFired"]);
    });
}

#[test]
fn a_batch_is_a_thousand_messages_with_the_start_among_them() {
    on_both(|store| {
        enqueue_all(store, (0..BATCH_MESSAGES + 200).map(|number| signal("a", &number.to_string())));
        store.enqueue(start("a"));
        let lease = store.lease();
        assert_eq!(lease.messages.len(), BATCH_MESSAGES);
        assert_eq!((numbers(&lease)[0], numbers(&lease)[1], numbers(&lease)[999]), (1_201, 1, 999));
        store.commit(TurnBuilder::starting(1).under(&lease));
        let rest = store.lease();
        assert_eq!(numbers(&rest), (1_000..=1_200).collect::<Vec<_>>(), "the rest keeps its order");
        assert_eq!(rest.attempt, 1, "and its attempts");
    });
}

#[test]
fn a_batch_ends_when_four_mebibytes_are_reached() {
    on_both(|store| {
        let overhead = serde_json::to_string(&signal("a", "")).unwrap().len();
        store.create_idle("a");
        let leased = |sizes: &[usize]| {
            for size in sizes {
                store.enqueue(signal("a", &"x".repeat(size - overhead)));
            }
            let lease = store.lease();
            store.commit(TurnBuilder::of_execution(1).under(&lease));
            while let Some(rest) = store.try_lease() {
                store.commit(TurnBuilder::of_execution(1).under(&rest));
            }
            lease.messages.len()
        };
        assert_eq!(leased(&[BATCH_BYTES - 1, 100, 100]), 2, "not yet reached by the first");
        assert_eq!(leased(&[BATCH_BYTES, 100]), 1, "reached sharp");
        assert_eq!(leased(&[BATCH_BYTES + 1, 100]), 1, "but always one");
        assert_eq!(leased(&[BATCH_BYTES / 2, BATCH_BYTES / 2, 100]), 2);
    });
}

#[test]
fn the_start_counts_for_the_size_and_comes_first_even_so() {
    on_both(|store| {
        store.enqueue(signal("a", "early"));
        store.enqueue(signal("a", &"x".repeat(BATCH_BYTES)));
        store.enqueue(signal("a", "late"));
        store.enqueue(start("a"));
        assert_eq!(numbers(&store.lease()), [4, 1, 2]);
    });
}

#[test]
fn what_a_turn_did_not_consume_keeps_its_attempts_and_its_place() {
    on_both(|store| {
        store.create_idle("a");
        for data in ["2", "3", "4", "5"] {
            store.enqueue(signal("a", data));
        }
        let first = store.lease();
        store.abandon(&first.token, None).unwrap();
        let second = store.lease();
        assert_eq!(attempts(&second), [2, 2, 2, 2]);
        store.enqueue(signal("a", "6"));
        store.commit(TurnBuilder::of_execution(1).consuming(&second, &[3, 5]));
        let third = store.lease();
        assert_eq!(contents(&third), ["2", "4", "6"]);
        assert_eq!(attempts(&third), [2, 2, 1], "the attempt was given back");
        store.commit(TurnBuilder::of_execution(1).consuming(&third, &[2, 4, 6, 99]));
        assert_eq!(store.count("message"), 0);
    });
}

#[test]
fn a_turn_can_consume_only_what_it_was_given() {
    on_both(|store| {
        store.create_idle("a");
        store.create_idle("b");
        store.enqueue(signal("a", "3"));
        store.enqueue(signal("b", "4"));
        let lease = store.lease();
        store.enqueue(signal("a", "5"));
        store.commit(TurnBuilder::of_execution(1).consuming(&lease, &[3, 4, 5]));
        let leases = store.lease_with(lease_instances(9));
        assert_eq!(leases.iter().map(contents).collect::<Vec<_>>(), [["4"], ["5"]]);
    });
}
