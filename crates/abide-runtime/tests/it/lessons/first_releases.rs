//! §7, 0.1.3–0.1.19: roll-outs, versions, select losers, and what must be recorded to be replayed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::{Either2, EventKind, ExecutionStatus};

use super::scene::{Code, Way, every_way, ways};

fn asks_for_rare(code: Code) -> Code {
    code.orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Rare", "").await })
}

#[test]
fn lesson_07_0_1_3_work_given_back_with_a_delay_is_not_taken_again_before() {
    every_way(|scene| async move {
        let node = scene.node(asks_for_rare(Code::new())).await;
        scene.start("asks", "Asks", "").await;
        scene.pass(Duration::from_secs(10)).await;
        // At once, and after 1, 2 and 4 seconds more.
        assert_eq!(node.metrics_snapshot().unwrap().worker_dispatcher_items_fetched, 4);
    });
}

#[test]
fn lesson_07_0_1_5_a_delay_is_no_lease_and_holds_for_everybody() {
    every_way(|scene| async move {
        let minute = Duration::from_secs(60);
        let slow = |code: Code| code.options(|options| options.unregistered_backoff.base_delay = minute);
        scene.node(slow(asks_for_rare(Code::new()))).await;
        scene.start("asks", "Asks", "").await;
        scene.until(|dump| dump.work.values().any(|work| work.visible_at.is_some())).await;
        let due = scene.time() + minute;
        let dump = scene.world.memory.dump();
        assert!(dump.work.values().all(|work| work.leased_until.is_none()), "{:?}", dump.work);
        scene.close().await;
        let with = asks_for_rare(Code::new()).activity("Rare", |_, _| async move { Ok("done".to_owned()) });
        scene.node(with).await;
        assert_eq!(scene.end_of("asks").await.unwrap(), "done");
        let (earliest, latest) = (due - Duration::from_millis(100), due + Duration::from_millis(200));
        assert!(scene.time() > earliest && scene.time() < latest, "{:?} for {due:?}", scene.time());
    });
}

#[test]
fn lesson_07_0_1_10_a_start_met_by_a_node_without_the_handler_waits_for_one_that_has_it() {
    every_way(|scene| async move {
        scene.node(Code::bare()).await;
        scene.start("hello", "Hello", "you").await;
        scene.pass(Duration::from_secs(3)).await;
        scene.node(Code::new()).await;
        assert_eq!(scene.end_of("hello").await.unwrap(), "hello you");
    });
}

/// Each version says which it is before and after an activity, and in every execution.
fn versions(code: Code, versions: &[&'static str]) -> Code {
    versions.iter().copied().fold(code, |code, version| {
        code.version("Ship", version, move |ctx, input| async move {
            let slept = ctx.schedule_activity("Sleep", "60000").await?;
            let said = format!("{input}/{version} {} after {slept}", ctx.orchestration_version());
            if input == "in" { ctx.continue_as_new_versioned("1.0.0", said).await } else { Ok(said) }
        })
    })
}

#[test]
fn lesson_07_0_1_11_a_completion_alone_wakes_the_version_that_was_recorded() {
    every_way(|scene| async move {
        scene.node(versions(Code::new(), &["1.0.0"])).await;
        scene.start("ship", "Ship", "in").await;
        for execution in [1, 2] {
            scene
                .until(|dump| {
                    let current = dump.instances.get("ship").map(|ship| ship.execution);
                    current == Some(execution) && !dump.work.is_empty()
                })
                .await;
            scene.close().await;
            scene.node(versions(Code::new(), &["1.0.0", "2.0.0"])).await;
        }
        let said = "in/1.0.0 1.0.0 after 60000/1.0.0 1.0.0 after 60000";
        assert_eq!(scene.end_of("ship").await.unwrap(), said);
    });
}

#[test]
fn lesson_07_0_1_12_a_late_loser_blocks_nobody_and_a_dropped_activity_is_cancelled() {
    every_way(|scene| async move {
        let cancelled = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&cancelled);
        let code = Code::new()
            .activity("Cooperative", move |ctx, _| {
                let seen = Arc::clone(&seen);
                async move {
                    ctx.cancelled().await;
                    seen.lock().unwrap().push(ctx.cancellation_reason());
                    Ok("too late".to_owned())
                }
            })
            .orchestration("Races", |ctx, _| async move {
                let (slow, fast) =
                    (ctx.schedule_activity("Sleep", "3000"), ctx.schedule_activity("Sleep", "1000"));
                let winner = match ctx.select2(slow, fast).await {
                    Either2::First(_) => "slow",
                    Either2::Second(_) => "fast",
                };
                drop(ctx.schedule_activity("Cooperative", ""));
                let forgotten = ctx.schedule_activity("Cooperative", "");
                ctx.schedule_timer(Duration::from_secs(10)).await;
                drop(forgotten);
                Ok(format!("{winner} {}", ctx.schedule_activity("Echo", "last").await?))
            });
        scene.node(code).await;
        assert_eq!(scene.run("races", "Races", "").await.unwrap(), "fast last");
        scene.pass(Duration::from_secs(60)).await;
        // The other one was dropped in the poll that asked for it, and never ran.
        assert_eq!(cancelled.lock().unwrap().len(), 1);
        assert!(scene.world.memory.dump().work.is_empty());
    });
}

