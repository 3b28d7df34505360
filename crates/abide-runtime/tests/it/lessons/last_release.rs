//! §7, 0.1.32: the gap between two executions, repeated starts, dropped dequeues, and shutting down.

use std::sync::Arc;
use std::time::Duration;

use abide_model::{Either2, EventKind, ExecutionStatus};
use abide_sim::{Gate, VirtualClock};

use super::scene::{Code, Scene, every_way, is_leased};

/// Reads two messages, in version 2.0.0; version 1.0.0 only makes way for it.
fn in_two_versions(code: Code) -> Code {
    code.version(
        "Reads",
        "1.0.0",
        |ctx, _| async move { ctx.continue_as_new_versioned("2.0.0", "second").await },
    )
    .version("Reads", "2.0.0", |ctx, input| async move {
        let (message, signal) = (ctx.dequeue_event("q").await, ctx.schedule_wait("go").await);
        Ok(format!("{input} {message} {signal}"))
    })
}

/// Brings an instance into the gap: its first execution is over, and nobody can start the second.
async fn into_the_gap(scene: &Scene) {
    let only_first = Code::new().version("Reads", "1.0.0", |ctx, _| async move {
        ctx.continue_as_new_versioned("2.0.0", "second").await
    });
    scene.node(only_first).await;
    scene.client().start_orchestration_versioned("reads", "Reads", "1.0.0", "first").await.unwrap();
    let between = ExecutionStatus::ContinuedAsNew.to_string();
    scene
        .until(|dump| {
            let status = dump.instances.get("reads").and_then(|it| it.status.clone());
            status.as_ref() == Some(&between) && !is_leased(dump)
        })
        .await;
}

#[test]
fn lesson_07_0_1_32a_mail_between_two_executions_waits_for_the_successor() {
    every_way(|scene| async move {
        into_the_gap(&scene).await;
        scene.client().enqueue_event("reads", "q", "message").await.unwrap();
        scene.pass(Duration::from_secs(3)).await;
        let kept = scene.world.memory.dump().messages.values().any(|message| message.class == "Queue");
        assert!(kept, "it was used up by nobody");
        scene.node(in_two_versions(Code::new())).await;
        scene.until(|dump| dump.instances["reads"].execution == 2).await;
        scene.until_idle("reads").await;
        scene.client().raise_event("reads", "go", "signal").await.unwrap();
        assert_eq!(scene.end_of("reads").await.unwrap(), "second message signal");
    });
}

#[test]
fn lesson_07_0_1_32b_a_second_start_changes_nothing() {
    every_way(|scene| async move {
        let echo = Code::new().orchestration("Echoes", |ctx, input| async move {
            let first = ctx.schedule_activity("Echo", input.clone()).await?;
            Ok(format!("{first} {input} {}", ctx.schedule_wait("go").await))
        });
        let client = scene.client();
        // In one batch, and once more while it runs.
        client.start_orchestration("it", "Echoes", "one").await.unwrap();
        client.start_orchestration("it", "Hello", "two").await.unwrap();
        scene.node(echo).await;
        scene.until_idle("it").await;
        client.start_orchestration("it", "Hello", "three").await.unwrap();
        scene.until_idle("it").await;
        client.raise_event("it", "go", "now").await.unwrap();
        assert_eq!(scene.end_of("it").await.unwrap(), "one one now");
    });
}

#[test]
fn lesson_07_0_1_32b_a_start_in_the_gap_does_not_displace_the_successor() {
    every_way(|scene| async move {
        into_the_gap(&scene).await;
        let client = scene.client();
        client.start_orchestration_versioned("reads", "Reads", "2.0.0", "wrong").await.unwrap();
        scene.node(in_two_versions(Code::new())).await;
        scene.until(|dump| dump.instances["reads"].execution == 2).await;
        scene.until_idle("reads").await;
        client.enqueue_event("reads", "q", "message").await.unwrap();
        client.raise_event("reads", "go", "signal").await.unwrap();
        assert_eq!(scene.end_of("reads").await.unwrap(), "second message signal");
    });
}

