//! Calls whose future is dropped before it is ready, and what a store makes of them in the end.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use crate::support::Subject;

/// One call each is dropped after this many polls: enough for those that answer at once, and for some steps of those that do
/// not.
pub(crate) const POLLS: std::ops::Range<usize> = 0..6;

/// More rounds than any store needs to come to rest: one that has not by then never will.
const ROUNDS: usize = 300;

/// Polls a future so many times, lets others run, and drops it; its answer, if it had one by then.
///
/// It is polled again when it asks for it and not before: a call that asks a server several things, one after the other, is
/// dropped between any two of them, and not always while it waits for the first.
pub(crate) async fn drop_after<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    let answer = poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    tokio::task::yield_now().await;
    answer
}

/// Looks again and again until it is clear what became of dropped calls; before each look all leases run out.
///
/// A store may be at work for a call long after that was dropped: it holds a row that others pass over, or leases what
/// nobody waits for. That ends by itself, but no call of the contract tells when.
pub(crate) struct Looks<'s> {
    store: &'s Subject<'s>,
    left: usize,
}

impl<'s> Looks<'s> {
    pub(crate) fn at(store: &'s Subject<'s>) -> Self {
        Self { store, left: ROUNDS }
    }

    /// Before each look; panics with what must be wrong if there were more than enough.
    pub(crate) async fn next(&mut self, wrong: &str) {
        self.left = self.left.checked_sub(1).unwrap_or_else(|| panic!("{wrong}"));
        self.store.expire_leases().await;
    }
}
