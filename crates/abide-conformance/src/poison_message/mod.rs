//! Attempts are counted, for each message and each activity.

mod instances;
mod work;

pub use instances::*;
pub use work::*;

use crate::suite::area;

area! {
    poison_message;
    orchestration_attempt_count_starts_at_one;
    orchestration_attempt_count_increments_on_refetch;
    worker_attempt_count_starts_at_one;
    worker_attempt_count_increments_on_lock_expiry;
    attempt_count_is_per_message;
    abandon_work_item_ignore_attempt_decrements;
    abandon_orchestration_item_ignore_attempt_decrements;
    ignore_attempt_never_goes_negative;
    max_attempt_count_across_message_batch;
    orchestration_ignore_attempt_preserves_hidden_start;
    orchestration_delayed_abandon_preserves_unlocked_rows;
    test_orchestration_ignore_attempt_is_for_its_batch_only;
    test_orchestration_renewal_is_no_attempt;
    test_refused_ack_is_no_attempt;
    test_stored_attempt_count_is_the_reported_one: Need::Hook(crate::Hook::CountAttempts);
    test_worker_attempt_count_increments_on_abandon;
    test_worker_attempt_count_is_per_activity;
    test_worker_renewal_is_no_attempt;
}
