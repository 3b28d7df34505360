//! Many who wait.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use abide_provider::{LeaseInstances, LeaseWork, Provider as _};
use abide_sqlite::SqliteProvider;
use futures::future::{join, join_all};

use super::{any_instance, any_work, on_both, soon};
use crate::support::items::*;
use crate::support::store::{lease_instances, lease_work};

#[test]
fn two_hundred_callers_get_one_each() {
    on_both(|provider| {
        let callers = join_all((0..200).map(|_| provider.lease_work(any_work())));
        let senders = join_all((2..202).map(|id| provider.enqueue_for_worker(activity("a", id))));
        let (leases, sent) = soon(join(callers, senders));
        assert!(sent.iter().all(Result::is_ok));
        let taken: Vec<u64> = leases.iter().flat_map(|leases| activities(leases.as_ref().unwrap())).collect();
        assert_eq!(taken.len(), 200, "one each");
        assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 200, "and each another");
    });
}

#[test]
fn two_hundred_callers_on_threads_get_one_instance_each() {
    on_both(|provider| {
        let lease = || soon(provider.lease_instances(any_instance())).unwrap().remove(0).instance;
        let leased = std::thread::scope(|scope| {
            let caller = || scope.spawn(|| (0..4).map(|_| lease()).collect::<Vec<_>>());
            let callers: Vec<_> = (0..50).map(|_| caller()).collect();
            for chunk in 0..20 {
                let names = (0..10).map(|number| start(&format!("a{chunk}-{number}")));
                let sent = soon(join_all(names.map(|item| provider.enqueue_for_orchestrator(item, None))));
                assert!(sent.iter().all(Result::is_ok));
            }
            callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(leased.iter().collect::<BTreeSet<_>>().len(), 200);
        assert_eq!(leased.len(), 200);
    });
}

const CHAINS: usize = 40;
const STEPS: u64 = 10;

/// How many loops each queue has, and how many leases a loop asks for.
const LOOPS: usize = 3;
const BATCH: usize = 3;

/// Whoever leases one of these need not go on.
const END: &str = "end-";

/// Instances that run a few activities one after the other, through loops that wait for what comes next.
struct Load<'a> {
    provider: &'a SqliteProvider,
    running: AtomicUsize,
}

impl Load<'_> {
    fn is_over(&self) -> bool {
        self.running.load(Ordering::SeqCst) == 0
    }

    fn take_turns(&self) {
        while !self.is_over() {
            let request = LeaseInstances { wait: Duration::MAX, ..lease_instances(BATCH) };
            for lease in soon(self.provider.lease_instances(request)).unwrap() {
                if lease.instance.starts_with(END) {
                    return;
                }
                self.take_turn(&lease);
            }
        }
    }

    fn take_turn(&self, lease: &abide_provider::InstanceLease) {
        let next = lease.position.last_event_id + 1;
        let turn =
            TurnBuilder::of_execution(1).event(next, if next == 1 { started() } else { status_said(None) });
        let is_last = next > STEPS;
        let turn = if is_last { turn } else { turn.work(activity(&lease.instance, next)) };
        soon(self.provider.commit_turns(vec![turn.under(lease)])).remove(0).unwrap();
        if is_last && self.running.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.end();
        }
    }

    /// Something for everyone who still waits.
    fn end(&self) {
        for number in 0..LOOPS * BATCH {
            let name = format!("{END}{number}");
            soon(self.provider.enqueue_for_worker(activity(&name, 0))).unwrap();
            soon(self.provider.enqueue_for_orchestrator(start(&name), None)).unwrap();
        }
    }

    fn do_work(&self) {
        while !self.is_over() {
            let request = LeaseWork { wait: Duration::MAX, ..lease_work(BATCH) };
            for work in soon(self.provider.lease_work(request)).unwrap() {
                let id = activity_of(&work);
                if id == 0 {
                    return;
                }
                let instance = instance_of(&work.item);
                soon(self.provider.ack_work_item(&work.token, Some(completed(instance, id)))).unwrap();
            }
        }
    }
}

fn instance_of(item: &abide_model::WorkItem) -> &str {
    if let abide_model::WorkItem::ActivityExecute { instance, .. } = item { instance } else { "" }
}

#[test]
fn no_wake_up_is_lost_under_load() {
    on_both(|provider| {
        let load = Load { provider, running: AtomicUsize::new(CHAINS) };
        std::thread::scope(|scope| {
            for _ in 0..LOOPS {
                scope.spawn(|| load.take_turns());
                scope.spawn(|| load.do_work());
            }
            for number in 0..CHAINS {
                soon(provider.enqueue_for_orchestrator(start(&format!("a{number}")), None)).unwrap();
            }
        });
        assert!(load.is_over());
    });
}
