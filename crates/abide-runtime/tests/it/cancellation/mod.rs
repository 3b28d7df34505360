//! Cancellation, end to end: what the three documents on it want to be tested, and the tests that show it.
//!
//! The first drafts of them carried a state, then a flag, from the store to the worker. Here is neither: the commit that decides a
//! cancellation records it and deletes the row of the work, in one transaction; whoever holds a lease on the row is told by the
//! store, or by the next renewal, which is refused. The last column says what becomes of a line that means something else.
//!
//! Numbers are the document's and, in it, those of its *Test* paragraphs (000), of the items under *Testing changes* (001) and under
//! *Test plan* (002), in their order.
//!
//! | number | tests | here |
//! |---|---|---|
//! | 000.1 fetch_returns_running_state_for_active_orchestration | `abide-conformance::cancellation::states::test_fetch_returns_running_state_for_active_orchestration` | it is handed out: that is the state |
//! | 000.2 fetch_returns_terminal_state_when_orchestration_completed | `abide-conformance::cancellation::states::test_fetch_returns_terminal_state_when_orchestration_completed` | nothing to fetch: the ending commit deleted the row |
//! | 000.3 fetch_returns_terminal_state_when_orchestration_failed | `abide-conformance::cancellation::states::test_fetch_returns_terminal_state_when_orchestration_failed` | likewise |
//! | 000.4 fetch_returns_terminal_state_when_orchestration_continued_as_new | `abide-conformance::cancellation::states::test_fetch_returns_terminal_state_when_orchestration_continued_as_new` | likewise |
//! | 000.5 fetch_treats_any_non_running_status_as_terminal | `abide-conformance::cancellation::states::test_end_of_execution_takes_back_only_what_is_listed`, `abide-runtime::e2e::dropping::every_end_cancels_what_is_open_and_says_so_before_the_last_event` | no status is looked at: every end lists what it leaves, and what is listed goes |
//! | 000.6 fetch_returns_missing_state_when_instance_deleted | `abide-conformance::cancellation::deleted::test_fetch_returns_missing_state_when_instance_deleted` | deleted with its instance |
//! | 000.7 fetch_returns_missing_state_when_execution_deleted | `abide-conformance::cancellation::deleted::test_pruned_execution_takes_its_activities_along` | deleted with its execution |
//! | 000.8 renew_returns_running_when_orchestration_active | `abide-conformance::cancellation::states::test_renew_returns_running_when_orchestration_active` | the renewal succeeds |
//! | 000.9 renew_returns_terminal_when_orchestration_completed | `abide-conformance::cancellation::states::test_renew_returns_terminal_when_orchestration_completed` | refused for good: there is no row |
//! | 000.10 renew_returns_terminal_when_orchestration_failed | `abide-conformance::cancellation::states::test_fetch_returns_terminal_state_when_orchestration_failed` | likewise; the same function renews |
//! | 000.11 renew_returns_terminal_when_orchestration_continued_as_new | `abide-conformance::cancellation::states::test_fetch_returns_terminal_state_when_orchestration_continued_as_new` | likewise |
//! | 000.12 renew_returns_missing_when_instance_deleted | `abide-conformance::cancellation::deleted::test_renew_returns_missing_when_instance_deleted` | likewise |
//! | 000.13 renew_returns_missing_when_execution_deleted | `abide-conformance::cancellation::deleted::test_pruned_execution_takes_its_activities_along` | likewise |
//! | 000.14 renew_succeeds_when_orchestration_running | `abide-conformance::cancellation::states::test_renew_returns_running_when_orchestration_active`, `abide-conformance::lock_expiration::work_renewal::test_worker_lock_renewal_extends_timeout` | |
//! | 000.15 ack_work_item_none_deletes_without_enqueue | `abide-conformance::cancellation::held::test_ack_work_item_none_deletes_without_enqueue` | |
//! | 000.16 ack_work_item_some_deletes_and_enqueues | `abide-conformance::queue_semantics::work::test_worker_ack_atomicity`, `abide-conformance::queue_semantics::work::test_failed_activity_tells_its_instance` | |
//! | 000.17 activity_receives_cancellation_token | `tokens::an_activity_that_begins_is_not_asked_to_stop` | |
//! | 000.18 cancellation_token_triggered_on_orchestration_cancel | `abide-runtime::e2e::stopping::every_way_out_of_an_activity_has_its_reason`, `elsewhere::without_a_push_an_activity_of_another_runtime_hears_by_its_next_renewal` | at once; by the next renewal where the store does not push |
//! | 000.19 cancellation_token_triggered_on_orchestration_complete | `abide-runtime::e2e::stopping::the_end_of_its_execution_is_a_reason`, `abide-runtime::e2e::stopping::an_activity_hears_at_once_that_it_was_dropped_and_why` | |
//! | 000.20 cancellation_token_triggered_on_continue_as_new | `abide-runtime::e2e::stopping::the_end_of_its_execution_is_a_reason` | |
//! | 000.21 activity_completes_within_grace_period | `grace::who_stops_in_time_is_not_complained_of`, `grace::of_who_stops_at_once_the_log_tells_that_it_was_asked` | |
//! | 000.22 activity_exceeds_grace_period | `grace::a_slot_whose_activity_ignores_its_token_is_free_after_the_grace_and_the_log_names_it`, `grace::it_is_a_warning`, `abide-runtime::e2e::stopping::an_activity_that_does_not_listen_is_aborted_after_its_grace`, `abide-runtime::e2e::stopping::the_grace_is_an_option_and_the_slot_is_free_after_it` | no ack: the row is gone |
//! | 000.23 activity_completes_or_fails_after_cancellation_always_drops_message | `grace::whatever_a_cancelled_activity_comes_to_is_nobodys`, `abide-runtime::e2e::stopping::what_a_cancelled_activity_returns_is_not_recorded` | no ack: the row is gone |
//! | 000.24 activity_completes_before_cancellation_check | `abide-runtime::e2e::stopping::a_completion_that_was_acknowledged_before_the_cancel_is_recorded`, `abide-runtime::e2e::cancelling::a_cancel_waits_its_turn_behind_what_came_before`, `abide-conformance::cancellation::held::test_completion_before_cancellation_stays`, `abide-conformance::cancellation::held::test_completion_and_cancellation_at_once_one_wins` | whichever commit is first wins |
//! | 000.25 terminal_or_missing_activity_is_never_started | `pending::what_waits_when_its_instance_is_cancelled_or_deleted_never_starts`, `pending::what_is_cancelled_on_its_way_to_the_worker_does_not_begin`, `abide-runtime::e2e::stopping::a_pending_activity_that_is_cancelled_never_starts` | there is nothing to fetch; what was fetched before hears before it begins |
//! | 000.26 renew_retryable_errors_do_not_cancel | `abide-runtime::e2e::leases::a_renewal_that_may_succeed_later_cancels_nothing` | |
//! | 000.27 renew_non_retryable_error_cancels_and_aborts | `grace::who_has_lost_its_lease_is_dropped_after_the_grace_and_the_work_runs_again`, `abide-runtime::e2e::leases::a_lost_lease_is_told_and_the_work_runs_again` | the row of a lost lease stays: another try |
//! | 000.28 multiple_activities_cancelled_together | `tokens::three_activities_of_one_orchestration_all_hear_and_each_ends_in_its_own_way` | |
//! | 000.29 activity_spawns_child_tasks_with_cancellation | `tokens::threads_that_have_the_token_hear_what_their_activity_hears`, `abide-runtime::e2e::stopping::a_token_can_be_passed_on_to_what_the_activity_starts_itself` | |
//! | 000.30 activity_spawns_child_tasks_without_cancellation_is_user_error | `tokens::a_thread_without_the_token_outlives_its_activity` | |
//! | 000.31 high_concurrency_cancellation | `crowds::a_hundred_orchestrations_with_five_activities_each_are_cancelled_at_once` | |
//! | 000.32 cancellation_during_high_load | `crowds::with_every_slot_taken_cancellations_get_through_and_the_slots_do_other_work`, `crowds::with_every_slot_taken_by_activities_that_do_not_listen_the_slots_are_free_after_the_grace` | |
//! | 001.1 the tests of states on fetch are replaced | `abide-conformance::cancellation::lists::test_cancelled_activities_deleted_from_worker_queue`, `abide-conformance::cancellation::states::test_end_of_execution_takes_back_only_what_is_listed` | they keep their names and assert that the row is gone |
//! | 001.2 the tests of states on renewal are replaced | `abide-conformance::cancellation::held::test_renew_fails_when_entry_deleted` | likewise |
//! | 001.3 fetch surfaces the flag | `abide-conformance::cancellation::lists::test_cancelled_activities_deleted_from_worker_queue` | no flag: it is not handed out |
//! | 001.4 renew surfaces the flag | `abide-conformance::cancellation::held::test_renew_fails_when_entry_deleted` | no flag: it is refused |
//! | 001.5 renew still extends the lock when cancelled | `abide-conformance::cancellation::held::test_renew_fails_when_entry_deleted`, `abide-conformance::cancellation::held::test_ack_work_item_fails_when_entry_deleted` | there is no lock any more: the grace needs none, and every later call is refused as well |
//! | 001.6 cancels are applied with the ack, schedule and cancel in one | `abide-conformance::cancellation::lists::test_same_activity_in_worker_items_and_cancelled_is_noop`, `abide-conformance::cancellation::lists::test_cancelling_with_a_refused_commit_takes_nothing_back`, `abide-runtime::e2e::dropping::an_activity_that_is_dropped_where_it_was_scheduled_never_starts` | |
//! | 001.7 mass cancellation in batches | `abide-conformance::cancellation::lists::test_cancelling_thousands_of_activities_in_one_commit`, `abide-sqlite::contract::costs::the_end_of_an_instance_with_two_thousand_running_activities_is_two_dozen_statements` | statements are counted, time is printed |
//! | 001.8 a select with a timeout cancels the loser | `abide-runtime::e2e::traces::a_timer_that_wins_over_an_activity`, `abide-runtime::e2e::stopping::an_activity_hears_at_once_that_it_was_dropped_and_why` | |
//! | 001.9 the timeout of a retry cancels its attempt | `abide-runtime::e2e::composition::an_attempt_that_takes_too_long_is_cancelled_and_not_repeated` | |
//! | 001.10 cancelling an instance cancels what is outstanding | `abide-runtime::e2e::stopping::every_way_out_of_an_activity_has_its_reason`, `abide-runtime::e2e::cancelling::cancelling_a_parent_cancels_the_whole_tree` | |
//! | 001.11 continue-as-new cancels activities of the execution before | `pending::an_activity_of_the_execution_before_does_not_answer_for_the_next`, `abide-runtime::lessons::orphans::lesson_03_05_continue_as_new_cancels_what_its_execution_left_open` | |
//! | 001.12 cancelled before its start: never begins | `pending::what_waits_when_its_instance_is_cancelled_or_deleted_never_starts` | |
//! | 001.13 cancelled while it runs: one renewal and the grace at most | `abide-runtime::e2e::stopping::without_a_push_it_hears_by_the_next_renewal`, `abide-runtime::e2e::stopping::an_activity_that_does_not_listen_is_aborted_after_its_grace` | |
//! | 001.14 nothing depends on the status of the orchestration | `abide-conformance::cancellation::states::test_end_of_execution_takes_back_only_what_is_listed`, `abide-runtime::e2e::dropping::what_is_dropped_is_recorded_ascending_after_the_asks_of_its_poll` | |
//! | 001.15 no loop of round trips | `abide-sqlite::contract::costs::taking_two_thousand_activities_back_costs_as_many_statements_as_taking_twenty`, `abide-sqlite::contract::costs::two_thousand_activities_of_a_session_are_taken_back_by_a_handful` | |
//! | 001.16 indexes are there and used | `abide-sqlite::plans::every_statement_is_run_as_its_file_promises`, `abide-sqlite::plans::no_statement_goes_through_a_table_without_a_reason` | |
//! | 001.17 completing and failing are as before | `abide-runtime::e2e::worker::what_an_activity_returns_reaches_the_code`, `abide-runtime::e2e::worker::an_error_is_the_codes_business_and_is_not_tried_again` | |
//! | 001.18 poison is found as before | `abide-runtime::e2e::poison::an_activity_that_was_tried_too_often_is_poison`, `abide-conformance::poison_message::work::test_worker_renewal_is_no_attempt` | |
//! | 002.1 a dropped activity is in the delta | `abide-engine::traces::the_loser_of_a_select_is_cancelled_and_may_still_complete`, `abide-engine::micro::cancel::what_is_dropped_in_the_poll_that_made_it_is_recorded_and_never_runs` | the reason of a loser is dropped_future |
//! | 002.2 a dropped child is in the delta | `abide-engine::micro::cancel::drops_are_recorded_ascending_whatever_their_order` | |
//! | 002.3 a completion after a cancel request replays | `abide-engine::traces::the_loser_of_a_select_is_cancelled_and_may_still_complete`, `abide-runtime::e2e::stopping::a_completion_that_was_acknowledged_before_the_cancel_is_recorded` | each trace is replayed in silence |
//! | 002.4 other cancellations than recorded are a mismatch | `abide-engine::people::a_recorded_drop_that_is_no_longer_made_is_shown`, `abide-engine::people::a_drop_of_another_future_shows_both`, `abide-engine::people::an_additional_drop_is_shown_with_what_is_recorded`, `abide-runtime::e2e::dropping::a_drop_that_the_code_does_not_make_any_more_fails_the_instance` | |
//! | 002.5 the loser of a select is in the stored history | `abide-runtime::e2e::traces::a_timer_that_wins_over_an_activity` | |
//! | 002.6 the parent of a dropped child has recorded it | `abide-runtime::e2e::dropping::what_is_dropped_is_recorded_ascending_after_the_asks_of_its_poll` | |
//! | 002.7 the dropped child ends as cancelled | `abide-runtime::e2e::dropping::what_is_dropped_is_recorded_ascending_after_the_asks_of_its_poll`, `abide-runtime::e2e::dropping::every_end_cancels_what_is_open_and_says_so_before_the_last_event` | always, not in the end perhaps |
//! | here.1 an activity of another runtime hears by the store's push | `elsewhere::an_activity_of_another_runtime_on_the_store_hears_at_once`, `elsewhere::an_activity_of_another_process_hears_well_before_a_renewal`, `elsewhere::many_activities_of_one_execution_cost_few_reads_of_its_history`, `abide-sqlite::waiting::taken_away::it_hears_of_a_cancellation`, `abide-sqlite::waiting::taken_away::it_hears_of_a_deletion` | abide-bench cancel has the times |
//! | here.2 an activity that never yields hears all the same | `busy::it_hears_what_this_process_cancels`, `busy::it_hears_what_another_process_cancels`, `busy::it_hears_what_a_renewal_finds_out`, `busy::it_hears_of_a_shutdown_and_what_it_returns_counts` | |
//! | here.3 and does not keep its slot | `busy::the_slot_of_one_that_does_not_look_is_free_after_the_grace_and_the_log_names_it` | its thread is its own |
//! | here.4 nodes that share a database hear by its notices, and by looking when one got lost | `nodes::an_activity_on_another_node_hears_at_once_and_why`, `nodes::it_hears_though_the_connections_for_notices_break`, `elsewhere::an_activity_of_another_process_hears_well_before_a_renewal` | PostgreSQL only |

