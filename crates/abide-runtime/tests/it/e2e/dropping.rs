//! §9.1–9.3: futures that are dropped, and what is open when an execution ends.

use std::mem::ManuallyDrop;

use abide_model::EventKind;

use super::support::{Log, Node, World, millis, names, on_every_store, on_own_stores, seconds};

#[test]
fn what_is_dropped_is_recorded_ascending_after_the_asks_of_its_poll() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let node = Node::new()
            .patient("Patient", &log)
            .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("never").await) })
            .orchestration("Main", |ctx, _| async move {
                let all = (
                    ctx.schedule_activity("Patient", ""),
                    ctx.schedule_sub_orchestration("Child", ""),
                    ctx.schedule_wait("s"),
                    ctx.dequeue_event("q"),
                    ctx.schedule_timer(seconds(600)),
                );
                ctx.schedule_wait("go").await;
                let (activity, child, wait, dequeue, timer) = all;
                drop((timer, dequeue, wait, child, activity));
                ctx.schedule_activity("Echo", "after").await
            });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.recorded("i::sub::3", "ExternalSubscribed", 1).await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), "after");
        assert_eq!(
            world.trace("i").await[7..13],
            [
                "8 ExternalEvent go:",
                "9 ActivityScheduled Echo(after)",
                "10 ActivityCancelRequested[2] dropped_future",
                "11 SubOrchestrationCancelRequested[3] dropped_future",
                "12 ExternalSubscribedCancelled[4] dropped_future",
                "13 QueueSubscriptionCancelled[5] dropped_future",
            ]
        );
        // Each of them hears of it; the timer is not heard of again.
        assert_eq!(
            world.end("i::sub::3").await.unwrap_err(),
            "canceled: parent dropped sub-orchestration future"
        );
        assert_eq!(log.has(2).await[1], "Dropped");
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_forgotten_future_is_cancelled_by_the_end_only() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let node = Node::new().patient("Patient", &log).orchestration("Main", |ctx, _| async move {
            let _open = ManuallyDrop::new(ctx.schedule_activity("Patient", ""));
            ctx.schedule_activity("Echo", "x").await
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "x");
        assert_eq!(
            world.trace("i").await[4..],
            ["5 ActivityCancelRequested[2] orchestration_terminal_completed", "6 OrchestrationCompleted x"]
        );
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn dropping_a_completed_future_is_nothing() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let mut activity = ctx.schedule_activity("Echo", "x");
            let result = (&mut activity).await;
            drop(activity);
            ctx.schedule_timer(millis(5)).await;
            result
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "x");
        assert!(!names(&world.history("i").await).contains(&"ActivityCancelRequested"));
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_that_is_dropped_where_it_was_scheduled_never_starts() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let node = Node::new().patient("Patient", &log).orchestration("Main", |ctx, _| async move {
            drop(ctx.schedule_activity("Patient", ""));
            ctx.schedule_activity("Echo", "x").await
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "x");
        assert_eq!(log.lines(), Vec::<String>::new());
        assert_eq!(
            world.trace("i").await[1..4],
            [
                "2 ActivityScheduled Patient()",
                "3 ActivityScheduled Echo(x)",
                "4 ActivityCancelRequested[2] dropped_future"
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_that_is_started_and_dropped_at_once_exists_as_cancelled_and_never_runs() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let runs = log.clone();
        let node = Node::new()
            .orchestration("Child", move |_, _| {
                runs.write("ran");
                async move { Ok(String::new()) }
            })
            .orchestration("Main", |ctx, input| async move {
                drop(ctx.schedule_sub_orchestration("Child", "c"));
                if input == "wait" {
                    ctx.schedule_wait("go").await;
                }
                Ok(input)
            });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "1").await.unwrap(), "1");
        world.start("j", "Main", "wait").await;
        for child in ["i::sub::2", "j::sub::2"] {
            let reason = "parent dropped sub-orchestration future";
            assert_eq!(world.end(child).await.unwrap_err(), format!("canceled: {reason}"));
            assert_eq!(
                world.trace(child).await,
                [
                    "1 OrchestrationStarted c".to_owned(),
                    format!("2 OrchestrationCancelRequested {reason}"),
                    format!("3 OrchestrationFailed canceled: {reason}"),
                ]
            );
            let info = world.client().get_instance_info(child).await.unwrap();
            assert_eq!(info.parent_instance_id.as_deref(), child.get(..1));
        }
        world.raise("j", "go", "").await;
        assert_eq!(world.end("j").await.unwrap(), "wait");
        assert_eq!(log.lines(), Vec::<String>::new());
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_that_is_dropped_at_once_ends_also_where_its_code_is_not_registered() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            drop(ctx.schedule_sub_orchestration("Elsewhere", "c"));
            Ok(input)
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "1").await.unwrap(), "1");
        let ended = world.end("i::sub::2").await.unwrap_err();
        assert_eq!(ended, "canceled: parent dropped sub-orchestration future");
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_was_dropped_before_a_restart_is_not_cancelled_again() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let node = || {
            Node::new()
                .patient("Patient", &log)
                .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("never").await) })
                .orchestration("Main", |ctx, _| async move {
                    drop(ctx.schedule_activity("Patient", ""));
                    let child = ctx.schedule_sub_orchestration("Child", "");
                    ctx.schedule_wait("go").await;
                    drop(child);
                    Ok(ctx.schedule_wait("go").await)
                })
        };
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i::sub::3", "ExternalSubscribed", 1).await;
        world.raise("i", "go", "1").await;
        world.end("i::sub::3").await.unwrap_err();
        runtime.shutdown(None).await;
        let world = world.reopened().await;
        let runtime = world.run(node()).await;
        world.raise("i", "go", "2").await;
        assert_eq!(world.end("i").await.unwrap(), "2");
        let history = world.history("i").await;
        let cancelled = names(&history).into_iter().filter(|name| name.ends_with("CancelRequested"));
        assert_eq!(
            cancelled.collect::<Vec<_>>(),
            ["ActivityCancelRequested", "SubOrchestrationCancelRequested"]
        );
        assert_eq!(names(&world.history("i::sub::3").await).len(), 5, "one cancel reached the child");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_drop_that_the_code_does_not_make_any_more_fails_the_instance() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let old = Node::new().patient("Patient", &log).orchestration("Main", |ctx, _| async move {
            drop(ctx.schedule_activity("Patient", ""));
            Ok(ctx.schedule_wait("go").await)
        });
        let new = Node::new().patient("Patient", &log).orchestration("Main", |ctx, _| async move {
            let _kept = ctx.schedule_activity("Patient", "");
            Ok(ctx.schedule_wait("go").await)
        });
        let runtime = world.run(old).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let runtime = world.run(new).await;
        world.raise("i", "go", "").await;
        let details = world.failure("i").await;
        assert_eq!(details.category(), "configuration");
        assert!(details.display_message().starts_with("nondeterministic: "), "{}", details.display_message());
        runtime.shutdown(None).await;
    });
}

