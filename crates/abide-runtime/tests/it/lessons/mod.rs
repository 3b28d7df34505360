//! What went wrong elsewhere and must not here, through a runtime and a client: the defects (§3) and the fixed bugs (§7) of the
//! design's `lessons.md`, under their numbers.
//!
//! Most run three times: with instances that stay in memory, with a replay for every turn, and on a store with the required
//! methods only (`scene.rs`). Bugs that one release fixed are told apart by a letter, in the order of the page. What concerns an
//! engine or a store is tried there too; what only a store can get wrong is tried there alone, and named here.
//!
//! | number | tests |
//! |---|---|
//! | 3.1-1A | `orphans::lesson_03_01a_a_signal_to_a_typo_stops_nobody`, `abide-sqlite::lessons::defects::lesson_1a_a_signal_to_a_typo_stops_nobody` |
//! | 3.1-1B | `orphans::lesson_03_01b_cancelling_what_is_missing_stops_nobody`, `abide-sqlite::lessons::defects::lesson_1b_cancelling_what_is_missing_stops_nobody` |
//! | 3.1-1C | `orphans::lesson_03_01c_a_child_dropped_in_the_turn_that_asked_for_it_stops_nobody`, `abide-engine::lessons::endings::a_child_started_and_dropped_in_one_turn_is_cancelled_before_it_starts`, `abide-sqlite::lessons::defects::lesson_1c_cancelling_a_child_that_never_started_stops_nobody` |
//! | 3.1-2 | `orphans::lesson_03_02_a_renewal_that_fails_once_costs_no_activity` |
//! | 3.1-3a | `orphans::lesson_03_03a_a_parent_hears_of_a_child_that_broke_a_limit`, `abide-engine::lessons::endings::a_child_that_breaks_a_limit_tells_its_parent` |
//! | 3.1-3b | `orphans::lesson_03_03b_a_parent_hears_of_a_child_whose_turn_is_refused` |
//! | 3.1-3c | `orphans::lesson_03_03c_a_parent_hears_of_a_child_whose_history_cannot_be_read` |
//! | 3.1-4 | `orphans::lesson_03_04_a_detached_start_is_not_lost_when_its_turn_continues_as_new`, `orphans::lesson_03_04_a_detached_start_is_not_lost_when_its_turn_is_cancelled`, `abide-engine::lessons::endings::a_detached_start_is_sent_with_continue_as_new` |
//! | 3.1-5 | `orphans::lesson_03_05_continue_as_new_cancels_what_its_execution_left_open`, `abide-engine::lessons::endings::continue_as_new_cancels_children_and_activities_of_this_turn_and_of_earlier_ones` |
//! | 3.1-6 | `liveness::lesson_03_06_two_seconds_of_contention_fail_nothing` |
//! | 3.1-7 | `liveness::lesson_03_07_a_lease_that_is_given_up_is_given_back_at_once` |
//! | 3.1-8 | `liveness::lesson_03_08_a_failure_that_is_delivered_twice_counts_once`, `liveness::lesson_03_08_a_failure_after_a_result_counts_for_nothing`, `liveness::lesson_03_08_a_failure_of_a_child_after_its_result_counts_for_nothing`, `abide-engine::lessons::endings::a_repeated_failure_of_an_activity_changes_nothing`, `abide-engine::lessons::endings::a_failure_after_a_childs_result_changes_nothing` |
//! | 3.1-9 | `liveness::lesson_03_09_work_that_cannot_be_read_stops_no_worker`, `abide-sqlite::lessons::defects::lesson_9_work_that_cannot_be_read_stops_no_worker_and_is_counted` |
//! | 3.1-10 | `liveness::lesson_03_10_a_message_that_cannot_be_read_is_kept_and_holds_up_no_other`, `abide-sqlite::lessons::defects::lesson_10_a_message_that_cannot_be_read_is_not_swallowed_by_the_commit` |
//! | 3.1-11 | `endurance::lesson_03_11_an_instance_whose_version_is_missing_for_an_hour_goes_on_when_it_is_back`, `endurance::lesson_03_11_work_of_a_session_waits_an_hour_for_its_handler` |
//! | 3.1-12 | `endurance::lesson_03_12_an_instance_between_two_executions_is_not_deleted_as_old`, `abide-sqlite::lessons::administration::lesson_12_an_instance_between_two_executions_is_not_old`, `abide-sqlite::lessons::administration::lesson_12_a_running_child_keeps_its_parent` |
//! | 3.1-13 | `endurance::lesson_03_13_a_store_that_panics_costs_no_dispatcher` |
//! | 3.1-14 | `endurance::lesson_03_14_a_panic_cancels_what_is_in_flight`, `endurance::lesson_03_14_code_that_does_not_fit_cancels_what_is_in_flight`, `endurance::lesson_03_14_poison_cancels_what_is_in_flight`, `abide-engine::lessons::endings::a_panic_cancels_activities_and_children`, `abide-engine::lessons::endings::a_poisoned_activity_cancels_its_sibling_and_children` |
//! | 3.1-15 | `endurance::lesson_03_15_leases_shorter_than_a_second_are_renewed_in_time` |
//! | 3.2-16 | `determinism::lesson_03_16_dequeues_polled_in_another_order_than_made_decide_the_same_on_replay`, `abide-engine::lessons::determinism::dequeues_polled_in_another_order_than_made_decide_the_same_on_replay` |
//! | 3.2-17 | `determinism::lesson_03_17_dropping_an_older_dequeue_neither_repeats_nor_skips_a_message`, `abide-engine::lessons::determinism::dropping_an_older_dequeue_after_a_younger_one_was_read_neither_repeats_nor_skips_a_message` |
//! | 3.2-18 | `determinism::lesson_03_18_a_replayed_write_keeps_the_time_it_was_made_at`, `abide-engine::lessons::determinism::a_replayed_write_keeps_the_time_it_was_made_at` |
//! | 3.2-19 | `determinism::lesson_03_19_a_line_between_two_awaits_is_written_once`, `abide-engine::lessons::determinism::a_line_between_two_awaits_is_said_once` |
//! | 3.2-20 | `determinism::lesson_03_20_code_that_drifts_is_noticed`, `abide-engine::lessons::determinism::returning_before_a_recorded_ask_is_noticed`, `abide-engine::lessons::determinism::an_additional_ask_is_noticed` |
//! | 3.2-21 | `determinism::lesson_03_21_values_can_be_gone_through_in_an_order_that_replays`, `abide-engine::lessons::determinism::keys_and_entries_come_in_order` |
//! | 3.3-22 | `memory::lesson_03_22_what_code_holds_is_released_when_it_ends`, `memory::lesson_03_22_what_waiting_code_holds_is_released_when_it_is_evicted`, `abide-engine::lessons::memory::what_a_mapped_future_holds_is_released_with_its_execution` |
//! | 3.3-23 | `memory::lesson_03_23_a_tag_that_comes_too_late_fails_only_that_orchestration`, `abide-engine::lessons::memory::a_tag_that_comes_too_late_fails_only_that_orchestration` |
//! | 3.3-24 | `memory::lesson_03_24_errors_in_a_row_neither_end_a_dispatcher_nor_make_it_spin` |
//! | 3.3-25 | `memory::lesson_03_25_a_payload_that_cannot_be_read_fails_one_orchestration_readably`, `abide-engine::lessons::memory::a_signal_that_cannot_be_read_fails_the_orchestration_readably` |
//! | 3.3-26 | `memory::lesson_03_26_what_has_no_json_form_is_an_error_of_the_call` |
//! | 3.4-27 | `bookkeeping::lesson_03_27_keys_are_counted_over_all_turns`, `abide-engine::lessons::memory::keys_are_counted_over_all_turns_of_an_execution` |
//! | 3.4-28 | `bookkeeping::lesson_03_28_a_limit_broken_while_returning_leaves_one_end`, `abide-engine::lessons::memory::a_limit_broken_while_returning_leaves_one_end` |
//! | 3.4-29 | `bookkeeping::lesson_03_29_the_terminal_event_is_the_last_one`, `abide-engine::lessons::memory::the_terminal_event_is_the_last_one` |
//! | 3.4-30 | `bookkeeping::lesson_03_30_each_thing_is_counted_once`, `bookkeeping::lesson_03_30_durations_and_turns_are_those_of_the_whole_execution` |
//! | 3.4-31 | `bookkeeping::lesson_03_31_times_and_depths_are_real_on_sqlite`, `abide-sqlite::lessons::administration::lesson_31_times_are_real_and_move`, `abide-sqlite::lessons::administration::lesson_31_depths_count_what_was_given_back_and_no_future_timers` |
//! | 3.4-32 | `bookkeeping::lesson_03_32_a_name_registered_twice_is_said_and_replaces_nothing` |
//! | 3.4-33 | `abide-sqlite::migrations::what_must_be_durable_is_committed_with_full_synchronisation` |
//! | 3.4-34 | `abide-sqlite::lessons::defects::lesson_34_a_failing_migration_fails_the_opening` |
//! | 0.1.3 | `first_releases::lesson_07_0_1_3_work_given_back_with_a_delay_is_not_taken_again_before`, `abide-sqlite::lessons::regressions::v0_1_3_abandoned_work_is_hidden_for_its_delay` |
//! | 0.1.5 | `first_releases::lesson_07_0_1_5_a_delay_is_no_lease_and_holds_for_everybody`, `abide-sqlite::lessons::regressions::v0_1_5_a_delay_is_no_lease` |
//! | 0.1.10 | `first_releases::lesson_07_0_1_10_a_start_met_by_a_node_without_the_handler_waits_for_one_that_has_it` |
//! | 0.1.11 | `first_releases::lesson_07_0_1_11_a_completion_alone_wakes_the_version_that_was_recorded` |
//! | 0.1.12 | `first_releases::lesson_07_0_1_12_a_late_loser_blocks_nobody_and_a_dropped_activity_is_cancelled`, `abide-engine::lessons::releases::a_late_loser_does_not_block_the_next_await` |
//! | 0.1.13 | `first_releases::lesson_07_0_1_13_an_id_and_a_time_are_the_recorded_ones_after_a_restart`, `abide-engine::lessons::releases::a_guid_and_a_time_are_the_recorded_ones_on_every_replay` |
//! | 0.1.14 | `first_releases::lesson_07_0_1_14_a_detached_start_replays_and_is_sent_once`, `abide-engine::lessons::releases::a_detached_start_replays_and_is_not_sent_again` |
//! | 0.1.16 | `first_releases::lesson_07_0_1_16_two_firings_of_one_timer_in_a_history_are_a_mismatch`, `abide-engine::lessons::releases::two_answers_to_one_ask_in_history_are_a_mismatch` |
//! | 0.1.17 | `first_releases::lesson_07_0_1_17_a_history_that_cannot_be_read_ends_and_keeps_its_events`, `abide-sqlite::lessons::regressions::v0_1_17_an_unknown_event_type_does_not_loop` |
//! | 0.1.18 | `first_releases::lesson_07_0_1_18_a_wait_after_a_lost_one_gets_the_next_signal`, `abide-engine::lessons::releases::a_wait_after_a_lost_one_gets_the_next_signal` |
//! | 0.1.19 | `first_releases::lesson_07_0_1_19_two_signals_with_the_same_payload_both_count`, `abide-engine::lessons::releases::two_signals_with_the_same_payload_both_count` |
//! | 0.1.20 | `middle_releases::lesson_07_0_1_20_a_custom_status_is_durable_and_outlives_continue_as_new`, `middle_releases::lesson_07_0_1_20_a_custom_status_is_the_same_on_every_replay`, `abide-engine::lessons::releases::a_custom_status_survives_replay_and_continue_as_new`, `abide-sqlite::lessons::regressions::v0_1_20_custom_status_is_durable_and_its_version_goes_up_by_one_per_commit` |
//! | 0.1.21 | `middle_releases::lesson_07_0_1_21_a_queue_message_before_the_start_is_dropped_and_makes_nobody_busy`, `abide-sqlite::lessons::defects::v0_1_21_queue_messages_for_nobody_are_dropped_and_cost_no_turns` |
//! | 0.1.22 | `middle_releases::lesson_07_0_1_22_a_tag_survives_the_turn_that_asks_for_the_activity`, `abide-sqlite::lessons::regressions::v0_1_22_a_tag_survives_the_commit_that_schedules_the_activity` |
//! | 0.1.25 | `middle_releases::lesson_07_0_1_25_pruning_executions_keeps_keys`, `abide-sqlite::lessons::regressions::v0_1_25_pruning_executions_keeps_keys` |
//! | 0.1.26 | `middle_releases::lesson_07_0_1_26_a_counter_counts_once_whatever_is_replayed`, `abide-engine::lessons::releases::a_counter_counts_once_whatever_is_replayed`, `abide-sqlite::lessons::regressions::v0_1_26_a_snapshot_has_nothing_of_the_current_execution` |
//! | 0.1.27 | `middle_releases::lesson_07_0_1_27_the_size_of_what_cannot_be_read_is_an_error`, `abide-sqlite::lessons::regressions::v0_1_27_the_size_of_what_cannot_be_read_is_an_error` |
//! | 0.1.29 | `middle_releases::lesson_07_0_1_29_a_join_of_1024_completes`, `abide-engine::lessons::releases::a_join_of_1024_completes_with_two_polls_each` |
//! | 0.1.30a | `kin::lesson_07_0_1_30a_a_child_keeps_its_parent_across_continue_as_new`, `abide-engine::lessons::releases::a_child_keeps_its_parent_across_continue_as_new` |
//! | 0.1.30b | `kin::lesson_07_0_1_30b_a_child_at_the_same_place_in_every_execution_is_another_one`, `abide-engine::lessons::releases::a_child_of_a_later_execution_has_an_id_of_its_own` |
//! | 0.1.30c | `kin::lesson_07_0_1_30c_an_id_that_is_taken_is_an_error_and_no_wait` |
//! | 0.1.30d | `kin::lesson_07_0_1_30d_a_childs_result_goes_to_the_execution_that_asked`, `abide-engine::lessons::releases::the_result_of_an_earlier_executions_child_reaches_nobody` |
//! | 0.1.30e | `kin::lesson_07_0_1_30e_ids_are_drawn_and_not_counted`, `abide-sqlite::lessons::tokens::v0_1_30_every_lease_has_a_token_of_its_own_that_cannot_be_guessed` |
//! | 0.1.30f | `kin::lesson_07_0_1_30f_ids_of_generated_children_are_reserved_and_no_other_is_changed` |
//! | 0.1.32a | `last_release::lesson_07_0_1_32a_mail_between_two_executions_waits_for_the_successor`, `abide-engine::lessons::releases::messages_wait_for_the_start_of_their_execution`, `abide-sqlite::lessons::regressions::v0_1_32_mail_between_two_executions_waits_for_the_successor` |
//! | 0.1.32b | `last_release::lesson_07_0_1_32b_a_second_start_changes_nothing`, `last_release::lesson_07_0_1_32b_a_start_in_the_gap_does_not_displace_the_successor`, `abide-engine::lessons::releases::a_second_start_changes_nothing`, `abide-engine::lessons::releases::a_start_between_two_executions_does_not_displace_the_continue_as_new` |
//! | 0.1.32c | `last_release::lesson_07_0_1_32c_keys_are_pruned_in_an_order_that_replays`, `abide-engine::lessons::releases::keys_are_pruned_in_order` |
//! | 0.1.32d | `abide-sqlite::lessons::regressions::v0_1_32_abandoning_touches_only_what_was_handed_out` |
//! | 0.1.32e | `last_release::lesson_07_0_1_32e_a_dropped_dequeue_frees_its_place_and_keeps_its_message_for_the_next_execution`, `abide-engine::lessons::families::a_dropped_dequeue_frees_its_place_at_once`, `abide-engine::lessons::families::continue_as_new_carries_what_was_not_read_in_the_order_it_came` |
//! | 0.1.32f | `last_release::lesson_07_0_1_32f_a_successor_that_never_starts_fails_as_an_execution_of_its_own` |
//! | 0.1.32g | `last_release::lesson_07_0_1_32g_a_shutdown_leaves_no_task_no_lease_and_no_hold_on_the_store` |
//! | earlier-a | `before_releases::lesson_07_earlier_a_two_timers_in_sequence_fire_at_their_own_times`, `abide-engine::lessons::releases::two_timers_in_sequence_count_from_their_own_making` |
//! | earlier-b | `before_releases::lesson_07_earlier_b_what_is_acknowledged_before_its_effect_is_durable_is_done_again` |
//! | earlier-c | `before_releases::lesson_07_earlier_c_children_at_the_same_place_of_two_parents_are_two` |
//! | earlier-d | `before_releases::lesson_07_earlier_d_many_dispatchers_take_one_turn_at_a_time` |
//! | earlier-e | `before_releases::lesson_07_earlier_e_a_late_commit_does_not_bring_back_what_was_deleted`, `abide-sqlite::lessons::administration::earlier_a_late_commit_does_not_bring_back_what_was_deleted` |

