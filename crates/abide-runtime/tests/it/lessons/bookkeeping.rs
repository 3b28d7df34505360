//! §3.4: limits, the end of a history, what is counted, and what is registered.

use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_model::Event;
use abide_model::limits::MAX_KV_KEYS;
use abide_runtime::Runtime;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_sqlite::SqliteProvider;
use expect_test::expect;
use metrics::with_local_recorder;

use super::scene::{Code, every_way};
use crate::recorder::Shown;

fn writes_keys(first: usize, then: usize) -> Code {
    Code::new().orchestration("Writes", move |ctx, _| async move {
        for number in 0..first {
            ctx.set_kv_value(format!("first{number}"), "");
        }
        ctx.schedule_activity("Echo", "another turn").await?;
        for number in 0..then {
            ctx.set_kv_value(format!("then{number}"), "");
        }
        ctx.schedule_activity("Echo", "and another").await
    })
}

#[test]
fn lesson_03_27_keys_are_counted_over_all_turns() {
    every_way(|scene| async move {
        scene.node(writes_keys(100, MAX_KV_KEYS - 100)).await;
        assert_eq!(scene.run("as-many", "Writes", "").await.unwrap(), "and another");
        scene.close().await;
        scene.node(writes_keys(100, MAX_KV_KEYS - 99)).await;
        let end = scene.run("too-many", "Writes", "").await.unwrap_err();
        assert!(end.contains("150"), "{end}");
    });
}

/// The one end of this history is its last event.
fn ends_once(events: &[Event]) {
    let ends: Vec<_> = events.iter().filter(|event| event.is_terminal()).map(Event::event_id).collect();
    assert_eq!(ends, [events.last().unwrap().event_id], "{events:#?}");
}

#[test]
fn lesson_03_28_a_limit_broken_while_returning_leaves_one_end() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Greedy", |ctx, _| async move {
            ctx.schedule_activity("Echo", "").await?;
            for number in 0..=MAX_KV_KEYS {
                ctx.set_kv_value(number.to_string(), "");
            }
            Ok("done".to_owned())
        });
        scene.node(code).await;
        assert!(scene.run("greedy", "Greedy", "").await.is_err());
        ends_once(&scene.events("greedy", 1).await);
    });
}

#[test]
fn lesson_03_29_the_terminal_event_is_the_last_one() {
    every_way(|scene| async move {
        let code = Code::new()
            .orchestration("Returns", |ctx, _| async move {
                let _work = ctx.schedule_activity("Sleep", "3600000");
                let _child = ctx.schedule_sub_orchestration("Wait", "");
                ctx.schedule_timer(Duration::from_secs(1)).await;
                Ok("done".to_owned())
            })
            .orchestration("Continues", |ctx, input| async move {
                let _work = ctx.schedule_activity("Sleep", "3600000");
                ctx.schedule_timer(Duration::from_secs(1)).await;
                if input == "again" { Err("enough".to_owned()) } else { ctx.continue_as_new("again").await }
            });
        scene.node(code).await;
        scene.run("returns", "Returns", "").await.unwrap();
        scene.run("continues", "Continues", "").await.unwrap_err();
        ends_once(&scene.events("returns", 1).await);
        ends_once(&scene.events("continues", 1).await);
        ends_once(&scene.events("continues", 2).await);
    });
}

#[test]
fn lesson_03_30_each_thing_is_counted_once() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Counted", |ctx, input| async move {
            ctx.schedule_activity("Echo", "").await?;
            let _error = ctx.schedule_activity("Fail", "no").await;
            ctx.schedule_timer(Duration::from_secs(60)).await;
            if input.is_empty() { ctx.continue_as_new("again").await } else { Err("enough".to_owned()) }
        });
        let node = scene.node(code).await;
        scene.run("counted", "Counted", "").await.unwrap_err();
        scene.run("hello", "Hello", "you").await.unwrap();
        let snapshot = node.metrics_snapshot().unwrap();
        assert_eq!((snapshot.orch_starts, snapshot.orch_completions, snapshot.orch_failures), (3, 1, 1));
        assert_eq!((snapshot.orch_application_errors, snapshot.orch_continue_as_new), (1, 1));
        assert_eq!((snapshot.activity_success, snapshot.activity_app_errors), (3, 2));
        assert_eq!((snapshot.orch_poison, snapshot.provider_errors), (0, 0));
    });
}

