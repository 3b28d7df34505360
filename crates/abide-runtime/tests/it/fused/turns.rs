//! What a turn can come to, it comes to in a fused step too.

use std::time::Duration;

use abide_model::{EventKind, OrchestrationStatus};
use abide_provider::{Operation, ProviderAdmin as _, Rejection};
use abide_runtime::{AutoPruneConfig, AutoPrunePolicy};
use abide_sim::{Fault, FaultPlan};
use tracing::subscriber::set_default;

use super::{Written, written};
use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Way, ways};

/// An orchestration `Again`: one step in each of four executions.
fn again(code: Code) -> Code {
    code.orchestration("Again", |ctx, input| async move {
        let said = ctx.schedule_activity("Echo", format!("{input}.")).await?;
        if ctx.execution_id() < 4 { ctx.continue_as_new(said).await } else { Ok(said) }
    })
}

fn keeps_one() -> AutoPruneConfig {
    let policy = AutoPrunePolicy { keep_last: 1, ..AutoPrunePolicy::default() };
    AutoPruneConfig { default_policy: Some(policy), ..AutoPruneConfig::default() }
}

#[test]
fn it_continues_as_new() {
    ways(&[Way::Fused], |scene| async move {
        let node = scene.node(again(Code::bare())).await;
        assert_eq!(scene.run("i", "Again", "").await.unwrap(), "....");
        // A turn that begins each execution, and one that ends it.
        assert_eq!(written(&scene), Written { commits: 8, results: 0 });
        for execution in 1..=3 {
            let events = scene.events("i", execution).await;
            assert_eq!(events.len(), 4);
            assert!(matches!(events[3].kind, EventKind::OrchestrationContinuedAsNew { .. }), "{events:?}");
        }
        assert_eq!(node.metrics_snapshot().unwrap().orch_continue_as_new, 3);
    });
}

#[test]
fn what_a_policy_prunes_goes_with_it_and_is_told() {
    ways(&[Way::Fused], |scene| async move {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        scene.node(again(Code::bare()).options(|options| options.auto_prune = keeps_one())).await;
        assert_eq!(scene.run("i", "Again", "").await.unwrap(), "....");
        drop(hearing);
        // When the third ended, the two before it went.
        assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [3, 4]);
        assert_eq!(written(&scene), Written { commits: 8, results: 0 });
        assert_eq!(scene.faults.count(Operation::PruneExecutions), 0);
        assert_eq!(listener.count("earlier executions were pruned"), 2, "{:#?}", listener.lines());
    });
}

/// Fused or not, no prune keeps an orchestration from going on.
#[test]
fn a_prune_that_the_store_refuses_holds_up_nothing() {
    ways(&[Way::Fused], |scene| async move {
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let refused = Fault::Rejected(Rejection::Invalid);
        // With the result, and then by itself.
        let commit = Operation::CommitTurn;
        scene.faults.set_plan(FaultPlan::none().at(commit, 2, refused).at(commit, 3, refused));
        scene.node(again(Code::bare()).options(|options| options.auto_prune = keeps_one())).await;
        assert_eq!(scene.run("i", "Again", "").await.unwrap(), "....");
        drop(hearing);
        assert_eq!(listener.count("earlier executions could not be pruned"), 1, "{:#?}", listener.lines());
        assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [3, 4]);
        // The first execution has four commits, and nothing is fused any more.
        assert_eq!(written(&scene), Written { commits: 10, results: 4 });
    });
}

#[test]
fn what_code_prunes_when_it_continues_goes_with_it() {
    ways(&[Way::Fused], |scene| async move {
        let code = Code::bare().orchestration("Again", |ctx, input| async move {
            let said = ctx.schedule_activity("Echo", format!("{input}.")).await?;
            if ctx.execution_id() == 4 {
                return Ok(said);
            }
            let options = abide_model::PruneOptions { keep_last: Some(1), ..Default::default() };
            ctx.continue_as_new_pruned(said, options).await
        });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Again", "").await.unwrap(), "....");
        assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [3, 4]);
        assert_eq!(written(&scene), Written { commits: 8, results: 0 });
    });
}

