//! §3.1, 6–10: what one fault, one repetition or one damaged row may cost.

use std::time::Duration;

use abide_model::{ErrorDetails, EventKind, WorkItem};
use abide_sim::{Fault, FaultPlan};

use super::scene::{Code, Scene, every_way, is_leased};

#[test]
fn lesson_03_06_two_seconds_of_contention_fail_nothing() {
    every_way(|scene| async move {
        let (commit, ends) = (scene.way.commit(), Duration::from_secs(2));
        scene.faults.set_plan(
            FaultPlan::none()
                .when(move |call| (call.operation == commit && call.at < ends).then_some(Fault::NotApplied)),
        );
        scene.node(Code::new()).await;
        assert_eq!(scene.run("hello", "Hello", "you").await.unwrap(), "hello you");
        assert!(scene.faults.injected().len() > 5, "five tries were too few for others");
        assert!(scene.time() >= ends);
        let failed = |kind: &EventKind| matches!(kind, EventKind::OrchestrationFailed { .. });
        assert_eq!(scene.count("hello", 1, failed).await, 0);
    });
}

#[test]
fn lesson_03_07_a_lease_that_is_given_up_is_given_back_at_once() {
    every_way(|scene| async move {
        let commit = scene.way.commit();
        let broken = scene.world.faulty(
            FaultPlan::none().when(move |call| (call.operation == commit).then_some(Fault::NotApplied)),
        );
        let an_hour = |code: Code| {
            code.options(|options| options.orchestrator_lock_timeout = Duration::from_secs(3_600))
        };
        let stuck =
            scene.node_on(scene.through(broken), scene.world.clock.clone(), an_hour(Code::new())).await;
        scene.start("hello", "Hello", "you").await;
        scene.until(is_leased).await;
        stuck.shutdown(Some(0)).await;
        assert!(!is_leased(&scene.world.memory.dump()));
        let before = scene.time();
        scene.node(Code::new()).await;
        assert_eq!(scene.end_of("hello").await.unwrap(), "hello you");
        assert!(scene.time() - before < Duration::from_secs(1));
    });
}

/// An instance that got an answer to its second event and waits for `go`.
async fn answered(scene: &Scene, orchestration: &str) {
    let code = Code::new()
        .orchestration("Failed", |ctx, _| async move {
            let end = ctx.schedule_activity("Fail", "no").await;
            ctx.schedule_wait("go").await;
            Ok(format!("{end:?}"))
        })
        .orchestration("Done", |ctx, _| async move {
            let end = ctx.schedule_activity("Echo", "yes").await;
            ctx.schedule_wait("go").await;
            Ok(format!("{end:?}"))
        })
        .orchestration("Parent", |ctx, _| async move {
            let end = ctx.schedule_sub_orchestration("Hello", "child").await;
            ctx.schedule_wait("go").await;
            Ok(format!("{end:?}"))
        });
    scene.node(code).await;
    scene.start("it", orchestration, "").await;
    let waits = |kind: &EventKind| matches!(kind, EventKind::ExternalSubscribed { .. });
    while scene.count("it", 1, waits).await == 0 {
        scene.pass(Duration::from_millis(10)).await;
    }
}

/// The answer that came changes nothing any more.
async fn goes_on_after(scene: &Scene, late: WorkItem) -> String {
    let before = scene.events("it", 1).await.len();
    scene.deliver(late).await;
    scene.until_idle("it").await;
    assert_eq!(scene.events("it", 1).await.len(), before, "nothing is recorded");
    scene.client().raise_event("it", "go", "now").await.unwrap();
    scene.end_of("it").await.unwrap()
}

fn activity_failed() -> WorkItem {
    let details = ErrorDetails::Application {
        kind: abide_model::AppErrorKind::ActivityFailed,
        message: "no".to_owned(),
        retryable: false,
    };
    WorkItem::ActivityFailed { instance: "it".to_owned(), execution_id: 1, id: 2, details }
}

#[test]
fn lesson_03_08_a_failure_that_is_delivered_twice_counts_once() {
    every_way(|scene| async move {
        answered(&scene, "Failed").await;
        assert_eq!(goes_on_after(&scene, activity_failed()).await, r#"Err("no")"#);
    });
}

#[test]
fn lesson_03_08_a_failure_after_a_result_counts_for_nothing() {
    every_way(|scene| async move {
        answered(&scene, "Done").await;
        assert_eq!(goes_on_after(&scene, activity_failed()).await, r#"Ok("yes")"#);
    });
}

#[test]
fn lesson_03_08_a_failure_of_a_child_after_its_result_counts_for_nothing() {
    every_way(|scene| async move {
        answered(&scene, "Parent").await;
        let late = WorkItem::SubOrchFailed {
            parent_instance: "it".to_owned(),
            parent_execution_id: 1,
            parent_id: 2,
            details: ErrorDetails::orchestration_failed("no"),
        };
        assert_eq!(goes_on_after(&scene, late).await, r#"Ok("hello child")"#);
    });
}

#[test]
fn lesson_03_09_work_that_cannot_be_read_stops_no_worker() {
    every_way(|scene| async move {
        let idle = scene.node(Code::new().options(|options| options.worker_concurrency = 0)).await;
        scene.start("bad", "Hello", "nobody").await;
        scene.until(|dump| !dump.work.is_empty()).await;
        idle.shutdown(None).await;
        for number in scene.world.memory.dump().work.into_keys() {
            scene.world.memory.make_work_unreadable(number);
        }
        scene.node(Code::new()).await;
        let before = scene.time();
        assert_eq!(scene.run("good", "Hello", "you").await.unwrap(), "hello you");
        assert!(scene.time() - before < Duration::from_secs(1));
        // Nobody can do it, and who asked is told so.
        let end = scene.end_of("bad").await.unwrap_err();
        assert!(end.contains("poison"), "{end}");
        assert_eq!(scene.world.memory.dump().dead_letters, 1);
    });
}

#[test]
fn lesson_03_10_a_message_that_cannot_be_read_is_kept_and_holds_up_no_other() {
    every_way(|scene| async move {
        let first = scene.node(Code::new()).await;
        scene.start("it", "Wait", "").await;
        scene.until_idle("it").await;
        first.shutdown(None).await;
        scene.client().raise_event("it", "other", "damaged").await.unwrap();
        for number in scene.world.memory.dump().messages.into_keys() {
            scene.world.memory.make_message_unreadable(number);
        }
        scene.client().raise_event("it", "go", "now").await.unwrap();
        scene.node(Code::new()).await;
        assert_eq!(scene.end_of("it").await.unwrap(), "now");
        scene.until(|dump| dump.dead_letters == 1).await;
        assert!(scene.world.memory.dump().messages.is_empty());
    });
}
