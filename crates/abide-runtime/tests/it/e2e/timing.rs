//! §25.3–25.8, §34 (timers): how long things take.
//!
//! §25.1 and §25.2 are waived: an engine that is faster than its tests is not broken.

use std::time::Duration;

use abide_model::EventKind;

use super::support::{Node, Place, World, in_real_time, millis, on_every_store, seconds, virtually};

fn one_activity() -> Node {
    Node::new().orchestration("Main", |ctx, input| async move { ctx.schedule_activity("Echo", input).await })
}

#[test]
fn an_activity_takes_far_less_than_half_a_second() {
    in_real_time(async |world: World| {
        for polling in [None, Some(millis(1))] {
            let node = one_activity().with(|options| {
                if let Some(interval) = polling {
                    options.dispatcher_min_poll_interval = interval;
                }
            });
            let runtime = world.run(node).await;
            let mut best = Duration::MAX;
            for n in 0..5 {
                let instance = format!("{polling:?} {n}");
                let (took, end) = world.time(world.start_and_end(&instance, "Main", "x")).await;
                end.unwrap();
                best = best.min(took);
            }
            // The best of five: a machine that does something else is not our business.
            let most = if polling.is_some() { millis(300) } else { millis(500) };
            assert!(best < most, "{best:?}");
            runtime.shutdown(None).await;
        }
    });
}

#[test]
fn in_a_store_that_wakes_a_step_takes_no_time() {
    virtually(async |world: World| {
        let runtime = world.run(one_activity()).await;
        let (took, end) = world.time(world.start_and_end("i", "Main", "x")).await;
        end.unwrap();
        let most = if world.place == Place::Memory { millis(0) } else { 5 * world.looks_every() };
        assert!(took <= most, "{took:?}");
        runtime.shutdown(None).await;
    });
}

/// When timers were to fire, and when their firing was recorded.
async fn firings(world: &World, instance: &str) -> Vec<(u64, u64)> {
    let history = world.history(instance).await;
    let fired = history.iter().filter_map(|event| {
        if let EventKind::TimerFired { fire_at_ms } = event.kind {
            Some((fire_at_ms, event.timestamp_ms))
        } else {
            None
        }
    });
    fired.collect()
}

#[test]
fn no_timer_is_early() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            for delay in [0, 1, 3, 10] {
                ctx.schedule_timer(millis(delay)).await;
            }
            // Less than a millisecond is rounded up.
            ctx.schedule_timer(Duration::from_nanos(1)).await;
            Ok(String::new())
        });
        let runtime = world.run(node).await;
        let began = world.clock.wall().as_millis();
        world.start_and_end("i", "Main", "").await.unwrap();
        let firings = firings(&world, "i").await;
        assert_eq!(firings.len(), 5);
        for (due, seen) in firings {
            assert!(seen >= due && due >= began, "{began}: due {due}, seen {seen}");
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_timer_counts_from_where_it_was_made_whatever_happens_between() {
    virtually(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, _| async move {
                let (long, short) = (ctx.schedule_timer(seconds(100)), ctx.schedule_timer(seconds(10)));
                short.await;
                ctx.schedule_timer(seconds(30)).await;
                long.await;
                Ok(String::new())
            })
        };
        let runtime = world.run(node()).await;
        let began = world.clock.wall().as_millis();
        world.start("i", "Main", "").await;
        world.recorded("i", "TimerFired", 1).await;
        // A restart, and a while in which nobody is there.
        runtime.shutdown(None).await;
        world.pass(seconds(5)).await;
        let runtime = world.run(node()).await;
        world.end("i").await.unwrap();
        let seen = firings(&world, "i").await;
        let look = if world.place == Place::Memory { Duration::ZERO } else { world.looks_every() };
        let late = |from: u64, to: u64| Duration::from_millis(to.checked_sub(from).expect("not early"));
        assert_eq!(seen.len(), 3);
        for ((due, seen), expected) in seen.into_iter().zip([10, 40, 100]) {
            // Made in a turn that was late itself, and so was the one before.
            assert!(late(began + expected * 1_000, due) <= 2 * look + millis(10), "{expected}: due {due}");
            assert!(late(due, seen) <= look + millis(10), "{expected}: due {due}, seen {seen}");
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_timer_that_became_due_while_nobody_was_there_fires_at_once() {
    virtually(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, _| async move {
                ctx.schedule_timer(seconds(60)).await;
                Ok(String::new())
            })
        };
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "TimerCreated", 1).await;
        runtime.shutdown(None).await;
        world.pass(seconds(3_600)).await;
        let runtime = world.run(node()).await;
        let (took, end) = world.time(world.end("i")).await;
        end.unwrap();
        assert!(took <= 2 * world.looks_every(), "{took:?}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_timer_of_no_time_takes_a_turn_of_its_own() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.schedule_timer(Duration::ZERO).await;
            Ok("x".to_owned())
        });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(
            world.trace("i").await,
            ["1 OrchestrationStarted", "2 TimerCreated", "3 TimerFired[2]", "4 OrchestrationCompleted x"]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn with_a_lease_of_two_seconds_an_activity_hears_within_one() {
    virtually(async |world: World| {
        let log = super::support::Log::new();
        let node = Node::new()
            .patient("Patient", &log)
            .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Patient", "").await })
            .with(|options| options.worker_lock_timeout = seconds(2));
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.client().cancel_instance("i", "why").await.unwrap();
        let (took, _) = world.time(log.has(2)).await;
        let most = if world.place == Place::Memory { seconds(1) } else { seconds(1) + world.looks_every() };
        assert!(took <= most, "{took:?}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_gauge_says_how_many_run() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
            .with(|options| options.observability.gauge_poll_interval = millis(100));
        let runtime = world.run(node).await;
        for instance in ["a", "b", "c"] {
            world.start(instance, "Main", "").await;
            world.recorded(instance, "ExternalSubscribed", 1).await;
        }
        let active =
            || runtime.observability_handle().unwrap().metrics_provider().get_active_orchestrations();
        world.until(async || active() == 3).await;
        for instance in ["a", "b", "c"] {
            world.raise(instance, "go", "").await;
            world.end(instance).await.unwrap();
        }
        world.until(async || active() == 0).await;
        runtime.shutdown(None).await;
    });
}
