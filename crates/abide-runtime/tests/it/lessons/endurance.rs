//! §3.1, 11–15: long roll-outs, deletions, panics of the store, and leases shorter than the work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_model::EventKind;
use abide_provider::{InstanceFilter, Operation};
use abide_sim::{Fault, FaultPlan, VirtualClock};

use super::scene::{Code, Scene, Way, every_way, is_leased, ways};

const HOUR: Duration = Duration::from_secs(3_600);

fn first_version(code: Code) -> Code {
    code.version("Ship", "1.0.0", |ctx, _| async move {
        ctx.schedule_wait("go").await;
        Ok("one".to_owned())
    })
}

fn second_version(code: Code) -> Code {
    code.version("Ship", "2.0.0", |_, _| async move { Ok("two".to_owned()) })
}

#[test]
fn lesson_03_11_an_instance_whose_version_is_missing_for_an_hour_goes_on_when_it_is_back() {
    every_way(|scene| async move {
        let old = scene.node(first_version(Code::new())).await;
        scene.start("ship", "Ship", "").await;
        scene.until_idle("ship").await;
        old.shutdown(None).await;

        let new = scene.node(second_version(Code::new())).await;
        scene.client().raise_event("ship", "go", "now").await.unwrap();
        scene.pass(HOUR).await;
        assert_eq!(scene.client().list_instances_by_status("Running").await.unwrap(), ["ship"]);
        new.shutdown(None).await;

        scene.node(second_version(first_version(Code::new()))).await;
        assert_eq!(scene.end_of("ship").await.unwrap(), "one");
    });
}

#[test]
fn lesson_03_11_work_of_a_session_waits_an_hour_for_its_handler() {
    every_way(|scene| async move {
        let asks = |code: Code| {
            code.orchestration("Asks", |ctx, _| async move {
                ctx.schedule_activity_on_session("Rare", "", "desk").await
            })
        };
        let without = scene.node(asks(Code::new())).await;
        scene.start("asks", "Asks", "").await;
        scene.pass(HOUR).await;
        without.shutdown(None).await;
        let with = asks(Code::new()).activity("Rare", |_, _| async move { Ok("done".to_owned()) });
        scene.node(with).await;
        assert_eq!(scene.end_of("asks").await.unwrap(), "done");
    });
}

#[test]
fn lesson_03_12_an_instance_between_two_executions_is_not_deleted_as_old() {
    every_way(|scene| async move {
        let eternal = |code: Code| {
            code.version("Eternal", "1.0.0", |ctx, _| async move {
                ctx.continue_as_new_versioned("2.0.0", "again").await
            })
        };
        scene.node(eternal(Code::new())).await;
        scene.start("eternal", "Eternal", "").await;
        scene
            .until(|dump| {
                dump.instances.get("eternal").is_some_and(|it| it.status.as_deref() == Some("ContinuedAsNew"))
                    && !is_leased(dump)
            })
            .await;
        let all = InstanceFilter { instance_ids: None, completed_before: None, limit: None };
        let deleted = scene.client().delete_instance_bulk(all).await.unwrap();
        assert_eq!(deleted.instances_deleted, 0);
        scene
            .node(eternal(Code::new()).version("Eternal", "2.0.0", |_, input| async move { Ok(input) }))
            .await;
        assert_eq!(scene.end_of("eternal").await.unwrap(), "again");
    });
}

/// Asks for one of everything. Long enough that leases are renewed.
fn everything() -> Code {
    Code::new().orchestration("Everything", |ctx, _| async move {
        ctx.set_kv_value("key", "value");
        ctx.schedule_activity_on_session("Sleep", "40000", "desk").await?;
        ctx.schedule_timer(Duration::from_secs(1)).await;
        ctx.schedule_sub_orchestration("Hello", "child").await?;
        let signal = ctx.schedule_wait("go").await;
        ctx.new_guid().await?;
        ctx.schedule_activity("Echo", signal).await
    })
}

async fn run_everything(scene: &Scene) {
    // A commit takes so long that its lease is renewed meanwhile.
    let node = scene.node(everything()).await;
    scene.start("everything", "Everything", "").await;
    scene.pass(HOUR).await;
    scene.client().raise_event("everything", "go", "now").await.unwrap();
    assert_eq!(scene.end_of("everything").await.unwrap(), "now");
    assert_eq!(scene.run("after", "Hello", "you").await.unwrap(), "hello you");
    node.shutdown(None).await;
}

#[test]
fn lesson_03_13_a_store_that_panics_costs_no_dispatcher() {
    for way in Way::ALL {
        let calls = abide_sim::simulate(super::scene::LONG, async {
            let scene = Scene::new(way);
            run_everything(&scene).await;
            scene.faults.calls()
        });
        let mut kinds: Vec<Operation> = Vec::new();
        for (operation, _) in calls {
            if !kinds.contains(&operation) {
                kinds.push(operation);
            }
        }
        // Fused, there is no result that is told by itself.
        assert_eq!(kinds.contains(&way.finish()), way != Way::Fused, "{kinds:?}");
        assert!(kinds.len() > if way == Way::Fused { 7 } else { 8 }, "{kinds:?}");
        for kind in kinds {
            ways(&[way], |scene| async move {
                println!("{kind}");
                scene.faults.set_plan(FaultPlan::none().at(kind, 1, Fault::Panic));
                run_everything(&scene).await;
                assert!(scene.faults.fired());
            });
        }
    }
}

