//! S1–S4, S7, S8, S16, S25, S26: what is recorded, and what is replayed from it.

use std::time::Duration;

use abide_engine::OrchestrationContext;
use abide_model::{AppErrorKind, Either2, ErrorDetails, EventKind, OrchestrationStatus};

use super::on_dying_nodes;
use crate::lessons::scene::{Code, Scene, every_way};

async fn is_refused(scene: &Scene, asked: EventKind, answers: [EventKind; 2]) {
    let [one, two] = answers;
    scene.record(vec![(None, asked), (Some(2), one), (Some(2), two)]).await;
    let code = Code::new().orchestration("It", |ctx, _| async move {
        match ctx.schedule_activity("Echo", "x").await {
            Ok(_) | Err(_) => Ok(ctx.schedule_wait("go").await),
        }
    });
    scene.node(code).await;
    scene.client().raise_event("it", "go", "now").await.unwrap();
    let end = scene.end_of("it").await.unwrap_err();
    assert!(end.starts_with("nondeterministic"), "{end}");
}

#[test]
fn s01_two_answers_to_one_ask_in_a_history_are_not_accepted() {
    let asked = || EventKind::ActivityScheduled {
        name: "Echo".to_owned(),
        input: "x".to_owned(),
        session_id: None,
        tag: None,
    };
    let done = || EventKind::ActivityCompleted { result: "x".to_owned() };
    let failed = || EventKind::ActivityFailed {
        details: ErrorDetails::Application {
            kind: AppErrorKind::ActivityFailed,
            message: "x".to_owned(),
            retryable: false,
        },
    };
    every_way(|scene| async move { is_refused(&scene, asked(), [done(), done()]).await });
    every_way(|scene| async move { is_refused(&scene, asked(), [done(), failed()]).await });
    every_way(|scene| async move { is_refused(&scene, asked(), [failed(), failed()]).await });
}

#[test]
fn s02_a_start_that_nobody_waits_for_leaves_an_event() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Tells", |ctx, _| async move {
                ctx.schedule_activity("Echo", "before").await?;
                ctx.schedule_orchestration("Hello", "told", "you");
                let after = ctx.schedule_activity("Echo", "after").await?;
                ctx.schedule_timer(Duration::from_secs(1)).await;
                Ok(after)
            })
        };
        scene.start("tells", "Tells", "").await;
        assert_eq!(on_dying_nodes(&scene, "tells", code).await.unwrap(), "after");
        scene.node(code()).await;
        assert_eq!(scene.end_of("told").await.unwrap(), "hello you");
        let sent = |kind: &EventKind| matches!(kind, EventKind::OrchestrationChained { .. });
        assert_eq!(scene.count("tells", 1, sent).await, 1);
    });
}

#[test]
fn s03_ids_and_times_are_drawn_once() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Draws", |ctx, _| async move {
                let (id, time) = (ctx.new_guid().await?, ctx.utc_now().await?);
                let drawn = format!("{id} {time:?}");
                let first = ctx.schedule_activity("Echo", drawn.clone()).await?;
                ctx.schedule_timer(Duration::from_secs(3_600)).await;
                let second = ctx.schedule_activity("Echo", drawn.clone()).await?;
                Ok((first == drawn && second == drawn).to_string())
            })
        };
        scene.start("draws", "Draws", "").await;
        assert_eq!(on_dying_nodes(&scene, "draws", code).await.unwrap(), "true");
    });
}

async fn says(ctx: OrchestrationContext, version: &'static str) -> Result<String, String> {
    for _ in 0..3 {
        ctx.schedule_activity("Echo", version).await?;
    }
    Ok(version.to_owned())
}

#[test]
fn s04_a_completion_wakes_the_recorded_version_though_a_later_one_is_registered() {
    every_way(|scene| async move {
        let mut registered = ["1.0.0", "2.0.0", "3.0.0", "4.0.0"].iter();
        let mut code = Vec::new();
        let roll_out = || {
            code.extend(registered.next().copied());
            code.iter().fold(Code::new(), |known, version: &&'static str| {
                let version = *version;
                known.version("Says", version, move |ctx, _| says(ctx, version))
            })
        };
        scene.start("says", "Says", "").await;
        assert_eq!(on_dying_nodes(&scene, "says", roll_out).await.unwrap(), "1.0.0");
    });
}

