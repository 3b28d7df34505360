//! Which try of a retried activity a durable future stands for.
//!
//! The record knows nothing of it: every try is an ordinary activity and every pause a timer. It is for the
//! summary of what an execution waits for.

use std::sync::{Arc, OnceLock};

use abide_model::Tries;

use super::Tape;
use crate::token::Token;
use crate::window::Foreign;

/// One call of an activity with a retry policy.
#[derive(Debug)]
pub(crate) struct RetriedStep {
    /// The activity.
    pub(crate) name: String,
    /// How many tries the policy allows.
    pub(crate) max: u32,
    /// When the first try was recorded.
    since_ms: OnceLock<u64>,
}

impl RetriedStep {
    pub(crate) fn new(name: String, max: u32) -> Arc<Self> {
        Arc::new(Self { name, max, since_ms: OnceLock::new() })
    }

    /// When the first try was recorded, if one of the tries was at `time_ms`: they are recorded in their
    /// order.
    pub(super) fn begun_at(&self, time_ms: u64) -> u64 {
        *self.since_ms.get_or_init(|| time_ms)
    }
}

/// One try, or the pause behind it.
#[derive(Debug)]
pub(crate) struct Try {
    pub(crate) step: Arc<RetriedStep>,
    /// Counts from one.
    pub(crate) number: u32,
    /// The error of the last try that failed; empty if none has.
    pub(crate) last_error: Box<str>,
}

impl Try {
    pub(super) fn tries(&self) -> Tries {
        Tries { number: self.number, max: self.step.max }
    }
}

impl Tape {
    /// Notes which try a future that was made in this poll stands for.
    pub(crate) fn note_try(&self, token: Token, attempt: Try) {
        if self.window.admits(Foreign::Ask)
            && let Some(slot) = self.cell().slots.get_mut(token)
        {
            slot.retry = Some(Box::new(attempt));
        }
    }
}
