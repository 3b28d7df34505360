//! Calls that wait in the store, under the machine's clock.
//!
//! Nothing here sleeps. Whatever is waited for has a limit, which is reached only if it never comes; a test that
//! succeeds does not depend on how fast the machine is.

mod crowds;
mod dropping;
mod parked;
mod taken_away;
mod time;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::Clock;
use abide_provider::{LeaseInstances, LeaseWork, Provider};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use futures::future::{BoxFuture, Either, select};
use futures::task::{ArcWake, waker};

use crate::support::folder::Folder;
use crate::support::items::start;
use crate::support::store::{lease_instances, lease_work, seconds};

/// When to give up on what should have come long ago.
const LIMIT: Duration = seconds(20);

/// Runs a test in memory and on a file, both under the machine's clock.
fn on_both(test: impl Fn(&Arc<SqliteProvider>)) {
    println!("in memory:");
    test(&Arc::new(block_on(SqliteProvider::new_in_memory()).unwrap()));
    println!("on a file:");
    let folder = Folder::new("waiting");
    test(&on_file(&folder));
}

fn on_file(folder: &Folder) -> Arc<SqliteProvider> {
    let database = folder.file("store.db");
    Arc::new(block_on(SqliteProvider::new(database.to_str().unwrap(), None)).unwrap())
}

/// What a future answers, which it must within the limit.
fn soon<T>(future: impl Future<Output = T>) -> T {
    let clock = SystemClock::new();
    match block_on(select(pin!(future), clock.sleep_until(LIMIT))) {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => panic!("there was no answer"),
    }
}

fn any_instance() -> LeaseInstances {
    LeaseInstances { wait: Duration::MAX, ..lease_instances(1) }
}

fn any_work() -> LeaseWork {
    LeaseWork { wait: Duration::MAX, ..lease_work(1) }
}

fn enqueue(provider: &SqliteProvider, item: abide_model::WorkItem) {
    soon(provider.enqueue_for_orchestrator(item, None)).unwrap();
}

fn enqueue_start(provider: &SqliteProvider, name: &str) {
    enqueue(provider, start(name));
}

/// A call that has begun to wait, and is polled by hand.
struct Parked<'a, T> {
    call: BoxFuture<'a, T>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.store(true, Ordering::SeqCst);
    }
}

impl<'a, T> Parked<'a, T> {
    /// Begins a call, and returns once the store has looked and found nothing for it.
    fn new(provider: &SqliteProvider, call: impl Future<Output = T> + Send + 'a) -> Self {
        let mut parked = Self { call: Box::pin(call), woken: Arc::new(Woken(AtomicBool::new(false))) };
        assert!(parked.poll().is_none(), "there was something already");
        soon(provider.nudge());
        parked
    }

    fn poll(&mut self) -> Option<T> {
        match self.call.as_mut().poll(&mut Context::from_waker(&waker(self.woken.clone()))) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }

    fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst)
    }

    /// Waits until the call was woken, without taking its answer.
    fn until_woken(&self) {
        let clock = SystemClock::new();
        while !self.is_woken() {
            assert!(clock.monotonic() < LIMIT, "nobody woke it");
            std::thread::yield_now();
        }
    }
}
