//! The tasks that work on what a lane leased.
//!
//! A task that is done waits for the next lease, so that no room is made for one with every step. It goes on by itself with a lease
//! that came with the end of its last. All of them end with the lane.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use abide_model::panic_text;
use futures_util::future::FutureExt;
use tokio::sync::oneshot;
use tracing::error;

use crate::core::Core;
use crate::dispatch::{GiveBack, Lane, Next, give_back};
use crate::task_state::watched;

/// A panic in the runtime's own code, or in a provider's, costs its lease this long.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// At most so many tasks wait. Each keeps its future, about 8 KB.
const MOST_WAITING: usize = 1_024;

/// The tasks of a lane.
pub(crate) struct Crew<L: Lane> {
    core: Arc<Core>,
    lane: Arc<L>,
    waiting: Arc<Waiting<Begun<L>>>,
}

impl<L: Lane> Crew<L> {
    pub(crate) fn new(core: &Arc<Core>, lane: &Arc<L>) -> Self {
        let waiting = Waiting::new(lane.slots().min(MOST_WAITING));
        Self { core: Arc::clone(core), lane: Arc::clone(lane), waiting: Arc::new(waiting) }
    }

    pub(crate) const fn lane(&self) -> &Arc<L> {
        &self.lane
    }

    /// Has a lease worked on: by a task that waits, or else by a new one.
    pub(crate) fn work_on(&self, next: Next<L::Lease>) {
        let begun = begin(&self.core, &self.lane, next);
        if let Err(begun) = self.waiting.give(begun) {
            let (core, lane, waiting) =
                (Arc::clone(&self.core), Arc::clone(&self.lane), Arc::clone(&self.waiting));
            self.core.spawn(L::NAME, serve(core, lane, waiting, begun).boxed());
        }
    }
}

impl<L: Lane> Drop for Crew<L> {
    fn drop(&mut self) {
        self.waiting.close();
    }
}

/// The tasks that wait for something to do.
struct Waiting<T> {
    most: usize,
    /// The last to come is the first to go: what it works with is still at hand. `None` once nothing more comes.
    waiters: Mutex<Option<Vec<oneshot::Sender<T>>>>,
}

impl<T> Waiting<T> {
    const fn new(most: usize) -> Self {
        Self { most, waiters: Mutex::new(Some(Vec::new())) }
    }

    /// Waits for something to do; `None` if enough others wait, or nothing more comes.
    async fn wait(&self) -> Option<T> {
        self.join()?.await.ok()
    }

    fn join(&self) -> Option<oneshot::Receiver<T>> {
        let mut waiters = self.lock();
        let waiters = waiters.as_mut().filter(|waiters| waiters.len() < self.most)?;
        let (waiter, given) = oneshot::channel();
        waiters.push(waiter);
        Some(given)
    }

    /// Gives it to one of them; back again if there is none.
    fn give(&self, mut work: T) -> Result<(), T> {
        while let Some(waiter) = self.last() {
            match waiter.send(work) {
                Ok(()) => return Ok(()),
                // That task was dropped, as all are when their executor ends.
                Err(back) => work = back,
            }
        }
        Err(work)
    }

    fn last(&self) -> Option<oneshot::Sender<T>> {
        self.lock().as_mut()?.pop()
    }

