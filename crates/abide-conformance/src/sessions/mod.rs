//! Activities of a session run where the session is.
//!
//! A session is a name. Whoever takes an activity of it owns it, for as long as they said, and until then nobody else gets
//! its activities. The lock of a session and the leases on its activities are two things: each ends by itself.

mod claims;
mod cleanup;
mod contention;
mod expiry;
mod idleness;
mod renewal;
mod routing;
mod workers;

pub use claims::*;
pub use cleanup::*;
pub use contention::*;
pub use expiry::*;
pub use idleness::*;
pub use renewal::*;
pub use routing::*;

use crate::suite::area;

area! {
    sessions;
    test_non_session_items_fetchable_by_any_worker;
    test_session_item_claimable_when_no_session;
    test_session_affinity_same_worker;
    test_session_affinity_blocks_other_worker;
    test_different_sessions_different_workers;
    test_mixed_session_and_non_session_items;
    test_session_claimable_after_lock_expiry;
    test_none_session_skips_session_items;
    test_some_session_returns_all_items;
    test_renew_session_lock_active;
    test_renew_session_lock_skips_idle;
    test_renew_session_lock_no_sessions;
    test_cleanup_removes_expired_no_items;
    test_cleanup_keeps_sessions_with_pending_items;
    test_cleanup_keeps_active_sessions;
    test_ack_updates_session_last_activity;
    test_renew_work_item_updates_session_last_activity;
    test_session_items_processed_in_order;
    test_non_session_items_returned_with_session_config;
    test_shared_worker_id_any_caller_can_fetch_owned_session;
    test_concurrent_session_claim_only_one_wins;
    test_session_takeover_after_lock_expiry;
    test_cleanup_then_new_item_recreates_session;
    test_abandoned_session_item_retryable;
    test_abandoned_session_item_ignore_attempt;
    test_renew_session_lock_after_expiry_returns_zero;
    test_original_worker_reclaims_expired_session;
    test_activity_lock_expires_session_lock_valid_same_worker_refetches;
    test_session_lock_expires_new_owner_gets_redelivery;
    test_session_lock_expires_same_worker_reacquires;
    test_both_locks_expire_different_worker_claims;
    test_session_lock_expires_activity_lock_valid_ack_succeeds;
    test_session_lock_renewal_extends_past_original_timeout;

    // Beyond the frozen ones.
    test_session_is_shared_by_all_instances;
    test_session_outlives_its_activities;
    test_skipped_session_item_keeps_its_attempts;
    test_session_name_is_compared_exactly;
    test_session_preserved_through_ack_orchestration_item;
    test_session_item_with_unwanted_tag_claims_nothing;
    test_abandoned_session_item_with_delay_stays_in_its_session;
    test_session_lock_lasts_as_long_as_the_fetch_says;
    test_taking_more_work_extends_the_session_lock;
    test_taking_more_work_updates_session_last_activity;
    test_refused_calls_are_no_use_of_a_session;
    test_ack_after_session_expiry_does_not_revive_the_session;
    test_renew_session_lock_counts_sessions_of_all_owners;
    test_renew_session_lock_leaves_other_owners_alone;
    test_renew_session_lock_leaves_activity_locks_alone;
    test_cleanup_ignores_the_idle_time_of_expired_sessions;
    test_concurrent_claims_of_many_sessions_keep_each_with_one_owner;
    test_concurrent_fetches_of_one_owner_share_out_its_session;
    test_concurrent_takeover_of_expired_session_only_one_wins;
    test_lease_work_claims_sessions_like_a_fetch;
}
