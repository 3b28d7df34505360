//! §8: joining, racing and trying again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_model::{BackoffStrategy, Either2, Either3, EventKind, RetryPolicy};
use abide_sim::Gate;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

use super::support::{Log, Node, World, millis, names, on_every_store, seconds, virtually};

#[test]
fn a_join_gives_results_by_position_whatever_comes_first() {
    on_every_store(async |world: World| {
        let slow = Gate::closed();
        let held = slow.clone();
        let node = Node::new()
            .activity("Slow", move |_, input| {
                let held = held.clone();
                async move {
                    held.pass().await;
                    Ok(input)
                }
            })
            .orchestration("Main", |ctx, _| async move {
                let all = vec![
                    ctx.schedule_activity("Slow", "1"),
                    ctx.schedule_activity("Echo", "2"),
                    ctx.schedule_activity("Echo", "3"),
                ];
                let results: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
                Ok(results?.concat())
            });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ActivityCompleted", 2).await;
        slow.open();
        assert_eq!(world.end("i").await.unwrap(), "123");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_join_of_nothing_is_done_at_once() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let none: Vec<abide_engine::DurableFuture<()>> = Vec::new();
            Ok(ctx.join(none).await.len().to_string())
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "0");
        assert_eq!(names(&world.history("i").await), ["OrchestrationStarted", "OrchestrationCompleted"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn joins_of_two_and_three_keep_their_types() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (two, ()) =
                ctx.join2(ctx.schedule_activity("Echo", "2"), ctx.schedule_timer(millis(5))).await;
            let (one, (), three) = ctx
                .join3(
                    ctx.schedule_activity("Echo", "1"),
                    ctx.schedule_timer(millis(5)),
                    ctx.schedule_activity("Echo", "3"),
                )
                .await;
            Ok(one? + &two? + &three?)
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "123");
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_race_is_won_by_what_comes_first_in_history() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (a, b, c) = (ctx.schedule_wait("a"), ctx.schedule_wait("b"), ctx.schedule_wait("c"));
            Ok(match ctx.select3(a, b, c).await {
                Either3::First(a) => format!("a {a}"),
                Either3::Second(b) => format!("b {b}"),
                Either3::Third(c) => format!("c {c}"),
            })
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 3).await;
        world.raise("i", "c", "1").await;
        assert_eq!(world.end("i").await.unwrap(), "c 1");
        runtime.shutdown(None).await;
    });
}

#[test]
fn of_two_that_are_ready_the_first_argument_wins() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (early, late) = (ctx.schedule_wait("early"), ctx.schedule_wait("late"));
            ctx.schedule_wait("go").await;
            Ok(match ctx.select2(late, early).await {
                Either2::First(late) => late,
                Either2::Second(early) => early,
            })
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 3).await;
        for name in ["early", "late", "go"] {
            world.raise("i", name, name).await;
        }
        assert_eq!(world.end("i").await.unwrap(), "late");
        runtime.shutdown(None).await;
    });
}

#[test]
fn combinators_of_the_futures_crate_work() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (a, b) =
                futures::join!(ctx.schedule_activity("Echo", "a"), ctx.schedule_activity("Echo", "b"));
            let many = (0..40).map(|n| ctx.schedule_activity("Echo", n.to_string()));
            let many = futures::future::join_all(many).await.len();
            let mut unordered: FuturesUnordered<_> =
                (0..40).map(|n| ctx.schedule_activity("Echo", n.to_string())).collect();
            let mut count = 0;
            while unordered.next().await.is_some() {
                count += 1;
            }
            let race = vec![ctx.schedule_activity("Echo", "first"), ctx.schedule_activity("Echo", "second")];
            let (winner, _, rest) = futures::future::select_all(race).await;
            let mut timer = std::pin::pin!(futures::FutureExt::fuse(ctx.schedule_timer(seconds(600))));
            let mut quick = std::pin::pin!(futures::FutureExt::fuse(ctx.schedule_activity("Echo", "quick")));
            let biased = futures::select_biased! {
                () = timer => "timer".to_owned(),
                quick = quick => quick?,
            };
            Ok(format!("{}{} {many} {count} {} {} {biased}", a?, b?, winner.is_ok(), rest.len()))
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "ab 40 40 true 1 quick");
        runtime.shutdown(None).await;
    });
}

/// Fails until it was called this often; says when it was called.
fn fails_until(success: u32) -> (Arc<AtomicU32>, Node) {
    let calls = Arc::new(AtomicU32::new(0));
    let counter = calls.clone();
    let node = Node::new().activity("Flaky", move |_, _| {
        let call = counter.fetch_add(1, Ordering::SeqCst) + 1;
        async move { if call >= success { Ok(format!("at {call}")) } else { Err(format!("no {call}")) } }
    });
    (calls, node)
}

/// When its attempts were made, in milliseconds after the first.
async fn attempts(world: &World, instance: &str) -> Vec<u64> {
    let history = world.history(instance).await;
    let scheduled = history.iter().filter(|event| matches!(event.kind, EventKind::ActivityScheduled { .. }));
    let times: Vec<u64> = scheduled.map(|event| event.timestamp_ms).collect();
    times.iter().map(|time| time - times[0]).collect()
}

