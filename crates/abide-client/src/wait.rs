//! Waiting for an instance: one loop for all that can be waited for.
//!
//! Look; if it is not there, pause; look again. Where the store tells of changes, the pause lasts until it does, and a look
//! now and then is the safety net. Where it does not, the pauses are short and grow.
//!
//! A store in trouble does not end a wait: the next look may find it recovered. The last look is made at the deadline, so what
//! came in time is found however long the pauses are. Only a store that does not answer that look prolongs a wait, by a second.
//!
//! What is read may be large, and the connection slow: each look that is late gives a later one more time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

use abide_model::{Clock, ErrorDetails, OrchestrationStatus, codec, decode_error};
use abide_provider::{Changes, ProviderError};
use futures_util::StreamExt as _;
use futures_util::future::{Either, FutureExt as _, select};
use serde::de::DeserializeOwned;

use crate::call::Silence;
use crate::query::decode_kv;
use crate::retry::{Backoff, Pauses};
use crate::{Client, ClientError};

/// How long a look may take at least, however little time is left: with less, a wait of no time would never see anything.
const LEAST_LOOK: Duration = Duration::from_secs(1);

/// Pauses where the store does not tell of changes.
const POLLING: Pauses = Pauses::new(Duration::from_millis(5), Duration::from_millis(100));

/// A pause of no time would be a loop that never rests.
const SHORTEST_POLL: Duration = Duration::from_millis(1);

impl Client {
    /// Waits for an instance to end. One that is not there may still come.
    ///
    /// # Errors
    ///
    /// [`ClientError::Timeout`] if it has not ended in time; it keeps running. If it is blocked, or no live
    /// node serves what it waits for, a retryable [`ClientError::Provider`] that says so and why. If the
    /// store was in trouble to the end, its last error.
    pub async fn wait_for_orchestration(
        &self,
        instance: &str,
        timeout: Duration,
    ) -> Result<OrchestrationStatus, ClientError> {
        self.wait_unless_blocked(instance, timeout, POLLING, || async {
            let status = self.store().read_status(instance).await?;
            Ok(is_end(&status).then_some(status))
        })
        .await
    }

    /// Waits for an instance to end, and decodes its output. A failed one is an `Err` inside, with the text of its error.
    ///
    /// # Errors
    ///
    /// Those of [`Client::wait_for_orchestration`]; [`ClientError::InvalidInput`] if the output is something else.
    pub async fn wait_for_orchestration_typed<Out: DeserializeOwned>(
        &self,
        instance: &str,
        timeout: Duration,
    ) -> Result<Result<Out, String>, ClientError> {
        let result = self.wait_unless_blocked(instance, timeout, POLLING, || async {
            Ok(result_of(self.store().read_status(instance).await?))
        });
        match result.await? {
            Ok(output) => codec::decode(&output).map(Ok).map_err(|error| {
                let problem = decode_error::not_a::<Out>(&format_args!("output of '{instance}'"), &error);
                ClientError::invalid(&format_args!("decode failed: {problem}"))
            }),
            Err(details) => Ok(Err(details.display_message())),
        }
    }

    /// Waits until the custom status of an instance is newer than `last_seen_version`, or the instance has ended. Where the
    /// store does not tell of changes, it is asked every `poll_interval`.
    ///
    /// # Errors
    ///
    /// [`ClientError::Timeout`] if neither happened in time. If the instance is blocked, or no live node
    /// serves what it waits for, a retryable [`ClientError::Provider`] that says so. If the store was in
    /// trouble to the end, its last error.
    pub async fn wait_for_status_change(
        &self,
        instance: &str,
        last_seen_version: u64,
        poll_interval: Duration,
        timeout: Duration,
    ) -> Result<OrchestrationStatus, ClientError> {
        let interval = poll_interval.max(SHORTEST_POLL);
        self.wait_unless_blocked(instance, timeout, Pauses::new(interval, interval), || async {
            let status = self.store().read_status(instance).await?;
            let is_news = is_end(&status) || version_of(&status) > last_seen_version;
            Ok(is_news.then_some(status))
        })
        .await
    }

    /// Waits until the code of an instance keeps a value under this key.
    ///
    /// # Errors
    ///
    /// [`ClientError::Timeout`] if there was none in time, also if the instance has ended. If the instance is
    /// blocked, or no live node serves what it waits for, a retryable [`ClientError::Provider`] that says so.
    /// If the store was in trouble to the end, its last error.
    pub async fn wait_for_kv_value(
        &self,
        instance: &str,
        key: &str,
        timeout: Duration,
    ) -> Result<String, ClientError> {
        self.wait_unless_blocked(instance, timeout, POLLING, || self.store().get_kv_value(instance, key))
            .await
    }

