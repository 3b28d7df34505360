//! §7, 0.1.20–0.1.29: custom status, orphans, tags, key-values, and large joins.

use std::collections::HashSet;
use std::time::Duration;

use abide_model::{OrchestrationStatus, PruneOptions};
use abide_provider::TagFilter;

use super::scene::{Code, LONG, every_way};

#[test]
fn lesson_07_0_1_20_a_custom_status_is_durable_and_outlives_continue_as_new() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Says", |ctx, round| async move {
            if round == "2" {
                let before = ctx.get_custom_status();
                ctx.schedule_wait("go").await;
                return Ok(format!("{before:?}"));
            }
            ctx.set_custom_status("one");
            ctx.schedule_activity("Echo", "").await?;
            ctx.set_custom_status("two");
            ctx.set_custom_status("three");
            ctx.continue_as_new("2").await
        });
        scene.node(code).await;
        scene.start("says", "Says", "1").await;
        scene.until(|dump| dump.instances.get("says").is_some_and(|it| it.execution == 2)).await;
        let status = scene.client().get_orchestration_status("says").await.unwrap();
        // One more with each commit that says something, however often it says it.
        let expected = OrchestrationStatus::Running {
            custom_status: Some("three".to_owned()),
            custom_status_version: 2,
        };
        assert_eq!(status, expected);
        scene.close().await;
        assert_eq!(scene.client().get_orchestration_status("says").await.unwrap(), expected);
    });
}

#[test]
fn lesson_07_0_1_20_a_custom_status_is_the_same_on_every_replay() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Says", |ctx, round| async move {
            let before = ctx.get_custom_status();
            ctx.set_custom_status(format!("round {round}"));
            ctx.schedule_activity("Echo", "").await?;
            ctx.schedule_activity("Echo", "").await?;
            match before {
                None => ctx.continue_as_new("2").await,
                Some(before) => Ok(format!("{before}, {}", ctx.get_custom_status().unwrap_or_default())),
            }
        });
        scene.node(code).await;
        assert_eq!(scene.run("says", "Says", "1").await.unwrap(), "round 1, round 2");
    });
}

#[test]
fn lesson_07_0_1_21_a_queue_message_before_the_start_is_dropped_and_makes_nobody_busy() {
    every_way(|scene| async move {
        let code =
            Code::new().orchestration("Reads", |ctx, _| async move { Ok(ctx.dequeue_event("q").await) });
        scene.node(code).await;
        scene.client().enqueue_event("reads", "q", "early").await.unwrap();
        scene.pass(Duration::from_secs(60)).await;
        let asked = scene.faults.count(scene.way.lease());
        assert!(asked <= 610, "the store was asked {asked} times in a minute");
        scene.start("reads", "Reads", "").await;
        scene.until_idle("reads").await;
        scene.client().enqueue_event("reads", "q", "late").await.unwrap();
        assert_eq!(scene.end_of("reads").await.unwrap(), "late");
    });
}

#[test]
fn lesson_07_0_1_22_a_tag_survives_the_turn_that_asks_for_the_activity() {
    every_way(|scene| async move {
        let code = |filter: TagFilter| {
            Code::new()
                .activity("Where", |ctx, _| async move { Ok(format!("{:?}", ctx.tag())) })
                .orchestration("Asks", |ctx, _| async move {
                    ctx.schedule_activity("Where", "").with_tag("gpu").await
                })
                .options(|options| options.worker_tag_filter = filter)
        };
        let plain = scene.node(code(TagFilter::DefaultOnly)).await;
        scene.start("asks", "Asks", "").await;
        scene.pass(Duration::from_secs(60)).await;
        assert_eq!(plain.metrics_snapshot().unwrap().worker_dispatcher_items_fetched, 0);
        scene.node(code(TagFilter::Tags(HashSet::from(["gpu".to_owned()])))).await;
        assert_eq!(scene.end_of("asks").await.unwrap(), r#"Some("gpu")"#);
    });
}

#[test]
fn lesson_07_0_1_25_pruning_executions_keeps_keys() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Keeps", |ctx, round| async move {
            if round == "3" {
                ctx.schedule_wait("go").await;
                return Ok(format!("{:?}", ctx.get_kv_entries()));
            }
            ctx.set_kv_value(format!("round{round}"), "kept");
            let next: u32 = round.parse::<u32>().unwrap() + 1;
            ctx.continue_as_new(next.to_string()).await
        });
        scene.node(code).await;
        scene.start("keeps", "Keeps", "1").await;
        scene.until(|dump| dump.instances.get("keeps").is_some_and(|it| it.execution == 3)).await;
        scene.until_idle("keeps").await;
        let options = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
        let pruned = scene.client().prune_executions("keeps", options).await.unwrap();
        assert_eq!(pruned.executions_deleted, 2);
        scene.client().raise_event("keeps", "go", "now").await.unwrap();
        let end = scene.end_of("keeps").await.unwrap();
        assert_eq!(end, r#"{"round1": "kept", "round2": "kept"}"#);
    });
}

#[test]
fn lesson_07_0_1_26_a_counter_counts_once_whatever_is_replayed() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Counts", |ctx, round| async move {
            for _ in 0..10 {
                let count: u32 = ctx.get_kv_value("count").map_or(0, |count| count.parse().unwrap());
                ctx.set_kv_value("count", (count + 1).to_string());
                ctx.schedule_activity("Echo", count.to_string()).await?;
            }
            match round.as_str() {
                "1" => ctx.continue_as_new("2").await,
                _ => Ok(ctx.get_kv_value("count").unwrap_or_default()),
            }
        });
        scene.node(code).await;
        assert_eq!(scene.run("counts", "Counts", "1").await.unwrap(), "20");
        let kept = scene.client().wait_for_kv_value("counts", "count", LONG).await.unwrap();
        assert_eq!(kept, "20");
    });
}

#[test]
fn lesson_07_0_1_27_the_size_of_what_cannot_be_read_is_an_error() {
    every_way(|scene| async move {
        scene.node(Code::new()).await;
        scene.run("hello", "Hello", "you").await.unwrap();
        let stats = scene.client().get_orchestration_stats("hello").await.unwrap().unwrap();
        assert_eq!(stats.history_event_count, 4);
        scene.world.memory.make_history_unreadable("hello", 1);
        let stats = scene.client().get_orchestration_stats("hello").await;
        assert!(stats.is_err(), "{stats:?}");
    });
}

#[test]
fn lesson_07_0_1_29_a_join_of_1024_completes() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Joins", |ctx, _| async move {
            let all = (0..1_024).map(|number| ctx.schedule_activity("Echo", number.to_string())).collect();
            let results = ctx.join(all).await;
            let sum: u32 = results.into_iter().map(|result| result.unwrap().parse::<u32>().unwrap()).sum();
            Ok(sum.to_string())
        });
        scene.node(code).await;
        assert_eq!(scene.run("joins", "Joins", "").await.unwrap(), (1_023 * 512).to_string());
    });
}