#[test]
fn a_retry_tries_as_often_as_it_may_and_gives_the_last_error() {
    on_every_store(async |world: World| {
        let (calls, node) = fails_until(u32::MAX);
        let node = node.orchestration("Main", |ctx, _| async move {
            let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::None);
            ctx.schedule_activity_with_retry("Flaky", "", policy).await
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap_err(), "no 3");
        assert_eq!(calls.load(Ordering::SeqCst), 3);
        // Without a pause there is no timer, and each attempt is an activity like any other.
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 ActivityScheduled Flaky()",
                "3 ActivityFailed[2] no 1",
                "4 ActivityScheduled Flaky()",
                "5 ActivityFailed[4] no 2",
                "6 ActivityScheduled Flaky()",
                "7 ActivityFailed[6] no 3",
                "8 OrchestrationFailed no 3",
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_retry_stops_at_the_first_success() {
    on_every_store(async |world: World| {
        let (calls, node) = fails_until(2);
        let node = node.orchestration("Main", |ctx, _| async move {
            let backoff = BackoffStrategy::Fixed { delay: millis(5) };
            ctx.schedule_activity_with_retry("Flaky", "", RetryPolicy::new(5).with_backoff(backoff)).await
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "at 2");
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        assert!(attempts(&world, "i").await[1] >= 5);
        runtime.shutdown(None).await;
    });
}

/// Runs five attempts and says when they were made, in seconds after the first.
fn pauses(backoff: &BackoffStrategy) -> Vec<u64> {
    let times = std::sync::Mutex::new(Vec::new());
    virtually(async |world: World| {
        let backoff = backoff.clone();
        let (_, node) = fails_until(5);
        let node = node.orchestration("Main", move |ctx, _| {
            let policy = RetryPolicy::new(5).with_backoff(backoff.clone());
            async move { ctx.schedule_activity_with_retry("Flaky", "", policy).await }
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "at 5");
        let made = attempts(&world, "i").await;
        runtime.shutdown(None).await;
        // A store that cannot wake is asked every tenth of a second.
        *times.lock().unwrap() = made.iter().map(|time| time / 1_000).collect();
    });
    times.into_inner().unwrap()
}

#[test]
fn pauses_between_attempts_are_what_the_policy_says() {
    let fixed = BackoffStrategy::Fixed { delay: seconds(3) };
    assert_eq!(pauses(&fixed), [0, 3, 6, 9, 12]);
    let linear = BackoffStrategy::Linear { base: seconds(2), max: seconds(5) };
    assert_eq!(pauses(&linear), [0, 2, 6, 11, 16]);
    let exponential = BackoffStrategy::Exponential { base: seconds(1), multiplier: 3.0, max: seconds(10) };
    assert_eq!(pauses(&exponential), [0, 1, 4, 13, 23]);
    assert_eq!(pauses(&BackoffStrategy::None), [0, 0, 0, 0, 0]);
}

#[test]
fn an_attempt_that_takes_too_long_is_cancelled_and_not_repeated() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let node = Node::new().patient("Slow", &log).orchestration("Main", |ctx, _| async move {
            let policy = RetryPolicy::new(3).with_timeout(millis(20));
            ctx.schedule_activity_with_retry("Slow", "", policy).await
        });
        let runtime = world.run(node).await;
        let end = world.start_and_end("i", "Main", "").await;
        assert_eq!(end.unwrap_err(), "timeout: activity timed out");
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 ActivityScheduled Slow()",
                "3 TimerCreated",
                "4 TimerFired[3]",
                "5 ActivityCancelRequested[2] dropped_future",
                "6 OrchestrationFailed timeout: activity timed out",
            ]
        );
        world.is_drained().await;
        // In real time it may be too late before it begins.
        if world.is_virtual() {
            assert_eq!(log.has(2).await, ["began", "Dropped"]);
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_deadline_of_an_attempt_that_was_in_time_leaves_nothing_behind() {
    on_every_store(async |world: World| {
        let (_, node) = fails_until(2);
        let node = node.orchestration("Main", |ctx, _| async move {
            let policy = RetryPolicy::new(3)
                .with_timeout(Duration::from_secs(900))
                .with_backoff(BackoffStrategy::Fixed { delay: millis(5) });
            ctx.schedule_activity_with_retry("Flaky", "", policy).await
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "at 2");
        assert_eq!(
            names(&world.history("i").await),
            [
                "OrchestrationStarted",
                "ActivityScheduled",
                "TimerCreated",
                "ActivityFailed",
                "TimerCreated",
                "TimerFired",
                "ActivityScheduled",
                "TimerCreated",
                "ActivityCompleted",
                "OrchestrationCompleted",
            ]
        );
        // Removed with the turn; a store that cannot do that lets them fire into nothing.
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_retry_on_a_session_stays_on_it() {
    on_every_store(async |world: World| {
        let (_, node) = fails_until(2);
        let node = node.orchestration("Main", |ctx, _| async move {
            let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::None);
            ctx.schedule_activity_with_retry_on_session("Flaky", "", policy, "s").await
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "at 2");
        let history = world.history("i").await;
        let sessions = history.iter().filter_map(|event| {
            if let EventKind::ActivityScheduled { session_id, .. } = &event.kind {
                session_id.clone()
            } else {
                None
            }
        });
        assert_eq!(sessions.collect::<Vec<_>>(), ["s", "s"]);
        runtime.shutdown(None).await;
    });
}
