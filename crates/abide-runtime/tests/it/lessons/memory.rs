//! §3.3: what is kept too long, and what takes a process down.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use abide_model::EventKind;
use abide_sim::{Fault, FaultPlan};

use super::scene::{Code, Scene, Way, every_way, ways};

/// Code that waits for `go` and meanwhile holds a probe in everything that code can hold it in.
fn holding(probe: &Arc<()>) -> Code {
    let probe = Arc::clone(probe);
    Code::new().orchestration("Holds", move |ctx, _| {
        let probe = Arc::clone(&probe);
        async move {
            let held = Arc::clone(&probe);
            let mapped = ctx.schedule_activity("Echo", "1").map(move |result| (result, held).0);
            let typed = ctx.schedule_activity_typed::<_, u32>("Echo", &2).await?;
            let child = ctx.schedule_sub_orchestration_typed::<_, String>("Hello", &"child");
            ctx.schedule_wait("go").await;
            drop(probe);
            Ok(format!("{} {typed} {}", mapped.await?, child.await?))
        }
    })
}

#[test]
fn lesson_03_22_what_code_holds_is_released_when_it_ends() {
    every_way(|scene| async move {
        let probe = Arc::new(());
        scene.node(holding(&probe)).await;
        scene.start("it", "Holds", "").await;
        scene.until_idle("it").await;
        scene.client().raise_event("it", "go", "now").await.unwrap();
        assert_eq!(scene.end_of("it").await.unwrap(), "1 2 hello child");
        scene.until(|dump| dump.messages.is_empty()).await;
        // One for the test, one for the registered code.
        assert_eq!(Arc::strong_count(&probe), 2);
        scene.close().await;
        assert_eq!(Arc::strong_count(&probe), 1);
    });
}

#[test]
fn lesson_03_22_what_waiting_code_holds_is_released_when_it_is_evicted() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let probe = Arc::new(());
        // Room for four: none counts for more than a quarter.
        scene.node(holding(&probe).options(|options| options.instance_cache_bytes = 12_000)).await;
        scene.start("it", "Holds", "").await;
        scene.until_idle("it").await;
        assert!(Arc::strong_count(&probe) > 2, "it stays in memory");
        for number in 0..4 {
            let other = format!("other-{number}");
            scene.start(&other, "Wait", "").await;
            scene.until_idle(&other).await;
        }
        assert_eq!(Arc::strong_count(&probe), 2);
        scene.client().raise_event("it", "go", "now").await.unwrap();
        assert_eq!(scene.end_of("it").await.unwrap(), "1 2 hello child");
    });
}

async fn others_are_served(scene: &Scene) {
    assert_eq!(scene.run("other", "Hello", "you").await.unwrap(), "hello you");
}

#[test]
fn lesson_03_23_a_tag_that_comes_too_late_fails_only_that_orchestration() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Late", |ctx, _| async move {
            let activity = ctx.schedule_activity("Sleep", "60000");
            ctx.schedule_timer(Duration::from_secs(1)).await;
            activity.with_tag("gpu").await
        });
        scene.node(code).await;
        let end = scene.run("late", "Late", "").await.unwrap_err();
        assert!(end.contains("with_tag()"), "{end}");
        others_are_served(&scene).await;
    });
}

#[test]
fn lesson_03_24_errors_in_a_row_neither_end_a_dispatcher_nor_make_it_spin() {
    every_way(|scene| async move {
        let leases = [scene.way.lease(), scene.way.lease_work()];
        scene.faults.set_plan(FaultPlan::none().when(move |call| {
            let is_down = leases.contains(&call.operation) && call.at < Duration::from_secs(600);
            is_down.then_some(Fault::NotApplied)
        }));
        scene.node(Code::new()).await;
        assert_eq!(scene.run("it", "Hello", "you").await.unwrap(), "hello you");
        let failures = scene.faults.injected().len();
        // Two lanes, each waiting between half a second and a whole one before the next try.
        assert!((1_200..=2_400).contains(&failures), "{failures} calls failed in ten minutes");
        assert!(scene.time() < Duration::from_secs(602), "it went on when the store did");
    });
}

#[test]
fn lesson_03_25_a_payload_that_cannot_be_read_fails_one_orchestration_readably() {
    every_way(|scene| async move {
        let code = Code::new()
            .orchestration("Signal", |ctx, _| async move {
                Ok(ctx.schedule_wait_typed::<u32>("go").await.to_string())
            })
            .orchestration("Queue", |ctx, _| async move {
                Ok(ctx.dequeue_event_typed::<u32>("q").await.to_string())
            })
            .orchestration("Careful", |ctx, _| async move {
                let signal = ctx.try_schedule_wait_typed::<u32>("go").await.is_err();
                let message = ctx.try_dequeue_event_typed::<u32>("q").await.is_err();
                Ok(format!("{signal} {message}"))
            });
        scene.node(code).await;
        for name in ["Signal", "Queue", "Careful"] {
            scene.start(name, name, "").await;
            scene.until_idle(name).await;
            scene.client().raise_event(name, "go", "no number").await.unwrap();
            scene.client().enqueue_event(name, "q", "no number").await.unwrap();
        }
        for name in ["Signal", "Queue"] {
            let end = scene.end_of(name).await.unwrap_err();
            assert!(end.contains("is not a `u32`") && !end.contains("panicked"), "{end}");
        }
        assert_eq!(scene.end_of("Careful").await.unwrap(), "true true");
        others_are_served(&scene).await;
    });
}

#[test]
fn lesson_03_26_what_has_no_json_form_is_an_error_of_the_call() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        // Keys of JSON objects are strings.
        let odd = BTreeMap::from([((1, 2), 3)]);
        scene.node(Code::new()).await;
        scene.start("it", "Wait", "").await;
        let client = scene.client();
        assert!(client.raise_event_typed("it", "go", &odd).await.is_err());
        assert!(client.enqueue_event_typed("it", "q", &odd).await.is_err());
        assert!(client.start_orchestration_typed("other", "Wait", &odd).await.is_err());
        scene.until_idle("it").await;
        let came = |kind: &EventKind| {
            matches!(kind, EventKind::ExternalEvent { .. } | EventKind::QueueEventDelivered { .. })
        };
        assert_eq!(scene.count("it", 1, came).await, 0);
        assert_eq!(client.list_all_instances().await.unwrap(), ["it"]);
    });
}
