//! How much data asks and ends may hold.
//!
//! The limit is the host's choice (`max_payload_bytes`), so another node, or the same one after a restart,
//! may have another. It is therefore checked only when something is recorded for the first time, never in
//! replay: replay recognises what was refused by what is recorded.
//!
//! - An activity or child whose input is too large is recorded with a [placeholder](placeholder) instead of
//!   the input, and with its failure. Its future gives the error; the code may go on.
//! - Asks without a future, the output, and the input of a successor fail the execution if they are too
//!   large. So does the ask that would take the asks of one turn beyond [`MAX_TURN_PAYLOADS`] such payloads:
//!   they are one transaction.

use abide_model::limits::MAX_TURN_PAYLOADS;
use abide_model::{Action, AppErrorKind, ErrorDetails, EventKind, PayloadTooLarge};

use super::{Ask, Family};

/// What becomes of an ask because of its size.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It is recorded.
    Admitted,
    /// It is recorded without its input, and fails with this.
    Refused(PayloadTooLarge),
    /// It is not recorded, and the execution fails with this message.
    FailsExecution(String),
}

/// Decides about an ask. `turn_bytes` is what the asks of this turn hold before it.
pub(crate) fn admit(ask: &Ask, limit: usize, turn_bytes: usize) -> Admission {
    let bytes = bytes(ask);
    if let Err(too_large) = PayloadTooLarge::check(bytes, limit, || name_of(&ask.action)) {
        return match ask.waits_for() {
            Some((Family::Activity | Family::Child, _)) => Admission::Refused(too_large),
            Some((Family::Timer | Family::Wait | Family::Dequeue | Family::Prune, _)) | None => {
                Admission::FailsExecution(too_large.to_string())
            }
        };
    }
    let most = limit.saturating_mul(MAX_TURN_PAYLOADS);
    let together = turn_bytes.saturating_add(bytes);
    if together > most {
        let what = name_of(&ask.action);
        return Admission::FailsExecution(format!(
            "{what} has {bytes} bytes; with it the requests of this turn hold {together} bytes, and the limit is {most} \
             ({MAX_TURN_PAYLOADS} times max_payload_bytes). Wait for some of them before requesting more"
        ));
    }
    Admission::Admitted
}

/// How many bytes of a turn an ask takes up.
pub(crate) fn bytes(ask: &Ask) -> usize {
    payload(&ask.action).map_or(0, str::len)
}

/// Whether an execution that ended with this message ended because of this ask. Replay does not know the
/// limit of then, but the message begins with the ask and its size.
pub(crate) fn ended_by(ask: &Ask, recorded: &ErrorDetails) -> bool {
    payload(&ask.action).is_some_and(|text| names(recorded, &name_of(&ask.action), text.len()))
}

/// An error may always have this many bytes: what the engine itself says about a small limit must fit.
pub(crate) const LEAST_ERROR_BYTES: usize = 16 * 1024;

/// Why an execution cannot end with this text, if it is too large.
pub(crate) fn end_violation(what: &str, text: &str, limit: usize) -> Option<String> {
    PayloadTooLarge::check(text.len(), limit, || what.to_owned()).err().map(|problem| problem.to_string())
}

/// Whether an execution that would have ended with this text was failed because of its size.
pub(crate) fn end_was_refused(what: &str, text: &str, recorded: &ErrorDetails) -> bool {
    names(recorded, what, text.len())
}

fn names(recorded: &ErrorDetails, what: &str, bytes: usize) -> bool {
    match recorded {
        ErrorDetails::Application { kind: AppErrorKind::OrchestrationFailed, message, .. } => {
            message.starts_with(&format!("{what} has {bytes} bytes; "))
        }
        ErrorDetails::Application { .. }
        | ErrorDetails::Infrastructure { .. }
        | ErrorDetails::Configuration { .. }
        | ErrorDetails::Poison { .. } => false,
    }
}

/// Puts the placeholder for a refused input in its place. The recorded text is short and names the size, so
/// that replay can compare it with what the code asks for.
pub(crate) fn refuse(ask: &mut Ask, too_large: &PayloadTooLarge) {
    match &mut ask.action {
        Action::CallActivity { input, .. } | Action::StartSubOrchestration { input, .. } => {
            *input = placeholder(too_large.bytes);
        }
        Action::CreateTimer { .. }
        | Action::WaitExternal { .. }
        | Action::DequeueEvent { .. }
        | Action::StartOrchestrationDetached { .. }
        | Action::ContinueAsNew { .. }
        | Action::UpdateCustomStatus { .. }
        | Action::SetKeyValue { .. }
        | Action::ClearKeyValue { .. }
        | Action::ClearKeyValues
        | Action::PruneHistory { .. } => {}
    }
}

/// The failure of a refused ask.
pub(crate) fn failure(family: Family, too_large: &PayloadTooLarge) -> EventKind {
    let failed = |kind| ErrorDetails::Application { kind, message: too_large.to_string(), retryable: false };
    match family {
        Family::Child => {
            EventKind::SubOrchestrationFailed { details: failed(AppErrorKind::OrchestrationFailed) }
        }
        Family::Activity | Family::Timer | Family::Wait | Family::Dequeue | Family::Prune => {
            EventKind::ActivityFailed { details: failed(AppErrorKind::ActivityFailed) }
        }
    }
}

/// Whether the recorded input is that of the ask, or the placeholder for it.
pub(crate) fn is_same_input(asked: &str, recorded: &str) -> bool {
    asked == recorded || (recorded.starts_with(PLACEHOLDER) && recorded == placeholder(asked.len()))
}

const PLACEHOLDER: &str = "abide: refused input of ";

fn placeholder(bytes: usize) -> String {
    format!("{PLACEHOLDER}{bytes} bytes")
}

/// The data that an ask carries.
fn payload(action: &Action) -> Option<&str> {
    match action {
        Action::CallActivity { input, .. }
        | Action::StartSubOrchestration { input, .. }
        | Action::StartOrchestrationDetached { input, .. } => Some(input),
        Action::UpdateCustomStatus { status } => status.as_deref(),
        Action::SetKeyValue { value, .. } => Some(value),
        Action::CreateTimer { .. }
        | Action::WaitExternal { .. }
        | Action::DequeueEvent { .. }
        | Action::ContinueAsNew { .. }
        | Action::ClearKeyValue { .. }
        | Action::ClearKeyValues
        | Action::PruneHistory { .. } => None,
    }
}

/// What that data is called in a message.
fn name_of(action: &Action) -> String {
    match action {
        Action::CallActivity { name, .. } => format!("input of activity '{name}'"),
        Action::StartSubOrchestration { name, .. } => format!("input of sub-orchestration '{name}'"),
        Action::StartOrchestrationDetached { name, .. } => {
            format!("input of detached orchestration '{name}'")
        }
        Action::UpdateCustomStatus { .. } => "custom status".to_owned(),
        Action::SetKeyValue { key, .. } => format!("value of key '{key}'"),
        Action::CreateTimer { .. }
        | Action::WaitExternal { .. }
        | Action::DequeueEvent { .. }
        | Action::ContinueAsNew { .. }
        | Action::ClearKeyValue { .. }
        | Action::ClearKeyValues
        | Action::PruneHistory { .. } => "request".to_owned(),
    }
}
