//! §28: whole histories, as they are recorded end to end. Where ours differ from the reference's, they are ours (§3 of the
//! decisions): messages are taken one at a time, and the terminal event is the last.

use abide_model::{BackoffStrategy, EventKind, RetryPolicy, WorkItem};
use abide_sim::Gate;

use super::support::{Log, Node, Past, World, millis, on_every_store, on_own_stores, seconds};

#[test]
fn one_activity() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Main", |ctx, input| async move { ctx.schedule_activity("Echo", input).await });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "in").await.unwrap();
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted in",
                "2 ActivityScheduled Echo(in)",
                "3 ActivityCompleted[2] in",
                "4 OrchestrationCompleted in",
            ]
        );
        let info = world.client().get_instance_info("i").await.unwrap();
        assert_eq!(
            (info.orchestration_name.as_str(), info.orchestration_version.as_str()),
            ("Main", "1.0.0")
        );
        assert_eq!((info.status.as_str(), info.output.as_deref()), ("Completed", Some("in")));
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_fan_out_of_three_that_completes_in_another_order() {
    on_every_store(async |world: World| {
        let gates = [Gate::closed(), Gate::closed(), Gate::closed()];
        let (log, held) = (Log::new(), gates.clone());
        let node = Node::new()
            .activity("Held", move |_, input: String| {
                let gate = held[input.parse::<usize>().unwrap()].clone();
                async move {
                    gate.pass().await;
                    Ok(input)
                }
            })
            .orchestration("Main", |ctx, _| async move {
                let all = (0..3).map(|n| ctx.schedule_activity("Held", n.to_string())).collect();
                let results: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
                Ok(results?.concat())
            });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        for (done, n) in [1, 0, 2].into_iter().enumerate() {
            world.recorded("i", "ActivityCompleted", done).await;
            gates[n].open();
        }
        assert_eq!(world.end("i").await.unwrap(), "012");
        assert_eq!(
            world.trace("i").await[1..],
            [
                "2 ActivityScheduled Held(0)",
                "3 ActivityScheduled Held(1)",
                "4 ActivityScheduled Held(2)",
                "5 ActivityCompleted[3] 1",
                "6 ActivityCompleted[2] 0",
                "7 ActivityCompleted[4] 2",
                "8 OrchestrationCompleted 012",
            ]
        );
        assert_eq!(log.len(), 0);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_timer_that_wins_over_an_activity() {
    on_own_stores(async |world: World| {
        let log = Log::new();
        let node = Node::new().patient("Slow", &log).orchestration("Main", |ctx, _| async move {
            let activity = ctx.schedule_activity("Slow", "");
            ctx.select2(activity, ctx.schedule_timer(millis(20))).await;
            ctx.schedule_activity("Echo", "next").await
        });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 ActivityScheduled Slow()",
                "3 TimerCreated",
                "4 TimerFired[3]",
                "5 ActivityScheduled Echo(next)",
                "6 ActivityCancelRequested[2] dropped_future",
                "7 ActivityCompleted[5] next",
                "8 OrchestrationCompleted next",
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_that_is_dropped_in_the_turn_of_the_return() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            drop(ctx.schedule_activity("Echo", ""));
            Ok("done".to_owned())
        });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 ActivityScheduled Echo()",
                "3 ActivityCancelRequested[2] dropped_future",
                "4 OrchestrationCompleted done",
            ]
        );
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_parent_that_is_cancelled_with_a_child_and_an_activity() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let node = Node::new()
            .patient("Patient", &log)
            .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("never").await) })
            .orchestration("Main", |ctx, _| async move {
                let child = ctx.schedule_sub_orchestration("Child", "");
                ctx.join2(child, ctx.schedule_activity("Patient", "")).await.0
            });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.recorded("i::sub::2", "ExternalSubscribed", 1).await;
        world.client().cancel_instance("i", "why").await.unwrap();
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: why");
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 SubOrchestrationScheduled sub::2 Child()",
                "3 ActivityScheduled Patient()",
                "4 OrchestrationCancelRequested why",
                "5 SubOrchestrationCancelRequested[2] orchestration_terminal_cancelled",
                "6 ActivityCancelRequested[3] orchestration_terminal_cancelled",
                "7 OrchestrationFailed canceled: why",
            ]
        );
        assert_eq!(world.end("i::sub::2").await.unwrap_err(), "canceled: parent canceled");
        // The child's report to a parent that has ended is used up.
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn continue_as_new_with_unread_messages_and_a_status() {
    on_every_store(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, input| async move {
                if input == "next" {
                    let (first, second) = (ctx.dequeue_event("q").await, ctx.dequeue_event("q").await);
                    return Ok(format!("{first}{second} {:?}", ctx.get_custom_status()));
                }
                ctx.set_custom_status("s");
                ctx.schedule_wait("go").await;
                ctx.continue_as_new("next").await
            })
        };
        let runtime = world.run(node()).await;
        world.start("i", "Main", "in").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        world.enqueue("i", "q", "a").await;
        world.enqueue("i", "q", "b").await;
        world.raise("i", "go", "").await;
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), r#"ab Some("s")"#);
        assert_eq!(
            world.trace_of("i", 1).await,
            [
                "1 OrchestrationStarted in",
                "2 CustomStatusUpdated s",
                "3 ExternalSubscribed go",
                "4 QueueEventDelivered q:a",
                "5 QueueEventDelivered q:b",
                "6 ExternalEvent go:",
                "7 OrchestrationContinuedAsNew next",
            ]
        );
        assert_eq!(
            world.trace_of("i", 2).await,
            [
                "1 OrchestrationStarted next",
                "2 QueueSubscribed q",
                "3 QueueEventDelivered q:a",
                "4 QueueSubscribed q",
                "5 QueueEventDelivered q:b",
                r#"6 OrchestrationCompleted ab Some("s")"#,
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_message_that_comes_before_its_dequeue() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.schedule_wait("go").await;
            Ok(ctx.dequeue_event("q").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.enqueue("i", "q", "x").await;
        world.recorded("i", "QueueEventDelivered", 1).await;
        world.raise("i", "go", "").await;
        world.end("i").await.unwrap();
        assert_eq!(
            world.trace("i").await[2..],
            [
                "3 QueueEventDelivered q:x",
                "4 ExternalEvent go:",
                "5 QueueSubscribed q",
                "6 OrchestrationCompleted x",
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_timer_and_a_signal_in_one_batch() {
    on_every_store(async |world: World| {
        // Both are there when the turn begins: the wait that the timer's continuation makes gets the signal.
        world.start("i", "Main", "").await;
        let timer = EventKind::TimerCreated { fire_at_ms: 1 };
        world.write(Past::begins([timer]).stamped("0.1.32")).await;
        world
            .mail(WorkItem::TimerFired { instance: "i".to_owned(), execution_id: 1, id: 2, fire_at_ms: 1 })
            .await;
        world.raise("i", "s", "a").await;
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.schedule_timer(millis(1)).await;
            Ok(ctx.schedule_wait("s").await)
        });
        let runtime = world.run(node).await;
        assert_eq!(world.end("i").await.unwrap(), "a");
        assert_eq!(
            world.trace("i").await[2..],
            [
                "3 TimerFired[2]",
                "4 ExternalSubscribed s",
                "5 ExternalEvent s:a",
                "6 OrchestrationCompleted a"
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_retry_with_a_timeout_that_succeeds_at_its_second_attempt() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .activity("Flaky", |ctx, _| async move {
                if ctx.activity_id() == 2 { Err("no".to_owned()) } else { Ok("yes".to_owned()) }
            })
            .orchestration("Main", |ctx, _| async move {
                let policy = RetryPolicy::new(3)
                    .with_timeout(seconds(600))
                    .with_backoff(BackoffStrategy::Fixed { delay: millis(5) });
                ctx.schedule_activity_with_retry("Flaky", "", policy).await
            });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 ActivityScheduled Flaky()",
                "3 TimerCreated",
                "4 ActivityFailed[2] no",
                "5 TimerCreated",
                "6 TimerFired[5]",
                "7 ActivityScheduled Flaky()",
                "8 TimerCreated",
                "9 ActivityCompleted[7] yes",
                "10 OrchestrationCompleted yes",
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_detached_start_and_a_return() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Other", |_, input| async move { Ok(input) }).orchestration(
            "Main",
            |ctx, _| async move {
                ctx.schedule_orchestration("Other", "other", "in");
                Ok("done".to_owned())
            },
        );
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 OrchestrationChained other Other(in)",
                "3 OrchestrationCompleted done",
            ]
        );
        assert_eq!(world.end("other").await.unwrap(), "in");
        runtime.shutdown(None).await;
    });
}
