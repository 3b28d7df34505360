//! §10: continue-as-new.

use std::mem::ManuallyDrop;

use abide_model::{EventKind, OrchestrationStatus, WorkItem};
use abide_sim::Gate;

use super::support::{LONG, Log, Node, World, millis, names, on_every_store, seconds, virtually};

#[test]
fn it_counts_also_if_nobody_awaits_it() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            if input == "again" {
                return Ok(format!("execution {}", ctx.execution_id()));
            }
            let _next = ctx.continue_as_new("again");
            Ok("nobody sees this".to_owned())
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "execution 2");
        runtime.shutdown(None).await;
    });
}

#[test]
fn each_execution_has_its_number_its_history_and_its_result() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            let round: u32 = input.parse().unwrap();
            ctx.schedule_activity("Echo", input).await?;
            if round == 3 {
                return Ok(format!("round {round} in execution {}", ctx.execution_id()));
            }
            ctx.continue_as_new((round + 1).to_string()).await
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "1").await.unwrap(), "round 3 in execution 3");
        let client = world.client();
        assert_eq!(client.list_executions("i").await.unwrap(), [1, 2, 3]);
        let first = client.get_execution_info("i", 1).await.unwrap();
        assert_eq!((first.status.as_str(), first.output.as_deref()), ("ContinuedAsNew", Some("2")));
        for (execution, input) in [(1, "1"), (2, "2")] {
            assert_eq!(
                world.trace_of("i", execution).await,
                [
                    format!("1 OrchestrationStarted {input}"),
                    format!("2 ActivityScheduled Echo({input})"),
                    format!("3 ActivityCompleted[2] {input}"),
                    format!("4 OrchestrationContinuedAsNew {}", execution + 1),
                ]
            );
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn messages_that_were_not_read_go_along_in_the_order_they_came() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            if input.is_empty() {
                let read = ctx.dequeue_event("a").await;
                ctx.schedule_wait("go").await;
                return ctx.continue_as_new(read).await;
            }
            let mut all = input;
            for queue in ["b", "a", "b"] {
                all += &ctx.dequeue_event(queue).await;
            }
            Ok(all)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "QueueSubscribed", 1).await;
        for (queue, data) in [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4")] {
            world.enqueue("i", queue, data).await;
        }
        world.recorded("i", "QueueEventDelivered", 4).await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), "1234");
        let history = world.history("i").await;
        let EventKind::OrchestrationStarted { carry_forward_events, .. } = &history[0].kind else {
            panic!("{:?}", history[0])
        };
        let carried = [("b", "2"), ("a", "3"), ("b", "4")].map(|(q, d)| (q.to_owned(), d.to_owned()));
        assert_eq!(carry_forward_events.as_deref(), Some(&carried[..]));
        runtime.shutdown(None).await;
    });
}

#[test]
fn however_many_messages_there_are_none_is_dropped() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            if input.is_empty() {
                ctx.schedule_wait("go").await;
                return ctx.continue_as_new("again").await;
            }
            let mut sum = 0;
            for _ in 0..250 {
                sum += ctx.dequeue_event("q").await.parse::<u32>().unwrap();
            }
            Ok(sum.to_string())
        });
        world.start("i", "Main", "").await;
        for n in 0..250 {
            world.enqueue("i", "q", &n.to_string()).await;
        }
        let runtime = world.run(node).await;
        world.recorded("i", "QueueEventDelivered", 250).await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), (0..250).sum::<u32>().to_string());
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_follows_the_continue_as_new_in_a_batch_reaches_the_successor() {
    on_every_store(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, input| async move {
                if input.is_empty() {
                    ctx.schedule_wait("go").await;
                    return ctx.continue_as_new("again").await;
                }
                let message = ctx.dequeue_event("q").await;
                Ok(message + &ctx.schedule_wait("s").await)
            })
        };
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        world.raise("i", "go", "").await;
        world.enqueue("i", "q", "message ").await;
        world.raise("i", "s", "signal").await;
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "message signal");
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_custom_status_and_the_values_go_along() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            if input.is_empty() {
                ctx.set_custom_status("from the first");
                ctx.set_kv_value("k", "v");
                return ctx.continue_as_new("again").await;
            }
            Ok(format!("{:?} {:?}", ctx.get_custom_status(), ctx.get_kv_value("k")))
        });
        let runtime = world.run(node).await;
        let end = world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(end, r#"Some("from the first") Some("v")"#);
        let client = world.client();
        let status = client.get_orchestration_status("i").await.unwrap();
        let OrchestrationStatus::Completed { custom_status, custom_status_version, .. } = status else {
            panic!("{status:?}")
        };
        assert_eq!((custom_status.as_deref(), custom_status_version), (Some("from the first"), 1));
        assert_eq!(client.get_kv_value("i", "k").await.unwrap().as_deref(), Some("v"));
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_keeps_its_parent_however_often_it_continues() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |ctx, input| async move {
                let round: u32 = input.parse().unwrap();
                // The first round continues in its very first turn.
                if round > 1 {
                    ctx.schedule_activity("Echo", "").await?;
                }
                if round == 4 {
                    return Ok(format!("execution {}", ctx.execution_id()));
                }
                ctx.continue_as_new((round + 1).to_string()).await
            })
            .orchestration(
                "Main",
                |ctx, _| async move { ctx.schedule_sub_orchestration("Child", "1").await },
            );
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "execution 4");
        let history = world.history("i::sub::2").await;
        let EventKind::OrchestrationStarted { parent_instance, parent_id, parent_execution_id, .. } =
            &history[0].kind
        else {
            panic!("{:?}", history[0])
        };
        assert_eq!(
            (parent_instance.as_deref(), *parent_id, *parent_execution_id),
            (Some("i"), Some(2), Some(1))
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_of_a_later_execution_answers_that_execution() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |_, input| async move { Ok(format!("child {input}")) })
            .orchestration("Main", |ctx, input| async move {
                let seen = ctx.schedule_sub_orchestration("Child", input.clone()).await?;
                if input == "2" { Ok(seen) } else { ctx.continue_as_new("2").await }
            });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "1").await.unwrap(), "child 2");
        assert_eq!(world.end("i::sub::2").await.unwrap(), "child 1");
        assert_eq!(world.end("i::sub::2_2").await.unwrap(), "child 2");
        runtime.shutdown(None).await;
    });
}

