//! More at once than one transaction takes.

use std::collections::BTreeSet;

use abide_provider::{LeaseWork, Provider as _, TagFilter};
use futures::executor::block_on;
use futures::future::join_all;

use crate::support::items::*;
use crate::support::store::*;

fn enqueue_work(store: &Store, ids: std::ops::Range<u64>, tag: Option<&str>) {
    let items = ids.map(|id| activity_with("a", id, None, tag));
    let sent = block_on(join_all(items.map(|item| store.provider.enqueue_for_worker(item))));
    assert!(sent.iter().all(Result::is_ok));
}

#[test]
fn five_thousand_calls_at_once_are_all_done() {
    on_both(|store| {
        enqueue_work(store, 0..5_000, None);
        let leased = store.lease_work_with(lease_work(9_999));
        assert_eq!(
            activities(&leased),
            (0..5_000).collect::<Vec<_>>(),
            "in the order in which they were made"
        );
        let before = store.provider.transactions();
        let finish = leased.iter().map(|work| store.provider.ack_work_item(&work.token, None));
        assert!(block_on(join_all(finish)).iter().all(Result::is_ok));
        assert_eq!(store.count("work"), 0);
        assert!(store.provider.transactions() - before < 500, "they share transactions");
    });
}

#[test]
fn leases_that_all_end_at_once_are_all_found_again() {
    on_both(|store| {
        enqueue_work(store, 0..2_500, None);
        assert_eq!(store.lease_work_with(lease_work(9_999)).len(), 2_500);
        store.advance(LEASE);
        let mut found = BTreeSet::new();
        for _ in 0..3 {
            found.extend(store.lease_work_with(lease_work(9_999)).iter().map(|work| {
                assert_eq!(work.attempt, 2);
                activity_of(work)
            }));
        }
        assert_eq!(found.len(), 2_500);
    });
}

/// Leases that ended before, and are of no use to the caller, delay it; they do not stop it.
#[test]
fn what_ended_behind_many_others_is_found_too() {
    on_both(|store| {
        enqueue_work(store, 0..2_500, Some("gpu"));
        let gpu = LeaseWork { tags: TagFilter::tags(["gpu"]), ..lease_work(9_999) };
        assert_eq!(store.lease_work_with(gpu).len(), 2_500);
        store.advance(millis(1));
        enqueue_work(store, 2_500..2_501, None);
        store.lease_work();
        store.advance(LEASE);
        let mine = (0..3).find_map(|_| store.try_lease_work());
        assert_eq!(activity_of(&mine.expect("it ended as well")), 2_500);
    });
}

#[test]
fn many_timers_of_many_instances_fire_at_once() {
    on_both(|store| {
        let starts = (0..1_500).map(|number| format!("a{number}"));
        let sent = starts.map(|name| store.provider.enqueue_for_orchestrator(start(&name), Some(seconds(5))));
        assert!(block_on(join_all(sent)).iter().all(Result::is_ok));
        assert!(store.try_lease().is_none());
        store.advance(seconds(5));
        let mut found = 0;
        for _ in 0..2 {
            found += store.lease_with(lease_instances(9_999)).len();
        }
        assert_eq!(found, 1_500);
    });
}
