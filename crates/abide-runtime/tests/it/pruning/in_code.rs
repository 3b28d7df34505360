//! Pruning that the code asks for itself.

use abide_model::{EventKind, PruneOptions};
use abide_provider::{Operation, ProviderAdmin as _, Rejection};
use abide_runtime::AutoPruneConfig;
use abide_sim::{Fault, FaultPlan};
use metrics::with_local_recorder;

use super::{MINUTE, keep, keeps};
use crate::e2e::support::{Node, World, names, on_every_store};
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};
use crate::recorder::Shown;

/// Five executions; each but the last prunes in its own way before it continues.
fn forms() -> Node {
    let goes_on = |input: &str| input.parse::<u64>().is_ok_and(|left| left > 0);
    let less = |input: &str| (input.parse::<u64>().unwrap_or(0) - 1).to_string();
    Node::new()
        .activity("PruneSelf", |ctx, _| async move {
            let pruned = ctx.get_client().prune_executions(ctx.instance_id(), keep(1)).await;
            pruned.map(|pruned| pruned.executions_deleted.to_string()).map_err(|error| error.to_string())
        })
        .orchestration("ByActivity", move |ctx, input| async move {
            ctx.schedule_activity("PruneSelf", "").await?;
            if goes_on(&input) { ctx.continue_as_new(less(&input)).await } else { Ok(input) }
        })
        .orchestration("InCode", move |ctx, input| async move {
            ctx.prune_history(keep(1)).await?;
            if goes_on(&input) { ctx.continue_as_new(less(&input)).await } else { Ok(input) }
        })
        .orchestration("WithContinue", move |ctx, input| async move {
            if goes_on(&input) { ctx.continue_as_new_pruned(less(&input), keep(1)).await } else { Ok(input) }
        })
        .orchestration("ByPolicy", move |ctx, input| async move {
            if goes_on(&input) { ctx.continue_as_new(less(&input)).await } else { Ok(input) }
        })
        .with(|options| {
            let overrides = [("ByPolicy".to_owned(), keeps(1))].into();
            options.auto_prune = AutoPruneConfig { overrides, ..AutoPruneConfig::default() };
        })
}