#[test]
fn s07_what_an_execution_wrote_is_not_there_before_it_writes_it() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Counts", |ctx, round| async move {
                for _ in 0..3 {
                    let count: u32 = ctx.get_kv_value("n").map_or(0, |count| count.parse().unwrap());
                    ctx.schedule_activity("Echo", count.to_string()).await?;
                    ctx.set_kv_value("n", (count + 1).to_string());
                }
                if round == "1" { ctx.continue_as_new("2").await } else { Ok(ctx.get_kv_value("n").unwrap()) }
            })
        };
        scene.start("counts", "Counts", "1").await;
        assert_eq!(on_dying_nodes(&scene, "counts", code).await.unwrap(), "6");
    });
}

#[test]
fn s08_keys_come_in_the_same_order_in_every_process() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Lists", |ctx, round| async move {
                if round == "1" {
                    for key in ["h", "c", "a", "g", "b", "f", "e", "d", "j", "i"] {
                        ctx.set_kv_value(key, "");
                    }
                    return ctx.continue_as_new("2").await;
                }
                for key in ctx.get_kv_all_keys() {
                    ctx.schedule_activity("Echo", key).await?;
                }
                ctx.prune_kv_values_updated_before(u64::MAX);
                ctx.schedule_activity("Echo", "pruned").await
            })
        };
        scene.start("lists", "Lists", "1").await;
        assert_eq!(on_dying_nodes(&scene, "lists", code).await.unwrap(), "pruned");
    });
}

#[test]
fn s16_a_timer_and_a_message_in_one_turn_have_one_winner() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Races", |ctx, _| async move {
                let (timer, message) = (ctx.schedule_timer(Duration::from_secs(60)), ctx.dequeue_event("q"));
                let winner = match ctx.select2(message, timer).await {
                    Either2::First(_) => "message",
                    Either2::Second(()) => "timer",
                };
                let first = ctx.schedule_activity("Echo", winner).await?;
                let left = ctx.dequeue_event("q").await;
                let second = ctx.schedule_activity("Echo", winner).await?;
                Ok(format!("{first} {second} {left}"))
            })
        };
        scene.node(code()).await;
        scene.start("races", "Races", "").await;
        scene.until_idle("races").await;
        scene.close().await;
        scene.pass(Duration::from_secs(120)).await;
        for message in ["m1", "m2"] {
            scene.client().enqueue_event("races", "q", message).await.unwrap();
        }
        // The timer was there first.
        assert_eq!(on_dying_nodes(&scene, "races", code).await.unwrap(), "timer timer m1");
    });
}

#[test]
fn s25_a_custom_status_is_part_of_the_history() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Says", |ctx, _| async move {
                for step in 0..3 {
                    let before = ctx.get_custom_status().unwrap_or_default();
                    ctx.set_custom_status(format!("{before}{step}"));
                    ctx.schedule_activity("Echo", before).await?;
                }
                Ok(ctx.get_custom_status().unwrap_or_default())
            })
        };
        scene.start("says", "Says", "").await;
        assert_eq!(on_dying_nodes(&scene, "says", code).await.unwrap(), "012");
        let status = scene.client().get_orchestration_status("says").await.unwrap();
        let expected = OrchestrationStatus::Completed {
            output: "012".to_owned(),
            custom_status: Some("012".to_owned()),
            custom_status_version: 3,
        };
        assert_eq!(status, expected);
    });
}

#[test]
fn s26_the_loser_of_a_race_blocks_nothing_that_follows() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Races", |ctx, _| async move {
                for _ in 0..3 {
                    let (slow, fast) =
                        (ctx.schedule_activity("Sleep", "5000"), ctx.schedule_activity("Sleep", "1000"));
                    ctx.select2(slow, fast).await;
                    ctx.schedule_activity("Sleep", "6000").await?;
                }
                Ok("done".to_owned())
            })
        };
        scene.start("races", "Races", "").await;
        assert_eq!(on_dying_nodes(&scene, "races", code).await.unwrap(), "done");
    });
}
