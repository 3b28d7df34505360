//! Events from outside: signals to whoever waits now, and queues that keep their messages.

use std::future::Future;

use abide_model::{Action, ErrorDetails, codec, decode_error};
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::future::{DurableFuture, Undeliverable};
use crate::tape::Answer;

impl OrchestrationContext {
    /// Waits for a signal. It goes to the oldest wait of its name that is open when it arrives; a signal
    /// that nobody waits for is lost. Use a queue ([`dequeue_event`](Self::dequeue_event)) for messages that
    /// must not be.
    pub fn schedule_wait(&self, name: impl Into<String>) -> DurableFuture<String> {
        let name = name.into();
        let token = self.ask(|_| Action::WaitExternal { scheduling_event_id: 0, name });
        DurableFuture::of(&self.tape, token, received)
    }

    /// Waits for a signal with a typed payload. A payload that cannot be decoded fails the orchestration;
    /// [`try_schedule_wait_typed`](Self::try_schedule_wait_typed) gives it as an error instead.
    pub fn schedule_wait_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
    ) -> DurableFuture<T> {
        let name = name.into();
        let what = format!("payload of event '{name}'");
        let token = self.ask(|_| Action::WaitExternal { scheduling_event_id: 0, name });
        DurableFuture::of(&self.tape, token, move |answer| {
            let text = received(answer)?;
            codec::decode(&text).map_err(|error| Undeliverable(undecodable::<T>(&what, &error)))
        })
    }

    /// Waits for a signal with a typed payload; one that cannot be decoded is an error for the code.
    pub fn try_schedule_wait_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
    ) -> DurableFuture<Result<T, String>> {
        let name = name.into();
        let what = format!("payload of event '{name}'");
        self.schedule_wait(name).map(move |text| decode_received(&what, &text))
    }

    /// Takes the next message of a queue. Messages are kept until they are read, in order, also across
    /// continue-as-new; each goes to exactly one dequeue.
    ///
    /// ```
    /// # use abide_engine::OrchestrationContext;
    /// /// Handles one order per execution, for ever, with a history that stays short.
    /// async fn example(ctx: OrchestrationContext, handled: String) -> Result<String, String> {
    ///     let order = ctx.dequeue_event("orders").await;
    ///     ctx.schedule_activity("Handle", order).await?;
    ///     let handled: u64 = handled.parse().unwrap_or(0);
    ///     ctx.continue_as_new((handled + 1).to_string()).await
    /// }
    /// # let _ = example;
    /// ```
    pub fn dequeue_event(&self, queue: impl Into<String>) -> DurableFuture<String> {
        let name = queue.into();
        let token = self.ask(|_| Action::DequeueEvent { scheduling_event_id: 0, name });
        DurableFuture::of(&self.tape, token, received)
    }

    /// Takes the next message of a queue, typed. A message that cannot be decoded fails the orchestration;
    /// [`try_dequeue_event_typed`](Self::try_dequeue_event_typed) gives it as an error instead.
    pub fn dequeue_event_typed<T: DeserializeOwned>(
        &self,
        queue: impl Into<String>,
    ) -> impl Future<Output = T> {
        let queue = queue.into();
        let message = self.dequeue_event(queue.clone());
        async move {
            match codec::decode::<T>(&message.await) {
                Ok(value) => value,
                Err(error) => {
                    self.tape.fail(ErrorDetails::orchestration_failed(undecodable::<T>(
                        &format!("message of queue '{queue}'"),
                        &error,
                    )));
                    std::future::pending().await
                }
            }
        }
    }

    /// Takes the next message of a queue, typed; one that cannot be decoded is used up and is an error for
    /// the code.
    pub fn try_dequeue_event_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        queue: impl Into<String>,
    ) -> DurableFuture<Result<T, String>> {
        let queue = queue.into();
        let what = format!("message of queue '{queue}'");
        self.dequeue_event(queue).map(move |text| decode_received(&what, &text))
    }

    /// The older name of [`dequeue_event`](Self::dequeue_event).
    #[deprecated(note = "Use dequeue_event() instead")]
    pub fn schedule_wait_persistent(&self, name: impl Into<String>) -> DurableFuture<String> {
        self.dequeue_event(name)
    }

    /// The older name of [`dequeue_event_typed`](Self::dequeue_event_typed).
    #[deprecated(note = "Use dequeue_event_typed() instead")]
    pub fn schedule_wait_persistent_typed<T: DeserializeOwned>(
        &self,
        name: impl Into<String>,
    ) -> impl Future<Output = T> {
        self.dequeue_event_typed(name)
    }
}

fn received(answer: Answer) -> Result<String, Undeliverable> {
    match answer {
        Answer::Received(data) => Ok(data),
        Answer::Ended(_) | Answer::Fired | Answer::Pruned(_) => {
            Err(Undeliverable("a wait got an answer of another kind".to_owned()))
        }
    }
}

fn decode_received<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    codec::decode(text).map_err(|error| undecodable::<T>(what, &error))
}

/// Says what could not be read, and where in it.
fn undecodable<T>(what: &str, error: &serde_json::Error) -> String {
    decode_error::not_a::<T>(&what, error)
}
