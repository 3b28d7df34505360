//! The store: a state behind a mutex, with a clock, and those who wait for it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_host::{SystemClock, SystemEntropy};
use abide_model::{Clock, Entropy, Timestamp};
use abide_provider::{ChangeListeners, MailOutcome, SentMail, StolenLeases, WaitingMailWarnings};

use crate::dump::Dump;
use crate::parked::Waiting;
use crate::state::State;
use crate::stored::Stored;

/// A store that lives as long as this value.
///
/// Nothing survives the process. What it does otherwise is what every store does, so it serves in tests,
/// in simulations, and wherever durability is not needed.
pub struct InMemoryProvider {
    inner: Mutex<Inner>,
    pub(crate) changes: ChangeListeners,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    warnings: WaitingMailWarnings,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) waiting: Waiting,
}

impl InMemoryProvider {
    /// An empty store, by the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_seams(Arc::new(SystemClock::new()), Arc::new(SystemEntropy))
    }

    /// An empty store that is told the time and draws its tokens from `entropy`.
    #[must_use]
    pub fn with_seams(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        let warnings = WaitingMailWarnings::default();
        Self { inner: Mutex::default(), changes: ChangeListeners::default(), clock, entropy, warnings }
    }

    /// Everything it holds.
    #[must_use]
    pub fn snapshot(&self) -> State {
        self.lock().state.clone()
    }

    /// Everything it holds, in a form that another store can be compared in.
    #[must_use]
    pub fn dump(&self) -> Dump {
        self.look(Dump::of)
    }

    /// For tests: damages every event of one execution.
    pub fn make_history_unreadable(&self, instance: &str, execution_id: u64) {
        self.change(|state, _| {
            let mailbox = state.mailboxes.get_mut(instance);
            let instance = mailbox.and_then(|mailbox| mailbox.instance.as_mut());
            let execution = instance.and_then(|instance| instance.executions.get_mut(&execution_id));
            for event in execution.into_iter().flat_map(|execution| execution.events.values_mut()) {
                *event = damaged();
            }
        });
    }

    /// For tests: damages the message with this number.
    pub fn make_message_unreadable(&self, number: u64) {
        self.change(|state, _| {
            if let Some(message) = state.messages.get_mut(&number) {
                message.item = damaged();
            }
        });
    }

    /// For tests: damages the work with this number.
    pub fn make_work_unreadable(&self, number: u64) {
        self.change(|state, _| {
            if let Some(work) = state.work.get_mut(&number) {
                work.item = damaged();
            }
        });
    }

    /// For tests: ends all leases, as other stores do when the process that holds them is gone.
    pub fn end_leases(&self) {
        self.change(|state, _| state.end_leases());
    }

    /// Warns operators of a message that waits for a start or was dropped.
    pub(crate) fn warn_of(&self, mail: Option<SentMail>, outcome: MailOutcome) {
        self.warnings.warn(mail, outcome, self.clock.monotonic());
    }

    /// Leases on activities that are taken away from now on.
    pub(crate) fn listen(&self) -> StolenLeases {
        self.lock().waiting.listen()
    }

    /// Runs an operation that only reads.
    pub(crate) fn look<T>(&self, operation: impl FnOnce(&State, Timestamp) -> T) -> T {
        let mut inner = self.lock();
        let now = self.clock.wall();
        inner.state.forget_expired(now);
        operation(&inner.state, now)
    }

    /// Runs an operation, alone, and then tells everyone who is concerned.
    pub(crate) fn change<T>(&self, operation: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let mut inner = self.lock();
        // Read when the store decides, not when the call was made.
        let now = self.clock.wall();
        inner.state.forget_expired(now);
        let answer = operation(&mut inner.state, now);
        let calls = inner.take_calls();
        // Wakers are other people's code: they must find the store unlocked.
        drop(inner);
        calls.make(&self.changes);
        answer
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Operations run no code of callers and check everything before they write, so a panic under the lock can
        // only come from a clock or an entropy, and leaves a state that is whole. One caller's panic must not
        // take the store away from all others.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn damaged<T>() -> Stored<T> {
    Stored::Unreadable("{".to_owned())
}

impl Default for InMemoryProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for InMemoryProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryProvider").finish_non_exhaustive()
    }
}