#[test]
fn every_form_leaves_the_same_on_every_store() {
    on_every_store(async |world: World| {
        let runtime = world.run(forms()).await;
        // The first two prune in the last execution too; the others when one continues, and that one is kept.
        for (form, left) in [
            ("ByActivity", vec![5]),
            ("InCode", vec![5]),
            ("WithContinue", vec![4, 5]),
            ("ByPolicy", vec![4, 5]),
        ] {
            assert_eq!(world.start_and_end(form, form, "4").await.unwrap(), "0");
            assert_eq!(world.client().list_executions(form).await.unwrap(), left, "{form}");
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_may_prune_its_own_instance() {
    on_every_store(async |world: World| {
        let runtime = world.run(forms()).await;
        world.start_and_end("i", "ByActivity", "2").await.unwrap();
        assert_eq!(world.client().list_executions("i").await.unwrap(), [3]);
        // Each found the one before it, and the activity that did it ended as any other.
        let history = world.history("i").await;
        let kind = &history[2].kind;
        assert!(matches!(kind, EventKind::ActivityCompleted { result } if result == "1"), "{history:#?}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn code_prunes_and_hears_what_was_deleted() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            if ctx.execution_id() < 4 {
                return ctx.continue_as_new(input).await;
            }
            let pruned = ctx.prune_history(keep(2)).await?;
            let again = ctx.prune_history(keep(2)).await?;
            Ok(format!("{} and {}", pruned.executions_deleted, again.executions_deleted))
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "2 and 0");
        assert_eq!(world.client().list_executions("i").await.unwrap(), [3, 4]);
        let history = world.history("i").await;
        let pruned = |kind: &&'static str| kind.starts_with("HistoryPrune");
        assert_eq!(
            names(&history).into_iter().filter(pruned).collect::<Vec<_>>(),
            ["HistoryPruneRequested", "HistoryPruned", "HistoryPruneRequested", "HistoryPruned"]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_first_turn_of_an_execution_prunes_like_any_other() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            let (keep_last, late) = input.split_once(' ').unwrap();
            if ctx.execution_id() < 4 {
                // There is nothing before the first, which is no error.
                ctx.prune_history(keep(9)).await?;
                return ctx.continue_as_new(input).await;
            }
            if late == "late" {
                ctx.schedule_activity("Echo", "").await?;
            }
            let pruned = ctx.prune_history(keep(keep_last.parse().unwrap())).await?;
            Ok(format!("{} executions, {} events", pruned.executions_deleted, pruned.events_deleted))
        });
        let runtime = world.run(node).await;
        // The first three have four events each: their start, the prune and its answer, and their end.
        for (keep_last, left, told) in [
            ("0", vec![4], "3 executions, 12 events"),
            ("1", vec![4], "3 executions, 12 events"),
            ("2", vec![3, 4], "2 executions, 8 events"),
            ("3", vec![2, 3, 4], "1 executions, 4 events"),
            ("7", vec![1, 2, 3, 4], "0 executions, 0 events"),
        ] {
            for when in ["early", "late"] {
                let instance = format!("{keep_last} {when}");
                assert_eq!(
                    world.start_and_end(&instance, "Main", &instance).await.unwrap(),
                    told,
                    "{instance}"
                );
                assert_eq!(world.client().list_executions(&instance).await.unwrap(), left, "{instance}");
            }
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn pruning_and_continuing_are_one_commit() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let code = Code::bare().orchestration("Main", |ctx, input| async move {
            if ctx.execution_id() < 3 { ctx.continue_as_new_pruned(input, keep(1)).await } else { Ok(input) }
        });
        scene.node(code).await;
        scene.run("i", "Main", "").await.unwrap();
        assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [2, 3]);
        // One turn each, and no call beside it.
        assert_eq!(scene.faults.count(Operation::CommitTurn), 3);
        assert_eq!(scene.faults.count(Operation::PruneExecutions), 0);
    });
}

#[test]
fn a_prune_costs_no_activity() {
    every_way(|scene| async move {
        let code = Code::bare().orchestration("Main", |ctx, _| async move {
            ctx.prune_history(keep(1)).await.map(|pruned| pruned.executions_deleted.to_string())
        });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Main", "").await.unwrap(), "0");
        // It is asked and answered in the first turn.
        assert_eq!(scene.faults.count(scene.way.commit()), 1);
        assert_eq!(scene.faults.count(scene.way.finish()), 0);
    });
}

#[test]
fn a_prune_that_fails_is_an_answer() {
    every_way(|scene| async move {
        let refused = Fault::Rejected(Rejection::Invalid);
        scene.faults.set_plan(FaultPlan::none().at(Operation::PruneExecutions, 1, refused));
        let code = Code::bare().orchestration("Main", |ctx, input| async move {
            if ctx.execution_id() == 1 {
                return ctx.continue_as_new(input).await;
            }
            ctx.schedule_activity("Echo", "").await?;
            let first = ctx.prune_history(keep(1)).await;
            let second = ctx.prune_history(keep(1)).await?;
            Ok(format!("{} then {}", first.is_err(), second.executions_deleted))
        });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Main", "").await.unwrap(), "true then 1");
        let failed = |kind: &EventKind| matches!(kind, EventKind::HistoryPruned { error: Some(_), .. });
        assert_eq!(scene.count("i", 2, failed).await, 1);
    });
}

/// Each execution takes a minute; the tenth prunes with these options.
async fn left_after(scene: &Scene, options: PruneOptions) -> Vec<u64> {
    let code = Code::bare().orchestration("Main", move |ctx, input| {
        let options = options.clone();
        async move {
            ctx.schedule_timer(MINUTE).await;
            if ctx.execution_id() < 10 {
                return ctx.continue_as_new(input).await;
            }
            ctx.prune_history(options).await.map(|_| input)
        }
    });
    scene.node(code).await;
    scene.run("i", "Main", "").await.unwrap();
    scene.world.memory.list_executions("i").await.unwrap()
}

#[test]
fn time_and_count_must_both_allow_it() {
    // The first four end in the first four minutes.
    let after_four = abide_sim::VirtualClock::EPOCH.saturating_add(4 * MINUTE + MINUTE / 2).as_millis();
    for (keep_last, completed_before, left) in [
        (Some(1), Some(after_four), 5..=10),
        (Some(8), Some(after_four), 3..=10),
        (None, Some(after_four), 5..=10),
        (Some(3), None, 8..=10),
        (None, None, 10..=10),
    ] {
        let options = PruneOptions { keep_last, completed_before };
        every_way(|scene| {
            let (options, left) = (options.clone(), left.clone());
            async move {
                assert_eq!(left_after(&scene, options).await, left.collect::<Vec<_>>());
            }
        });
    }
}

#[test]
fn every_form_is_counted() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        ways(&[Way::Fused], |scene| async move {
            let code = Code::bare()
                .orchestration("InCode", |ctx, input| async move {
                    ctx.prune_history(keep(1)).await?;
                    if ctx.execution_id() < 3 { ctx.continue_as_new(input).await } else { Ok(input) }
                })
                .orchestration("WithContinue", |ctx, input| async move {
                    match ctx.execution_id() {
                        4 => Ok(input),
                        _ => ctx.continue_as_new_pruned(input, keep(1)).await,
                    }
                })
                .orchestration("ByPolicy", |ctx, input| async move {
                    if ctx.execution_id() < 5 { ctx.continue_as_new(input).await } else { Ok(input) }
                })
                .options(|options| {
                    options.auto_prune.overrides = [("ByPolicy".to_owned(), keeps(1))].into();
                });
            scene.node(code).await;
            scene.run("a", "InCode", "").await.unwrap();
            scene.run("b", "WithContinue", "").await.unwrap();
            scene.run("c", "ByPolicy", "").await.unwrap();
        });
    });
    // Two, two and three.
    let text = shown.text();
    assert!(text.contains("abide_executions_pruned_total{} 7"), "{text}");
}
