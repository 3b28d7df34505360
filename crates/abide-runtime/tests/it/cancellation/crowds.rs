//! Many at once.

use crate::e2e::support::{Left, Log, Node, Place, World, names, on_own_stores, seconds, virtually};

const ORCHESTRATIONS: usize = 100;
const ACTIVITIES: usize = 5;

/// An orchestration that asks for five activities that run until they are told to stop.
fn five(log: &Log) -> Node {
    Node::new()
        .patient("Patient", log)
        .orchestration("Five", |ctx, _| async move {
            let all = (0..ACTIVITIES).map(|_| ctx.schedule_activity("Patient", "")).collect();
            ctx.join(all).await.swap_remove(0)
        })
        .orchestration("Next", |ctx, input| async move { ctx.schedule_activity("Echo", input).await })
}

/// Starts them, and waits until that many activities run.
async fn begin(world: &World, log: &Log, running: usize) -> Vec<String> {
    let all: Vec<String> = (0..ORCHESTRATIONS).map(|number| format!("i{number}")).collect();
    for instance in &all {
        world.start(instance, "Five", "").await;
    }
    log.has(running).await;
    all
}

async fn cancel_all(world: &World, all: &[String]) {
    let client = world.client();
    let cancels = all.iter().map(|instance| client.cancel_instance(instance, "all of you"));
    for cancelled in futures::future::join_all(cancels).await {
        cancelled.unwrap();
    }
}

#[test]
fn a_hundred_orchestrations_with_five_activities_each_are_cancelled_at_once() {
    on_own_stores(async |world: World| {
        let log = Log::new();
        let node = five(&log).with(|options| options.worker_concurrency = ORCHESTRATIONS * ACTIVITIES);
        let runtime = world.run(node).await;
        let all = begin(&world, &log, ORCHESTRATIONS * ACTIVITIES).await;
        let (took, lines) = world
            .time(async {
                cancel_all(&world, &all).await;
                log.has(2 * ORCHESTRATIONS * ACTIVITIES).await
            })
            .await;
        // The first renewal is after ten seconds.
        let soon = if world.place == Place::Memory { seconds(1) } else { seconds(9) };
        assert!(took < soon, "{took:?}");
        let heard = lines.iter().filter(|line| *line == "OrchestrationEnded { status: Failed }").count();
        assert_eq!(heard, ORCHESTRATIONS * ACTIVITIES);
        for instance in &all {
            assert_eq!(world.end(instance).await.unwrap_err(), "canceled: all of you");
            let history = world.history(instance).await;
            let names = names(&history);
            let requested = names.iter().filter(|name| **name == "ActivityCancelRequested").count();
            assert_eq!((requested, names.last()), (ACTIVITIES, Some(&"OrchestrationFailed")));
            assert!(!names.contains(&"ActivityCompleted"), "{names:?}");
        }
        world.is_drained().await;
        assert_eq!(world.start_and_end("next", "Next", "x").await.unwrap(), "x");
        runtime.shutdown(None).await;
        world.leaves(Left::NOTHING).await;
    });
}

/// What is queued behind full slots goes away without ever starting, and then the slots do other work at once.
#[test]
fn with_every_slot_taken_cancellations_get_through_and_the_slots_do_other_work() {
    const SLOTS: usize = 8;
    on_own_stores(async |world: World| {
        let log = Log::new();
        let node = five(&log).with(|options| options.worker_concurrency = SLOTS);
        let runtime = world.run(node).await;
        let all = begin(&world, &log, SLOTS).await;
        for number in 0..ORCHESTRATIONS {
            world.start(&format!("next{number}"), "Next", &number.to_string()).await;
        }
        let (took, ()) = world
            .time(async {
                cancel_all(&world, &all).await;
                for number in 0..ORCHESTRATIONS {
                    let end = world.end(&format!("next{number}")).await;
                    assert_eq!(end.unwrap(), number.to_string());
                }
            })
            .await;
        let soon = if world.place == Place::Memory { seconds(1) } else { seconds(9) };
        assert!(took < soon, "{took:?}");
        for instance in &all {
            assert_eq!(world.end(instance).await.unwrap_err(), "canceled: all of you");
        }
        world.is_drained().await;
        let began = || log.lines().iter().filter(|line| *line == "began").count();
        world.until(async || log.len() == 2 * began()).await; // whatever began has heard
        assert!(began() < ORCHESTRATIONS * ACTIVITIES, "most never started");
        runtime.shutdown(None).await;
        world.leaves(Left::NOTHING).await;
    });
}

/// The same with activities that do not listen: the slots are free when the grace is over.
#[test]
fn with_every_slot_taken_by_activities_that_do_not_listen_the_slots_are_free_after_the_grace() {
    const SLOTS: usize = 8;
    virtually(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new()
            .activity("Deaf", move |_, _| {
                writes.write("began");
                std::future::pending()
            })
            .orchestration("Deaf", |ctx, _| async move { ctx.schedule_activity("Deaf", "").await })
            .orchestration("Next", |ctx, input| async move { ctx.schedule_activity("Echo", input).await })
            .with(|options| options.worker_concurrency = SLOTS);
        let runtime = world.run(node).await;
        let all: Vec<String> = (0..SLOTS).map(|number| format!("i{number}")).collect();
        for instance in &all {
            world.start(instance, "Deaf", "").await;
        }
        log.has(SLOTS).await;
        world.start("next", "Next", "x").await;
        let (took, end) = world
            .time(async {
                cancel_all(&world, &all).await;
                world.end("next").await
            })
            .await;
        assert_eq!(end.unwrap(), "x");
        // Where the store tells nothing, the next renewal does, after ten seconds at most.
        let heard_within = if world.place == Place::Memory { seconds(0) } else { seconds(10) };
        let most = seconds(11) + heard_within + 2 * world.looks_every();
        assert!(took >= seconds(10) && took <= most, "{took:?}");
        runtime.shutdown(None).await;
    });
}
