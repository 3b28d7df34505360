//! Several leases, commits and acks in one call.
//!
//! They hold for a provider that has only the defaults, too: a lease call may give fewer than it was asked for, and
//! the runtime asks again.

pub(crate) mod calls;
mod commits;
mod dropping;
mod history;
mod instances;
mod many;
mod next;
mod work;

pub use commits::*;
pub use dropping::*;
pub use history::*;
pub use instances::*;
pub use many::*;
pub use next::*;
pub use work::*;

use crate::suite::area;

area! {
    batches;
    test_lease_instances_gives_each_instance_once;
    test_lease_of_none_takes_nothing;
    test_lease_instances_gives_nothing_without_mail;
    test_lease_describes_an_instance_that_does_not_exist_yet;
    test_lease_tells_where_an_instance_stands;
    test_lease_knows_who_waits_for_the_result;
    test_lease_begins_with_what_starts_an_execution;
    test_lease_instances_respects_the_capability_filter;
    test_leases_and_fetches_of_instances_exclude_each_other;
    test_lease_of_an_instance_ends_like_a_fetch;
    test_concurrent_lease_instances_share_nothing;
    test_read_history_after_gives_the_tail;
    test_read_history_after_keeps_executions_apart;
    test_read_kv_snapshot_gives_what_earlier_executions_left;
    test_commit_turns_answers_each_in_order;
    test_commit_turns_and_finish_work_of_nothing_answer_nothing;
    test_commit_turns_writes_everything_a_turn_says;
    test_refused_turn_writes_nothing;
    test_stale_commit_writes_nothing;
    test_commit_turns_takes_only_the_leased_mail;
    test_next_turn_is_leased_by_the_commit_or_by_whoever_asks;
    test_next_turn_does_not_pass_who_waits_for_longer;
    test_fused_step_that_does_not_fit_is_busy;
    test_unread_messages_are_delivered_again;
    test_unread_messages_of_a_continuing_instance_are_delivered_again;
    test_many_messages_are_leased_in_order_and_once;
    test_many_messages_are_fetched_in_order_and_once;
    test_large_messages_are_leased_in_order_and_once;
    test_lease_calls_bring_a_bounded_size;
    test_lease_work_gives_each_activity_once_and_the_oldest_first;
    test_lease_work_respects_tags;
    test_lease_work_respects_sessions;
    test_leases_and_fetches_of_work_exclude_each_other;
    test_lease_of_work_ends_like_a_fetch;
    test_finish_work_answers_each_in_order;
    test_finish_work_refuses_what_is_no_completion;
    test_finish_work_with_a_stale_token_changes_nothing;
    test_concurrent_lease_work_share_nothing;
    test_dropping_lease_calls_loses_nothing;
    test_dropping_a_commit_leaves_all_or_nothing;
    test_dropping_the_end_of_an_activity_leaves_all_or_nothing;
}
