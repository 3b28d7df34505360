//! Stopping: two signals, and the tasks that must be over before it is done.
//!
//! *Ending* means: fetch nothing more, finish what was fetched. *Giving up* means: drop what is not finished and hand it
//! back. Whoever shuts down raises the first, waits as long as it has patience, raises the second, and waits for all tasks.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// The signals, and who must hear them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    /// Fetch nothing more.
    pub(crate) ending: CancellationToken,
    /// Drop what is not finished.
    pub(crate) giving_up: CancellationToken,
    /// The monotonic time at which somebody first saw that.
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
