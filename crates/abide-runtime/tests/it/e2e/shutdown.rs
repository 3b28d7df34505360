//! §20: stopping a runtime.

use std::sync::{Arc, Mutex, mpsc};

use abide_client::Client;
use abide_provider::Operation;
use abide_runtime::Runtime;
use abide_sim::{FaultPlan, FaultStore, Gate, RequiredOnly};
use futures::FutureExt as _;

use super::support::{
    Left, Log, Node, Steps, World, in_real_time, millis, on_every_store, seconds, virtually,
};

fn asks(node: Node) -> Node {
    node.orchestration("Main", |ctx, input| async move { ctx.schedule_activity("Activity", input).await })
}

/// An activity that neither returns nor listens, and rings when it is dropped.
fn endless(log: &Log) -> Node {
    struct Bell(Log);
    impl Drop for Bell {
        fn drop(&mut self) {
            self.0.write("dropped");
        }
    }
    let log = log.clone();
    asks(Node::new().activity("Activity", move |_, _| {
        let log = log.clone();
        async move {
            let _bell = Bell(log.clone());
            log.write("began");
            futures::future::pending().await
        }
    }))
}

#[test]
fn afterwards_nothing_of_the_runtime_holds_the_store() {
    on_every_store(async |world: World| {
        let before = Arc::strong_count(&world.store);
        let node = asks(Node::new().activity("Activity", |_, input| async move { Ok(input) }));
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "x").await.unwrap(), "x");
        runtime.shutdown(None).await;
        assert_eq!(Arc::strong_count(&world.store), before);
        world.leaves(Left::NOTHING).await;
    });
}

#[test]
fn an_idle_runtime_stops_at_once() {
    virtually(async |world: World| {
        let runtime = world.run(Node::new()).await;
        world.pass(seconds(100)).await;
        let (took, ()) = world.time(runtime.shutdown(Some(60_000))).await;
        // Waiting calls are dropped; one of a store that does not say that it waits, after a last look.
        assert!(took <= world.looks_every() + millis(1), "{took:?}");
    });
}

#[test]
fn an_idle_runtime_stops_soon_in_real_time() {
    in_real_time(async |world: World| {
        let runtime = world.run(Node::new()).await;
        let (took, ()) = world.time(runtime.shutdown(Some(60_000))).await;
        assert!(took <= seconds(5), "{took:?}: far less than the minute it was given");
    });
}

#[test]
fn what_was_begun_is_finished_within_the_grace() {
    for steps in Steps::BOTH {
        on_every_store(async |world: World| {
            let (log, gate) = (Log::new(), Gate::closed());
            let store = world.faulty(steps, FaultPlan::none());
            let runtime = world.run_on(store, asks(Node::new().held("Activity", &log, &gate))).await;
            world.start("i", "Main", "x").await;
            log.has(1).await;
            let stopping = runtime.shutdown(Some(20_000));
            // The shutdown is polled first: it has begun.
            let finishing = async { gate.open() };
            futures::join!(stopping, finishing);
            // Its result is in the queue or was taken in, and nothing is leased.
            let messages = world.messages_of_a_result(steps);
            world.leaves(Left { messages, work: 0, leases: 0 }).await;
            assert_eq!(world.history("i").await.len(), if messages == 0 { 4 } else { 2 });
            let runtime = world.run(asks(Node::new())).await;
            assert_eq!(world.end("i").await.unwrap(), "x");
            assert_eq!(log.len(), 1);
            runtime.shutdown(None).await;
        });
    }
}