    /// The same, typed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::wait_for_kv_value`]; [`ClientError::InvalidInput`] if the value is something else.
    pub async fn wait_for_kv_value_typed<T: DeserializeOwned>(
        &self,
        instance: &str,
        key: &str,
        timeout: Duration,
    ) -> Result<T, ClientError> {
        decode_kv(instance, key, &self.wait_for_kv_value(instance, key, timeout).await?)
    }

    /// The same as [`wait`](Self::wait), with the reason in the error if the instance is blocked or not
    /// served.
    async fn wait_unless_blocked<T, F>(
        &self,
        instance: &str,
        timeout: Duration,
        polling: Pauses,
        look: impl Fn() -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<Option<T>, ProviderError>>,
    {
        let look = &look;
        let waited = self.wait(instance, timeout, polling, || async move {
            let found = look().await?;
            if found.is_none() {
                self.refuse_blocked(instance).await?;
            }
            Ok(found)
        });
        match waited.await {
            Err(ClientError::Timeout) => Err(self.timed_out(instance).await),
            waited => waited,
        }
    }

    /// Looks until something is found or the time is over.
    async fn wait<T, F>(
        &self,
        instance: &str,
        timeout: Duration,
        polling: Pauses,
        look: impl Fn() -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<Option<T>, ProviderError>>,
    {
        let deadline = self.now().saturating_add(timeout);
        // Before the first look: what happened between a look and listening would be missed.
        let changes = catch_unwind(AssertUnwindSafe(|| self.store().changes(instance))).unwrap_or_default();
        let mut rhythm = Rhythm { changes, polling, trouble: None };
        let mut last_error = None;
        let mut limit = self.read_limit();
        loop {
            let left = deadline.saturating_sub(self.now()).max(LEAST_LOOK);
            match self.within(limit.current().min(left), look()).await {
                Ok(Ok(Some(found))) => return Ok(found),
                Ok(Ok(None)) => {
                    last_error = None;
                    rhythm.trouble = None;
                    limit.note_answered();
                }
                Ok(Err(error)) if !error.is_retryable() => return Err(error.into()),
                Ok(Err(error)) => {
                    last_error = Some(error.into());
                    rhythm.trouble.get_or_insert_with(Backoff::new);
                }
                Err(silence @ Silence::Panicked) => {
                    last_error = Some(silence.into());
                    rhythm.trouble.get_or_insert_with(Backoff::new);
                }
                // An error says more than silence: the last one is kept.
                Err(Silence::TookTooLong) => {
                    limit.note_late();
                    rhythm.trouble.get_or_insert_with(Backoff::new);
                }
            }
            let now = self.now();
            if now >= deadline {
                return Err(last_error.unwrap_or(ClientError::Timeout));
            }
            let pause = rhythm.next_pause(self);
            rhythm.rest(self.clock(), now.saturating_add(pause).min(deadline)).await;
        }
    }
}

/// When to look again.
struct Rhythm {
    changes: Option<Changes>,
    polling: Pauses,
    /// Set while looks fail.
    trouble: Option<Backoff>,
}

impl Rhythm {
    fn next_pause(&mut self, client: &Client) -> Duration {
        match (&mut self.trouble, &self.changes) {
            (Some(backoff), _) => backoff.next(client.entropy()),
            (None, Some(_)) => client.safety_net(),
            (None, None) => self.polling.next(),
        }
    }

    /// Pauses until then, or until something changes.
    async fn rest(&mut self, clock: &dyn Clock, until: Duration) {
        let Some(changes) = &mut self.changes else {
            return clock.sleep_until(until).await;
        };
        let time_is_over = async { clock.sleep_until(until).await };
        let change = AssertUnwindSafe(changes.next()).catch_unwind();
        match select(change, pin!(time_is_over)).await {
            Either::Left((Ok(Some(())), _)) | Either::Right(((), _)) => {}
            // Nobody tells any more: from now on, ask.
            Either::Left((Ok(None) | Err(_), _)) => self.changes = None,
        }
    }
}

fn is_end(status: &OrchestrationStatus) -> bool {
    match status {
        OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => false,
        OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. } => true,
    }
}

fn result_of(status: OrchestrationStatus) -> Option<Result<String, ErrorDetails>> {
    match status {
        OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => None,
        OrchestrationStatus::Completed { output, .. } => Some(Ok(output)),
        OrchestrationStatus::Failed { details, .. } => Some(Err(details)),
    }
}

fn version_of(status: &OrchestrationStatus) -> u64 {
    match status {
        OrchestrationStatus::NotFound => 0,
        OrchestrationStatus::Running { custom_status_version, .. }
        | OrchestrationStatus::Completed { custom_status_version, .. }
        | OrchestrationStatus::Failed { custom_status_version, .. } => *custom_status_version,
    }
}
