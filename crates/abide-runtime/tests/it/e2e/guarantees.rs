//! §34: what holds whatever happens.
//!
//! Stores that fail, call by call and for hours, are in `faults`; here are deaths, repetitions and races.

use std::sync::Arc;

use abide_model::{EventKind, WorkItem};
use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan, FaultStore, Gate};

use super::support::{Log, Node, World, millis, names, on_every_store, seconds, virtually};

#[test]
fn a_turn_has_its_effects_once_however_often_its_code_runs() {
    // A node dies after its commit, another before it: what was asked for is done once.
    virtually(async |world: World| {
        let (ran, log) = (Log::new(), Log::new());
        let node = || {
            let (ran, log) = (ran.clone(), log.clone());
            Node::new()
                .activity("Log", move |_, input| {
                    log.write(input.clone());
                    async move { Ok(input) }
                })
                .orchestration("Other", |_, _| async move { Ok(String::new()) })
                .orchestration("Main", move |ctx, _| {
                    ran.write("ran");
                    async move {
                        ctx.set_custom_status("once");
                        ctx.schedule_orchestration("Other", "other", "");
                        ctx.schedule_activity("Log", "once").await
                    }
                })
                .with(|options| options.instance_cache_bytes = 0)
        };
        let gate = Gate::closed();
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()));
        for operation in [Operation::CommitTurn, Operation::AckOrchestrationItem] {
            store.hold(operation, &gate);
        }
        let doomed = world.run_mortal_on(store, node()).await;
        world.start("i", "Main", "").await;
        gate.waiting().await;
        doomed.kill();
        doomed.all_ended().await;
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "once");
        assert!(ran.len() >= 3, "the code ran in every turn, and in the one that was lost");
        assert_eq!(log.lines(), ["once"]);
        assert_eq!(names(&world.history("i").await).len(), 6);
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_runs_at_least_once_and_completes_at_most_once() {
    virtually(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let (writes, held) = (log.clone(), gate.clone());
        let node = Node::new()
            .activity("Held", move |ctx, _| {
                let (log, gate) = (writes.clone(), held.clone());
                async move {
                    let attempt = ctx.attempt();
                    log.write(format!("attempt {attempt}"));
                    if attempt == 1 {
                        gate.pass().await;
                        log.write("the first returns");
                    }
                    Ok(attempt.to_string())
                }
            })
            .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Held", "").await });
        // The work is taken away from the one who runs it, who does not listen and returns after the other.
        let plan = FaultPlan::none().at(Operation::RenewWorkItemLock, 1, Fault::LoseLease);
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        let runtime = world.run_on(store, node).await;
        world.start("i", "Main", "").await;
        log.has(2).await;
        gate.open();
        assert_eq!(world.end("i").await.unwrap(), "2");
        assert_eq!(log.has(3).await, ["attempt 1", "attempt 2", "the first returns"]);
        world.is_drained().await;
        assert_eq!(names(&world.history("i").await).len(), 4);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_result_that_is_delivered_twice_counts_once() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let first = ctx.schedule_activity("Echo", "x").await?;
            ctx.schedule_timer(millis(1)).await;
            Ok(first + &ctx.schedule_wait("go").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        let instance = "i".to_owned();
        for _ in 0..3 {
            let result = "again".to_owned();
            world
                .mail(WorkItem::ActivityCompleted {
                    instance: instance.clone(),
                    execution_id: 1,
                    id: 2,
                    result,
                })
                .await;
            world
                .mail(WorkItem::TimerFired {
                    instance: instance.clone(),
                    execution_id: 1,
                    id: 4,
                    fire_at_ms: 1,
                })
                .await;
        }
        world.raise("i", "go", "!").await;
        assert_eq!(world.end("i").await.unwrap(), "x!");
        assert_eq!(names(&world.history("i").await).len(), 8);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_timer_fires_though_the_node_that_made_it_is_gone() {
    virtually(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, _| async move {
                ctx.schedule_timer(seconds(100)).await;
                Ok("fired".to_owned())
            })
        };
        let doomed = world.run_mortal(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "TimerCreated", 1).await;
        doomed.kill();
        doomed.all_ended().await;
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "fired");
        runtime.shutdown(None).await;
    });
}