    fn close(&self) {
        let waiters = self.lock().take();
        // With the lock released: all of them are woken.
        drop(waiters);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<oneshot::Sender<T>>>> {
        // Nothing can panic while it is held.
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work on a lease that has begun.
struct Begun<L: Lane> {
    token: String,
    since: Duration,
    job: L::Job,
}

/// The life of a task: from one lease to the next.
async fn serve<L: Lane>(core: Arc<Core>, lane: Arc<L>, waiting: Arc<Waiting<Begun<L>>>, first: Begun<L>) {
    let mut begun = Some(first);
    while let Some(work) = begun.take() {
        begun = match end(&core, &lane, work).await {
            None => waiting.wait().await,
            Some(next) if core.stop.ending.is_cancelled() => {
                return give_back::<L>(&core, L::token(&next.lease), GiveBack::UNTRIED).await;
            }
            Some(next) => {
                L::count_leased(&core, 1);
                let next = begin(&core, &lane, next);
                let_others_go_first().await;
                Some(next)
            }
        };
    }
}

fn begin<L: Lane>(core: &Core, lane: &Arc<L>, next: Next<L::Lease>) -> Begun<L> {
    core.work_done.fetch_add(1, Ordering::Relaxed);
    let (token, since) = (L::token(&next.lease), next.granted.by);
    Begun { token, since, job: lane.take_on(next) }
}

/// Works on it to the end, and says what goes on.
async fn end<L: Lane>(
    core: &Core,
    lane: &Arc<L>,
    Begun { token, since, job }: Begun<L>,
) -> Option<Next<L::Lease>> {
    let task = L::task(&job).cloned();
    let work = async move {
        match task {
            // It waited too long for this poll, and the lease was given back.
            Some(task) if !task.begin() => {
                drop(job);
                None
            }
            Some(task) => watched(&task, Arc::clone(lane).run(job)).await,
            None => Arc::clone(lane).run(job).await,
        }
    };
    let next = match AssertUnwindSafe(work).catch_unwind().await {
        Ok(next) => next,
        Err(payload) => {
            let _said = panic_text(payload);
            error!(target: "abide::runtime", lane = L::NAME, "work panicked outside of user code; it will be tried again");
            give_back::<L>(core, token, GiveBack::without_crash(&core.settings, AFTER_PANIC)).await;
            None
        }
    };
    core.work_done.fetch_add(1, Ordering::Relaxed);
    let took = core.clock.monotonic().saturating_sub(since);
    L::count_worked(core, u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    next
}

/// A store that answers at once would keep a thread for as long as an instance goes on.
async fn let_others_go_first() {
    let mut have_gone = false;
    poll_fn(|context| {
        if std::mem::replace(&mut have_gone, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use futures_util::task::noop_waker_ref;

    use super::*;

    #[test]
    fn the_last_to_wait_is_the_first_to_go() {
        let waiting = Waiting::new(8);
        let (mut first, mut last) = (waiting.join().unwrap(), waiting.join().unwrap());
        assert_eq!(waiting.give("work"), Ok(()));
        assert_eq!((first.try_recv().ok(), last.try_recv().ok()), (None, Some("work")));
    }

    #[test]
    fn no_more_wait_than_are_worth_it() {
        let waiting = Waiting::<()>::new(2);
        let both = (waiting.join().unwrap(), waiting.join().unwrap());
        assert_eq!(waiting.wait().now_or_never(), Some(None), "a third ends");
        assert_eq!((waiting.give(()), waiting.give(()), waiting.give(())), (Ok(()), Ok(()), Err(())));
        drop(both);
    }

    #[test]
    fn one_that_is_gone_is_passed_over_and_nothing_is_lost() {
        let waiting = Waiting::new(8);
        let mut here = waiting.join().unwrap();
        drop(waiting.join().unwrap());
        assert_eq!(waiting.give("work"), Ok(()));
        assert_eq!(here.try_recv().ok(), Some("work"));
        drop(waiting.join().unwrap());
        assert_eq!(waiting.give("work"), Err("work"), "whoever gives it starts another");
    }

    #[test]
    fn all_end_when_nothing_more_comes() {
        let waiting = Waiting::<()>::new(8);
        let mut waits = Box::pin(waiting.wait());
        let mut context = std::task::Context::from_waker(noop_waker_ref());
        assert!(waits.as_mut().poll(&mut context).is_pending());
        waiting.close();
        assert_eq!(waits.as_mut().poll(&mut context), Poll::Ready(None));
        assert_eq!(waiting.wait().now_or_never(), Some(None));
        assert_eq!(waiting.give(()), Err(()));
    }
}
