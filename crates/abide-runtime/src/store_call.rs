//! Calling the store: with a deadline, and never taken down by it.
//!
//! A call that takes longer than its deadline runs to its end in a task of its own; whoever made it goes on and counts its
//! outcome as unknown. A call that panics is an unknown outcome too.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use abide_model::{Clock, Spawn};
use abide_provider::{ErrorKind, Operation, ProviderError, StoreError};
use futures_util::future::{BoxFuture, Either, FutureExt, select};
use tracing::{debug, warn};

use crate::core::Core;
use crate::pacing::Backoff;
use crate::stop::Stop;

/// What a store call came to.
#[derive(Debug)]
pub(crate) enum Called<T> {
    /// It answered.
    Answered(T),
    /// It took too long; nobody knows what it did or will do.
    Late,
    /// It panicked; nobody knows what it did.
    Panicked,
}

/// How store calls are made.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) stop: Stop,
}

/// Every call answers within this time, apart from what it was told to wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What is called after the runtime gave up, to leave nothing behind, answers within this time or not at all.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

impl Caller {
    /// Makes a call whose late answer matters to nobody.
    pub(crate) async fn call<T, F>(&self, within: Duration, call: F) -> Called<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.call_or(within, call, |_| async {}.boxed()).await
    }

    /// Makes a call. If it answers after its deadline, `late` is given the answer.
    pub(crate) async fn call_or<T, F, L>(&self, within: Duration, call: F, late: L) -> Called<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
        L: FnOnce(T) -> BoxFuture<'static, ()> + Send + 'static,
    {
        let mut call = AssertUnwindSafe(call).catch_unwind().boxed();
        // Most calls of a store in memory answer at once, and need no timer.
        if let Some(answer) = (&mut call).now_or_never() {
            return answered(answer);
        }
        match select(call, Box::pin(self.patience(within))).await {
            Either::Left((answer, _)) => answered(answer),
            Either::Right(((), call)) => {
                self.let_it_end(call, late);
                Called::Late
            }
        }
    }

    /// Waits as long as a call may take. Once the runtime gives up, nothing takes long any more.
    async fn patience(&self, within: Duration) {
        let giving_up = &self.stop.giving_up;
        if giving_up.is_cancelled() {
            let last = within.min(LAST_PATIENCE);
            return self.clock.sleep_until(self.clock.monotonic().saturating_add(last)).await;
        }
        let deadline = self.clock.sleep_until(self.clock.monotonic().saturating_add(within));
        let _either = select(deadline, Box::pin(giving_up.cancelled())).await;
    }

    fn let_it_end<T, L>(&self, call: BoxFuture<'static, std::thread::Result<T>>, late: L)
    where
        T: Send + 'static,
        L: FnOnce(T) -> BoxFuture<'static, ()> + Send + 'static,
    {
        let stop = self.stop.clone();
        let task = async move {
            // A call that never ends must not keep a shutdown from ending.
            let ended = select(call, Box::pin(stop.giving_up.cancelled())).await;
            if let Either::Left((Ok(answer), _)) = ended {
                late(answer).await;
            }
        };
        self.spawn.spawn("late store call", self.stop.tasks.track_future(task).boxed());
    }

    /// Waits, unless the runtime ends.
    pub(crate) async fn pause(&self, time: Duration) -> Pause {
        let sleep = self.clock.sleep_until(self.clock.monotonic().saturating_add(time));
        match select(sleep, Box::pin(self.stop.ending.cancelled())).await {
            Either::Left(_) => Pause::Over,
            Either::Right(_) => Pause::Ending,
        }
    }

    /// Waits, unless the runtime gives up what is not finished.
    pub(crate) async fn pause_unless_given_up(&self, time: Duration) -> Pause {
        let sleep = self.clock.sleep_until(self.clock.monotonic().saturating_add(time));
        match select(sleep, Box::pin(self.stop.giving_up.cancelled())).await {
            Either::Left(_) => Pause::Over,
            Either::Right(_) => Pause::Ending,
        }
    }
}

/// How a pause ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    Over,
    Ending,
}

fn answered<T>(answer: std::thread::Result<T>) -> Called<T> {
    match answer {
        Ok(answer) => Called::Answered(answer),
        Err(_) => Called::Panicked,
    }
}

/// What the store said in the end about a call that was repeated until it said something.
#[derive(Debug)]
pub(crate) enum Told<T> {
    /// It is done.
    Done(T),
    /// It refuses. If an earlier try may have been applied, the refusal may be about that.
    Refused { error: StoreError, perhaps_applied: bool },
    /// It never said, and the runtime gives up.
    GivenUp,
}

impl Core {
    /// Repeats a call until the store answers for certain, however long that takes.
    pub(crate) async fn insist<T, F>(&self, operation: Operation, mut call: F) -> Told<T>
    where
        T: Send + 'static,
        F: FnMut() -> BoxFuture<'static, Result<T, StoreError>>,
    {
        let mut backoff = Backoff::default();
        let mut perhaps_applied = false;
        loop {
            let error = match self.caller.call(PATIENCE, call()).await {
                Called::Answered(Ok(answer)) => {
                    self.pulse.storage_answered();
                    return Told::Done(answer);
                }
                Called::Answered(Err(error)) => error,
                Called::Late => StoreError::unknown(operation, "no answer in time"),
                Called::Panicked => StoreError::unknown(operation, "the provider panicked"),
            };
            match error.kind {
                ErrorKind::NotApplied => {}
                ErrorKind::Unknown => perhaps_applied = true,
                ErrorKind::Rejected(_) => return Told::Refused { error, perhaps_applied },
            }
            self.pulse.storage_error(self.clock.monotonic());
            let delay = backoff.after_failure(&*self.entropy);
            warn!(target: "abide::runtime", %error, failures = backoff.failures(), retry_in = ?delay,
                "a store call failed; trying again");
            if self.caller.pause_unless_given_up(delay).await == Pause::Ending {
                return Told::GivenUp;
            }
        }
    }
}

/// So often a lease is offered back before it is left to run out.
const OFFERS: u32 = 4;

impl Core {
    /// Gives a lease back. A store that does not know it any more has it back already.
    pub(crate) async fn give_back<F>(&self, what: &'static str, call: F)
    where
        F: Fn() -> BoxFuture<'static, Result<(), ProviderError>>,
    {
        let mut backoff = Backoff::default();
        for _ in 0..OFFERS {
            match self.caller.call(PATIENCE, call()).await {
                Called::Answered(Ok(())) => return,
                Called::Answered(Err(error)) if !error.is_retryable() => {
                    debug!(target: "abide::runtime", lease = what, %error, "a lease could not be given back: it is not held any more");
                    return;
                }
                // A runtime that ends does not wait for one that is silent.
                Called::Late if self.stop.giving_up.is_cancelled() => break,
                Called::Answered(Err(_)) | Called::Late | Called::Panicked => {}
            }
            // Not for long, so a runtime that ends has the time: whoever comes next should not have to wait for it to run out.
            let delay = backoff.after_failure(&*self.entropy);
            self.clock.sleep_until(self.clock.monotonic().saturating_add(delay)).await;
        }
        warn!(target: "abide::runtime", lease = what, "a lease could not be given back; it will run out");
    }
}
