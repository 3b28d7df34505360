//! Calls whose caller goes away, and stores that are closed.

use std::sync::Arc;

use abide_provider::{Provider as _, TagFilter};
use futures::executor::block_on;

use super::{LIMIT, Parked, any_instance, any_work, enqueue, enqueue_start, on_both, on_file, soon};
use crate::support::folder::Folder;
use crate::support::items::*;
use crate::support::store::{LEASE, Store, lease_instances, lease_work, seconds};

#[test]
fn a_call_that_was_dropped_while_it_waited_takes_nothing() {
    on_both(|provider| {
        drop(Parked::new(provider, provider.lease_instances(any_instance())));
        drop(Parked::new(provider, provider.lease_work(any_work())));
        enqueue_start(provider, "a");
        soon(provider.enqueue_for_worker(activity("a", 2))).unwrap();
        assert_eq!(soon(provider.lease_instances(any_instance())).unwrap()[0].attempt, 1);
        assert_eq!(soon(provider.lease_work(any_work())).unwrap()[0].attempt, 1);
    });
}

/// The lease is granted and on its way when the caller goes away.
#[test]
fn a_call_that_was_dropped_when_it_was_served_gives_its_lease_back() {
    on_both(|provider| {
        for round in 0..20 {
            let name = format!("a{round}");
            let waiting = Parked::new(provider, provider.lease_instances(any_instance()));
            enqueue_start(provider, &name);
            waiting.until_woken();
            drop(waiting);
            // Well before the lease would run out.
            let lease = soon(provider.lease_instances(any_instance())).unwrap().remove(0);
            assert_eq!((lease.instance, lease.attempt), (name, 1), "with the attempt");
        }
    });
}

#[test]
fn so_does_one_for_work() {
    on_both(|provider| {
        for round in 2..22 {
            let waiting = Parked::new(provider, provider.lease_work(any_work()));
            soon(provider.enqueue_for_worker(activity("a", round))).unwrap();
            waiting.until_woken();
            drop(waiting);
            let lease = soon(provider.lease_work(any_work())).unwrap().remove(0);
            assert_eq!((activity_of(&lease), lease.attempt), (round, 1));
        }
    });
}

#[test]
fn so_do_the_required_methods() {
    on_both(|provider| {
        let any = TagFilter::Any;
        let item = Parked::new(provider, provider.fetch_orchestration_item(LEASE, LIMIT, None));
        let work = Parked::new(provider, provider.fetch_work_item(LEASE, LIMIT, None, &any));
        enqueue_start(provider, "a");
        soon(provider.enqueue_for_worker(activity("a", 2))).unwrap();
        item.until_woken();
        work.until_woken();
        drop((item, work));
        assert_eq!(soon(provider.fetch_orchestration_item(LEASE, LIMIT, None)).unwrap().unwrap().2, 1);
        assert_eq!(soon(provider.fetch_work_item(LEASE, LIMIT, None, &any)).unwrap().unwrap().2, 1);
    });
}

/// The caller goes away at any moment, on another thread, while the store serves it.
#[test]
fn whenever_a_call_is_dropped_nothing_is_lost() {
    on_both(|provider| {
        for round in 2..150 {
            std::thread::scope(|scope| {
                let mut call = provider.lease_work(any_work());
                assert!(block_on(futures::future::poll_immediate(&mut call)).is_none());
                scope.spawn(move || {
                    for _ in 0..round * 7 {
                        std::hint::spin_loop();
                    }
                    drop(call);
                });
                soon(provider.enqueue_for_worker(activity("a", round))).unwrap();
            });
            let lease = soon(provider.lease_work(any_work())).unwrap().remove(0);
            assert_eq!((activity_of(&lease), lease.attempt), (round, 1));
        }
    });
}

/// A write whose caller went away is done, or not done; never half.
#[test]
fn a_dropped_write_is_whole_or_not_there() {
    on_both(|provider| {
        for round in 0..50 {
            let name = format!("a{round}");
            let mut call = provider.enqueue_for_orchestrator(start(&name), None);
            assert!(block_on(futures::future::poll_immediate(&mut call)).is_none_or(|sent| sent.is_ok()));
            drop(call);
            enqueue(provider, signal(&name, ""));
            let lease = soon(provider.lease_instances(any_instance())).unwrap().remove(0);
            assert_eq!(contents(&lease), ["StartOrchestration", ""], "what was sent first was done first");
        }
    });
}

/// The last owner of the store is a call that waits, and the call is dropped.
#[test]
fn a_store_that_only_a_waiting_call_keeps_open_is_closed_with_it() {
    let folder = Folder::new("closing");
    for _ in 0..5 {
        let provider = on_file(&folder);
        let owner = Arc::clone(&provider);
        let waiting = Parked::new(&provider, async move { owner.lease_instances(any_instance()).await });
        drop(provider);
        let (closed, is_closed) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                drop(waiting);
                closed.send(()).unwrap();
            });
            is_closed.recv_timeout(LIMIT).expect("closing ends");
        });
        assert_eq!(folder.names(), ["store.db"], "nothing is left beside the database");
    }
}

#[test]
fn closing_and_opening_again_keeps_everything() {
    let store = Store::on_file();
    let turn = TurnBuilder::starting(1)
        .events(2, [status_said(Some("begun")), value_set("k", "v")])
        .work(activity_with("a", 4, Some("s"), Some("gpu")))
        .work(activity("a", 5))
        .mail(timer("a", 6, 2_000_000));
    store.create("a", turn.pinned("0.2.0"));
    store.enqueue_once(start("b"), 7);
    store.enqueue_delayed(signal("c", ""), seconds(5));
    let mut before = store.rows();
    let store = store.reopened();
    let mut after = store.rows();
    for rows in [&mut before, &mut after] {
        rows.remove("owner");
        rows.remove("sqlite_sequence");
    }
    assert_eq!(after, before);
    assert_eq!(names(&store.lease_with(lease_instances(9))), ["b"]);
    assert_eq!(activities(&store.lease_work_with(lease_work(9))), [5]);
}

/// Leases die with their store: the next one does not wait for them to run out.
#[test]
fn closing_gives_leases_back_and_the_attempt_counts() {
    let store = Store::on_file();
    store.enqueue(start("a"));
    store.enqueue_work(activity("a", 2));
    let (lease, work) = (store.lease(), store.lease_work());
    let store = store.reopened();
    assert!(store.unchanged(|| store.renew(&lease.token, LEASE)).is_err());
    assert!(store.unchanged(|| store.renew_work(&work.token, LEASE)).is_err());
    assert_eq!(store.lease().attempt, 2);
    assert_eq!(store.lease_work().attempt, 2);
}
