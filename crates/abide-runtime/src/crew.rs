//! The tasks that work on what a lane leased.
//!
//! A task that is done waits for the next lease, so that no room is made for one with every step. It goes on by itself with a lease
//! that came with the end of its last. All of them end with the lane.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use abide_model::panic_text;
use futures_util::future::FutureExt;
use tokio::sync::oneshot;
use tracing::error;

use crate::core::Core;
use crate::dispatch::{GiveBack, Lane, Next, give_back};

/// A panic in the runtime's own code, or in a provider's, costs its lease this long.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// At most so many tasks wait: what they take is not worth more.
const MOST_WAITING: usize = 1_024;

/// The tasks of a lane.
pub(crate) struct Crew<L: Lane> {
    core: Arc<Core>,
    lane: Arc<L>,
    waiting: Arc<Waiting<L>>,
}

impl<L: Lane> Crew<L> {
    pub(crate) fn new(core: &Arc<Core>, lane: &Arc<L>) -> Self {
        let waiting = Waiting { most: lane.slots().min(MOST_WAITING), places: Mutex::new(Some(Vec::new())) };
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
struct Waiting<L: Lane> {
    most: usize,
    /// The last to come is the first to go: what it works with is still at hand. `None` once the lane has ended.
    places: Mutex<Option<Vec<Place<L>>>>,
}

type Place<L> = oneshot::Sender<Begun<L>>;

impl<L: Lane> Waiting<L> {
    /// A place to wait in; `None` if there are enough, or nothing more comes.
    fn join(&self) -> Option<oneshot::Receiver<Begun<L>>> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let places = places.as_mut().filter(|places| places.len() < self.most)?;
        let (place, given) = oneshot::channel();
        places.push(place);
        Some(given)
    }

    /// Gives it to one of them; back again if there is none.
    fn give(&self, mut begun: Begun<L>) -> Result<(), Begun<L>> {
        while let Some(place) = self.next() {
            match place.send(begun) {
                Ok(()) => return Ok(()),
                // That task was dropped, as all are when their executor ends.
                Err(back) => begun = back,
            }
        }
        Err(begun)
    }

    fn next(&self) -> Option<Place<L>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.pop()
    }

    fn close(&self) {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner).take();
        // With the lock released: whoever waits is woken.
        drop(places);
    }
}

/// Work on a lease that has begun.
struct Begun<L: Lane> {
    token: String,
    since: Duration,
    job: L::Job,
}

/// The life of a task.
async fn serve<L: Lane>(core: Arc<Core>, lane: Arc<L>, waiting: Arc<Waiting<L>>, first: Begun<L>) {
    let mut begun = first;
    loop {
        let Some(next) = end(&core, &lane, begun).await else {
            let Some(given) = waiting.join() else { return };
            match given.await {
                Ok(given) => begun = given,
                Err(_closed) => return,
            }
            continue;
        };
        if core.stop.ending.is_cancelled() {
            return give_back::<L>(&core, L::token(&next.lease), GiveBack::UNTRIED).await;
        }
        L::count_leased(&core, 1);
        begun = begin(&core, &lane, next);
        let_others_go_first().await;
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
    let next = match AssertUnwindSafe(Arc::clone(lane).run(job)).catch_unwind().await {
        Ok(next) => next,
        Err(payload) => {
            let _said = panic_text(payload);
            error!(target: "abide::runtime", lane = L::NAME, "work panicked outside of user code; it will be tried again");
            give_back::<L>(core, token, GiveBack::tried(AFTER_PANIC)).await;
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