/// Code that has everything open, and ends as its input says.
fn with_everything_open(log: &Log) -> Node {
    Node::new()
        .patient("Patient", log)
        .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("never").await) })
        .orchestration("Main", |ctx, how| async move {
            if ctx.execution_id() > 1 {
                return Ok("continued".to_owned());
            }
            // Forgotten, so that the end finds them open: a return drops what it holds.
            let _open = ManuallyDrop::new(ctx.schedule_activity("Patient", ""));
            let _open = ManuallyDrop::new(ctx.schedule_sub_orchestration("Child", ""));
            let _open = ManuallyDrop::new(ctx.schedule_wait("s"));
            let _open = ManuallyDrop::new(ctx.dequeue_event("q"));
            let _open = ManuallyDrop::new(ctx.schedule_timer(seconds(600)));
            ctx.schedule_wait("go").await;
            match how.as_str() {
                "return" => Ok("done".to_owned()),
                "fail" => Err("failed".to_owned()),
                "panic" => panic!("out of eggs"),
                "limit" => {
                    ctx.set_kv_value("k", "x".repeat(65_537));
                    Ok("not reached".to_owned())
                }
                "continue" => ctx.continue_as_new("").await,
                other => panic!("how is {other}?"),
            }
        })
}

#[test]
fn every_end_cancels_what_is_open_and_says_so_before_the_last_event() {
    for (how, reason, told, end) in [
        ("return", "completed", "parent completed", "OrchestrationCompleted"),
        ("fail", "failed", "parent failed", "OrchestrationFailed"),
        ("panic", "failed", "parent failed", "OrchestrationFailed"),
        ("limit", "failed", "parent failed", "OrchestrationFailed"),
        ("continue", "continued_as_new", "parent continued as new", "OrchestrationContinuedAsNew"),
        ("cancel", "cancelled", "parent canceled", "OrchestrationFailed"),
    ] {
        on_own_stores(async |world: World| {
            let log = Log::new();
            let runtime = world.run(with_everything_open(&log)).await;
            world.start("i", "Main", how).await;
            log.has(1).await;
            world.recorded("i::sub::3", "ExternalSubscribed", 1).await;
            if how == "cancel" {
                world.client().cancel_instance("i", "why").await.unwrap();
            } else {
                world.raise("i", "go", "").await;
            }
            let child = world.end("i::sub::3").await.unwrap_err();
            assert_eq!(child, format!("canceled: {told}"), "{how}");
            let history = world.history_of("i", 1).await;
            let cancelled = history.iter().filter_map(|event| {
                if let EventKind::ActivityCancelRequested { reason }
                | EventKind::SubOrchestrationCancelRequested { reason }
                | EventKind::ExternalSubscribedCancelled { reason }
                | EventKind::QueueSubscriptionCancelled { reason } = &event.kind
                {
                    Some((event.source_event_id.unwrap(), reason.clone()))
                } else {
                    None
                }
            });
            let terminal = format!("orchestration_terminal_{reason}");
            let mut expected = vec![(2, terminal.clone()), (3, terminal)];
            expected.extend([4, 5].map(|wait| (wait, "orchestration_terminal".to_owned())));
            if how == "cancel" {
                expected.push((7, "orchestration_terminal".to_owned()));
            }
            assert_eq!(cancelled.collect::<Vec<_>>(), expected, "{how}");
            assert_eq!(history.last().unwrap().kind.name(), end, "{how}");
            // The activity hears of it too, the timer is gone, and nothing is left.
            log.has(2).await;
            world.is_drained().await;
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn the_timer_of_a_dropped_future_is_removed_or_fires_into_nothing() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            drop(ctx.schedule_timer(millis(20)));
            Ok(ctx.schedule_wait("go").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        if !world.has_required_only() {
            assert_eq!(world.left().await.messages, 0);
        }
        world.is_drained().await;
        world.raise("i", "go", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert!(!names(&world.history("i").await).contains(&"TimerFired"));
        runtime.shutdown(None).await;
    });
}