#[test]
fn lesson_07_0_1_32c_keys_are_pruned_in_an_order_that_replays() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Prunes", |ctx, round| async move {
            if round == "1" {
                for key in ["d", "a", "f", "c", "e", "b"] {
                    ctx.set_kv_value(key, "old");
                }
                return ctx.continue_as_new("2").await;
            }
            let pruned = ctx.prune_kv_values_updated_before(u64::MAX);
            ctx.schedule_activity("Echo", "a turn").await?;
            ctx.schedule_activity("Echo", "another").await?;
            Ok(format!("{pruned} {}", ctx.get_kv_length()))
        });
        scene.node(code).await;
        assert_eq!(scene.run("prunes", "Prunes", "1").await.unwrap(), "6 0");
        let events = scene.events("prunes", 2).await;
        let cleared: Vec<_> = events
            .into_iter()
            .filter_map(|event| match event.kind {
                EventKind::KeyValueCleared { key } => Some(key),
                _ => None,
            })
            .collect();
        assert_eq!(cleared, ["a", "b", "c", "d", "e", "f"]);
    });
}

#[test]
fn lesson_07_0_1_32e_a_dropped_dequeue_frees_its_place_and_keeps_its_message_for_the_next_execution() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Reads", |ctx, round| async move {
            if round == "2" {
                let (one, two) = ctx.join2(ctx.dequeue_event("q"), ctx.dequeue_event("q")).await;
                return Ok(format!("{one} {two}"));
            }
            let (dropped, kept) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            let gone = match ctx.select2(ctx.schedule_timer(Duration::from_secs(1)), dropped).await {
                Either2::First(()) => "timer",
                Either2::Second(_) => "message",
            };
            let first = kept.await;
            // The third message is given to a dequeue that is dropped unread.
            let unread = ctx.dequeue_event("q");
            ctx.schedule_timer(Duration::from_secs(60)).await;
            drop(unread);
            ctx.set_kv_value("first", format!("{gone} {first}"));
            ctx.continue_as_new("2").await
        });
        scene.node(code).await;
        scene.start("reads", "Reads", "1").await;
        scene.pass(Duration::from_secs(2)).await;
        for message in ["m1", "m2", "m3"] {
            scene.client().enqueue_event("reads", "q", message).await.unwrap();
        }
        assert_eq!(scene.end_of("reads").await.unwrap(), "m2 m3");
        let first = scene.client().get_kv_value("reads", "first").await.unwrap();
        assert_eq!(first.as_deref(), Some("timer m1"));
    });
}

#[test]
fn lesson_07_0_1_32f_a_successor_that_never_starts_fails_as_an_execution_of_its_own() {
    every_way(|scene| async move {
        into_the_gap(&scene).await;
        // Its start is tried ten times, ever later, and then given up.
        let end = scene.end_of("reads").await.unwrap_err();
        assert!(end.contains("poison"), "{end}");
        let ends = |kind: &EventKind| matches!(kind, EventKind::OrchestrationFailed { .. });
        assert_eq!((scene.count("reads", 1, ends).await, scene.count("reads", 2, ends).await), (0, 1));
        assert_eq!(scene.world.memory.dump().instances["reads"].execution, 2);
    });
}

#[test]
fn lesson_07_0_1_32g_a_shutdown_leaves_no_task_no_lease_and_no_hold_on_the_store() {
    every_way(|scene| async move {
        let holders = Arc::strong_count(&scene.faults);
        let gate = Gate::closed();
        let held = gate.clone();
        let code = Code::new()
            .activity("Held", move |ctx, _| {
                let held = held.clone();
                async move {
                    held.pass().await;
                    // Longer than the lease: it is renewed while the node ends.
                    VirtualClock::new().sleep(Duration::from_secs(40)).await;
                    if ctx.is_cancelled() { Ok("asked to stop".to_owned()) } else { Ok("done".to_owned()) }
                }
            })
            .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Held", "").await });
        let node = scene.node(code).await;
        scene.start("asks", "Asks", "").await;
        gate.waiting().await;
        gate.open();
        let before = scene.time();
        node.shutdown(Some(60_000)).await;
        let took = scene.time() - before;
        assert!(took >= Duration::from_secs(40) && took < Duration::from_secs(41), "{took:?}");
        assert_eq!(scene.world.tasks.running(), 0);
        assert!(!is_leased(&scene.world.memory.dump()));
        assert!(scene.world.memory.dump().work.is_empty(), "what it did counts");
        scene.close().await;
        assert_eq!(Arc::strong_count(&scene.faults), holders);
        scene
            .node(
                Code::new()
                    .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Held", "").await }),
            )
            .await;
        assert_eq!(scene.end_of("asks").await.unwrap(), "asked to stop");
    });
}
