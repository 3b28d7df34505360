//! The naming of sub-orchestrations.
//!
//! A child whose id the code does not choose is named after the request for it: `sub::` and the number of
//! the event, below the parent's id. The name is thus the same on every replay and unique for ever, and
//! the tree can be read off it: `root::sub::2::sub::5`.
//!
//! Deliberately absent: parsing a generated id back into its parts. Links between instances are recorded
//! as fields; an id is only a name, and users may choose ones that look generated further inside.

use crate::INITIAL_EXECUTION_ID;

/// What a generated child id begins with.
pub const SUB_ORCH_AUTO_PREFIX: &str = "sub::";

/// Marks a generated child id inside a full instance id.
const AUTO_MARKER: &str = "::sub::";

/// Whether this child id was generated, and so is only a suffix to the parent's id.
#[must_use]
pub fn is_auto_generated_sub_orch_id(instance: &str) -> bool {
    instance.starts_with(SUB_ORCH_AUTO_PREFIX)
}

/// The full instance id of a child: below its parent if the id was generated, verbatim if the code chose it.
#[must_use]
pub fn build_child_instance_id(parent_instance: &str, child_instance: &str) -> String {
    if is_auto_generated_sub_orch_id(child_instance) {
        format!("{parent_instance}::{child_instance}")
    } else {
        child_instance.to_owned()
    }
}

/// The generated id of the child that the given event of the given execution asks for.
///
/// The first execution leaves its own number out: ids recorded before there was a second one look like that.
#[must_use]
pub fn auto_child_suffix(execution_id: u64, event_id: u64) -> String {
    if execution_id == INITIAL_EXECUTION_ID {
        format!("{SUB_ORCH_AUTO_PREFIX}{event_id}")
    } else {
        format!("{SUB_ORCH_AUTO_PREFIX}{execution_id}_{event_id}")
    }
}

/// The placeholder for a generated id while the request has no event yet, by its number within the turn.
#[must_use]
pub fn pending_child_suffix(token: u64) -> String {
    format!("{SUB_ORCH_AUTO_PREFIX}pending_{token}")
}

/// Whether an instance without a parent may not be named so, because a generated child could be.
#[must_use]
pub fn is_reserved_root_id(instance: &str) -> bool {
    is_auto_generated_sub_orch_id(instance) || instance.contains(AUTO_MARKER)
}
