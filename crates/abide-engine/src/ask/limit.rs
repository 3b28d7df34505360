//! What code may not ask for. Checked when an ask is recorded, so that the violating ask never is.

use abide_model::Action;
use abide_model::limits::{MAX_CUSTOM_STATUS_BYTES, MAX_KV_KEYS, MAX_KV_VALUE_BYTES, MAX_TAG_NAME_BYTES};

use super::{Ask, Extra};

/// Why `ask` must not be recorded, if so.
pub(crate) fn violation(ask: &Ask) -> Option<String> {
    match &ask.action {
        Action::UpdateCustomStatus { status: Some(status) } => {
            let size = status.len();
            (size > MAX_CUSTOM_STATUS_BYTES).then(|| {
                format!("Custom status size ({size} bytes) exceeds limit ({MAX_CUSTOM_STATUS_BYTES} bytes)")
            })
        }
        Action::CallActivity { name, tag: Some(tag), .. } => {
            let size = tag.len();
            (size > MAX_TAG_NAME_BYTES).then(|| {
                format!(
                    "Activity '{name}' tag size ({size} bytes) exceeds limit ({MAX_TAG_NAME_BYTES} bytes)"
                )
            })
        }
        Action::SetKeyValue { key, value, .. } => value_violation(key, value).or_else(|| keys_violation(ask)),
        Action::CallActivity { tag: None, .. }
        | Action::UpdateCustomStatus { status: None }
        | Action::CreateTimer { .. }
        | Action::WaitExternal { .. }
        | Action::DequeueEvent { .. }
        | Action::StartSubOrchestration { .. }
        | Action::StartOrchestrationDetached { .. }
        | Action::ContinueAsNew { .. }
        | Action::ClearKeyValue { .. }
        | Action::ClearKeyValues
        | Action::PruneHistory { .. } => None,
    }
}

fn value_violation(key: &str, value: &str) -> Option<String> {
    let size = value.len();
    (size > MAX_KV_VALUE_BYTES).then(|| {
        format!("KV value for key '{key}' ({size} bytes) exceeds limit ({MAX_KV_VALUE_BYTES} bytes)")
    })
}

fn keys_violation(ask: &Ask) -> Option<String> {
    match ask.extra {
        Extra::Keys(keys) if keys > MAX_KV_KEYS => {
            Some(format!("KV key count ({keys}) exceeds limit ({MAX_KV_KEYS})"))
        }
        Extra::Keys(_) | Extra::Nothing | Extra::Delay(_) => None,
    }
}
