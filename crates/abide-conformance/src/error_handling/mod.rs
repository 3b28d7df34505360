//! What is wrong is refused, and changes nothing.

mod turns;
mod unreadable;
mod work;

pub use turns::*;
pub use unreadable::*;
pub use work::*;

use crate::suite::area;

area! {
    error_handling;
    test_invalid_lock_token_on_ack;
    test_duplicate_event_id_rejection;
    test_missing_instance_metadata;
    test_corrupted_serialization_data: Need::Hook(crate::Hook::CorruptHistory);
    test_lock_expiration_during_ack;
    test_read_corrupted_history_returns_error: Need::Hook(crate::Hook::CorruptHistory);
    test_read_with_execution_corrupted_history_returns_error: Need::Hook(crate::Hook::CorruptHistory);
    test_event_id_zero_is_refused;
    test_unknown_token_on_abandon_changes_nothing;
    test_empty_turn_without_metadata_only_consumes;
    test_awkward_text_survives;
    test_reading_the_unknown_is_empty;
    test_invalid_lock_token_on_work;
    test_wrong_completion_is_refused;
    test_completion_for_another_instance_is_refused;
    test_each_queue_refuses_what_belongs_to_the_other;
}