#[test]
fn each_message_has_one_reader_and_none_is_lost() {
    on_every_store(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, seen| async move {
                // Takes a few, drops a dequeue, and continues: for as long as there is something.
                let mut seen = seen;
                for _ in 0..7 {
                    drop(ctx.dequeue_event("q"));
                    let message = ctx.dequeue_event("q").await;
                    if message == "end" {
                        return Ok(seen);
                    }
                    seen += &message;
                }
                ctx.continue_as_new(seen).await
            })
        };
        world.start("i", "Main", "").await;
        let mut runtime = world.run(node()).await;
        world.recorded("i", "OrchestrationStarted", 1).await;
        let letters: Vec<String> = ('a'..='z').map(String::from).collect();
        for (n, letter) in letters.iter().enumerate() {
            world.enqueue("i", "q", letter).await;
            if n % 10 == 9 {
                runtime.shutdown(None).await;
                runtime = world.run(node()).await;
            }
        }
        world.enqueue("i", "q", "end").await;
        assert_eq!(world.end("i").await.unwrap(), letters.concat());
        runtime.shutdown(None).await;
    });
}

#[test]
fn mail_of_one_instance_is_taken_in_the_order_it_came() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let mut seen = String::new();
            for _ in 0..20 {
                seen += &ctx.dequeue_event("q").await;
            }
            Ok(seen)
        });
        world.start("i", "Main", "").await;
        for n in 0..20 {
            world.enqueue("i", "q", &format!("{n} ")).await;
        }
        let runtime = world.run(node).await;
        let expected = (0..20).fold(String::new(), |all, n| all + &format!("{n} "));
        assert_eq!(world.end("i").await.unwrap(), expected);
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_a_client_reads_is_what_was_committed() {
    virtually(async |world: World| {
        let (gate, store) =
            (Gate::closed(), Arc::new(FaultStore::new(world.store.clone(), world.clock.clone())));
        for operation in [Operation::CommitTurn, Operation::AckOrchestrationItem] {
            store.hold(operation, &gate);
        }
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.set_kv_value("k", "v");
            ctx.set_custom_status("s");
            Ok(ctx.schedule_wait("go").await)
        });
        let runtime = world.run_on(store, node).await;
        let client = world.client();
        world.start("i", "Main", "").await;
        gate.waiting().await;
        // The turn is done, but not committed: nobody sees anything of it.
        assert_eq!(client.get_kv_value("i", "k").await.unwrap(), None);
        assert_eq!(world.store.get_custom_status("i", 0).await.unwrap(), None);
        gate.open();
        assert_eq!(client.wait_for_kv_value("i", "k", super::support::LONG).await.unwrap(), "v");
        assert_eq!(world.store.get_custom_status("i", 0).await.unwrap(), Some((Some("s".to_owned()), 1)));
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_restart_after_every_step_changes_nothing() {
    on_every_store(async |world: World| {
        let node = || {
            Node::new()
                .orchestration(
                    "Child",
                    |ctx, input| async move { ctx.schedule_activity("Echo", input).await },
                )
                .orchestration("Main", |ctx, _| async move {
                    let mut seen = String::new();
                    for n in 0..4 {
                        seen += &ctx.schedule_activity("Echo", n.to_string()).await?;
                        seen += &ctx.schedule_sub_orchestration("Child", "c").await?;
                        seen += &ctx.schedule_wait("go").await;
                    }
                    Ok(seen)
                })
        };
        world.start("i", "Main", "").await;
        let mut world = world;
        for n in 1..=4 {
            let runtime = world.run(node()).await;
            world.recorded("i", "ExternalSubscribed", n).await;
            runtime.shutdown(None).await;
            world = world.reopened().await;
            world.raise("i", "go", "!").await;
        }
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "0c!1c!2c!3c!");
        let history = world.history("i").await;
        let ids: Vec<u64> = history.iter().map(|event| event.event_id).collect();
        assert_eq!(ids, (1..=26).collect::<Vec<_>>());
        assert!(matches!(history.last().unwrap().kind, EventKind::OrchestrationCompleted { .. }));
        runtime.shutdown(None).await;
    });
}
