//! What code may not ask for. Checked when an ask is recorded, so that the violating ask never is.

use abide_model::limits::{MAX_CUSTOM_STATUS_BYTES, MAX_KV_KEYS, MAX_KV_VALUE_BYTES, MAX_TAG_NAME_BYTES};
use abide_model::names::{InvalidName, check_instance_id, check_key, check_name, check_version};
use abide_model::{Action, auto_child_suffix, build_child_instance_id, is_auto_generated_sub_orch_id};

use super::{Ask, Extra};

/// Why `ask` must not be recorded, if so. `parent` is the instance that asks.
pub(crate) fn violation(ask: &Ask, parent: &str) -> Option<String> {
    match &ask.action {
        Action::UpdateCustomStatus { status: Some(status) } => {
            let size = status.len();
            (size > MAX_CUSTOM_STATUS_BYTES).then(|| {
                format!("Custom status size ({size} bytes) exceeds limit ({MAX_CUSTOM_STATUS_BYTES} bytes)")
            })
        }
        Action::CallActivity { name, session_id, tag, .. } => bad(check_name("activity name", name))
            .or_else(|| bad(check_key("session id", session_id.as_deref().unwrap_or_default())))
            .or_else(|| tag_violation(name, tag.as_deref()?)),
        Action::SetKeyValue { key, value, .. } => {
            bad(check_key("key", key)).or_else(|| value_violation(key, value)).or_else(|| keys_violation(ask))
        }
        Action::WaitExternal { name, .. } => bad(check_name("event name", name)),
        Action::DequeueEvent { name, .. } => bad(check_name("queue name", name)),
        Action::StartSubOrchestration { name, version, instance, .. } => {
            let id = child_id(parent, instance);
            bad(check_name("orchestration name", name))
                .or_else(|| bad(check_instance_id(&id)))
                .or_else(|| version_violation(version.as_deref()))
        }
        Action::StartOrchestrationDetached { name, version, instance, .. } => {
            bad(check_name("orchestration name", name))
                .or_else(|| bad(check_instance_id(instance)))
                .or_else(|| version_violation(version.as_deref()))
        }
        Action::UpdateCustomStatus { status: None }
        | Action::CreateTimer { .. }
        | Action::ContinueAsNew { .. }
        | Action::ClearKeyValue { .. }
        | Action::ClearKeyValues
        | Action::PruneHistory { .. } => None,
    }
}

/// The id of a child. A generated one is checked with the longest number it could have: the number of the
/// event, which it is named after, is not known here in every case.
fn child_id(parent: &str, asked: &str) -> String {
    if is_auto_generated_sub_orch_id(asked) {
        build_child_instance_id(parent, &auto_child_suffix(u64::MAX, u64::MAX))
    } else {
        asked.to_owned()
    }
}

fn bad(checked: Result<(), InvalidName>) -> Option<String> {
    checked.err().map(|problem| problem.to_string())
}

/// Why no handler can have this version, if so. What it would start would wait for ever.
pub(crate) fn version_violation(version: Option<&str>) -> Option<String> {
    bad(check_version(version?))
}

fn tag_violation(name: &str, tag: &str) -> Option<String> {
    let size = tag.len();
    (size > MAX_TAG_NAME_BYTES).then(|| {
        format!("Activity '{name}' tag size ({size} bytes) exceeds limit ({MAX_TAG_NAME_BYTES} bytes)")
    })
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
        Extra::Keys(_) | Extra::Nothing | Extra::Delay(_) | Extra::Try(_) => None,
    }
}
