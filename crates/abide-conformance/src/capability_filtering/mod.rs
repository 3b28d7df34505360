//! Instances are leased by those that can replay them.
//!
//! An execution is pinned to the version that started it. A fetch may say which pins it can replay; everything else is as
//! if it were not there: not leased, not read, not counted.

mod fetching;
mod pins;
mod probes;
mod unreadable;

pub use fetching::*;
pub use pins::*;
pub use unreadable::*;

use crate::Hook;
use crate::suite::area;

area! {
    capability_filtering;
    test_fetch_with_filter_none_returns_any_item;
    test_fetch_with_compatible_filter_returns_item;
    test_fetch_with_incompatible_filter_skips_item;
    test_fetch_filter_skips_incompatible_selects_compatible;
    test_fetch_filter_does_not_lock_skipped_instances;
    test_fetch_filter_null_pinned_version_always_compatible;
    test_fetch_filter_boundary_versions;
    test_pinned_version_stored_via_ack_metadata;
    test_pinned_version_immutable_across_ack_cycles;
    test_continue_as_new_execution_gets_own_pinned_version;
    test_filter_with_empty_supported_versions_returns_nothing;
    test_concurrent_filtered_fetch_no_double_lock;
    test_ack_stores_pinned_version_via_metadata_update;
    test_provider_updates_pinned_version_when_told;
    test_fetch_corrupted_history_filtered_vs_unfiltered: Need::Hook(Hook::CorruptHistory);
    test_fetch_deserialization_error_increments_attempt_count: Need::Hook(Hook::CorruptHistory);
    test_fetch_deserialization_error_eventually_reaches_poison: Need::Hook(Hook::CorruptHistory);
    test_fetch_filter_applied_before_history_deserialization: Need::Hook(Hook::CorruptHistory);
    test_fetch_single_range_only_uses_first_range;
    test_ack_appends_event_to_corrupted_history: Need::Hook(Hook::CorruptHistory);

    // Beyond the frozen ones.
    test_fetch_filter_takes_what_any_range_supports;
    test_fetch_filter_with_inverted_range_supports_nothing;
    test_fetch_filter_finds_compatible_behind_many_incompatible;
    test_fetch_filter_applies_to_the_successor_of_an_execution;
    test_fetch_filter_applies_after_the_end_of_an_execution;
    test_successor_without_pin_does_not_inherit_one;
    test_refused_ack_does_not_change_the_pinned_version;
    test_lease_instances_takes_only_what_passes_the_filter;
}