/// A turn that comes with a result is the last: what it asks for is nobody's until another runtime comes.
#[test]
fn what_a_last_result_leads_to_is_left_to_others() {
    for steps in Steps::BOTH {
        on_every_store(async |world: World| {
            let (log, gate) = (Log::new(), Gate::closed());
            let twice = |node: Node| {
                node.orchestration("Main", |ctx, input| async move {
                    let once = ctx.schedule_activity("Activity", input).await?;
                    ctx.schedule_activity("Echo", once).await
                })
            };
            let store = world.faulty(steps, FaultPlan::none());
            let runtime = world.run_on(store, twice(Node::new().held("Activity", &log, &gate))).await;
            world.start("i", "Main", "x").await;
            log.has(1).await;
            let stopping = runtime.shutdown(Some(20_000));
            let finishing = async { gate.open() };
            futures::join!(stopping, finishing);
            let messages = world.messages_of_a_result(steps);
            world.leaves(Left { messages, work: 1 - messages, leases: 0 }).await;
            let runtime = world.run(twice(Node::new())).await;
            assert_eq!(world.end("i").await.unwrap(), "x");
            assert_eq!(log.len(), 1);
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn what_is_not_finished_is_dropped_after_the_grace_and_handed_back() {
    virtually(async |world: World| {
        let log = Log::new();
        let runtime = world.run(endless(&log)).await;
        world.start("i", "Main", "x").await;
        log.has(1).await;
        let (took, ()) = world.time(runtime.shutdown(None)).await;
        assert!((millis(1_000)..=millis(1_010)).contains(&took), "{took:?}: a second unless told");
        assert_eq!(log.lines(), ["began", "dropped"]);
        world.leaves(Left { messages: 0, work: 1, leases: 0 }).await;
        // The next runtime has it at once, and the attempt was not counted.
        let next = Log::new();
        let writes = next.clone();
        let node = asks(Node::new().activity("Activity", move |ctx, input| {
            writes.write(format!("attempt {}", ctx.attempt()));
            async move { Ok(input) }
        }));
        let runtime = world.run(node).await;
        let (took, end) = world.time(world.end("i")).await;
        assert_eq!(end.unwrap(), "x");
        assert_eq!(next.lines(), ["attempt 1"]);
        assert!(took <= 5 * world.looks_every(), "{took:?}: not after its lease");
        runtime.shutdown(None).await;
    });
}

#[test]
fn without_grace_everything_is_handed_back_at_once() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let runtime = world.run(endless(&log)).await;
        world.start("i", "Main", "x").await;
        log.has(1).await;
        let (took, ()) = world.time(runtime.shutdown(Some(0))).await;
        // At once; on a disk that is slow, as long as a runtime waits for a lease to be taken back.
        let most = if world.is_virtual() { millis(101) } else { seconds(4) };
        assert!(took <= most, "{took:?}");
        world.leaves(Left { messages: 0, work: 1, leases: 0 }).await;
        let node =
            asks(Node::new().activity("Activity", |ctx, _| async move { Ok(ctx.attempt().to_string()) }));
        let runtime = world.run(node).await;
        let (took, end) = world.time(world.end("i")).await;
        assert_eq!(end.unwrap(), "1");
        assert!(took <= seconds(5), "{took:?}: not after its lease of thirty seconds");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_deploy_a_minute_makes_no_poison() {
    on_every_store(async |world: World| {
        let log = Log::new();
        world.start("i", "Main", "x").await;
        for round in 1..=15 {
            let runtime = world.run(endless(&log)).await;
            log.has(2 * round - 1).await;
            runtime.shutdown(Some(0)).await;
        }
        let runtime =
            world.run(asks(Node::new().activity("Activity", |_, input| async move { Ok(input) }))).await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_hears_of_the_shutdown_and_its_success_counts() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let runtime = world.run(asks(Node::new().patient("Activity", &log))).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        runtime.shutdown(Some(20_000)).await;
        assert_eq!(log.lines(), ["began", "Shutdown"]);
        let runtime = world.run(asks(Node::new())).await;
        assert_eq!(world.end("i").await.unwrap(), "too late");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_error_that_the_shutdown_caused_is_not_recorded() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let interrupted = asks(Node::new().activity("Activity", move |ctx, _| {
            let log = writes.clone();
            async move {
                log.write("began");
                ctx.cancelled().await;
                Err("interrupted".to_owned())
            }
        }));
        let runtime = world.run(interrupted).await;
        world.start("i", "Main", "x").await;
        log.has(1).await;
        runtime.shutdown(Some(20_000)).await;
        world.leaves(Left { messages: 0, work: 1, leases: 0 }).await;
        let runtime =
            world.run(asks(Node::new().activity("Activity", |_, input| async move { Ok(input) }))).await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn stopping_twice_is_stopping_once() {
    on_every_store(async |world: World| {
        let before = Arc::strong_count(&world.store);
        let runtime = world.run(Node::new()).await;
        runtime.clone().shutdown(None).await;
        runtime.clone().shutdown(Some(0)).await;
        runtime.shutdown(None).await;
        assert_eq!(Arc::strong_count(&world.store), before);
    });
}

#[test]
fn several_may_wait_for_one_shutdown() {
    for steps in Steps::BOTH {
        on_every_store(async |world: World| {
            let (log, gate) = (Log::new(), Gate::closed());
            let store = world.faulty(steps, FaultPlan::none());
            let runtime = world.run_on(store, asks(Node::new().held("Activity", &log, &gate))).await;
            world.start("i", "Main", "x").await;
            log.has(1).await;
            let stops = (0..3).map(|_| runtime.clone().shutdown(Some(20_000)));
            let opening = async { gate.open() };
            futures::join!(futures::future::join_all(stops), opening);
            let messages = world.messages_of_a_result(steps);
            world.leaves(Left { messages, work: 0, leases: 0 }).await;
        });
    }
}

#[test]
fn the_shortest_patience_counts() {
    virtually(async |world: World| {
        let log = Log::new();
        let runtime = world.run(endless(&log)).await;
        world.start("i", "Main", "x").await;
        log.has(1).await;
        let both = futures::future::join(
            runtime.clone().shutdown(Some(3_600_000)),
            runtime.clone().shutdown(Some(5_000)),
        );
        let (took, _) = world.time(both).await;
        assert!((seconds(5)..=millis(5_010)).contains(&took), "{took:?}");
        assert_eq!(world.left().await.leases, 0);
    });
}

#[test]
fn a_shutdown_that_nobody_waits_for_goes_on_and_can_be_taken_up_again() {
    for steps in Steps::BOTH {
        on_every_store(async |world: World| {
            let before = Arc::strong_count(&world.store);
            let (log, gate) = (Log::new(), Gate::closed());
            let store = world.faulty(steps, FaultPlan::none());
            let runtime = world.run_on(store, asks(Node::new().held("Activity", &log, &gate))).await;
            world.start("i", "Main", "x").await;
            log.has(1).await;
            assert_eq!(runtime.clone().shutdown(Some(60_000)).now_or_never(), None);
            // It has begun: nothing more is fetched.
            world.start("j", "Main", "y").await;
            world.pass(millis(20)).await;
            assert!(world.history("j").await.is_empty());
            gate.open();
            runtime.shutdown(Some(60_000)).await;
            assert_eq!(Arc::strong_count(&world.store), before);
            // The start of the other one is left, and the result if it is a message.
            let messages = 1 + world.messages_of_a_result(steps);
            world.leaves(Left { messages, work: 0, leases: 0 }).await;
        });
    }
}

#[test]
fn without_grace_a_shutdown_needs_no_tokio() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let log = Log::new();
    let (store, node) = runtime.block_on(async {
        let store = Arc::new(abide_sqlite::SqliteProvider::new_in_memory().await.unwrap());
        let (activities, orchestrations, options) = endless(&log).into_parts();
        let node = Runtime::start_with_options(store.clone(), activities, orchestrations, options).await;
        let client = Client::new(store.clone());
        client.start_orchestration("i", "Main", "").await.unwrap();
        log.has(1).await;
        (store, node)
    });
    // Polled here by an executor that has no timers, while tokio goes on elsewhere.
    futures::executor::block_on(node.shutdown(Some(0)));
    assert_eq!(Arc::strong_count(&store), 1);
    assert_eq!(log.lines(), ["began", "dropped"]);
}

#[test]
fn with_grace_it_needs_none_either() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let store = Arc::new(abide_memory::InMemoryProvider::new());
    let node = runtime.block_on(async {
        let (activities, orchestrations, options) = Node::new().into_parts();
        Runtime::start_with_options(store.clone(), activities, orchestrations, options).await
    });
    futures::executor::block_on(node.shutdown(Some(10)));
    assert_eq!(Arc::strong_count(&store), 1);
}

#[test]
fn an_activity_that_blocks_its_thread_is_waited_for() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    let (blocked, log) = (Arc::new(Mutex::new(blocked)), Log::new());
    runtime.block_on(async {
        let store = Arc::new(abide_sqlite::SqliteProvider::new_in_memory().await.unwrap());
        let (writes, waits) = (log.clone(), blocked.clone());
        let node = asks(Node::new().activity("Activity", move |_, input| {
            let (log, blocked) = (writes.clone(), waits.clone());
            async move {
                log.write("began");
                blocked.lock().unwrap().recv().unwrap();
                log.write("ended");
                Ok(input)
            }
        }));
        let (activities, orchestrations, options) = node.into_parts();
        let node = Runtime::start_with_options(store.clone(), activities, orchestrations, options).await;
        let client = Client::new(store.clone());
        client.start_orchestration("i", "Main", "").await.unwrap();
        log.has(1).await;
        let mut stopping = std::pin::pin!(node.shutdown(Some(0)));
        assert!(futures::poll!(&mut stopping).is_pending());
        assert_eq!(log.len(), 1);
        release.send(()).unwrap();
        stopping.await;
        assert_eq!(log.lines(), ["began", "ended"]);
        drop(client);
        assert_eq!(Arc::strong_count(&store), 1);
    });
}

#[test]
fn dropping_a_runtime_stops_nothing() {
    on_every_store(async |world: World| {
        let node = asks(Node::new().activity("Activity", |_, input| async move { Ok(input) }));
        let runtime = world.run(node).await;
        let handle = Arc::downgrade(&runtime);
        drop(runtime);
        assert!(handle.upgrade().is_none());
        assert_eq!(world.start_and_end("i", "Main", "x").await.unwrap(), "x");
    });
}

#[test]
fn a_fetch_that_comes_back_after_the_shutdown_began_is_handed_back() {
    on_every_store(async |world: World| {
        let (answers, faults) =
            (Gate::closed(), Arc::new(FaultStore::new(world.store.clone(), world.clock.clone())));
        faults.hold_answers(Operation::FetchOrchestrationItem, &answers);
        world.start("i", "Main", "x").await;
        let runtime = world.run_on(Arc::new(RequiredOnly::new(faults)), asks(Node::new())).await;
        // The store has leased, and nobody knows.
        answers.waiting().await;
        assert_eq!(world.left().await.leases, 1);
        let stopping = runtime.shutdown(Some(20_000));
        let opening = async { answers.open() };
        futures::join!(stopping, opening);
        world.leaves(Left { messages: 1, work: 0, leases: 0 }).await;
        assert!(world.history("i").await.is_empty());
    });
}

#[test]
fn a_turn_that_cannot_be_committed_in_time_is_handed_back() {
    virtually(async |world: World| {
        let (commits, store) =
            (Gate::closed(), Arc::new(FaultStore::new(world.store.clone(), world.clock.clone())));
        for operation in [Operation::CommitTurn, Operation::AckOrchestrationItem] {
            store.hold(operation, &commits);
        }
        world.start("i", "Main", "x").await;
        let node = || Node::new().orchestration("Main", |_, input| async move { Ok(input) });
        let runtime = world.run_on(store, node()).await;
        commits.waiting().await;
        runtime.shutdown(Some(100)).await;
        world.leaves(Left { messages: 1, work: 0, leases: 0 }).await;
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn it_stops_also_while_it_backs_off_from_a_store_that_fails() {
    virtually(async |world: World| {
        let from = world.clock.monotonic();
        let plan = abide_sim::FaultPlan::none().outage(from, from + seconds(3_600));
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        let runtime = world.run_on(store, Node::new()).await;
        world.pass(seconds(60)).await;
        let (took, ()) = world.time(runtime.shutdown(Some(60_000))).await;
        assert!(took <= millis(1), "{took:?}");
    });
}