#[test]
fn waits_timers_and_answers_of_an_earlier_execution_are_gone() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            if input.is_empty() {
                let _open = ManuallyDrop::new(ctx.schedule_activity("Nowhere", "").with_tag("nobody"));
                let _open = ManuallyDrop::new(ctx.schedule_timer(millis(20)));
                let _open = ManuallyDrop::new(ctx.schedule_wait("s"));
                ctx.schedule_wait("go").await;
                return ctx.continue_as_new("again").await;
            }
            ctx.schedule_wait("go").await;
            Ok(ctx.schedule_wait("s").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 2).await;
        world.raise("i", "go", "").await;
        world
            .until(async || {
                names(&world.history("i").await) == ["OrchestrationStarted", "ExternalSubscribed"]
            })
            .await;
        // The ids mean something else in the second execution: 2 is a wait there, 3 nothing yet.
        let (instance, execution_id) = ("i".to_owned(), 1);
        world
            .mail(WorkItem::ActivityCompleted {
                instance: instance.clone(),
                execution_id,
                id: 2,
                result: "late".into(),
            })
            .await;
        world.mail(WorkItem::TimerFired { instance, execution_id, id: 3, fire_at_ms: 1 }).await;
        world.raise("i", "s", "for a wait that is gone").await;
        world.recorded("i", "ExternalEvent", 1).await;
        world.raise("i", "go", "").await;
        world.recorded("i", "ExternalSubscribed", 2).await;
        world.raise("i", "s", "in time").await;
        assert_eq!(world.end("i").await.unwrap(), "in time");
        assert_eq!(
            names(&world.history("i").await),
            [
                "OrchestrationStarted",
                "ExternalSubscribed",
                "ExternalEvent",
                "ExternalEvent",
                "ExternalSubscribed",
                "ExternalEvent",
                "OrchestrationCompleted",
            ]
        );
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn between_two_executions_an_instance_is_running_and_mail_waits() {
    virtually(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, _| async move {
                let next = ctx.schedule_wait("go").await;
                ctx.continue_as_new_versioned("2.0.0", next).await
            })
        };
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.raise("i", "go", "next").await;
        let client = world.client();
        world
            .until(async || {
                client.get_execution_info("i", 1).await.is_ok_and(|info| info.status == "ContinuedAsNew")
            })
            .await;
        // The successor's code is nowhere: its start is put off, and mail arrives meanwhile.
        world.enqueue("i", "q", "waited").await;
        // Another start does not displace the successor's.
        world.start("i", "Main", "an impostor").await;
        world.pass(seconds(20)).await;
        let status = client.get_orchestration_status("i").await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
        runtime.shutdown(None).await;
        let node = node().version("Main", "2.0.0", |ctx, input| async move {
            Ok(format!("{input} {} in {}", ctx.dequeue_event("q").await, ctx.execution_id()))
        });
        let runtime = world.run(node).await;
        assert_eq!(world.end("i").await.unwrap(), "next waited in 2");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_of_the_old_execution_is_told_to_stop_and_its_result_is_nobodys() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let node = Node::new().held("Held", &log, &gate).orchestration("Main", |ctx, input| async move {
            if input.is_empty() {
                let _open = ManuallyDrop::new(ctx.schedule_activity("Held", "old"));
                ctx.schedule_wait("go").await;
                return ctx.continue_as_new("again").await;
            }
            ctx.schedule_activity("Echo", "new").await
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.raise("i", "go", "").await;
        let status = world.client().wait_for_orchestration("i", LONG).await.unwrap();
        assert!(
            matches!(&status, OrchestrationStatus::Completed { output, .. } if output == "new"),
            "{status:?}"
        );
        gate.open();
        world.is_drained().await;
        assert_eq!(names(&world.history("i").await).len(), 4);
        runtime.shutdown(None).await;
    });
}
