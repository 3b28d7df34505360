//! One line of a history: what happened, where in the execution, and when.
//!
//! An event is a flat JSON object: the fields of [`Event`] first, then `type`, then the fields of the
//! [`EventKind`]. The field `duroxide_version` keeps the name the format was born with, because
//! histories recorded under that name must replay here.
//!
//! Deliberately absent: methods that change an event. A history is only ever appended to.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{BUILD_VERSION, EventKind, Timestamp};

/// One recorded fact of one execution of one instance.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Event {
    /// The position within the execution's history, from one; zero while not yet numbered.
    pub event_id: u64,
    /// The event that this one answers or revokes, if it belongs to an earlier request.
    pub source_event_id: Option<u64>,
    /// The instance that this happened to.
    pub instance_id: String,
    /// The run of the instance that this happened in, from one.
    pub execution_id: u64,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
    /// The build that recorded it; the first event's version decides by which rules the execution replays.
    pub duroxide_version: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Makes an event of this build, recorded at `timestamp`.
    pub fn recorded(
        event_id: u64,
        instance_id: impl Into<String>,
        execution_id: u64,
        timestamp: Timestamp,
        kind: EventKind,
    ) -> Self {
        Self {
            event_id,
            source_event_id: None,
            instance_id: instance_id.into(),
            execution_id,
            timestamp_ms: timestamp.as_millis(),
            duroxide_version: BUILD_VERSION.to_owned(),
            kind,
        }
    }

    /// Says which earlier event this one answers or revokes.
    #[must_use]
    pub fn with_source(mut self, source_event_id: u64) -> Self {
        self.source_event_id = Some(source_event_id);
        self
    }

    /// Makes a numbered event stamped with the host's wall clock.
    ///
    /// For code that builds histories by hand. The engine uses [`Event::recorded`], which is told the time.
    pub fn with_event_id(
        event_id: u64,
        instance_id: impl Into<String>,
        execution_id: u64,
        source_event_id: Option<u64>,
        kind: EventKind,
    ) -> Self {
        let event = Self::recorded(event_id, instance_id, execution_id, ambient_now(), kind);
        Self { source_event_id, ..event }
    }

    /// Makes an event that is not yet numbered, stamped with the host's wall clock.
    pub fn new(
        instance_id: impl Into<String>,
        execution_id: u64,
        source_event_id: Option<u64>,
        kind: EventKind,
    ) -> Self {
        Self::with_event_id(0, instance_id, execution_id, source_event_id, kind)
    }

    /// The position within the execution's history.
    #[must_use]
    pub fn event_id(&self) -> u64 {
        self.event_id
    }

    /// The event that this one answers or revokes.
    #[must_use]
    pub fn source_event_id(&self) -> Option<u64> {
        self.source_event_id
    }

    /// Whether this is the last event of its execution.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.kind.is_terminal()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the signatures of `Event::new` and `Event::with_event_id` are frozen and take no clock"
)]
fn ambient_now() -> Timestamp {
    SystemTime::now().into()
}
