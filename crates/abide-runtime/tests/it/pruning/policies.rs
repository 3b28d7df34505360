//! Pruning that nobody calls: where a policy is given, which one counts, and when the store does not want to.

use std::collections::BTreeMap;
use std::sync::Arc;

use abide_engine::OrchestrationContext;
use abide_model::PruneOptions;
use abide_provider::{Operation, ProviderAdmin as _, Rejection};
use abide_runtime::registry::{OrchestrationOptions, OrchestrationRegistry};
use abide_runtime::{AutoPruneConfig, AutoPrunePolicy, InvalidOptions, PruneTrigger, Runtime, StartError};
use abide_sim::{Fault, FaultPlan, Offset};
use metrics::with_local_recorder;
use tracing::subscriber::{set_default, with_default};

use super::{MINUTE, code, configured, keep, keeps, left_of_ten, registered, repeats};
use crate::e2e::support::ThirdParty;
use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};
use crate::recorder::Shown;

#[test]
fn without_a_policy_nothing_is_pruned() {
    every_way(|scene| async move {
        assert_eq!(left_of_ten(&scene, code()).await, (1..=10).collect::<Vec<_>>());
    });
}

#[test]
fn a_registered_policy_prunes_when_it_continues_as_new() {
    every_way(|scene| async move {
        // Of 1 to 9, which ended by continuing, one is kept; the last is the current one.
        assert_eq!(left_of_ten(&scene, registered(keeps(1))).await, [9, 10]);
    });
    every_way(|scene| async move {
        assert_eq!(left_of_ten(&scene, registered(keeps(3))).await, [7, 8, 9, 10]);
    });
}

#[test]
fn every_so_many_executions() {
    every_way(|scene| async move {
        let policy = AutoPrunePolicy { on: PruneTrigger::EveryNExecutions(4), ..keeps(1) };
        assert_eq!(left_of_ten(&scene, registered(policy)).await, [8, 9, 10]);
    });
}

#[test]
fn what_ended_a_short_time_ago_is_kept_by_the_clock_of_the_store() {
    every_way(|scene| async move {
        // Each takes a minute: at the end of the ninth, those before the sixth ended more than three minutes ago.
        let policy = AutoPrunePolicy { keep_for: Some(3 * MINUTE + MINUTE / 2), ..keeps(1) };
        assert_eq!(left_of_ten(&scene, registered(policy)).await, [6, 7, 8, 9, 10]);
    });
}

/// The clock of the node is a day ahead: for it, all of them ended long ago.
#[test]
fn what_ended_a_short_time_ago_is_kept_by_the_clock_of_the_store_whatever_time_it_is_elsewhere() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let policy = AutoPrunePolicy { keep_for: Some(3 * MINUTE + MINUTE / 2), ..keeps(1) };
        let ahead = Arc::new(scene.world.clock.skewed(Offset::Ahead(24 * 60 * MINUTE)));
        scene.node_on(scene.store(), ahead, registered(policy)).await;
        assert_eq!(scene.run("i", "Repeats", "10").await.unwrap(), "10");
        assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [6, 7, 8, 9, 10]);
    });
}

#[test]
fn an_override_counts_for_more_than_the_registration_and_that_for_more_than_the_default() {
    every_way(|scene| async move {
        let config = AutoPruneConfig { default_policy: Some(keeps(2)), ..AutoPruneConfig::default() };
        assert_eq!(left_of_ten(&scene, configured(code(), config.clone())).await, [8, 9, 10]);
        scene.client().delete_instance("i", true).await.unwrap();
        assert_eq!(left_of_ten(&scene, configured(registered(keeps(4)), config.clone())).await.len(), 5);
        scene.client().delete_instance("i", true).await.unwrap();
        let overrides = BTreeMap::from([("Repeats".to_owned(), keeps(1))]);
        let config = AutoPruneConfig { overrides, ..config };
        assert_eq!(left_of_ten(&scene, configured(registered(keeps(4)), config)).await, [9, 10]);
    });
}

#[test]
fn an_operator_may_switch_all_policies_off() {
    every_way(|scene| async move {
        let config = AutoPruneConfig {
            enabled: false,
            default_policy: Some(keeps(1)),
            overrides: BTreeMap::from([("Repeats".to_owned(), keeps(1))]),
        };
        assert_eq!(left_of_ten(&scene, configured(registered(keeps(1)), config)).await.len(), 10);
    });
}

