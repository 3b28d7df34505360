//! Waking whoever waits for a point in time, under any async runtime: one thread for the whole process.
//!
//! Nearly all that is waited for is a deadline that is given up again: every call of a store has one. So setting an alarm must cost
//! nothing but an entry in a map. The thread is disturbed only by what is earlier than everything it waits for; an alarm that was given up
//! may cost it one look in vain.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Builder;
use std::time::Instant;

static ALARM: Alarm = Alarm { state: Mutex::new(State::new()), earlier: Condvar::new() };

struct Alarm {
    state: Mutex<State>,
    /// Something came that is earlier than what the thread waits for.
    earlier: Condvar,
}

struct State {
    /// Who is to be woken, by time and in the order in which they came.
    waiting: BTreeMap<(Instant, u64), Waker>,
    next: u64,
    thread: Thread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thread {
    Missing,
    /// It will look at everything before it waits.
    Awake,
    /// It waits until then; for ever if there is nothing to wait for.
    WaitsUntil(Option<Instant>),
}

impl State {
    const fn new() -> Self {
        Self { waiting: BTreeMap::new(), next: 0, thread: Thread::Missing }
    }

    /// Takes out those whose time has come.
    fn take_due(&mut self, now: Instant) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= now) {
            due.push(first.remove());
        }
        due
    }
}

impl Alarm {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Wakers are called and dropped with the lock released. One is cloned while it is held, which can change nothing by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts `waker` down for this time, and says under which number.
    fn set(&'static self, at: Instant, waker: Waker) -> u64 {
        let mut state = self.lock();
        let number = state.next;
        state.next = number.wrapping_add(1);
        state.waiting.insert((at, number), waker);
        self.see_to_it(&mut state, at);
        number
    }

    /// Sees to it that the thread wakes by then.
    fn see_to_it(&'static self, state: &mut State, at: Instant) {
        match state.thread {
            // If there can be no thread now, whoever is polled next tries again.
            Thread::Missing if self.start().is_ok() => state.thread = Thread::Awake,
            Thread::WaitsUntil(until) if until.is_none_or(|until| at < until) => {
                state.thread = Thread::Awake;
                self.earlier.notify_one();
            }
            Thread::Missing | Thread::Awake | Thread::WaitsUntil(_) => {}
        }
    }

    /// Replaces the waker of what was put down; `false` if its time has come.
    fn replace(&'static self, key: (Instant, u64), waker: &Waker) -> bool {
        let mut state = self.lock();
        let Some(there) = state.waiting.get_mut(&key) else { return false };
        let former = (!there.will_wake(waker)).then(|| std::mem::replace(there, waker.clone()));
        self.see_to_it(&mut state, key.0);
        drop(state);
        drop(former);
        true
    }

    fn give_up(&self, key: (Instant, u64)) {
        let former = self.lock().waiting.remove(&key);
        drop(former);
    }

    fn start(&'static self) -> io::Result<()> {
        Builder::new().name("abide-alarm".to_owned()).spawn(|| self.ring_for_ever()).map(drop)
    }

    fn ring_for_ever(&self) {
        let mut state = self.lock();
        loop {
            let now = now();
            let due = state.take_due(now);
            if !due.is_empty() {
                state.thread = Thread::Awake;
                drop(state);
                due.into_iter().for_each(wake);
                state = self.lock();
                continue;
            }
            let first = state.waiting.first_key_value().map(|((at, _), _)| *at);
            state.thread = Thread::WaitsUntil(first);
            state = match first {
                Some(at) => {
                    let waited = self.earlier.wait_timeout(state, at.saturating_duration_since(now));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.earlier.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Somebody's waker may panic: that must not end the thread that wakes all the others.
fn wake(waker: Waker) {
    let _panicked = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
fn now() -> Instant {
    Instant::now()
}

/// Ready when its time has come.
#[derive(Debug)]
pub(crate) struct Until {
    /// Never, if there is no such time.
    at: Option<Instant>,
    number: Option<u64>,
}

impl Until {
    pub(crate) const fn new(at: Option<Instant>) -> Self {
        Self { at, number: None }
    }
}

impl Future for Until {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else { return Poll::Pending };
        if now() >= at {
            return Poll::Ready(());
        }
        let is_set = self.number.is_some_and(|number| ALARM.replace((at, number), context.waker()));
        if !is_set {
            self.number = Some(ALARM.set(at, context.waker().clone()));
        }
        Poll::Pending
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        if let (Some(at), Some(number)) = (self.at, self.number) {
            ALARM.give_up((at, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::time::Duration;

    use futures_executor::block_on;
    use futures_util::future::{join_all, poll_fn};

    use super::*;

    fn after(ms: u64) -> Until {
        Until::new(Some(now() + Duration::from_millis(ms)))
    }

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn is_pending(until: &mut Until, waker: &Waker) -> bool {
        Pin::new(until).poll(&mut Context::from_waker(waker)).is_pending()
    }

    #[test]
    fn nobody_is_woken_early_and_everybody_is_woken() {
        let began = now();
        let waits = (0..50).rev().map(|ms| async move {
            after(ms).await;
            assert!(now() - began >= Duration::from_millis(ms), "{ms} ms");
        });
        block_on(join_all(waits));
    }

    #[test]
    fn an_earlier_one_is_not_kept_waiting_by_a_later_one() {
        let (mut late, mut early) = (after(600_000), after(5));
        let both = poll_fn(|context| {
            assert!(Pin::new(&mut late).poll(context).is_pending());
            Pin::new(&mut early).poll(context)
        });
        block_on(both);
    }

    #[test]
    fn what_is_over_is_ready_at_once_and_what_is_never_is_not() {
        assert!(!is_pending(&mut Until::new(Some(now())), Waker::noop()));
        assert!(is_pending(&mut Until::new(None), Waker::noop()));
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let counted = Arc::new(Counted::default());
        let mut given_up = after(600_000);
        assert!(is_pending(&mut given_up, &Waker::from(Arc::clone(&counted))));
        drop(given_up);
        assert_eq!(Arc::strong_count(&counted), 1, "its waker is gone");
    }

    #[test]
    fn the_one_who_polled_last_is_woken() {
        let (first, second) = (Arc::new(Counted::default()), Arc::new(Counted::default()));
        let mut until = after(500);
        assert!(is_pending(&mut until, &Waker::from(Arc::clone(&first))));
        assert!(is_pending(&mut until, &Waker::from(Arc::clone(&second))));
        while second.0.load(Ordering::SeqCst) == 0 {
            block_on(after(10));
        }
        assert_eq!(first.0.load(Ordering::SeqCst), 0);
    }

    struct Panicking;

    impl Wake for Panicking {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, as this test wants it");
        }
    }

    #[test]
    fn a_waker_that_panics_costs_nobody_else_his_alarm() {
        let mut until = after(500);
        assert!(is_pending(&mut until, &Waker::from(Arc::new(Panicking))));
        block_on(after(510));
        block_on(after(20));
    }
}
