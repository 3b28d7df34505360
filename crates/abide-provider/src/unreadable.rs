//! What becomes of a row that cannot be read.
//!
//! It may have been written by a newer version, which another node understands: so it is tried again, ever
//! later, and then put aside where it is in nobody's way. Whoever waits for an activity, or for a child, is
//! told in the end.

use std::time::Duration;

use abide_model::{
    ErrorDetails, INITIAL_EXECUTION_ID, PoisonMessageType, ScheduledActivityIdentifier, WorkItem,
};

use crate::ParentLink;

/// A row that cannot be read is hidden this many times; the next attempt puts it aside.
pub const MAX_ATTEMPTS: u32 = 10;

const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What to do with a row that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Hide it for this long, and try again.
    Hide(Duration),
    /// Move it to the dead letters.
    PutAside,
}

/// What to do with a row after so many attempts, this one included.
#[must_use]
pub fn after(attempts: u32) -> Next {
    if attempts > MAX_ATTEMPTS {
        return Next::PutAside;
    }
    let seconds = 1_u64.checked_shl(attempts.saturating_sub(1)).unwrap_or(u64::MAX);
    Next::Hide(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

/// What to tell the instance that waits for an activity that was put aside.
#[must_use]
pub fn poison(activity: &ScheduledActivityIdentifier, attempts: u32) -> WorkItem {
    let ScheduledActivityIdentifier { instance, execution_id, activity_id } = activity;
    WorkItem::ActivityFailed {
        instance: instance.clone(),
        execution_id: *execution_id,
        id: *activity_id,
        details: ErrorDetails::Poison {
            attempt_count: attempts,
            max_attempts: MAX_ATTEMPTS,
            message_type: PoisonMessageType::Activity {
                instance: instance.clone(),
                execution_id: *execution_id,
                activity_name: "unknown".to_owned(),
                activity_id: *activity_id,
            },
            message: "the stored work item could not be read".to_owned(),
        },
    }
}

/// What to tell the parent of a child whose start, or whose successor's start, was put aside: the child will
/// never answer.
///
/// `current` is the parent's current execution, which is told if the link does not say which one asked.
/// `None` if it does not say which event asked.
#[must_use]
pub fn lost_start(child: &str, parent: &ParentLink, current: u64, attempts: u32) -> Option<WorkItem> {
    let parent_execution_id = parent.execution_id.unwrap_or(current);
    Some(WorkItem::SubOrchFailed {
        parent_instance: parent.instance.clone(),
        parent_execution_id,
        parent_id: parent.event_id?,
        details: ErrorDetails::Poison {
            attempt_count: attempts,
            max_attempts: MAX_ATTEMPTS,
            message_type: PoisonMessageType::Orchestration {
                instance: child.to_owned(),
                execution_id: INITIAL_EXECUTION_ID,
            },
            message: "the stored start of the child could not be read".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_end() {
        let pauses: Vec<_> = (1..=11).map(after).collect();
        let seconds = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60];
        let expected = seconds.into_iter().map(|seconds| Next::Hide(Duration::from_secs(seconds)));
        assert_eq!(pauses, expected.chain([Next::PutAside]).collect::<Vec<_>>());
        assert_eq!(after(u32::MAX), Next::PutAside);
    }
}
