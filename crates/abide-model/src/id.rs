//! Numbers that identify: executions of an instance, events of an execution.
//!
//! The recorded types carry plain `u64`, because their shape is frozen. Code that counts events uses
//! [`EventId`], whose `next` stops where a store's columns end.
//!
//! Deliberately absent: arithmetic. An id is followed by the next one, and that is all.

use std::fmt;

/// The first execution of an instance.
pub const INITIAL_EXECUTION_ID: u64 = 1;

/// The first event of an execution, which is its start.
pub const INITIAL_EVENT_ID: u64 = 1;

/// Every store holds ids in a signed column of 64 bits.
const LAST_ID: u64 = i64::MAX.unsigned_abs();

/// The position of an event within one execution's history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(u64);

impl EventId {
    /// The id of an execution's first event.
    pub const FIRST: Self = Self(INITIAL_EVENT_ID);

    /// Takes a recorded number for what it is.
    #[must_use]
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// The number to record.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The id that follows, or `None` if no store could hold it.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        if self.0 < LAST_ID { Some(Self(self.0 + 1)) } else { None }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which activity of which execution: the name under which a decision to cancel it reaches the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScheduledActivityIdentifier {
    /// The instance that asked for it.
    pub instance: String,
    /// The execution that asked for it.
    pub execution_id: u64,
    /// The event that asked for it.
    pub activity_id: u64,
}
