//! Timers and deadlines.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use abide_model::{Action, Either2};

use super::OrchestrationContext;
use crate::ask::{Ask, Extra};
use crate::future::{DurableFuture, Undeliverable};
use crate::tape::Answer;

impl OrchestrationContext {
    /// Waits, across crashes and restarts, until `delay` after the moment it is asked for. Never early.
    pub fn schedule_timer(&self, delay: Duration) -> DurableFuture<()> {
        let token = self.tape.ask(|token, _| Ask {
            token,
            // The deadline is the recorder's: it counts from the time of the record.
            action: Action::CreateTimer { scheduling_event_id: 0, fire_at_ms: 0 },
            extra: Extra::Delay(delay),
        });
        DurableFuture::of(&self.tape, token, fired)
    }

    /// Waits for `future`, but not longer than `limit`. What was not ready in time is dropped, which takes
    /// it back: an activity is cancelled.
    ///
    /// ```
    /// # use abide_engine::OrchestrationContext;
    /// use std::time::Duration;
    ///
    /// async fn example(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ///     // `Elapsed` becomes text with `?`, because that is what an orchestration fails with.
    ///     let approval = ctx.timeout(Duration::from_secs(86_400), ctx.schedule_wait("approval")).await?;
    ///     Ok(approval)
    /// }
    /// # let _ = example;
    /// ```
    ///
    /// # Errors
    ///
    /// [`Elapsed`] if the time was up first.
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Result<F::Output, Elapsed> {
        // The timer is made when it is first polled, so that in history it follows what it limits.
        let deadline = async { self.schedule_timer(limit).await };
        match self.select2(future, deadline).await {
            Either2::First(value) => Ok(value),
            Either2::Second(()) => Err(Elapsed { limit }),
        }
    }
}

/// A [`timeout`](OrchestrationContext::timeout) was up before its future was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed {
    limit: Duration,
}

impl Elapsed {
    /// The limit that was set.
    #[must_use]
    pub const fn limit(self) -> Duration {
        self.limit
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timed out after {:?}", self.limit)
    }
}

impl std::error::Error for Elapsed {}

/// So that `?` works in an orchestration, whose error is text.
impl From<Elapsed> for String {
    fn from(elapsed: Elapsed) -> Self {
        elapsed.to_string()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an answer is given away, also one without data")]
fn fired(answer: Answer) -> Result<(), Undeliverable> {
    match answer {
        Answer::Fired => Ok(()),
        Answer::Ended(_) | Answer::Received(_) | Answer::Pruned(_) => {
            Err(Undeliverable("a timer got an answer of another kind".to_owned()))
        }
    }
}
