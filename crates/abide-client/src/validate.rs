//! Checks a message before it is sent: ids, names and the size of its payload.
//!
//! What is refused here is not stored, on any store. A message that a store refused later would already have
//! been sent over the network, in full.

use std::time::Duration;

use abide_model::limits::MAX_START_DELAY;
use abide_model::names::{check_instance_id, check_name};
use abide_model::{PayloadTooLarge, WorkItem};

use crate::{Client, ClientError};

impl Client {
    /// Checks a message, and returns the size of its payload in bytes.
    pub(crate) fn check(&self, item: &WorkItem) -> Result<usize, ClientError> {
        let Some((instance, payload)) = parts(item) else { return Ok(0) };
        check_instance_id(instance).map_err(|problem| ClientError::invalid(&problem))?;
        if let Some((what, name)) = payload.name {
            check_name(what, name).map_err(|problem| ClientError::invalid(&problem))?;
        }
        let bytes = payload.text.len();
        PayloadTooLarge::check(bytes, self.max_payload_bytes(), || payload.described())
            .map_err(|problem| ClientError::invalid(&problem))?;
        Ok(bytes)
    }
}

/// Checks how long a start is delayed.
pub(crate) fn check_delay(delay: Option<Duration>) -> Result<(), ClientError> {
    match delay {
        Some(delay) if delay > MAX_START_DELAY => Err(ClientError::invalid(&format_args!(
            "a start cannot be delayed by {} s; the limit is {} s (100 years)",
            delay.as_secs(),
            MAX_START_DELAY.as_secs()
        ))),
        Some(_) | None => Ok(()),
    }
}

/// What a message carries, and under which name.
struct Payload<'a> {
    kind: &'static str,
    name: Option<(&'static str, &'a str)>,
    text: &'a str,
}

impl Payload<'_> {
    fn described(&self) -> String {
        match self.name {
            Some((_, name)) => format!("{} '{name}'", self.kind),
            None => self.kind.to_owned(),
        }
    }
}

/// The instance that a client's message is for, and what it carries. Other messages are sent by nodes only.
fn parts(item: &WorkItem) -> Option<(&str, Payload<'_>)> {
    let (instance, kind, name, text) = match item {
        WorkItem::StartOrchestration { instance, orchestration, input, .. } => {
            (instance, "input of orchestration", Some(("orchestration name", orchestration.as_str())), input)
        }
        WorkItem::ExternalRaised { instance, name, data } => {
            (instance, "payload of event", Some(("event name", name.as_str())), data)
        }
        WorkItem::QueueMessage { instance, name, data } => {
            (instance, "message for queue", Some(("queue name", name.as_str())), data)
        }
        WorkItem::CancelInstance { instance, reason } => (instance, "reason of a cancel", None, reason),
        WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. }
        | WorkItem::ContinueAsNew { .. } => return None,
    };
    Some((instance, Payload { kind, name, text }))
}
