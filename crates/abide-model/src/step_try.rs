//! Which try of a step an activity is.

/// Which try of a *step* an activity is.
///
/// A step is what orchestration code asks for once. A retry policy may schedule several activities for it,
/// each with an event of its own; they share the first one's event id, and with it the idempotency key. An
/// activity without a retry policy is a step with one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepTry {
    /// The event that scheduled the first try.
    pub first_event_id: u64,
    /// The number of this try, from 1.
    pub number: u32,
}

impl StepTry {
    /// The first try of a step, scheduled by this event.
    #[must_use]
    pub const fn first(event_id: u64) -> Self {
        Self { first_event_id: event_id, number: 1 }
    }

    /// The same text for every try of the step: `{instance}/{execution}/{event id of the first try}`.
    #[must_use]
    pub fn idempotency_key(&self, instance: &str, execution_id: u64) -> String {
        format!("{instance}/{execution_id}/{}", self.first_event_id)
    }
}

/// An activity that is not the first try of its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Retry {
    /// The event that scheduled this try.
    pub event_id: u64,
    /// Which try it is.
    pub step: StepTry,
}
