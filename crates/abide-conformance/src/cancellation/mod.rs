//! Activities that are taken back, and instances that are deleted under them.
//!
//! An activity is cancelled by removing it from the queue, in the commit that decides so. Whether it waits or runs: it is
//! not handed out any more, and who holds a lease on it hears so from the next renewal or ack. The functions named after
//! states of an orchestration assert just that: there is no state on a fetch or a renewal, only what is there and what is
//! not.

mod activities;
mod deleted;
mod held;
mod lists;
mod states;

pub use deleted::*;
pub use held::*;
pub use lists::*;
pub use states::*;

use crate::suite::area;

area! {
    cancellation;
    test_fetch_returns_running_state_for_active_orchestration;
    test_fetch_returns_terminal_state_when_orchestration_completed;
    test_fetch_returns_terminal_state_when_orchestration_failed;
    test_fetch_returns_terminal_state_when_orchestration_continued_as_new;
    test_fetch_returns_missing_state_when_instance_deleted: Administration;
    test_renew_returns_running_when_orchestration_active;
    test_renew_returns_terminal_when_orchestration_completed;
    test_renew_returns_missing_when_instance_deleted: Administration;
    test_ack_work_item_none_deletes_without_enqueue;
    test_cancelled_activities_deleted_from_worker_queue;
    test_ack_work_item_fails_when_entry_deleted;
    test_renew_fails_when_entry_deleted;
    test_cancelling_nonexistent_activities_is_idempotent;
    test_batch_cancellation_deletes_multiple_activities;
    test_same_activity_in_worker_items_and_cancelled_is_noop;
    test_orphan_activity_after_instance_force_deletion: Administration;

    // Beyond the frozen ones.
    test_abandon_work_item_fails_when_entry_deleted;
    test_cancelling_finds_activities_wherever_they_are;
    test_cancelling_names_instance_execution_and_activity;
    test_cancelling_thousands_of_activities_in_one_commit;
    test_cancelling_with_a_refused_commit_takes_nothing_back;
    test_end_of_execution_takes_back_only_what_is_listed;
    test_completion_before_cancellation_stays;
    test_completion_and_cancellation_at_once_one_wins;
    test_deletion_takes_activities_of_children_along: Administration;
    test_atomic_deletion_takes_activities_of_all_along: Administration;
    test_refused_deletion_leaves_activities_alone: Administration;
    test_pruned_execution_takes_its_activities_along: Administration;
    test_activity_of_unknown_instance_can_be_finished;
}
