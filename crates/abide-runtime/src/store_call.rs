//! Calling the store: with a deadline, and never taken down by it.
//!
//! A call that takes longer than its deadline is dropped, which the contract of a store allows at any point, and counts as one
//! of which nobody knows what it did. So does a call that panics. Only what may come with a lease is heard out: its late answer
//! is given back.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use abide_model::{Clock, Spawn, panic_text};
use abide_provider::{Operation, StoreError};
use futures_util::future::{BoxFuture, Either, FutureExt, select};
use tracing::{debug, info, warn};

use crate::core::Core;
use crate::health::Outage;
use crate::observability::{MetricsProvider, StorageErrorKind};
use crate::stop::Stop;

/// What a store call came to.
#[derive(Debug)]
pub(crate) enum Called<T> {
    /// It answered.
    Answered(T),
    /// It did not; nobody knows what it did.
    Unanswered(StoreError),
}

/// How store calls are made.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) stop: Stop,
    pub(crate) metrics: Arc<MetricsProvider>,
}

/// Every call answers within this time, apart from what it was told to wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What is called while the runtime gives up answers within this time, or not at all.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

pub(crate) const LATE: &str = "no answer in time";
pub(crate) const PANICKED: &str = "the provider panicked";

impl Caller {
    /// Makes a call. One that is late is dropped.
    pub(crate) async fn call<T, F>(&self, operation: Operation, within: Duration, call: F) -> Called<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let call = AssertUnwindSafe(call).catch_unwind().boxed();
        match self.hear(call, within).await {
            Ok(answer) => self.answered(operation, answer),
            Err(_late) => Called::Unanswered(self.unanswered(operation, LATE)),
        }
    }

    /// Makes a call. If it answers after its deadline, `late` is given the answer.
    pub(crate) async fn call_or<T, F, L>(
        &self,
        operation: Operation,
        within: Duration,
        call: F,
        late: L,
    ) -> Called<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
        L: FnOnce(T) -> BoxFuture<'static, ()> + Send + 'static,
    {
        let call = AssertUnwindSafe(call).catch_unwind().boxed();
        match self.hear(call, within).await {
            Ok(answer) => self.answered(operation, answer),
            Err(call) => {
                self.let_it_end(call, late);
                Called::Unanswered(self.unanswered(operation, LATE))
            }
        }
    }

    /// The answer, or the call itself if it takes too long.
    async fn hear<T>(
        &self,
        mut call: Caught<T>,
        within: Duration,
    ) -> Result<std::thread::Result<T>, Caught<T>> {
        // Most calls of a store in memory answer at once, and need no timer.
        if let Some(answer) = (&mut call).now_or_never() {
            return Ok(answer);
        }
        match select(call, Box::pin(self.patience(within))).await {
            Either::Left((answer, _)) => Ok(answer),
            Either::Right(((), call)) => Err(call),
        }
    }

    fn answered<T>(&self, operation: Operation, answer: std::thread::Result<T>) -> Called<T> {
        match answer {
            Ok(answer) => Called::Answered(answer),
            Err(payload) => {
                let _said = panic_text(payload);
                Called::Unanswered(self.unanswered(operation, PANICKED))
            }
        }
    }

    /// Counts a call that has no answer: what measures the store measures answers only.
    pub(crate) fn unanswered(&self, operation: Operation, why: &'static str) -> StoreError {
        self.metrics.record_storage_error(operation, StorageErrorKind::Unknown);
        StoreError::unknown(operation, why)
    }

    /// Waits as long as a call may take. Once the runtime gives up, nothing takes long any more.
    pub(crate) async fn patience(&self, within: Duration) {
        let until = self.clock.monotonic().saturating_add(within);
        let giving_up = Box::pin(self.stop.giving_up.cancelled());
        if let Either::Right(_) = select(self.clock.sleep_until(until), giving_up).await {
            let _seen = self.given_up_for();
            let last = self.clock.monotonic().saturating_add(LAST_PATIENCE).min(until);
            self.clock.sleep_until(last).await;
        }
    }

    /// How long ago the runtime gave up, if it did.
    pub(crate) fn given_up_for(&self) -> Option<Duration> {
        let now = self.clock.monotonic();
        let has = self.stop.giving_up.is_cancelled();
        has.then(|| now.saturating_sub(*self.stop.given_up_at.get_or_init(|| now)))
    }

    fn let_it_end<T, L>(&self, call: Caught<T>, late: L)
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

/// A call whose panic is an answer.
type Caught<T> = BoxFuture<'static, std::thread::Result<T>>;

impl Core {
    /// The store answered: whatever was wrong with it is over.
    pub(crate) fn store_answered(&self) {
        if let Some(down_for) = self.pulse.storage_answered(self.clock.monotonic()) {
            info!(target: "abide::runtime", ?down_for, "the store answers again");
        }
    }

    /// A call of the store, made at `began`, failed, and is made again. An outage is told once, however many wait for its end.
    pub(crate) fn store_failed(&self, began: Duration, failure: &StoreError) {
        match self.pulse.storage_error(began, self.clock.monotonic()) {
            Outage::Begins => {
                warn!(target: "abide::runtime", %failure, "a store call failed; trying again");
            }
            Outage::GoesOn => {
                debug!(target: "abide::runtime", %failure, "the store still fails; trying again");
            }
            Outage::IsOver => {
                debug!(target: "abide::runtime", %failure, "a call failed that was made before the store recovered; trying again");
            }
        }
    }
}
