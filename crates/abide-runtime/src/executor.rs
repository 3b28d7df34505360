//! Whether the executor that runs user code still gets to its tasks.
//!
//! User code can block every thread of the executor. The dispatchers have a thread of their own and would go on leasing work that
//! nobody can begin. So a dispatcher that has seen no task run for a while asks first: it spawns a task that does nothing
//! and leases again when that task has run. The watchdog asks too, while leases are held. Nothing asks while a call for leases
//! waits in the store, so an idle node spawns one such task for each of those calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_model::{Clock, Spawn};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use crate::health::nanos;

/// A dispatcher that has seen no task run for this long asks before it leases.
const SILENCE: Duration = Duration::from_millis(500);

/// How exactly the time of the last poll is known: it is written at most this often, because all threads write it.
const GRAIN: Duration = Duration::from_millis(50);

/// The executor of the user's code.
pub(crate) struct Executor {
    clock: Arc<dyn Clock>,
    spawn: Arc<dyn Spawn>,
    /// When a task was last polled, in nanoseconds of the monotonic clock.
    last_poll: AtomicU64,
    state: watch::Sender<State>,
    /// The calls for leases that are under way.
    pub(crate) leasing: TaskTracker,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Since when a probe waits to be run.
    asked_at: Option<Duration>,
    leasing: Leasing,
}

/// Whether this node asks the store for leases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Leasing {
    #[default]
    Allowed,
    /// Not before the probe is answered.
    Suspended,
}

/// What came of waiting for the executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Here,
    /// The runtime ends.
    Ending,
}

impl Executor {
    pub(crate) fn new(clock: Arc<dyn Clock>, spawn: Arc<dyn Spawn>) -> Arc<Self> {
        let leasing = TaskTracker::new();
        // Closed, so that waiting for it means waiting until no call is under way.
        leasing.close();
        let last_poll = AtomicU64::new(nanos(clock.monotonic()));
        Arc::new(Self { clock, spawn, last_poll, state: watch::Sender::default(), leasing })
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    /// A task is polled: a thread had time for it.
    pub(crate) fn polls(&self, now: Duration) {
        let (now, last) = (nanos(now), self.last_poll.load(Ordering::Relaxed));
        if now.saturating_sub(last) > nanos(GRAIN) {
            self.last_poll.store(now, Ordering::Relaxed);
        }
    }

    /// Spawns a probe, unless one waits already.
    pub(crate) fn ask(self: &Arc<Self>) {
        let now = self.now();
        let is_new = self.state.send_if_modified(|state| {
            let is_new = state.asked_at.is_none();
            state.asked_at.get_or_insert(now);
            is_new
        });
        if is_new {
            let executor = Arc::clone(self);
            // No shutdown waits for it: it may never run.
            self.spawn.spawn("probe", async move { executor.answer() }.boxed());
        }
    }

    fn answer(&self) {
        let now = self.now();
        self.polls(now);
        let mut silent_for = None;
        self.state.send_modify(|state| {
            let asked_at = state.asked_at.filter(|_| state.leasing == Leasing::Suspended);
            silent_for = asked_at.map(|asked_at| now.saturating_sub(asked_at));
            *state = State::default();
        });
        if let Some(silent_for) = silent_for {
            info!(target: "abide::runtime", ?silent_for, "the executor runs tasks again; this node leases again");
        }
    }

    /// How long a probe has waited to be run, if one waits.
    pub(crate) fn unanswered_for(&self, now: Duration) -> Option<Duration> {
        self.state.borrow().asked_at.map(|asked_at| now.saturating_sub(asked_at))
    }

    /// Asks, and leases nothing until the answer is here; calls that wait in the store are given up.
    pub(crate) fn suspend(self: &Arc<Self>) {
        self.ask();
        self.state.send_if_modified(|state| {
            // The answer may have come meanwhile.
            let is_new = state.asked_at.is_some() && state.leasing == Leasing::Allowed;
            if is_new {
                state.leasing = Leasing::Suspended;
            }
            is_new
        });
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.state.borrow().leasing == Leasing::Suspended
    }

    /// Waits until nothing may be leased.
    pub(crate) async fn suspended(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as this borrow.
        let _closed = state.wait_for(|state| state.leasing == Leasing::Suspended).await;
    }

    /// Waits for the executor if it was silent, or is asked already.
    pub(crate) async fn is_here(self: &Arc<Self>, ending: &CancellationToken) -> Answer {
        let silent_for = nanos(self.now()).saturating_sub(self.last_poll.load(Ordering::Relaxed));
        if silent_for > nanos(SILENCE) {
            self.ask();
        }
        if self.state.borrow().asked_at.is_none() {
            return Answer::Here;
        }
        let mut state = self.state.subscribe();
        let answered = Box::pin(state.wait_for(|state| state.asked_at.is_none()));
        match select(answered, Box::pin(ending.cancelled())).await {
            Either::Left(_) => Answer::Here,
            Either::Right(_) => Answer::Ending,
        }
    }
}
