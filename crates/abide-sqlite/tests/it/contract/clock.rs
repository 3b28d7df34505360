//! A clock that is corrected backwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_model::{Clock, Sleep, Timestamp};
use abide_provider::{InstanceLease, Provider as _, WorkLease};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

/// A wall clock that can be set to any time.
#[derive(Clone)]
struct WallClock(Arc<AtomicU64>);

impl WallClock {
    fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }
}

impl Clock for WallClock {
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep_until(&self, _monotonic: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}

fn store() -> (SqliteProvider, WallClock) {
    let clock = WallClock(Arc::new(AtomicU64::new(BEGIN)));
    let builder = SqliteProvider::builder("sqlite::memory:").clock(Arc::new(clock.clone()));
    (block_on(builder.open()).unwrap(), clock)
}

fn lease(provider: &SqliteProvider) -> Option<InstanceLease> {
    block_on(provider.lease_instances(lease_instances(1))).unwrap().pop()
}

fn lease_as(provider: &SqliteProvider, owner: &str) -> Option<WorkLease> {
    block_on(provider.lease_work(lease_work_of_sessions(1, owner, seconds(10)))).unwrap().pop()
}

#[test]
fn what_is_sent_now_is_visible_whatever_the_clock_says() {
    let (provider, clock) = store();
    block_on(provider.enqueue_for_orchestrator(start("a"), None)).unwrap();
    block_on(provider.enqueue_for_worker(activity_with("a", 2, Some("s"), None))).unwrap();
    clock.set(5);
    assert!(lease(&provider).is_some());
    assert!(lease_as(&provider, "me").is_some());
}

#[test]
fn what_was_seen_once_stays_visible() {
    let (provider, clock) = store();
    block_on(provider.enqueue_for_orchestrator(start("a"), Some(seconds(1)))).unwrap();
    clock.set(BEGIN + 1_000);
    let seen = lease(&provider).unwrap();
    clock.set(BEGIN);
    block_on(provider.abandon_orchestration_item(&seen.token, None, true)).unwrap();
    assert!(lease(&provider).is_some());
}

/// A lock that ended, whose end lies in the future again, must not keep work from everybody.
#[test]
fn a_session_whose_lock_ended_is_not_locked_for_ever() {
    let (provider, clock) = store();
    let enqueue =
        |id| block_on(provider.enqueue_for_worker(activity_with("a", id, Some("s"), None))).unwrap();
    enqueue(2);
    let work = lease_as(&provider, "gone").unwrap();
    block_on(provider.ack_work_item(&work.token, None)).unwrap();
    clock.set(BEGIN + 10_000);
    block_on(provider.nudge());
    clock.set(BEGIN + 5_000);
    enqueue(3);
    clock.set(BEGIN + 60_000);
    assert!(lease_as(&provider, "me").is_some(), "its owner is long gone");
}

#[test]
fn a_lease_that_ended_stays_ended() {
    let (provider, clock) = store();
    block_on(provider.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let old = lease(&provider).unwrap();
    clock.set(BEGIN + 30_000);
    let new = lease(&provider).unwrap();
    clock.set(BEGIN);
    assert!(block_on(provider.renew_orchestration_item_lock(&old.token, LEASE)).is_err());
    block_on(provider.renew_orchestration_item_lock(&new.token, LEASE)).unwrap();
}
