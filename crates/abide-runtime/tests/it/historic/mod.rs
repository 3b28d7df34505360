//! Weaknesses (W) and historic bugs (S) of durable engines, through a runtime and a client: those of the design's
//! `reliability.md` that do not concern PostgreSQL, under their numbers.
//!
//! Written like `lessons/`, whose stage they share. Many of the bugs are those of a lesson again: here the nodes die after every
//! turn. W10, W13 and W17 are not here: attempts count, an unreadable history ends behind all its events, and code that does not
//! fit fails its execution, as decided.
//!
//! | number | tests |
//! |---|---|
//! | W1 | `outages::w01_no_fault_of_the_store_fails_an_orchestration_however_long_it_lasts` |
//! | W2 | `outages::w02_a_renewal_that_fails_in_any_way_costs_no_activity` |
//! | W3 | `outages::w03_a_lease_is_given_back_as_soon_as_its_turn_cannot_be_committed` |
//! | W4 | `outages::w04_nothing_is_decided_by_the_clock_of_a_node` |
//! | W5 | `abide-sqlite::trace::an_answer_that_must_hold_leaves_after_the_fsync`, `abide-sqlite::migrations::what_must_be_durable_is_committed_with_full_synchronisation` |
//! | W6 | `abide-sqlite::lessons::defects::lesson_34_a_failing_migration_fails_the_opening` |
//! | W7 | `outages::w07_after_an_outage_of_ten_minutes_everything_goes_on_at_once` |
//! | W8 | `blast::w08_three_hundred_nodes_have_three_hundred_names` |
//! | W9 | `blast::w09_work_that_is_none_stops_no_worker` |
//! | W11 | `blast::w11_continue_as_new_carries_over_every_unread_message`, `abide-engine::lessons::families::no_carried_message_is_dropped_however_many_there_are` |
//! | W12 | `blast::w12_a_message_that_cannot_be_read_stops_nobody_and_is_put_aside`, `abide-sqlite::lessons::defects::lesson_10_a_message_that_cannot_be_read_is_not_swallowed_by_the_commit` |
//! | W14 | `blast::w14_whoever_goes_beyond_a_limit_fails_alone_and_reads_which`, `blast::w14_code_that_wakes_itself_for_ever_fails_alone` |
//! | W15 | `abide-sqlite::faults::locked::a_short_lock_is_waited_for`, `abide-sqlite::faults::locked::a_long_lock_is_a_fault_that_passes` |
//! | W16 | `files::w16_the_linked_sqlite_has_no_known_way_to_corrupt_its_log` |
//! | W18 | `logs::w18_no_payload_is_in_a_log_or_a_metric` |
//! | W19 | `stopping::w19_no_lease_is_left_behind_whenever_a_node_is_shut_down` |
//! | S1 | `replay::s01_two_answers_to_one_ask_in_a_history_are_not_accepted` |
//! | S2 | `replay::s02_a_start_that_nobody_waits_for_leaves_an_event` |
//! | S3 | `replay::s03_ids_and_times_are_drawn_once` |
//! | S4 | `replay::s04_a_completion_wakes_the_recorded_version_though_a_later_one_is_registered` |
//! | S5 | `mail::s05_an_instance_given_back_with_a_delay_is_not_taken_again_before` |
//! | S6 | `mail::s06_mail_before_the_start_makes_nobody_busy`, `mail::s06_mail_before_the_start_stops_nobody_on_sqlite` |
//! | S7 | `replay::s07_what_an_execution_wrote_is_not_there_before_it_writes_it` |
//! | S8 | `replay::s08_keys_come_in_the_same_order_in_every_process` |
//! | S9 | `kin::s09_joins_of_every_size_complete_and_replay`, `kin::s09_a_join_of_ten_thousand_completes` |
//! | S10 | `kin::s10_a_parent_hears_of_a_child_that_continued_as_new` |
//! | S11 | `kin::s11_a_generated_id_that_is_taken_does_not_hang_its_parent` |
//! | S12 | `kin::s12_ids_of_children_are_not_reused_after_continue_as_new` |
//! | S13 | `kin::s13_a_result_that_crosses_a_continue_as_new_is_not_the_next_childs` |
//! | S14 | `mail::s14_mail_in_the_gap_between_two_executions_is_not_lost`, `mail::s14_a_cancel_in_the_gap_cancels_the_successor` |
//! | S15 | `mail::s15_a_hundred_starts_are_one` |
//! | S16 | `replay::s16_a_timer_and_a_message_in_one_turn_have_one_winner` |
//! | S17 | `mail::s17_a_dropped_wait_catches_nothing_and_an_unread_message_is_carried_over` |
//! | S18 | `abide-sqlite::lessons::regressions::v0_1_32_abandoning_touches_only_what_was_handed_out` |
//! | S19 | `stopping::s19_a_runtime_that_was_shut_down_holds_nothing_of_its_store` |
//! | S20 | `stopping::s20_leases_are_renewed_while_a_node_drains` |
//! | S21 | `mail::s21_a_history_that_cannot_be_read_is_not_looked_at_for_ever` |
//! | S22 | `mail::s22_a_damaged_event_is_an_error_and_not_one_event_less` |
//! | S23 | `mail::s23_a_successor_whose_first_turn_is_refused_fails_itself_and_not_its_predecessor` |
//! | S24 | `stopping::s24_ids_are_unique_across_nodes_and_follow_no_clock`, `abide-sqlite::lessons::tokens::v0_1_30_two_stores_draw_different_tokens` |
//! | S25 | `replay::s25_a_custom_status_is_part_of_the_history` |
//! | S26 | `replay::s26_the_loser_of_a_race_blocks_nothing_that_follows` |

use abide_memory::Dump;

use crate::lessons::scene::{Code, Scene};
use crate::lessons::table;

mod blast;
mod files;
mod kin;
mod logs;
mod mail;
mod odd_store;
mod outages;
mod replay;
mod stopping;

/// Runs an instance to its end on nodes that each die after a turn, and of which each knows what `code` says at that time.
async fn on_dying_nodes(
    scene: &Scene,
    instance: &str,
    mut code: impl FnMut() -> Code,
) -> Result<String, String> {
    let seen = |dump: &Dump| {
        let it = dump.instances.get(instance).filter(|it| it.is_instance);
        it.map(|it| (it.execution, it.last_event_id, it.status.clone()))
    };
    loop {
        let before = seen(&scene.world.memory.dump());
        let doomed = scene.doomed_node(code()).await;
        scene.until(|dump| seen(dump) != before).await;
        doomed.kill();
        doomed.all_ended().await;
        let status = seen(&scene.world.memory.dump()).and_then(|(_, _, status)| status);
        if status.is_some_and(|status| status == "Completed" || status == "Failed") {
            return scene.end_of(instance).await;
        }
    }
}

#[test]
fn every_number_has_a_test() {
    let weaknesses =
        (1..=19).filter(|number| ![10, 13, 17].contains(number)).map(|number| format!("W{number}"));
    let bugs = (1..=26).map(|number| format!("S{number}"));
    table::check(include_str!("mod.rs"), "historic", weaknesses.chain(bugs), table::is_numbered);
}
