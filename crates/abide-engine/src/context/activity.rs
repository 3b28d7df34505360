//! Activities: the only place where an orchestration touches the world.

use abide_model::{Action, Codec, codec, decode_error};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::ask::{Ask, Extra, Family};
use crate::future::{DurableFuture, Undeliverable};
use crate::tape::Answer;

impl OrchestrationContext {
    /// Runs an activity: some worker that has it registered calls it, at least once, and the future gives
    /// what it returned.
    ///
    /// ```
    /// # use abide_engine::OrchestrationContext;
    /// async fn example(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     let receipt = ctx.schedule_activity("Charge", order).await?;
    ///     // On workers that serve a tag, for example those with a printer.
    ///     ctx.schedule_activity("Print", receipt).with_tag("printer").await
    /// }
    /// # let _ = example;
    /// ```
    pub fn schedule_activity(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.call_activity(name.into(), input.into(), None)
    }

    /// Runs an activity on the worker that owns a session: activities of one session run on one worker.
    pub fn schedule_activity_on_session(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        session_id: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.call_activity(name.into(), input.into(), Some(session_id.into()))
    }

    /// Runs an activity with a typed input and result.
    ///
    /// The future gives an error if the input cannot be encoded (nothing is scheduled then) or the result
    /// cannot be decoded.
    pub fn schedule_activity_typed<In: Serialize, Out: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>> {
        self.call_activity_typed(name.into(), input, None)
    }

    /// Runs an activity with a typed input and result on the worker that owns a session.
    pub fn schedule_activity_on_session_typed<In: Serialize, Out: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
        input: &In,
        session_id: impl Into<String>,
    ) -> DurableFuture<Result<Out, String>> {
        self.call_activity_typed(name.into(), input, Some(session_id.into()))
    }

    pub(super) fn call_activity(
        &self,
        name: String,
        input: String,
        session_id: Option<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.try_activity(name, input, session_id, Extra::Nothing)
    }

    /// Runs an activity; `extra` says which try of its step it is, if it is not the first.
    pub(super) fn try_activity(
        &self,
        name: String,
        input: String,
        session_id: Option<String>,
        extra: Extra,
    ) -> DurableFuture<Result<String, String>> {
        let action = Action::CallActivity { scheduling_event_id: 0, name, input, session_id, tag: None };
        let token = self.tape.ask(|token, _| Ask { token, action, extra });
        DurableFuture::of(&self.tape, token, ended)
    }

    fn call_activity_typed<In: Serialize, Out: DeserializeOwned + Send + 'static>(
        &self,
        name: String,
        input: &In,
        session_id: Option<String>,
    ) -> DurableFuture<Result<Out, String>> {
        let source = Source::activity(&name, self.tape.codec());
        match self.encode(input) {
            Ok(input) => self.call_activity(name, input, session_id).map(move |result| source.decode(result)),
            Err(error) => {
                DurableFuture::ready(&self.tape, Family::Activity, Answer::Ended(Err(error)), ended)
                    .map(move |result| source.decode(result))
            }
        }
    }
}

/// Reads the answer of an activity or a child.
pub(super) fn ended(answer: Answer) -> Result<Result<String, String>, Undeliverable> {
    match answer {
        Answer::Ended(result) => Ok(result),
        Answer::Fired | Answer::Received(_) | Answer::Pruned(_) => {
            Err(Undeliverable("an activity or child got an answer of another kind".to_owned()))
        }
    }
}

/// Where a typed result comes from, for the error if it cannot be decoded.
pub(super) struct Source {
    what: String,
    codec: Codec,
}

impl Source {
    pub(super) fn activity(name: &str, codec: Codec) -> Self {
        Self { what: format!("result of activity '{name}'"), codec }
    }

    pub(super) fn child(name: &str, codec: Codec) -> Self {
        Self { what: format!("result of sub-orchestration '{name}'"), codec }
    }

    /// Decodes a typed result.
    pub(super) fn decode<Out: DeserializeOwned>(
        &self,
        result: Result<String, String>,
    ) -> Result<Out, String> {
        codec::decode(&result?).map_err(|error| undecodable::<Out>(self.codec, &self.what, &error))
    }
}

/// The text of an error about `what`. Code may record it, so an older execution sees the text that the
/// reference gave.
pub(super) fn undecodable<T>(codec: Codec, what: &str, error: &serde_json::Error) -> String {
    match codec {
        Codec::Reference => error.to_string(),
        Codec::Lossless => decode_error::not_a::<T>(&what, error),
    }
}