mod busy;
mod crowds;
mod elsewhere;
mod grace;
mod nodes;
mod pending;
mod tokens;

use std::time::Duration;

use crate::lessons::scene::{Code, Scene};
use crate::lessons::table;

#[test]
fn every_line_of_the_documents_has_a_test() {
    let lines =
        |document: &'static str, count: usize| (1..=count).map(move |line| format!("{document}.{line}"));
    let all = lines("000", 32).chain(lines("001", 18)).chain(lines("002", 7)).chain(lines("here", 4));
    let not_this = |name: &str| name != "every_line_of_the_documents_has_a_test";
    table::check(include_str!("mod.rs"), "cancellation", all, not_this);
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// An orchestration `Open` that waits for an activity of this name.
fn held_open(code: Code, activity: &'static str) -> Code {
    code.orchestration("Open", move |ctx, _| async move { ctx.schedule_activity(activity, "").await })
}

/// Waits until the activity of an instance runs.
async fn begun(scene: &Scene, instance: &str) {
    let is_leased = |dump: &abide_memory::Dump| {
        dump.work.values().any(|work| work.instance == instance && work.leased_until.is_some())
    };
    scene.until(is_leased).await;
    scene.pass(ms(1)).await;
}

async fn cancel(scene: &Scene, instance: &str) {
    scene.client().cancel_instance(instance, "enough").await.unwrap();
}
