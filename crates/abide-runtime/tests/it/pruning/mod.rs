//! Pruning from end to end: the scenarios of the proposal "Automatic Execution Pruning", each with the tests that show what
//! becomes of it here.
//!
//! Its four options are all there, next to activities that prune their own instance. Its open questions are answered so: (1) a
//! prune is part of a turn, and the code hears what was deleted; (2) if it fails, the orchestration goes on; (3) it is counted;
//! (4) policies know an age; (5) an execution may opt out.
//!
//! | scenario | tests |
//! |---|---|
//! | pruning by an activity | `in_code::an_activity_may_prune_its_own_instance` |
//! | option A, in code | `in_code::code_prunes_and_hears_what_was_deleted`, `in_code::the_first_turn_of_an_execution_prunes_like_any_other`, `fences::a_holder_that_lost_its_lease_takes_nothing_that_should_stay`, `fences::a_holder_that_lost_its_lease_takes_nothing_that_came_after_it`, `fences::a_promise_is_kept_by_its_time_and_takes_nothing_that_ended_later`, `fences::a_holder_that_knows_that_its_lease_is_lost_asks_for_nothing`, `abide-engine::micro::prune::a_prune_is_recorded_with_its_result_in_the_turn_that_asks` |
//! | option B, with continue-as-new | `in_code::pruning_and_continuing_are_one_commit`, `abide-engine::micro::next::continue_as_new_with_a_prune_comes_plain_typed_and_versioned` |
//! | option C, at registration | `policies::a_registered_policy_prunes_when_it_continues_as_new`, `policies::every_so_many_executions`, `policies::a_version_has_the_policy_it_was_registered_with`, `policies::a_typed_version_may_have_one_too_and_a_merge_takes_it_over`, `policies::a_policy_that_never_prunes_is_a_mistake` |
//! | option D, by configuration | `policies::an_override_counts_for_more_than_the_registration_and_that_for_more_than_the_default`, `policies::an_operator_may_switch_all_policies_off`, `policies::an_operator_may_override_a_policy_by_none`, `policies::without_a_policy_nothing_is_pruned` |
//! | several of them at once | `wishes::a_promise_is_kept_whatever_else_is_pruned`, `wishes::a_promise_does_not_replace_a_policy`, `wishes::nothing_is_told_twice` |
//! | all of them, on a file too | `in_code::every_form_leaves_the_same_on_every_store` |
//! | replay needs the current execution only | `versions::what_is_current_replays_after_everything_else_is_pruned` |
//! | version A, pruned in normal operation | `versions::a_executions_of_the_new_version_go_on_after_a_prune` |
//! | version B, rolled back after a prune | `versions::b_a_rollback_waits_for_the_version_whether_pruned_or_not`, `versions::b_a_rollback_under_the_same_version_does_not_fit_whether_pruned_or_not` |
//! | version C, looking at the old version | `versions::c_what_an_old_version_did_is_lost_unless_it_is_kept` |
//! | keeping more during upgrades | `versions::policies_that_are_off_during_a_roll_out_keep_everything_and_catch_up_after_it`, `versions::c_what_an_old_version_did_is_lost_unless_it_is_kept` |
//! | keeping by time and by count | `in_code::time_and_count_must_both_allow_it`, `policies::what_ended_a_short_time_ago_is_kept_by_the_clock_of_the_store`, `policies::what_ended_a_short_time_ago_is_kept_by_the_clock_of_the_store_whatever_time_it_is_elsewhere` |
//! | preserved and lost | `kept::what_is_preserved_and_what_is_lost` |
//! | children and their parent link | `kin::children_outlive_the_execution_that_asked_for_them_and_know_their_parent` |
//! | unobserved 1, a loser | `kin::unobserved_1_a_loser_is_cancelled_whether_pruned_or_not` |
//! | unobserved 2, never awaited | `kin::unobserved_2_a_child_that_nobody_awaits_is_cancelled_whether_pruned_or_not` |
//! | a completion that comes after the prune | `kin::a_late_completion_reaches_nobody_whether_pruned_or_not` |
//! | what becomes of orphans | `kin::an_orphan_ends_the_same_whether_its_parents_execution_is_pruned_or_not` |
//! | orphan cleanup | `kin::orphans_are_cleaned_up_and_nobody_else` |
//! | fire and forget | `kin::a_detached_start_is_nobodys_child_and_no_orphan` |
//! | who spawned whom | `kin::who_started_whom_can_be_said_in_a_line_that_outlives_the_history` |
//! | nondeterminism is noticed as ever | `versions::code_that_does_not_fit_is_noticed_as_if_nothing_had_been_pruned` |
//! | crash, prune with continue | `crashes::continue_with_prune`, `crashes::continue_by_policy`, `killed::processes_that_prune_and_cancel_are_killed` |
//! | crash, prune then continue | `crashes::prune_then_continue`, `crashes::prune_before_anything_else`, `crashes::between_the_prune_and_its_record`, `abide-engine::micro::prune::replay_does_not_prune_again` |
//! | crash, cancel | `crashes::cancel`, `killed::processes_that_prune_and_cancel_are_killed` |
//! | growth without bounds | `forever::what_it_costs_and_takes_on_a_file_stays_the_same`, `forever::without_a_policy_it_grows` |
//! | question 1, who waits for it | `in_code::code_prunes_and_hears_what_was_deleted`, `in_code::a_prune_costs_no_activity` |
//! | question 2, when it fails | `in_code::a_prune_that_fails_is_an_answer`, `policies::a_store_that_refuses_to_prune_does_not_hold_up_the_orchestration`, `policies::a_store_that_refuses_what_the_code_prunes_does_not_hold_up_the_orchestration`, `policies::a_store_without_an_administrative_side_prunes_nothing_and_that_is_told_once`, `policies::a_store_that_does_not_prune_is_told_of_once_until_it_prunes_and_counted_every_time`, `policies::what_is_refused_anyway_is_not_blamed_on_the_prune`, `policies::a_store_that_cannot_prune_now_is_asked_until_it_can` |
//! | question 3, metrics | `in_code::every_form_is_counted`, `policies::a_store_that_refuses_to_prune_does_not_hold_up_the_orchestration` |
//! | question 4, time in policies | `policies::what_ended_a_short_time_ago_is_kept_by_the_clock_of_the_store`, `policies::what_ended_a_short_time_ago_is_kept_by_the_clock_of_the_store_whatever_time_it_is_elsewhere` |
//! | question 5, opting out | `policies::an_execution_may_opt_out_and_explicit_calls_always_work` |
//! | retention | `age::finished_instances_are_removed_when_they_are_old_enough`, `age::a_tree_goes_as_a_whole_and_an_eternal_instance_never`, `age::without_retention_nothing_is_removed`, `age::a_round_that_fails_is_told_once_and_a_later_one_catches_up`, `age::the_first_round_comes_soon_after_the_start`, `age::who_asks_for_retention_where_there_is_none_is_told`, `age::retention_that_makes_no_sense_is_refused` |
//! | whatever is chosen | `chance::policies_and_code_prune_and_hear_what_the_model_says`, `stores::nothing_that_is_needed_goes` |