/// A parent with a child and an activity in flight, waiting for `go`.
async fn with_work_in_flight(scene: &Scene, code: Code) {
    scene.node(code).await;
    scene.start("parent", "Parent", "").await;
    scene.until(|dump| dump.instances.contains_key("child") && dump.work.len() == 1).await;
    scene.until(|dump| dump.instances.values().all(|it| it.leased_until.is_none())).await;
}

async fn nothing_goes_on(scene: &Scene) {
    let end = scene.end_of("child").await.unwrap_err();
    assert!(end.starts_with("canceled:"), "{end}");
    scene.until(|dump| dump.work.is_empty() && dump.messages.is_empty()).await;
    let asked = |kind: &EventKind| matches!(kind, EventKind::ActivityCancelRequested { .. });
    assert_eq!(scene.count("parent", 1, asked).await, 1);
}

fn parent(then: fn() -> String) -> Code {
    Code::new().orchestration("Parent", move |ctx, _| async move {
        let _child = ctx.schedule_sub_orchestration_with_id("Wait", "child", "");
        let _work = ctx.schedule_activity("Sleep", "86400000");
        ctx.schedule_wait("go").await;
        Ok(then())
    })
}

#[test]
fn lesson_03_14_a_panic_cancels_what_is_in_flight() {
    every_way(|scene| async move {
        with_work_in_flight(&scene, parent(|| panic!("out of eggs"))).await;
        scene.client().raise_event("parent", "go", "now").await.unwrap();
        let end = scene.end_of("parent").await.unwrap_err();
        assert!(end.contains("out of eggs"), "{end}");
        nothing_goes_on(&scene).await;
    });
}

#[test]
fn lesson_03_14_code_that_does_not_fit_cancels_what_is_in_flight() {
    every_way(|scene| async move {
        with_work_in_flight(&scene, parent(String::new)).await;
        scene.close().await;
        let changed = Code::new().orchestration("Parent", |ctx, _| async move {
            let _other = ctx.schedule_activity("Echo", "");
            Ok(ctx.schedule_wait("go").await)
        });
        scene.node(changed).await;
        scene.client().raise_event("parent", "go", "now").await.unwrap();
        let end = scene.end_of("parent").await.unwrap_err();
        assert!(end.starts_with("nondeterministic"), "{end}");
        nothing_goes_on(&scene).await;
    });
}

#[test]
fn lesson_03_14_poison_cancels_what_is_in_flight() {
    every_way(|scene| async move {
        let code = |workers: usize| {
            parent(String::new).options(|options| {
                options.max_attempts = 3;
                options.worker_concurrency = workers;
            })
        };
        with_work_in_flight(&scene, code(0)).await;
        scene.close().await;
        scene.client().raise_event("parent", "go", "now").await.unwrap();
        // Three processes die of it.
        for _ in 0..3 {
            scene.faults.set_plan(FaultPlan::none().at(scene.way.commit(), 1, Fault::HangBefore));
            let doomed = scene.doomed_node(code(0)).await;
            while !scene.faults.fired() {
                scene.pass(Duration::from_millis(10)).await;
            }
            doomed.kill();
            doomed.all_ended().await;
        }
        scene.faults.set_plan(FaultPlan::none());
        scene.node(code(1)).await;
        let end = scene.end_of("parent").await.unwrap_err();
        assert!(end.contains("poison"), "{end}");
        nothing_goes_on(&scene).await;
    });
}

#[test]
fn lesson_03_15_leases_shorter_than_a_second_are_renewed_in_time() {
    every_way(|scene| async move {
        let runs = Arc::new(AtomicU32::new(0));
        let code = |runs: &Arc<AtomicU32>| {
            let runs = Arc::clone(runs);
            Code::new()
                .activity("Long", move |_, _| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    async move {
                        VirtualClock::new().sleep(Duration::from_secs(10)).await;
                        Ok("done".to_owned())
                    }
                })
                .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Long", "").await })
                .options(|options| {
                    options.worker_lock_timeout = Duration::from_millis(300);
                    options.orchestrator_lock_timeout = Duration::from_millis(100);
                })
        };
        let commit = scene.way.commit();
        scene
            .faults
            .set_plan(FaultPlan::none().when(move |call| {
                (call.operation == commit).then_some(Fault::Delay(Duration::from_secs(1)))
            }));
        scene.node(code(&runs)).await;
        // Somebody else is there to take what is not kept.
        scene.node(code(&runs)).await;
        assert_eq!(scene.run("asks", "Asks", "").await.unwrap(), "done");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        let commits = scene.faults.count(commit);
        assert_eq!(commits, 2, "a turn was done again");
    });
}
