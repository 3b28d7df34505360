//! What code can ask for.
//!
//! An ask is an [`Action`] the code requested in a poll. It is a draft until the poll ends (a tag can still
//! be set); then it is recorded as the event that stands for it, or compared with the event that history
//! holds in its place. Three tables say all there is to know about each kind: [`record`] (ask → event),
//! [`compare`] (ask against event) and [`effect`] (event → work to enqueue).

pub(crate) mod compare;
pub(crate) mod effect;
pub(crate) mod limit;
pub(crate) mod payload;
pub(crate) mod record;

use std::time::Duration;

use abide_model::{Action, StepTry};

use crate::token::Token;

/// The kinds of ask that have an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Activity,
    Timer,
    Wait,
    Dequeue,
    Child,
    Prune,
}

impl Family {
    /// As error texts call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Timer => "timer",
            Self::Wait => "external wait",
            Self::Dequeue => "queue wait",
            Self::Child => "suborchestration",
            Self::Prune => "prune",
        }
    }
}

/// One thing the code asked for, not yet recorded.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) token: Token,
    pub(crate) action: Action,
    pub(crate) extra: Extra,
}

/// What an action cannot carry, because its shape is frozen.
#[derive(Debug, Clone)]
pub(crate) enum Extra {
    Nothing,
    /// How long a timer runs. Its deadline is computed when it is recorded, from the time of the record.
    Delay(Duration),
    /// How many keys there are after a write that added one.
    Keys(usize),
    /// Which try of its step an activity is, if it is not the first.
    Try(StepTry),
}

impl Ask {
    pub(crate) const fn plain(token: Token, action: Action) -> Self {
        Self { token, action, extra: Extra::Nothing }
    }

    /// Which try of its step this is; `None` for the first, and for what has no tries.
    pub(crate) const fn retry(&self) -> Option<StepTry> {
        match self.extra {
            Extra::Try(step) => Some(step),
            Extra::Nothing | Extra::Delay(_) | Extra::Keys(_) => None,
        }
    }

    /// Which answer this ask has, and the name of what gives it: a signal, queue, activity or child
    /// orchestration.
    pub(crate) fn waits_for(&self) -> Option<(Family, &str)> {
        match &self.action {
            Action::CallActivity { name, .. } => Some((Family::Activity, name)),
            Action::CreateTimer { .. } => Some((Family::Timer, "")),
            Action::WaitExternal { name, .. } => Some((Family::Wait, name)),
            Action::DequeueEvent { name, .. } => Some((Family::Dequeue, name)),
            Action::StartSubOrchestration { name, .. } => Some((Family::Child, name)),
            Action::PruneHistory { .. } => Some((Family::Prune, "")),
            Action::StartOrchestrationDetached { .. }
            | Action::ContinueAsNew { .. }
            | Action::UpdateCustomStatus { .. }
            | Action::SetKeyValue { .. }
            | Action::ClearKeyValue { .. }
            | Action::ClearKeyValues => None,
        }
    }

    /// Routes an activity to workers that serve `tag`; anything else has no tag.
    pub(crate) fn set_tag(&mut self, new: String) {
        if let Action::CallActivity { tag, .. } = &mut self.action {
            *tag = Some(new);
        }
    }
}
