//! §3.1, 1–5: messages for nobody, activities and children that were lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_model::{EventKind, OrchestrationStatus};
use abide_provider::{Operation, Rejection};
use abide_sim::{Fault, FaultPlan};

use tracing::subscriber::set_default;

use super::listener::Listener;
use super::scene::{Code, Scene, Way, every_way, ways};

/// A normal instance completes, and the store is not asked again and again about what cannot be run.
async fn others_are_served(scene: &Scene) {
    assert_eq!(scene.run("normal", "Hello", "you").await.unwrap(), "hello you");
    scene.faults.set_plan(FaultPlan::none());
    scene.pass(Duration::from_secs(60)).await;
    let asked = scene.faults.count(scene.way.lease());
    assert!(asked <= 600, "the store was asked {asked} times in a minute");
}

#[test]
fn lesson_03_01a_a_signal_to_a_typo_stops_nobody() {
    every_way(|scene| async move {
        scene.client().raise_event("typo", "go", "now").await.unwrap();
        scene.node(Code::new()).await;
        others_are_served(&scene).await;
    });
}

#[test]
fn lesson_03_01b_cancelling_what_is_missing_stops_nobody() {
    every_way(|scene| async move {
        scene.node(Code::new()).await;
        scene.client().cancel_instance("missing", "by mistake").await.unwrap();
        others_are_served(&scene).await;
    });
}

#[test]
fn mail_for_what_does_not_exist_is_told_of_once_a_minute_and_gone_after_an_hour() {
    ways(&[Way::Fused, Way::Cold], |scene| async move {
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let warning = "a message was sent to an instance that does not exist";
        let dropped = "a queue message was sent to an instance that does not exist; it is dropped";
        scene.node(Code::new()).await;
        for minute in 1..=2 {
            for _ in 0..3 {
                scene.client().raise_event("typo", "go", "a secret").await.unwrap();
                scene.client().cancel_instance("typo", "a secret").await.unwrap();
                scene.client().enqueue_event("typo", "orders", "a secret").await.unwrap();
            }
            assert_eq!(listener.count(warning), minute, "{:#?}", listener.lines());
            assert_eq!(listener.count(dropped), minute, "{:#?}", listener.lines());
            scene.pass(Duration::from_secs(60)).await;
        }
        scene.start("exists", "Wait", "").await;
        scene.client().raise_event("exists", "go", "").await.unwrap();
        scene.client().enqueue_event("exists", "orders", "").await.unwrap();
        drop(hearing);
        assert_eq!(listener.count(warning), 2, "{:#?}", listener.lines());
        assert_eq!(listener.count("instance_id=typo kind=\"signal\""), 2, "{:#?}", listener.lines());
        assert_eq!(listener.count("a secret"), 0, "{:#?}", listener.lines());
        scene.pass(Duration::from_secs(3_600)).await;
        scene.start("typo", "Wait", "").await;
        scene.until_idle("typo").await;
        let status = scene.client().get_orchestration_status("typo").await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
    });
}

#[test]
fn lesson_03_01c_a_child_dropped_in_the_turn_that_asked_for_it_stops_nobody() {
    every_way(|scene| async move {
        let hasty = Code::new().orchestration("Hasty", |ctx, _| async move {
            let _child = ctx.schedule_sub_orchestration("Wait", "");
            Ok("done".to_owned())
        });
        scene.node(hasty).await;
        assert_eq!(scene.run("hasty", "Hasty", "").await.unwrap(), "done");
        others_are_served(&scene).await;
        // The child exists, as canceled: the parent's history names it.
        let mut all = scene.client().list_all_instances().await.unwrap();
        all.sort();
        assert_eq!(all, ["hasty", "hasty::sub::2", "normal"]);
        let child = scene.client().get_instance_info("hasty::sub::2").await.unwrap();
        assert_eq!(child.status, "Failed");
    });
}

#[test]
fn lesson_03_02_a_renewal_that_fails_once_costs_no_activity() {
    every_way(|scene| async move {
        let plan = FaultPlan::none().at(Operation::RenewWorkItemLock, 1, Fault::NotApplied);
        scene.faults.set_plan(plan);
        let runs = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&runs);
        let code = Code::new()
            .activity("Cooperative", move |ctx, _| {
                seen.fetch_add(1, Ordering::Relaxed);
                let slept = abide_sim::VirtualClock::new().sleep(Duration::from_secs(100));
                async move {
                    slept.await;
                    if ctx.is_cancelled() { Err("cancelled".to_owned()) } else { Ok("done".to_owned()) }
                }
            })
            .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Cooperative", "").await });
        scene.node(code).await;
        assert_eq!(scene.run("asks", "Asks", "").await.unwrap(), "done");
        assert!(scene.faults.fired());
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    });
}

