//! §9.5, §15.4: how a running activity learns that nobody waits for it, and what becomes of it.

use std::mem::ManuallyDrop;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use abide_model::Clock;
use abide_sim::Gate;
use futures::future::select;

use super::support::{
    Left, Log, Node, Place, World, millis, names, on_every_store, on_own_stores, seconds, virtually,
};

/// An orchestration that gives an activity up when it is told `go`, and then waits for `end`.
fn gives_up(node: Node) -> Node {
    node.orchestration("Main", |ctx, _| async move {
        let activity = ctx.schedule_activity("Activity", "");
        ctx.select2(activity, ctx.schedule_wait("go")).await;
        Ok(ctx.schedule_wait("end").await)
    })
}

#[test]
fn an_activity_hears_at_once_that_it_was_dropped_and_why() {
    on_own_stores(async |world: World| {
        let log = Log::new();
        let runtime = world.run(gives_up(Node::new().patient("Activity", &log))).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        let (took, lines) = world
            .time(async {
                world.raise("i", "go", "").await;
                log.has(2).await
            })
            .await;
        assert_eq!(lines, ["began", "Dropped"]);
        // Far before the lease is renewed for the first time, which is after ten seconds.
        assert!(took < seconds(2), "{took:?}");
        world.raise("i", "end", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn without_a_push_it_hears_by_the_next_renewal() {
    virtually(async |world: World| {
        let log = Log::new();
        let store = Arc::new(abide_sim::RequiredOnly::new(world.store.clone()));
        let runtime = world.run_on(store, gives_up(Node::new().patient("Activity", &log))).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.raise("i", "go", "").await;
        let (took, lines) = world.time(log.has(2)).await;
        assert_eq!(lines, ["began", "Dropped"], "the reason is read from the history");
        assert!(took <= seconds(10), "{took:?}: a third of the lease");
        runtime.shutdown(None).await;
    });
}

#[test]
fn every_way_out_of_an_activity_has_its_reason() {
    for (how, reason) in [
        ("go", "Dropped"),
        ("cancel", "OrchestrationEnded { status: Failed }"),
        ("delete", "InstanceDeleted"),
        ("shutdown", "Shutdown"),
    ] {
        on_every_store(async |world: World| {
            let log = Log::new();
            let node = gives_up(Node::new().patient("Activity", &log));
            let node = node.with(|options| options.worker_lock_timeout = seconds(3));
            let runtime = world.run(node).await;
            world.start("i", "Main", "").await;
            log.has(1).await;
            let client = world.client();
            match how {
                "go" => world.raise("i", "go", "").await,
                "cancel" => client.cancel_instance("i", "why").await.unwrap(),
                "delete" => {
                    client.delete_instance("i", true).await.unwrap();
                }
                _ => runtime.clone().shutdown(None).await,
            }
            assert_eq!(log.has(2).await, ["began", reason], "{how}");
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn the_end_of_its_execution_is_a_reason() {
    for (end, status) in [("return", "Completed"), ("fail", "Failed"), ("continue", "ContinuedAsNew")] {
        on_own_stores(async |world: World| {
            let log = Log::new();
            let node = Node::new().patient("Activity", &log).orchestration("Main", |ctx, end| async move {
                if ctx.execution_id() > 1 {
                    return Ok(String::new());
                }
                let _open = ManuallyDrop::new(ctx.schedule_activity("Activity", ""));
                ctx.schedule_wait("go").await;
                match end.as_str() {
                    "return" => Ok(String::new()),
                    "fail" => Err(String::new()),
                    _ => ctx.continue_as_new("").await,
                }
            });
            let runtime = world.run(node).await;
            world.start("i", "Main", end).await;
            log.has(1).await;
            world.raise("i", "go", "").await;
            let reason = format!("OrchestrationEnded {{ status: {status} }}");
            assert_eq!(log.has(2).await, ["began".to_owned(), reason]);
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn what_a_cancelled_activity_returns_is_not_recorded() {
    on_own_stores(async |world: World| {
        let (log, slow) = (Log::new(), Gate::closed());
        let (writes, held) = (log.clone(), slow.clone());
        let node = Node::new().activity("Activity", move |ctx, _| {
            let (log, slow) = (writes.clone(), held.clone());
            async move {
                log.write("began");
                ctx.cancelled().await;
                assert!(ctx.is_cancelled() && ctx.is_cancellation_requested());
                log.write("stopping");
                slow.pass().await;
                log.write("returns");
                Ok("too late".to_owned())
            }
        });
        let runtime = world.run(gives_up(node)).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.raise("i", "go", "").await;
        log.has(2).await;
        slow.open();
        log.has(3).await;
        world.raise("i", "end", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        world.is_drained().await;
        assert!(!names(&world.history("i").await).contains(&"ActivityCompleted"));
        runtime.shutdown(None).await;
    });
}

/// Writes down that it is dropped.
struct Bell(Log);

impl Drop for Bell {
    fn drop(&mut self) {
        self.0.write("aborted");
    }
}

/// An activity that does not listen.
fn deaf(log: &Log) -> Node {
    let log = log.clone();
    Node::new().activity("Activity", move |_, _| {
        let log = log.clone();
        async move {
            let bell = Bell(log.clone());
            log.write("began");
            futures::future::pending::<()>().await;
            drop(bell);
            Ok(String::new())
        }
    })
}

#[test]
fn an_activity_that_does_not_listen_is_aborted_after_its_grace() {
    virtually(async |world: World| {
        let log = Log::new();
        let runtime = world.run(gives_up(deaf(&log))).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.raise("i", "go", "").await;
        world.recorded("i", "ActivityCancelRequested", 1).await;
        let (took, lines) = world.time(log.has(2)).await;
        assert_eq!(lines, ["began", "aborted"]);
        // Ten seconds of grace; without a push, a third of the lease before that.
        let heard_within = if world.place == Place::Memory { millis(10) } else { seconds(11) };
        assert!(took + millis(10) >= seconds(10) && took <= seconds(10) + heard_within, "{took:?}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_grace_is_an_option_and_the_slot_is_free_after_it() {
    on_own_stores(async |world: World| {
        let log = Log::new();
        let node = gives_up(deaf(&log))
            .orchestration("Next", |ctx, _| async move { ctx.schedule_activity("Echo", "next").await });
        let node = node.with(|options| {
            options.worker_concurrency = 1;
            options.activity_cancellation_grace_period = millis(20);
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.start("j", "Next", "").await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("j").await.unwrap(), "next");
        assert_eq!(log.lines(), ["began", "aborted"]);
        runtime.shutdown(None).await;
        world.leaves(Left::NOTHING).await;
    });
}

#[test]
fn a_pending_activity_that_is_cancelled_never_starts() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let node = gives_up(Node::new().patient("Activity", &log))
            .held("Held", &log, &gate)
            .orchestration("Busy", |ctx, _| async move { ctx.schedule_activity("Held", "first").await })
            .with(|options| options.worker_concurrency = 1);
        let runtime = world.run(node).await;
        world.start("busy", "Busy", "").await;
        log.has(1).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ActivityScheduled", 1).await;
        world.raise("i", "go", "").await;
        world.recorded("i", "ActivityCancelRequested", 1).await;
        gate.open();
        assert_eq!(world.end("busy").await.unwrap(), "first");
        world.is_drained().await;
        assert_eq!(log.lines(), ["began first"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_completion_that_was_acknowledged_before_the_cancel_is_recorded() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let node = || {
            gives_up(Node::new().activity("Activity", {
                let log = log.clone();
                move |_, _| {
                    log.write("done");
                    async move { Ok("in time".to_owned()) }
                }
            }))
        };
        // Only the activity runs at first: nobody takes its result.
        let starter = world.run(node().with(|options| options.worker_concurrency = 0)).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        starter.shutdown(None).await;
        world.raise("i", "go", "").await;
        let (orchestrates, works) = (Gate::closed(), world.store.clone());
        let clock: Arc<dyn Clock> = world.clock.clone();
        let store = Arc::new(abide_sim::FaultStore::new(works, clock));
        for operation in
            [abide_provider::Operation::LeaseInstances, abide_provider::Operation::FetchOrchestrationItem]
        {
            store.hold(operation, &orchestrates);
        }
        let worker = world.run_on(store, node()).await;
        world.until(async || world.left().await == Left { messages: 2, work: 0, leases: 0 }).await;
        orchestrates.open();
        world.recorded("i", "ActivityCompleted", 1).await;
        world.raise("i", "end", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert_eq!(
            world.trace("i").await[3..],
            [
                "4 ExternalEvent go:",
                "5 ExternalSubscribed end",
                "6 ActivityCancelRequested[2] dropped_future",
                "7 ActivityCompleted[2] in time",
                "8 ExternalEvent end:x",
                "9 OrchestrationCompleted x",
            ]
        );
        worker.shutdown(None).await;
    });
}

#[test]
fn an_activity_that_stops_what_it_started_goes_on_itself() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .activity("Stops", |ctx, input| async move {
                ctx.cancellation_token().cancel();
                assert!(!ctx.is_cancelled());
                Ok(input)
            })
            .orchestration("Main", |ctx, input| async move { ctx.schedule_activity("Stops", input).await });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "x").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_token_can_be_passed_on_to_what_the_activity_starts_itself() {
    on_own_stores(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new().activity("Activity", move |ctx, _| {
            let log = writes.clone();
            async move {
                let token = ctx.cancellation_token();
                let inner = {
                    let log = log.clone();
                    async move {
                        token.cancelled().await;
                        log.write("inner stopped");
                    }
                };
                log.write("began");
                select(pin!(inner), pin!(futures::future::pending::<()>())).await;
                Ok(String::new())
            }
        });
        let runtime = world.run(gives_up(node)).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.raise("i", "go", "").await;
        assert_eq!(log.has(2).await, ["began", "inner stopped"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn on_one_thread_an_activity_hears_and_a_sleeping_one_is_aborted() {
    // The virtual worlds have one thread already; this is the same in real time (§25.5).
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(abide_sqlite::SqliteProvider::new_in_memory().await.unwrap());
        let log = Log::new();
        let (activities, orchestrations, mut options) =
            gives_up(deaf(&log)).patient("Patient", &log).into_parts();
        options.orchestration_concurrency = 1;
        options.worker_concurrency = 1;
        options.activity_cancellation_grace_period = Duration::from_millis(10);
        let node =
            abide_runtime::Runtime::start_with_options(store.clone(), activities, orchestrations, options)
                .await;
        let client = abide_client::Client::new(store);
        client.start_orchestration("i", "Main", "").await.unwrap();
        log.has(1).await;
        client.raise_event("i", "go", "").await.unwrap();
        assert_eq!(log.has(2).await, ["began", "aborted"]);
        node.shutdown(None).await;
    });
}