mod age;
mod fences;
mod in_code;
mod kept;
mod kin;
mod policies;
mod versions;
mod wishes;

mod chance;
mod crashes;
mod forever;
mod killed;
mod past;
mod stores;

use std::time::Duration;

use abide_engine::OrchestrationContext;
use abide_model::PruneOptions;
use abide_provider::ProviderAdmin as _;
use abide_runtime::registry::OrchestrationOptions;
use abide_runtime::{AutoPruneConfig, AutoPrunePolicy};

use crate::lessons::scene::{Code, Scene};
use crate::lessons::table;

const MINUTE: Duration = Duration::from_secs(60);

/// In the order of the proposal.
const SCENARIOS: &[&str] = &[
    "pruning by an activity",
    "option A, in code",
    "option B, with continue-as-new",
    "option C, at registration",
    "option D, by configuration",
    "several of them at once",
    "all of them, on a file too",
    "replay needs the current execution only",
    "version A, pruned in normal operation",
    "version B, rolled back after a prune",
    "version C, looking at the old version",
    "keeping more during upgrades",
    "keeping by time and by count",
    "preserved and lost",
    "children and their parent link",
    "unobserved 1, a loser",
    "unobserved 2, never awaited",
    "a completion that comes after the prune",
    "what becomes of orphans",
    "orphan cleanup",
    "fire and forget",
    "who spawned whom",
    "nondeterminism is noticed as ever",
    "crash, prune with continue",
    "crash, prune then continue",
    "crash, cancel",
    "growth without bounds",
    "question 1, who waits for it",
    "question 2, when it fails",
    "question 3, metrics",
    "question 4, time in policies",
    "question 5, opting out",
    "retention",
    "whatever is chosen",
];

#[test]
fn every_scenario_has_a_test() {
    table::check(include_str!("mod.rs"), "pruning", SCENARIOS.iter().map(|&name| name.to_owned()), |name| {
        name != "every_scenario_has_a_test"
    });
}

fn keeps(keep_last: u32) -> AutoPrunePolicy {
    AutoPrunePolicy { keep_last, ..AutoPrunePolicy::default() }
}

fn keep(keep_last: u32) -> PruneOptions {
    PruneOptions { keep_last: Some(keep_last), ..PruneOptions::default() }
}

/// Continues as new until it has run so often, a minute each time; the last says which it is.
async fn repeats(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_timer(MINUTE).await;
    let last: u64 = input.parse().map_err(|_| "no number")?;
    if ctx.execution_id() < last {
        return ctx.continue_as_new(input).await;
    }
    Ok(ctx.execution_id().to_string())
}

fn code() -> Code {
    Code::bare().orchestration("Repeats", repeats)
}

fn registered(policy: AutoPrunePolicy) -> Code {
    let mut code = Code::bare();
    let options = OrchestrationOptions { auto_prune: Some(policy) };
    code.orchestrations = code.orchestrations.register_with_options("Repeats", repeats, options);
    code
}

fn configured(code: Code, config: AutoPruneConfig) -> Code {
    code.options(|options| options.auto_prune = config)
}

/// Runs it ten times; gives what is left.
async fn left_of_ten(scene: &Scene, code: Code) -> Vec<u64> {
    scene.node(code).await;
    assert_eq!(scene.run("i", "Repeats", "10").await.unwrap(), "10");
    let left = scene.world.memory.list_executions("i").await.unwrap();
    scene.close().await;
    left
}
