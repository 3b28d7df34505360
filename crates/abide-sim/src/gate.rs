//! Holding others until the test says so, for races without sleeping.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

/// Where whoever comes is held until it is opened.
///
/// In an activity of a test, or in front of a store's calls, see [`FaultStore::hold`](crate::FaultStore::hold). Clones are the
/// same gate. Those who are held pass in the order in which they came.
///
/// ```
/// use std::time::Duration;
///
/// use abide_model::Spawn as _;
/// use abide_sim::{Gate, LocalTasks, simulate};
///
/// simulate(Duration::MAX, async {
///     let (gate, tasks) = (Gate::closed(), LocalTasks::new());
///     let held = gate.clone();
///     tasks.spawn("activity", Box::pin(async move { held.pass().await }));
///
///     gate.waiting().await; // the activity runs, and is held
///     assert_eq!(gate.held(), 1);
///     gate.open();
///     tasks.all_ended().await;
/// });
/// ```
#[derive(Clone)]
pub struct Gate {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    arrived: Notify,
}

struct State {
    bar: Bar,
    /// Those who wait, and perhaps some who gave up.
    held: VecDeque<oneshot::Sender<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bar {
    Open,
    Closed,
}

impl Gate {
    /// A gate that holds whoever comes.
    #[must_use]
    pub fn closed() -> Self {
        let state = State { bar: Bar::Closed, held: VecDeque::new() };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), arrived: Notify::new() }) }
    }

    /// Goes through, as soon as that is allowed.
    pub async fn pass(&self) {
        let allowed = {
            let mut state = self.state();
            match state.bar {
                Bar::Open => return,
                Bar::Closed => state.line_up(),
            }
        };
        self.shared.arrived.notify_waiters();
        // A gate that is gone holds nobody.
        let _is_gone = allowed.await.is_err();
    }

    /// Lets everyone through, from now on.
    pub fn open(&self) {
        let held = {
            let mut state = self.state();
            state.bar = Bar::Open;
            std::mem::take(&mut state.held)
        };
        for waiting in held {
            let _gave_up = waiting.send(()).is_err();
        }
    }

    /// Holds whoever comes from now on.
    pub fn close(&self) {
        self.state().bar = Bar::Closed;
    }

    /// Lets the one through who is held the longest. If nobody is, nobody.
    pub fn let_one(&self) {
        loop {
            let Some(first) = self.state().held.pop_front() else { return };
            if first.send(()).is_ok() {
                return;
            }
        }
    }

    /// How many are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.state().held.iter().filter(|waiting| !waiting.is_closed()).count()
    }

    /// Waits until somebody is held.
    pub async fn waiting(&self) {
        self.waiting_for(1).await;
    }

    /// Waits until this many are held at the same time.
    pub async fn waiting_for(&self, many: usize) {
        loop {
            // Made before looking, or an arrival in between would be missed.
            let arrived = self.shared.arrived.notified();
            if self.held() >= many {
                return;
            }
            arrived.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code of others runs under the lock, so what a panic leaves is whole.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn line_up(&mut self) -> oneshot::Receiver<()> {
        let (waiting, allowed) = oneshot::channel();
        self.held.push_back(waiting);
        allowed
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bar = self.state().bar;
        f.debug_struct("Gate").field("bar", &bar).field("held", &self.held()).finish()
    }
}
