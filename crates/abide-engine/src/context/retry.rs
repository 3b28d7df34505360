//! Activities that are tried again.
//!
//! Every attempt is an ordinary activity in history, and every pause a timer. Nothing is asked for before the
//! future is first polled. The tries are one step: each carries the event id of the first, and its number.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use abide_model::waiting::cut_error;
use abide_model::{EventId, RetryPolicy, StepTry};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use super::activity::Source;
use crate::ask::Extra;
use crate::tape::{RetriedStep, Try};

/// The error of an attempt that took too long.
const TIMED_OUT: &str = "timeout: activity timed out";

impl OrchestrationContext {
    /// Runs an activity until it succeeds or the policy is used up; then its last error is the result.
    ///
    /// # Errors
    ///
    /// The error of the last attempt, or `timeout: activity timed out` as soon as one attempt takes longer
    /// than the policy's timeout; a timeout is not tried again.
    pub async fn schedule_activity_with_retry(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        policy: RetryPolicy,
    ) -> Result<String, String> {
        self.retry(Attempts { name: name.into(), input: input.into(), session: None, policy }).await
    }

    /// Runs an activity with a typed input and result, and retries.
    ///
    /// # Errors
    ///
    /// As [`schedule_activity_with_retry`](Self::schedule_activity_with_retry), or that the input cannot be
    /// encoded or the result not decoded.
    pub async fn schedule_activity_with_retry_typed<In: Serialize, Out: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &In,
        policy: RetryPolicy,
    ) -> Result<Out, String> {
        let (name, input) = (name.into(), self.encode(input)?);
        let source = Source::activity(&name, self.tape.codec());
        source.decode(self.retry(Attempts { name, input, session: None, policy }).await)
    }

    /// Runs an activity on a session, and retries.
    ///
    /// # Errors
    ///
    /// As [`schedule_activity_with_retry`](Self::schedule_activity_with_retry).
    pub async fn schedule_activity_with_retry_on_session(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        policy: RetryPolicy,
        session_id: impl Into<String>,
    ) -> Result<String, String> {
        let session = Some(session_id.into());
        self.retry(Attempts { name: name.into(), input: input.into(), session, policy }).await
    }

    /// Runs an activity with a typed input and result on a session, and retries.
    ///
    /// # Errors
    ///
    /// As [`schedule_activity_with_retry_typed`](Self::schedule_activity_with_retry_typed).
    pub async fn schedule_activity_with_retry_on_session_typed<In: Serialize, Out: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &In,
        policy: RetryPolicy,
        session_id: impl Into<String>,
    ) -> Result<Out, String> {
        let (name, input, session) = (name.into(), self.encode(input)?, Some(session_id.into()));
        let source = Source::activity(&name, self.tape.codec());
        source.decode(self.retry(Attempts { name, input, session, policy }).await)
    }

    async fn retry(&self, attempts: Attempts) -> Result<String, String> {
        let max_attempts = attempts.policy.max_attempts.max(1);
        let step = RetriedStep::new(attempts.name.clone(), max_attempts);
        let noted = |number, error: &str| Try {
            step: Arc::clone(&step),
            number,
            last_error: cut_error(error).into(),
        };
        let mut attempt = 1;
        let (mut first, mut last_error) = (None, String::new());
        loop {
            let tried = noted(attempt, &last_error);
            let error = match self.attempt(&attempts, (attempt, tried), &mut first).await {
                Ok(result) => return Ok(result),
                Err(AttemptError::TimedOut) => return Err(TIMED_OUT.to_owned()),
                Err(AttemptError::Failed(error)) => error,
            };
            if attempt >= max_attempts {
                return Err(error);
            }
            let session = attempts.session.as_ref().map_or_else(String::new, |id| format!(" (session={id})"));
            self.trace_warn(format!(
                "Activity '{}'{session} attempt {attempt}/{max_attempts} failed: {error}. Retrying...",
                attempts.name
            ));
            let pause = attempts.policy.delay_for_attempt(attempt);
            if !pause.is_zero() {
                self.schedule_timer(pause).noting_try(noted(attempt, &error)).await;
            }
            attempt = attempt.saturating_add(1);
            last_error = error;
        }
    }

    /// Makes one try. `first` is the event of the first one: that try sets it, the others carry it.
    async fn attempt(
        &self,
        attempts: &Attempts,
        (number, noted): (u32, Try),
        first: &mut Option<EventId>,
    ) -> Result<String, AttemptError> {
        let Attempts { name, input, session, policy } = attempts;
        let retry = first.map(|id| Extra::Try(StepTry { first_event_id: id.get(), number }));
        let (name, input) = (name.clone(), input.clone());
        let activity = self.try_activity(name, input, session.clone(), retry.unwrap_or(Extra::Nothing));
        let mut activity = activity.noting_try(noted);
        let activity = poll_fn(move |cx| {
            // It is recorded between the poll that asks for it and the one that has its result.
            *first = first.or_else(|| activity.event_id());
            Pin::new(&mut activity).poll(cx)
        });
        let Some(limit) = policy.timeout else { return activity.await.map_err(AttemptError::Failed) };
        match self.timeout(limit, activity).await {
            Ok(result) => result.map_err(AttemptError::Failed),
            Err(_) => Err(AttemptError::TimedOut),
        }
    }
}

/// What to try, and how often.
struct Attempts {
    name: String,
    input: String,
    session: Option<String>,
    policy: RetryPolicy,
}

enum AttemptError {
    TimedOut,
    Failed(String),
}