#[test]
fn lesson_07_0_1_13_an_id_and_a_time_are_the_recorded_ones_after_a_restart() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Draws", |ctx, _| async move {
                let (id, now) = (ctx.new_guid().await?, ctx.utc_now().await?);
                let said = format!("{id} at {now:?}");
                let before = ctx.schedule_activity("Echo", said.clone()).await?;
                ctx.schedule_wait("go").await;
                let after = ctx.schedule_activity("Echo", said).await?;
                Ok(format!("{before}={after}"))
            })
        };
        scene.node(code()).await;
        scene.start("draws", "Draws", "").await;
        scene.until(|dump| dump.instances.get("draws").is_some_and(|it| it.last_event_id == 8)).await;
        scene.close().await;
        scene.pass(Duration::from_secs(60)).await;
        scene.node(code()).await;
        scene.client().raise_event("draws", "go", "now").await.unwrap();
        let end = scene.end_of("draws").await.unwrap();
        let (before, after) = end.split_once('=').unwrap();
        assert_eq!(before, after);
    });
}

#[test]
fn lesson_07_0_1_14_a_detached_start_replays_and_is_sent_once() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Tells", |ctx, _| async move {
            ctx.schedule_orchestration("Hello", "detached", "you");
            ctx.schedule_activity("Echo", "1").await?;
            ctx.schedule_activity("Echo", "2").await
        });
        scene.node(code).await;
        assert_eq!(scene.run("tells", "Tells", "").await.unwrap(), "2");
        assert_eq!(scene.end_of("detached").await.unwrap(), "hello you");
        let sent = |kind: &EventKind| matches!(kind, EventKind::OrchestrationChained { .. });
        assert_eq!(scene.count("tells", 1, sent).await, 1);
    });
}

#[test]
fn lesson_07_0_1_16_two_firings_of_one_timer_in_a_history_are_a_mismatch() {
    every_way(|scene| async move {
        let fired = || (Some(2), EventKind::TimerFired { fire_at_ms: 1 });
        scene.record(vec![(None, EventKind::TimerCreated { fire_at_ms: 1 }), fired(), fired()]).await;
        let code = Code::new().orchestration("It", |ctx, _| async move {
            ctx.schedule_timer(Duration::from_millis(1)).await;
            Ok(ctx.schedule_wait("go").await)
        });
        scene.node(code).await;
        scene.client().raise_event("it", "go", "now").await.unwrap();
        let end = scene.end_of("it").await.unwrap_err();
        assert!(end.starts_with("nondeterministic"), "{end}");
    });
}

#[test]
fn lesson_07_0_1_17_a_history_that_cannot_be_read_ends_and_keeps_its_events() {
    ways(&[Way::Cold, Way::Plain], |scene| async move {
        let node = scene.node(Code::new()).await;
        scene.start("it", "Wait", "").await;
        scene.until_idle("it").await;
        scene.world.memory.make_history_unreadable("it", 1);
        scene.client().raise_event("it", "go", "now").await.unwrap();
        let status = ExecutionStatus::Failed.to_string();
        scene.until(|dump| dump.executions[&("it".to_owned(), 1)].status == status).await;
        let ids = scene.world.memory.dump().executions[&("it".to_owned(), 1)].event_ids.clone();
        assert_eq!(ids, [1, 2, 99_999], "what was there stays, and the end comes behind it");
        // Once to start it, ten times to no avail, and once to end it.
        assert_eq!(node.metrics_snapshot().unwrap().orch_dispatcher_items_fetched, 12);
    });
}

#[test]
fn lesson_07_0_1_18_a_wait_after_a_lost_one_gets_the_next_signal() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Waits", |ctx, _| async move {
            let (wait, timer) = (ctx.schedule_wait("go"), ctx.schedule_timer(Duration::from_secs(1)));
            let first = match ctx.select2(wait, timer).await {
                Either2::First(_) => "signal",
                Either2::Second(()) => "timer",
            };
            Ok(format!("{first} {}", ctx.schedule_wait("go").await))
        });
        scene.node(code).await;
        scene.start("waits", "Waits", "").await;
        scene.pass(Duration::from_secs(2)).await;
        scene.client().raise_event("waits", "go", "now").await.unwrap();
        assert_eq!(scene.end_of("waits").await.unwrap(), "timer now");
    });
}

#[test]
fn lesson_07_0_1_19_two_signals_with_the_same_payload_both_count() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Waits", |ctx, _| async move {
            let (one, two) = (ctx.schedule_wait("go"), ctx.schedule_wait("go"));
            let (one, two) = ctx.join2(one, two).await;
            Ok(format!("{one} {two}"))
        });
        scene.node(code).await;
        scene.start("waits", "Waits", "").await;
        scene.until_idle("waits").await;
        for _ in 0..2 {
            scene.client().raise_event("waits", "go", "same").await.unwrap();
        }
        assert_eq!(scene.end_of("waits").await.unwrap(), "same same");
    });
}
