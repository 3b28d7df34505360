//! Many threads on one store, by the machine's clock: nothing is lost, nothing is leased twice.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use abide_memory::InMemoryProvider;
use abide_provider::{Enqueue, FinishedWork, Lane, LeaseInstances, LeaseWork, Provider as _, RequestKey};
use futures::executor::block_on;

use crate::support::*;

/// Long enough that waiting for it would be noticed.
const LONG: Duration = seconds(600);

#[test]
fn no_call_is_lost_between_looking_and_waiting() {
    const ROUNDS: u64 = 2_000;
    let store = InMemoryProvider::new();
    std::thread::scope(|scope| {
        // Ping and pong: whoever misses a call stops both, and the wait of ten minutes runs out.
        scope.spawn(|| {
            for id in 0..ROUNDS {
                block_on(store.enqueue_for_worker(activity("a", id))).unwrap();
                let request = LeaseInstances { wait: LONG, lease_for: LONG, ..lease_instances(1) };
                let lease = block_on(store.lease_instances(request)).unwrap().remove(0);
                block_on(store.commit_turns(vec![TurnBuilder::starting(1).under(&lease)])).remove(0).unwrap();
            }
        });
        scope.spawn(|| {
            for id in 0..ROUNDS {
                let request = LeaseWork { wait: LONG, lease_for: LONG, ..lease_work(1) };
                let work = block_on(store.lease_work(request)).unwrap().remove(0);
                let finished = FinishedWork { token: work.token, completion: None };
                block_on(store.finish_work(vec![finished])).remove(0).unwrap();
                block_on(store.enqueue_for_orchestrator(start(&id.to_string()), None)).unwrap();
            }
        });
    });
    assert_eq!(store.dump().work.len() + store.dump().messages.len(), 0);
}

#[test]
fn many_who_wait_share_the_work_and_each_item_is_leased_once() {
    const WORKERS: usize = 8;
    const ITEMS: usize = 800;
    let store = InMemoryProvider::new();
    let taken = AtomicUsize::new(0);
    let items = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while taken.load(Ordering::SeqCst) < ITEMS {
                    let request = LeaseWork { wait: millis(50), lease_for: LONG, ..lease_work(3) };
                    let leases = block_on(store.lease_work(request)).unwrap();
                    taken.fetch_add(leases.len(), Ordering::SeqCst);
                    items.lock().unwrap().extend(leases.into_iter().map(|lease| lease.token));
                }
            });
        }
        scope.spawn(|| {
            for id in (0..).take(ITEMS) {
                block_on(store.enqueue_for_worker(activity("a", id))).unwrap();
            }
        });
    });
    let mut tokens = items.into_inner().unwrap();
    assert_eq!(tokens.len(), ITEMS);
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), ITEMS);
}

#[test]
fn a_panic_under_the_lock_leaves_the_store_to_the_others() {
    struct Broken;
    impl abide_model::Entropy for Broken {
        fn next_u64(&self) -> u64 {
            panic!("no entropy")
        }
    }
    let clock = std::sync::Arc::new(ManualClock::at(BEGIN));
    let store = InMemoryProvider::with_seams(clock, std::sync::Arc::new(Broken));
    block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        block_on(store.lease_instances(lease_instances(1)))
    }));
    assert!(panicked.is_err());
    let request = Enqueue { item: start("b"), delay: None, key: RequestKey([1; 16]) };
    block_on(store.enqueue_once(request)).unwrap();
    assert_eq!(store.dump().messages.len(), 2);
    assert_eq!(block_on(store.next_due(Lane::Instances)).unwrap(), None);
}