#[test]
fn lesson_03_30_durations_and_turns_are_those_of_the_whole_execution() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        every_way(|scene| async move {
            let code = Code::new().orchestration("Long", |ctx, _| async move {
                ctx.schedule_timer(Duration::from_secs(60)).await;
                ctx.schedule_activity("Echo", "").await
            });
            scene.node(code).await;
            scene.run("long", "Long", "").await.unwrap();
        });
    });
    let text = shown.text();
    let about: Vec<_> = text.lines().filter(|line| line.starts_with("abide_orchestration_")).collect();
    let about: Vec<_> = about.into_iter().filter(|line| !line.contains("dispatcher")).collect();
    expect![[r#"
        [
            "abide_orchestration_completions_total{orchestration_name=Long, version=1.0.0, status=success, final_turn_count=1-5} 4",
            "abide_orchestration_duration_seconds{orchestration_name=Long, version=1.0.0, status=success} [60.0, 60.0, 60.0, 60.0]",
            "abide_orchestration_history_size{orchestration_name=Long} [6.0, 6.0, 6.0, 6.0]",
            "abide_orchestration_starts_total{orchestration_name=Long, version=1.0.0, initiated_by=client} 4",
            "abide_orchestration_turns{orchestration_name=Long} [3.0, 3.0, 3.0, 3.0]",
        ]
    "#]]
    .assert_debug_eq(&about);
    assert!(!text.contains("execution_id"), "a label without bounds: {text}");
}

#[tokio::test]
async fn lesson_03_31_times_and_depths_are_real_on_sqlite() {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let activities = ActivityRegistry::builder().build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Waits", |ctx: abide_engine::OrchestrationContext, _| async move {
            ctx.set_custom_status("waiting");
            // A timer of the future is no queue.
            let _later = ctx.schedule_timer(Duration::from_secs(3_600));
            Ok(ctx.schedule_wait("go").await)
        })
        .build();
    let node = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store.clone());
    client.start_orchestration("waits", "Waits", "").await.unwrap();
    let patience = Duration::from_secs(30);
    client.wait_for_status_change("waits", 0, Duration::from_millis(10), patience).await.unwrap();
    let before = client.get_instance_info("waits").await.unwrap();
    assert!(before.created_at > 0 && before.updated_at >= before.created_at, "{before:?}");
    assert_eq!(client.get_queue_depths().await.unwrap().orchestrator_queue, 0);
    client.raise_event("waits", "go", "now").await.unwrap();
    client.wait_for_orchestration("waits", patience).await.unwrap();
    let after = client.get_instance_info("waits").await.unwrap();
    assert!(after.updated_at >= before.updated_at, "{after:?}");
    let execution = client.get_execution_info("waits", 1).await.unwrap();
    assert_eq!(execution.started_at, after.created_at);
    assert!(execution.completed_at.is_some_and(|time| time >= execution.started_at), "{execution:?}");
    node.shutdown(None).await;
}

#[test]
fn lesson_03_32_a_name_registered_twice_is_said_and_replaces_nothing() {
    every_way(|scene| async move {
        let twice = || {
            OrchestrationRegistry::builder()
                .register("Twice", |_, _| async move { Ok("first".to_owned()) })
                .register_typed("Twice", |_, _: String| async move { Ok("second".to_owned()) })
        };
        let said = twice().build_result().unwrap_err();
        assert!(said.contains("Twice@1.0.0"), "{said}");
        let code = Code::new();
        let merged = code.orchestrations.merge(twice().build());
        scene.node(Code { orchestrations: merged, ..Code::bare() }).await;
        assert_eq!(scene.run("twice", "Twice", "").await.unwrap(), "first");
    });
}