#[test]
fn an_execution_may_opt_out_and_explicit_calls_always_work() {
    every_way(|scene| async move {
        let mut code = Code::bare();
        let options = OrchestrationOptions { auto_prune: Some(keeps(1)) };
        code.orchestrations = code.orchestrations.register_with_options(
            "Repeats",
            |ctx: OrchestrationContext, input: String| async move {
                ctx.set_auto_prune(false);
                match ctx.execution_id() {
                    10 => Ok("10".to_owned()),
                    // Explicit, and with its own idea of what to keep.
                    5 => {
                        ctx.continue_as_new_pruned(
                            input,
                            PruneOptions { keep_last: Some(3), completed_before: None },
                        )
                        .await
                    }
                    _ => ctx.continue_as_new(input).await,
                }
            },
            options,
        );
        let code = configured(code, AutoPruneConfig::default());
        assert_eq!(left_of_ten(&scene, code).await, (3..=10).collect::<Vec<_>>());
    });
}

#[test]
fn a_version_has_the_policy_it_was_registered_with() {
    every_way(|scene| async move {
        let mut code = registered(keeps(1));
        let options = OrchestrationOptions { auto_prune: Some(keeps(5)) };
        code.orchestrations =
            code.orchestrations.register_versioned_with_options("Repeats", "2.0.0", repeats, options);
        // Executions continue with the latest version.
        assert_eq!(left_of_ten(&scene, code).await, [5, 6, 7, 8, 9, 10]);
    });
}

#[test]
fn a_typed_version_may_have_one_too_and_a_merge_takes_it_over() {
    every_way(|scene| async move {
        let mut typed = registered(keeps(1));
        typed.orchestrations = typed.orchestrations.register_versioned_typed_with_options(
            "Repeats",
            "2.0.0",
            |ctx: OrchestrationContext, last: u64| async move {
                let number = ctx.execution_id();
                if number < last {
                    ctx.continue_as_new_typed(&last).await?;
                }
                Ok(number)
            },
            OrchestrationOptions { auto_prune: Some(keeps(3)) },
        );
        let mut code = Code::bare();
        code.orchestrations = code.orchestrations.merge(typed.orchestrations.build());
        assert_eq!(left_of_ten(&scene, code).await, [7, 8, 9, 10]);
    });
}

/// What is said when an orchestration goes on although nothing was pruned.
const NOT_PRUNED: &str = "earlier executions could not be pruned";

#[test]
fn a_store_without_an_administrative_side_prunes_nothing_and_that_is_told_once() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        ways(&[Way::Fused], |scene| async move {
            let listener = Listener::of_warnings();
            let hearing = set_default(listener.clone());
            let store = Arc::new(ThirdParty::new(scene.store()));
            scene.node_on(store, scene.world.clock.clone(), registered(keeps(1))).await;
            for instance in ["i", "j"] {
                assert_eq!(scene.run(instance, "Repeats", "3").await.unwrap(), "3");
                assert_eq!(scene.world.memory.list_executions(instance).await.unwrap(), [1, 2, 3]);
                assert_eq!(listener.count(NOT_PRUNED), 1, "{:#?}", listener.lines());
            }
            drop(hearing);
        });
    });
    let text = shown.text();
    assert!(text.contains("abide_prunes_refused_total{} 4"), "{text}");
}

#[test]
fn a_store_that_does_not_prune_is_told_of_once_until_it_prunes_and_counted_every_time() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        ways(&[Way::Plain], |scene| async move {
            let listener = Listener::of_warnings();
            let hearing = set_default(listener.clone());
            // The call behind the commit fails; only the fourth and the fifth do not.
            let refused = Fault::Rejected(Rejection::Invalid);
            let fails =
                [(1, refused), (2, Fault::NotApplied), (3, refused), (6, Fault::NotApplied), (7, refused)];
            let plan = fails.into_iter().fold(FaultPlan::none(), |plan, (ordinal, fault)| {
                plan.at(Operation::PruneExecutions, ordinal, fault)
            });
            scene.faults.set_plan(plan);
            scene.node(registered(keeps(1))).await;
            // An execution that continues asks once. The warnings until then, and what is left:
            let expected = [
                ("never pruned", "4", 1, vec![1, 2, 3, 4]),
                ("pruned", "3", 1, vec![2, 3]),
                ("not again", "3", 2, vec![1, 2, 3]),
            ];
            for (instance, last, warnings, left) in expected {
                assert_eq!(scene.run(instance, "Repeats", last).await.unwrap(), last);
                assert_eq!(scene.world.memory.list_executions(instance).await.unwrap(), left, "{instance}");
                assert_eq!(listener.count(NOT_PRUNED), warnings, "{instance}: {:#?}", listener.lines());
            }
            drop(hearing);
        });
    });
    let text = shown.text();
    assert!(text.contains("abide_prunes_refused_total{} 5"), "{text}");
}

#[test]
fn an_operator_may_override_a_policy_by_none() {
    every_way(|scene| async move {
        let overrides = BTreeMap::from([("Repeats".to_owned(), keeps(u32::MAX))]);
        let config = AutoPruneConfig { overrides, ..AutoPruneConfig::default() };
        assert_eq!(left_of_ten(&scene, configured(registered(keeps(1)), config)).await.len(), 10);
    });
}

