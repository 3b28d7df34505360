//! Waiting in the store: for something to lease, for leases that are taken away, for changes.
//!
//! Whoever finds nothing leaves a channel behind, under the same lock under which it looked; whoever changes something
//! that matters takes all channels, and calls after the lock is released. Nothing can come between looking and
//! leaving the channel, so no call is lost. Everyone called looks again for itself: a lease is taken in the poll that
//! returns it, and a future that is dropped before that poll takes nothing with it.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use abide_model::{Entropy, Sleep, Timestamp};
use abide_provider::{ChangeListeners, Lane, StolenLease, StolenLeases};
use futures_channel::{mpsc, oneshot};

use crate::state::{Leasable, News, State};
use crate::store::{InMemoryProvider, Inner};

/// Everyone who waits.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    parked: Vec<oneshot::Sender<()>>,
    listeners: Vec<mpsc::UnboundedSender<StolenLease>>,
}

/// Whom to call, and what to say.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    parked: Vec<oneshot::Sender<()>>,
    listeners: Vec<mpsc::UnboundedSender<StolenLease>>,
    stolen: Vec<StolenLease>,
    changed: BTreeSet<String>,
}

/// One who found nothing.
struct Parked {
    called: oneshot::Receiver<()>,
    /// The monotonic time at which to look again without being called.
    until: Duration,
}

enum Looked<T> {
    Done(Vec<T>),
    Parked(Parked),
}

impl Waiting {
    pub(crate) fn listen(&mut self) -> StolenLeases {
        let (sender, receiver) = mpsc::unbounded();
        self.listeners.push(sender);
        Box::pin(receiver)
    }

    fn park(&mut self) -> oneshot::Receiver<()> {
        // Those who were dropped while they waited.
        self.parked.retain(|sender| !sender.is_canceled());
        let (sender, receiver) = oneshot::channel();
        self.parked.push(sender);
        receiver
    }
}

impl Inner {
    pub(crate) fn take_calls(&mut self) -> Calls {
        let News { leasable, stolen, changed } = std::mem::take(&mut self.state.news);
        let parked = match leasable {
            Leasable::AsBefore => Vec::new(),
            Leasable::Perhaps => std::mem::take(&mut self.waiting.parked),
        };
        self.waiting.listeners.retain(|listener| !listener.is_closed());
        let listeners = if stolen.is_empty() { Vec::new() } else { self.waiting.listeners.clone() };
        Calls { parked, listeners, stolen, changed }
    }
}

impl Calls {
    pub(crate) fn make(self, changes: &ChangeListeners) {
        for stolen in &self.stolen {
            for listener in &self.listeners {
                // One who stopped listening misses nothing.
                let unheard = listener.unbounded_send(stolen.clone());
                drop(unheard);
            }
        }
        for instance in &self.changed {
            changes.tell(instance);
        }
        // A channel that closes is the call.
        drop(self.parked);
    }
}

impl InMemoryProvider {
    /// Tries until there is something, for as long as `wait`.
    pub(crate) async fn parked<T>(
        &self,
        lane: Lane,
        wait: Duration,
        attempt: impl Fn(&mut State, Timestamp, &dyn Entropy) -> Vec<T>,
    ) -> Vec<T> {
        let deadline = self.clock.monotonic().saturating_add(wait);
        loop {
            match self.try_or_park(lane, deadline, &attempt) {
                Looked::Done(taken) => return taken,
                Looked::Parked(parked) => self.wait_for_call(parked).await,
            }
        }
    }

    /// How far behind the clock a lease's time is now that the lease is handed over: rounded off at least.
    pub(crate) fn slack_of(&self, store_time: Option<Timestamp>) -> Duration {
        store_time.map_or(Duration::ZERO, |time| self.clock.wall_rounded_up().saturating_duration_since(time))
    }

    fn try_or_park<T>(
        &self,
        lane: Lane,
        deadline: Duration,
        attempt: impl Fn(&mut State, Timestamp, &dyn Entropy) -> Vec<T>,
    ) -> Looked<T> {
        let mut inner = self.lock();
        let now = self.clock.wall();
        inner.state.forget_expired(now);
        let taken = attempt(&mut inner.state, now, &*self.entropy);
        let calls = inner.take_calls();
        let looked = if !taken.is_empty() || self.clock.monotonic() >= deadline {
            Looked::Done(taken)
        } else {
            Looked::Parked(self.park(&mut inner, lane, deadline, now))
        };
        drop(inner);
        calls.make(&self.changes);
        looked
    }

    fn park(&self, inner: &mut Inner, lane: Lane, deadline: Duration, now: Timestamp) -> Parked {
        // The wall time was read before: taken together they are late by the time in between, never early.
        let monotonic = self.clock.monotonic();
        let due = inner.state.next_due(lane, now);
        let due = due.map(|due| monotonic.saturating_add(due.saturating_duration_since(now)));
        Parked { called: inner.waiting.park(), until: due.map_or(deadline, |due| due.min(deadline)) }
    }

    async fn wait_for_call(&self, parked: Parked) {
        let Parked { mut called, until } = parked;
        // Waiting for ever needs no timer.
        let mut sleep = (until < Duration::MAX).then(|| self.clock.sleep_until(until));
        poll_fn(|context| poll_either(&mut called, sleep.as_mut(), context)).await;
    }
}

fn poll_either(
    called: &mut oneshot::Receiver<()>,
    sleep: Option<&mut Sleep>,
    context: &mut Context<'_>,
) -> Poll<()> {
    let is_called = Pin::new(called).poll(context).is_ready();
    let is_due = sleep.is_some_and(|sleep| sleep.as_mut().poll(context).is_ready());
    if is_called || is_due { Poll::Ready(()) } else { Poll::Pending }
}