/// A parent that returns what its child came to, and a child of each kind.
fn family() -> Code {
    Code::new()
        .orchestration("Parent", |ctx, child| async move {
            let end = ctx.schedule_sub_orchestration_with_id(child, "child", "").await;
            Ok(format!("the child came to {end:?}"))
        })
        .orchestration("Greedy", |ctx, _| async move {
            ctx.set_custom_status("x".repeat(abide_model::limits::MAX_CUSTOM_STATUS_BYTES + 1));
            Ok("unreachable".to_owned())
        })
}

#[test]
fn lesson_03_03a_a_parent_hears_of_a_child_that_broke_a_limit() {
    every_way(|scene| async move {
        scene.node(family()).await;
        let end = scene.run("parent", "Parent", "Greedy").await.unwrap();
        assert!(end.contains("Err(") && end.contains("262144"), "{end}");
    });
}

#[test]
fn lesson_03_03b_a_parent_hears_of_a_child_whose_turn_is_refused() {
    every_way(|scene| async move {
        // The first commit is the parent's, the second the child's.
        let plan = FaultPlan::none().at(scene.way.commit(), 2, Fault::Rejected(Rejection::Invalid));
        scene.faults.set_plan(plan);
        scene.node(family()).await;
        let end = scene.run("parent", "Parent", "Hello").await.unwrap_err();
        assert!(scene.faults.fired());
        assert!(end.contains("infrastructure"), "{end}");
        assert!(scene.end_of("child").await.is_err());
    });
}

#[test]
fn lesson_03_03c_a_parent_hears_of_a_child_whose_history_cannot_be_read() {
    ways(&[Way::Cold, Way::Plain], |scene| async move {
        scene.node(family()).await;
        scene.start("parent", "Parent", "Wait").await;
        scene.until(|dump| dump.instances.contains_key("child")).await;
        scene.until_idle("child").await;
        scene.world.memory.make_history_unreadable("child", 1);
        scene.client().raise_event("child", "go", "now").await.unwrap();
        let end = scene.end_of("parent").await.unwrap_err();
        assert!(end.contains("poison"), "{end}");
    });
}

#[test]
fn lesson_03_04_a_detached_start_is_not_lost_when_its_turn_continues_as_new() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Eternal", |ctx, round| async move {
            if round == "2" {
                return Ok("over".to_owned());
            }
            ctx.schedule_orchestration("Hello", "n-1", "you");
            ctx.continue_as_new("2").await
        });
        scene.node(code).await;
        assert_eq!(scene.run("eternal", "Eternal", "1").await.unwrap(), "over");
        assert_eq!(scene.end_of("n-1").await.unwrap(), "hello you");
    });
}

#[test]
fn lesson_03_04_a_detached_start_is_not_lost_when_its_turn_is_cancelled() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Patient", |ctx, _| async move {
            ctx.schedule_wait("go").await;
            ctx.schedule_orchestration("Hello", "n-1", "you");
            Ok(ctx.schedule_wait("never").await)
        });
        scene.start("patient", "Patient", "").await;
        let node = scene.node(Code::new()).await;
        node.shutdown(None).await;
        scene.node(code).await;
        scene.until_idle("patient").await;
        // Both in one turn: the signal is first.
        let client = scene.client();
        client.raise_event("patient", "go", "now").await.unwrap();
        client.cancel_instance("patient", "enough").await.unwrap();
        assert_eq!(scene.end_of("patient").await.unwrap_err(), "canceled: enough");
        assert_eq!(scene.end_of("n-1").await.unwrap(), "hello you");
    });
}

#[test]
fn lesson_03_05_continue_as_new_cancels_what_its_execution_left_open() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Eternal", |ctx, round| async move {
            if round == "2" {
                return Ok("over".to_owned());
            }
            let _earlier = ctx.schedule_sub_orchestration_with_id("Wait", "earlier", "");
            ctx.schedule_wait("go").await;
            let _same_turn = ctx.schedule_sub_orchestration_with_id("Wait", "same-turn", "");
            let _work = ctx.schedule_activity("Sleep", "3600000");
            ctx.continue_as_new("2").await
        });
        scene.node(code).await;
        scene.start("eternal", "Eternal", "1").await;
        scene.until(|dump| dump.instances.contains_key("earlier")).await;
        scene.until_idle("earlier").await;
        scene.client().raise_event("eternal", "go", "now").await.unwrap();
        assert_eq!(scene.end_of("eternal").await.unwrap(), "over");
        let end = scene.end_of("earlier").await.unwrap_err();
        assert!(end.starts_with("canceled:"), "{end}");
        scene.until(|dump| dump.work.is_empty() && dump.messages.is_empty()).await;
        let end = scene.end_of("same-turn").await.unwrap_err();
        assert_eq!(end, "canceled: parent continued as new", "it exists, and has never run");
        let asked = |kind: &EventKind| matches!(kind, EventKind::ActivityCancelRequested { .. });
        assert_eq!(scene.count("eternal", 1, asked).await, 1);
    });
}