#[test]
fn a_policy_that_never_prunes_is_a_mistake() {
    let never = AutoPrunePolicy { on: PruneTrigger::EveryNExecutions(0), ..keeps(1) };
    let options = OrchestrationOptions { auto_prune: Some(never.clone()) };
    let mistake = OrchestrationRegistry::builder()
        .register_with_options("Repeats", repeats, options.clone())
        .build_result()
        .unwrap_err();
    assert!(mistake.starts_with("orchestration Repeats@1.0.0: a policy that prunes every 0"), "{mistake}");
    // Without insisting, the orchestration is there, and its policy is not.
    let listener = Listener::default();
    let registry = with_default(listener.clone(), || {
        OrchestrationRegistry::builder().register_with_options("Repeats", repeats, options).build()
    });
    assert!(registry.has("Repeats"));
    assert_eq!(listener.count("a registration has a mistake"), 1);

    let overrides = BTreeMap::from([("Repeats".to_owned(), never)]);
    ways(&[Way::Fused, Way::Resident], |scene| async {
        let overrides = overrides.clone();
        let scene = scene;
        let options = abide_runtime::RuntimeOptions {
            auto_prune: AutoPruneConfig { overrides, ..AutoPruneConfig::default() },
            ..abide_runtime::RuntimeOptions::default()
        };
        let refused =
            Runtime::builder().with_provider(scene.store()).with_options(options).build().await.unwrap_err();
        let StartError::InvalidOptions(invalid @ InvalidOptions::AutoPrune { .. }) = refused else {
            panic!("{refused:?}")
        };
        assert!(
            invalid.to_string().starts_with("auto_prune, overrides of \"Repeats\": a policy"),
            "{invalid}"
        );
    });
}

/// Three executions; what the first asks to be pruned when it continues is refused, and that is told.
async fn refused_once(scene: &Scene, code: Code) {
    let listener = Listener::of_warnings();
    let hearing = set_default(listener.clone());
    // The second turn of the first execution continues as new: its commit prunes, or a call behind it.
    let (operation, ordinal) = match scene.way {
        Way::Fused | Way::Resident | Way::Cold => (Operation::CommitTurn, 2),
        Way::Plain => (Operation::PruneExecutions, 1),
    };
    let refused = Fault::Rejected(Rejection::Invalid);
    scene.faults.set_plan(FaultPlan::none().at(operation, ordinal, refused));
    scene.node(code).await;
    assert_eq!(scene.run("i", "Repeats", "3").await.unwrap(), "3");
    assert!(scene.faults.fired());
    assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [2, 3]);
    assert_eq!(listener.count(NOT_PRUNED), 1, "{:#?}", listener.lines());
    drop(hearing);
}

#[test]
fn a_store_that_refuses_to_prune_does_not_hold_up_the_orchestration() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        every_way(|scene| async move { refused_once(&scene, registered(keeps(1))).await });
    });
    let text = shown.text();
    // One in each of the four ways.
    assert!(text.contains("abide_prunes_refused_total{} 4"), "{text}");
    assert!(text.contains("abide_executions_pruned_total{} 4"), "{text}");
}

#[test]
fn a_store_that_refuses_what_the_code_prunes_does_not_hold_up_the_orchestration() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        every_way(|scene| async move {
            let code = Code::bare().orchestration("Repeats", |ctx, input| async move {
                ctx.schedule_timer(MINUTE).await;
                if ctx.execution_id() < 3 {
                    ctx.continue_as_new_pruned(input, keep(1)).await
                } else {
                    Ok(input)
                }
            });
            refused_once(&scene, code).await;
        });
    });
    let text = shown.text();
    // One in each of the four ways.
    assert!(text.contains("abide_prunes_refused_total{} 4"), "{text}");
    assert!(text.contains("abide_executions_pruned_total{} 4"), "{text}");
}

#[test]
fn what_is_refused_anyway_is_not_blamed_on_the_prune() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
            let refused = Fault::Rejected(Rejection::Invalid);
            let plan =
                FaultPlan::none().at(Operation::CommitTurn, 2, refused).at(Operation::CommitTurn, 3, refused);
            scene.faults.set_plan(plan);
            scene.node(registered(keeps(1))).await;
            let failed = scene.run("i", "Repeats", "3").await.unwrap_err();
            assert!(!failed.contains("prune"), "{failed}");
        });
    });
    let text = shown.text();
    assert!(!text.contains("abide_prunes_refused_total{} "), "{text}");
}

#[test]
fn a_store_that_cannot_prune_now_is_asked_until_it_can() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let plan = FaultPlan::none().at(Operation::CommitTurn, 4, Fault::NotApplied).at(
            Operation::CommitTurn,
            5,
            Fault::Unknown,
        );
        scene.faults.set_plan(plan);
        assert_eq!(left_of_ten(&scene, registered(keeps(1))).await, [9, 10]);
    });
}