#[test]
fn whoever_waits_for_its_end_is_told_and_what_it_starts_is_started() {
    ways(&[Way::Fused], |scene| async move {
        let code = Code::new()
            .orchestration("Parent", |ctx, input| async move {
                let good = ctx.schedule_sub_orchestration("Child", input).await?;
                let bad = ctx.schedule_sub_orchestration("Fails", "eggs").await.unwrap_err();
                Ok(format!("{good}, {bad}"))
            })
            .orchestration("Fails", |ctx, what| async move { ctx.schedule_activity("Fail", what).await })
            .orchestration("Child", |ctx, input| async move {
                let said = ctx.schedule_activity("Echo", input).await?;
                ctx.schedule_orchestration("Hello", "detached", "you");
                Ok(said)
            });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Parent", "milk").await.unwrap(), "milk, eggs");
        assert_eq!(scene.end_of("detached").await.unwrap(), "hello you");
        // Three turns of the parent, and two of everybody else.
        assert_eq!(written(&scene), Written { commits: 9, results: 0 });
    });
}

#[test]
fn a_panic_fails_its_instance_and_nobody_else() {
    ways(&[Way::Fused], |scene| async move {
        let code = Code::new().orchestration("Panics", |ctx, _| async move {
            ctx.schedule_activity("Echo", "").await?;
            panic!("out of eggs")
        });
        scene.node(code).await;
        let end = scene.run("i", "Panics", "").await.unwrap_err();
        assert!(end.contains("out of eggs"), "{end}");
        assert_eq!(written(&scene), Written { commits: 2, results: 0 });
        assert_eq!(scene.run("other", "Hello", "you").await.unwrap(), "hello you");
        assert_eq!(written(&scene), Written { commits: 4, results: 0 });
    });
}

#[test]
fn what_it_says_is_told() {
    ways(&[Way::Fused], |scene| async move {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let code = Code::bare().orchestration("Says", |ctx, _| async move {
            ctx.schedule_activity("Echo", "").await?;
            ctx.trace_info("half the way");
            ctx.set_custom_status("halfway");
            ctx.set_kv_value("key", "value");
            Ok(ctx.schedule_wait("go").await)
        });
        scene.node(code).await;
        scene.start("i", "Says", "").await;
        scene.until_idle("i").await;
        assert_eq!(written(&scene), Written { commits: 2, results: 0 });
        assert_eq!(listener.count("half the way"), 1);
        let status = scene.client().get_orchestration_status("i").await.unwrap();
        let OrchestrationStatus::Running { custom_status, custom_status_version } = status else {
            panic!("{status:?}")
        };
        assert_eq!((custom_status.as_deref(), custom_status_version), (Some("halfway"), 1));
        let value = scene.client().get_kv_value("i", "key").await.unwrap();
        assert_eq!(value.as_deref(), Some("value"));
        scene.client().raise_event("i", "go", "now").await.unwrap();
        assert_eq!(scene.end_of("i").await.unwrap(), "now");
        drop(hearing);
        assert_eq!(listener.count("half the way"), 1, "not again by a replay");
    });
}

/// The lease of an activity is old when it ends, and its answer may have been slow: what time it is, is known less well than in a
/// turn that came between.
#[test]
fn time_never_goes_back() {
    ways(&Way::ALL, |scene| async move {
        let code = Code::bare().orchestration("Both", |ctx, _| async move {
            let slept = ctx.schedule_activity("Sleep", "10000");
            let signal = ctx.schedule_wait("go").await;
            ctx.set_custom_status(signal);
            slept.await
        });
        let late = Fault::DelayAnswer(Duration::from_secs(2));
        scene.faults.set_plan(FaultPlan::none().at(scene.way.lease_work(), 1, late));
        scene.node(code).await;
        scene.start("i", "Both", "").await;
        scene.pass(Duration::from_millis(11_500)).await;
        scene.client().raise_event("i", "go", "now").await.unwrap();
        assert_eq!(scene.end_of("i").await.unwrap(), "10000");
        assert!(scene.faults.fired());
        let times: Vec<_> = scene.events("i", 1).await.iter().map(|event| event.timestamp_ms).collect();
        assert!(times.is_sorted(), "{times:?}");
    });
}