pub(crate) mod listener;
pub(crate) mod scene;
pub(crate) mod table;

mod bookkeeping;
mod determinism;
mod endurance;
mod liveness;
mod memory;
mod orphans;

mod before_releases;
mod first_releases;
mod kin;
mod last_release;
mod middle_releases;

const ONCE: &str = "1A 1B 1C 2 3a 3b 3c";
const RELEASES: &str = "0.1.3 0.1.5 0.1.10 0.1.11 0.1.12 0.1.13 0.1.14 0.1.16 0.1.17 0.1.18 0.1.19 0.1.20 0.1.21 0.1.22 \
    0.1.25 0.1.26 0.1.27 0.1.29 0.1.30a 0.1.30b 0.1.30c 0.1.30d 0.1.30e 0.1.30f 0.1.32a 0.1.32b 0.1.32c 0.1.32d \
    0.1.32e 0.1.32f 0.1.32g earlier-a earlier-b earlier-c earlier-d earlier-e";

#[test]
fn every_lesson_has_a_test() {
    let first = ONCE.split(' ').map(|number| format!("3.1-{number}"));
    let defects = (4..=34).map(|number| match number {
        ..=15 => format!("3.1-{number}"),
        16..=21 => format!("3.2-{number}"),
        22..=26 => format!("3.3-{number}"),
        _ => format!("3.4-{number}"),
    });
    let releases = RELEASES.split_whitespace().map(str::to_owned);
    table::check(include_str!("mod.rs"), "lessons", first.chain(defects).chain(releases), table::is_numbered);
}
