//! Events and actions as texts, with or without the payloads of users.
//!
//! Payloads belong into histories. Log lines and blocks say how many bytes there were.

use abide_model::{Action, ErrorDetails, EventKind};

/// Whether a text shows payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payloads {
    Shown,
    Hidden,
}

impl Payloads {
    /// A payload as it is, or its length.
    pub(crate) fn text(self, payload: &str) -> String {
        match self {
            Self::Shown => format!("{payload:?}"),
            Self::Hidden => length_of(payload),
        }
    }

    pub(crate) fn event(self, kind: &EventKind) -> String {
        match self {
            Self::Shown => format!("{kind:?}"),
            Self::Hidden => hidden_event(kind),
        }
    }

    pub(crate) fn action(self, action: &Action) -> String {
        match self {
            Self::Shown => format!("{action:?}"),
            Self::Hidden => format!("{:?}", hidden_action(action.clone())),
        }
    }
}

fn length_of(payload: &str) -> String {
    format!("<{} bytes>", payload.len())
}

fn hide(payload: &mut String) {
    *payload = length_of(payload);
}

fn hidden_event(kind: &EventKind) -> String {
    use EventKind as E;
    let failed =
        |name: &str, details: &ErrorDetails| format!("{name} {{ category: {} }}", details.category());
    let mut kind = kind.clone();
    match &mut kind {
        E::OrchestrationFailed { details } => return failed("OrchestrationFailed", details),
        E::ActivityFailed { details } => return failed("ActivityFailed", details),
        E::SubOrchestrationFailed { details } => return failed("SubOrchestrationFailed", details),
        E::OrchestrationStarted { input, carry_forward_events, initial_custom_status, .. } => {
            hide(input);
            carry_forward_events.iter_mut().flatten().for_each(|(_, data)| hide(data));
            initial_custom_status.iter_mut().for_each(hide);
        }
        E::OrchestrationCompleted { output: payload }
        | E::OrchestrationContinuedAsNew { input: payload }
        | E::ActivityScheduled { input: payload, .. }
        | E::ActivityCompleted { result: payload }
        | E::SubOrchestrationScheduled { input: payload, .. }
        | E::SubOrchestrationCompleted { result: payload }
        | E::OrchestrationChained { input: payload, .. }
        | E::ExternalEvent { data: payload, .. }
        | E::QueueEventDelivered { data: payload, .. }
        | E::KeyValueSet { value: payload, .. } => hide(payload),
        E::CustomStatusUpdated { status } => status.iter_mut().for_each(hide),
        E::ActivityCancelRequested { .. }
        | E::TimerCreated { .. }
        | E::TimerFired { .. }
        | E::ExternalSubscribed { .. }
        | E::SubOrchestrationCancelRequested { .. }
        | E::OrchestrationCancelRequested { .. }
        | E::ExternalSubscribedCancelled { .. }
        | E::QueueSubscribed { .. }
        | E::QueueSubscriptionCancelled { .. }
        | E::KeyValueCleared { .. }
        | E::KeyValuesCleared
        | E::HistoryPruneRequested { .. }
        | E::HistoryPruned { .. } => {}
    }
    format!("{kind:?}")
}

fn hidden_action(mut action: Action) -> Action {
    use Action as A;
    match &mut action {
        A::CallActivity { input: payload, .. }
        | A::StartOrchestrationDetached { input: payload, .. }
        | A::StartSubOrchestration { input: payload, .. }
        | A::ContinueAsNew { input: payload, .. }
        | A::SetKeyValue { value: payload, .. } => hide(payload),
        A::UpdateCustomStatus { status } => status.iter_mut().for_each(hide),
        A::CreateTimer { .. }
        | A::WaitExternal { .. }
        | A::DequeueEvent { .. }
        | A::ClearKeyValue { .. }
        | A::ClearKeyValues
        | A::PruneHistory { .. } => {}
    }
    action
}
