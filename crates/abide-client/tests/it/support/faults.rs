//! What goes wrong with the next calls.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use abide_provider::{Operation, ProviderError, Rejection, StoreError};

/// How one call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails, and has no effect.
    NotApplied,
    /// It has its effect, and the answer is lost.
    Unknown,
    /// It is refused for good.
    Refused,
    /// It never answers, and has no effect.
    Hang,
    /// It has its effect, and never answers.
    HangAfter,
    /// It has its effect, and answers a second later.
    Slow,
    /// It has its effect, and answers after so many seconds.
    SlowBy(u64),
    /// It has its effect, and panics.
    Panic,
}

/// Faults to come, in this order; after them, the lasting one if there is one.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Plan>);

#[derive(Debug, Default)]
struct Plan {
    next: VecDeque<Fault>,
    lasting: Option<Fault>,
    calls: usize,
}

impl Faults {
    pub(crate) fn plan(&self, faults: impl IntoIterator<Item = Fault>) {
        self.0.lock().unwrap().next.extend(faults);
    }

    pub(crate) fn last(&self, fault: Option<Fault>) {
        self.0.lock().unwrap().lasting = fault;
    }

    /// How many calls there were.
    pub(crate) fn calls(&self) -> usize {
        self.0.lock().unwrap().calls
    }

    fn next(&self) -> Option<Fault> {
        let mut plan = self.0.lock().unwrap();
        plan.calls += 1;
        plan.next.pop_front().or(plan.lasting)
    }

    /// Makes a writing call, as well as it goes.
    pub(crate) async fn write<T>(
        &self,
        operation: Operation,
        effect: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Some(fault) = self.next() else { return effect.await };
        match fault {
            Fault::NotApplied => Err(StoreError::not_applied(operation, "busy")),
            Fault::Unknown => {
                let _lost = effect.await?;
                Err(StoreError::unknown(operation, "connection lost"))
            }
            Fault::Refused => Err(StoreError::rejected(operation, Rejection::Invalid, "no")),
            Fault::Hang => pending().await,
            Fault::HangAfter => {
                let _lost = effect.await?;
                pending().await
            }
            Fault::Slow => later(1, effect.await).await,
            Fault::SlowBy(seconds) => later(seconds, effect.await).await,
            Fault::Panic => {
                let _lost = effect.await?;
                panic!("a bug of the store")
            }
        }
    }

    /// Makes a reading call, as well as it goes.
    pub(crate) async fn read<T>(
        &self,
        operation: Operation,
        effect: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let Some(fault) = self.next() else { return effect.await };
        match fault {
            Fault::NotApplied | Fault::Unknown => Err(ProviderError::retryable(operation.as_str(), "busy")),
            Fault::Refused => Err(ProviderError::permanent(operation.as_str(), "corrupt")),
            Fault::Hang | Fault::HangAfter => pending().await,
            Fault::Slow => later(1, effect.await).await,
            Fault::SlowBy(seconds) => later(seconds, effect.await).await,
            Fault::Panic => panic!("a bug of the store"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "under a paused runtime, this is the time of the test")]
async fn later<T>(seconds: u64, answer: T) -> T {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    answer
}
