//! Stopping: two signals, and the tasks that must be over before it is done.
//!
//! *Ending* means: fetch nothing more, finish what was fetched. *Giving up* means: drop what is not finished and hand it
//! back. A shutdown raises the first. The watchdog, which no user code can hold up, raises the second when the grace is over. The
//! shutdown waits for all tasks, but not for those that do not hear: the watchdog names them and raises a third signal.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// The signals, and who must hear them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    /// Fetch nothing more.
    pub(crate) ending: CancellationToken,
    /// Drop what is not finished.
    pub(crate) giving_up: CancellationToken,
    /// When the watchdog raises it, once a shutdown has begun.
    pub(crate) deadline: Arc<Deadline>,
    /// A shutdown does not wait for what has not stopped by now.
    pub(crate) left_behind: CancellationToken,
    /// The monotonic time at which somebody first saw that the runtime gives up.
    pub(crate) given_up_at: Arc<OnceLock<Duration>>,
    /// Everything that works for the runtime; what serves it goes on until all of this is over.
    pub(crate) tasks: TaskTracker,
    /// Nothing works for the runtime any more, or its tasks were dropped with the executor: what served them may end too.
    pub(crate) drained: CancellationToken,
    /// Held by every task; when the last lets go of it, `drained` is raised.
    alive: Weak<DropGuard>,
    /// The lanes that still ask for leases.
    pub(crate) fetching: TaskTracker,
    /// What serves the tasks: renewals, and hearing of leases taken away.
    pub(crate) servants: TaskTracker,
}

/// The monotonic time at which a runtime that ends gives up.
#[derive(Debug, Default)]
pub(crate) struct Deadline {
    at: Mutex<Option<Duration>>,
    pub(crate) is_set: Notify,
}

impl Deadline {
    /// Of several shutdowns the shortest patience counts.
    pub(crate) fn set(&self, at: Duration) {
        let mut deadline = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        *deadline = Some(deadline.map_or(at, |earlier| earlier.min(at)));
        drop(deadline);
        self.is_set.notify_one();
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stop {
    /// The signals, and what keeps `drained` down while it is held.
    pub(crate) fn new() -> (Self, Arc<DropGuard>) {
        let stop = Self::default();
        // Nothing is added after the start: when the last lane ends, all have.
        stop.fetching.close();
        let alive = Arc::new(stop.drained.clone().drop_guard());
        (Self { alive: Arc::downgrade(&alive), ..stop }, alive)
    }

    /// Ends when everything has. If the executor drops it before, as one does that ends, what runs elsewhere is told to end too.
    pub(crate) fn sentinel(&self) -> impl Future<Output = ()> + Send + 'static {
        let guards = (self.ending.clone().drop_guard(), self.giving_up.clone().drop_guard());
        let drained = self.drained.clone();
        async move {
            drained.cancelled().await;
            drop(guards);
        }
    }

    /// A task that a shutdown waits for, and what serves the tasks until then.
    pub(crate) fn tracked(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        let alive = self.alive.upgrade();
        let task = async move {
            task.await;
            drop(alive);
        };
        self.tasks.track_future(task).boxed()
    }
}
