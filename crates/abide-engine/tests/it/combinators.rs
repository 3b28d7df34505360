//! Combinators of the futures crate work on durable futures, and replay.
//!
//! Every script runs resident, cold and in one batch, and its history is replayed (`agree`).

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use abide_engine::model::{Either2, WorkItem};
use abide_engine::{DurableFuture, OrchestrationContext};
use expect_test::expect;
use futures::future::{self, Either, join_all, select_all};
use futures::stream::{self, FuturesUnordered};
use futures::{FutureExt, StreamExt};

use crate::support::drive::{agree, returned};
use crate::support::mail::{done, fired, message, signal, start};
use crate::support::{check, code};

/// An activity that succeeds.
fn call(ctx: &OrchestrationContext, name: impl Into<String>) -> DurableFuture<String> {
    ctx.schedule_activity(name, "").map(Result::unwrap_or_default)
}

/// Runs code to its end, one message a turn, and compares what it returns.
#[track_caller]
fn ends<Fut>(
    body: impl Fn(OrchestrationContext) -> Fut + Send + Sync + 'static,
    mail: Vec<WorkItem>,
    expected: &str,
) where
    Fut: Future<Output = String> + Send + 'static,
{
    let code = code(move |ctx, _| body(ctx).map(Ok));
    let turns: Vec<_> = std::iter::once(start("in")).chain(mail).map(|item| vec![item]).collect();
    let outputs = agree(&code, &turns);
    assert_eq!(outputs.last().map(returned).as_deref(), Some(expected));
}

#[test]
fn the_join_macro_works_and_replays() {
    ends(
        |ctx| async move {
            let (a, b, c) = futures::join!(call(&ctx, "a"), call(&ctx, "b"), call(&ctx, "c"));
            format!("{a}{b}{c}")
        },
        vec![done(4, "C"), done(2, "A"), done(3, "B")],
        "ABC",
    );
}

#[test]
fn join_all_of_few_and_of_many_works_and_replays() {
    for count in [3_u64, 29, 30, 31, 64] {
        ends(
            move |ctx| async move { join_all((0..count).map(|i| call(&ctx, format!("a{i}")))).await.concat() },
            (0..count).rev().map(|i| done(i + 2, "x")).collect(),
            &"x".repeat(usize::try_from(count).expect("it is small")),
        );
    }
}

#[test]
fn futures_unordered_gives_results_as_they_arrive() {
    ends(
        |ctx| async move {
            let all: FuturesUnordered<_> = ["a", "b", "c"].map(|name| call(&ctx, name)).into_iter().collect();
            all.collect::<Vec<_>>().await.concat()
        },
        vec![done(3, "B"), done(4, "C"), done(2, "A")],
        "BCA",
    );
}

#[test]
fn futures_unordered_may_grow_while_it_is_drained() {
    ends(
        |ctx| async move {
            let mut all = FuturesUnordered::new();
            all.push(call(&ctx, "first").boxed());
            let mut seen = Vec::new();
            while let Some(result) = all.next().await {
                if seen.len() < 3 {
                    all.push(call(&ctx, result.clone()).boxed());
                }
                seen.push(result);
            }
            seen.concat()
        },
        vec![done(2, "1"), done(4, "2"), done(6, "3"), done(8, "4")],
        "1234",
    );
}

#[test]
fn select_of_the_futures_crate_keeps_the_loser() {
    ends(
        |ctx| async move {
            match future::select(call(&ctx, "a"), ctx.schedule_timer(Duration::from_secs(1))).await {
                Either::Left((a, timer)) => {
                    timer.await;
                    a
                }
                Either::Right(((), a)) => format!("late {}", a.await),
            }
        },
        vec![fired(3, 2_000), done(2, "A")],
        "late A",
    );
}

#[test]
fn select_all_gives_the_first_and_the_rest() {
    ends(
        |ctx| async move {
            let (first, index, rest) = select_all(["a", "b", "c"].map(|name| call(&ctx, name))).await;
            let (second, _, rest) = select_all(rest).await;
            format!("{first}{index}{second}{}", rest.len())
        },
        vec![done(4, "C"), done(2, "A")],
        "C2A1",
    );
}

#[test]
fn select_biased_in_a_loop_works_and_replays() {
    ends(
        |ctx| async move {
            let mut log = String::new();
            let mut timer = ctx.schedule_timer(Duration::from_secs(1)).fuse();
            loop {
                let mut next = ctx.dequeue_event("q").fuse();
                futures::select_biased! {
                    () = timer => break,
                    text = next => log.push_str(&text),
                }
            }
            log
        },
        vec![message("q", "1"), message("q", "2"), fired(2, 2_000)],
        "12",
    );
}

#[test]
fn catch_unwind_around_a_durable_future_works_and_replays() {
    ends(
        |ctx| async move {
            let caught = AssertUnwindSafe(ctx.schedule_activity("a", "")).catch_unwind().await;
            let bad = ctx.schedule_activity("b", "").map(|_| -> String { panic!("in a map") });
            let panicked = AssertUnwindSafe(bad).catch_unwind().await.is_err();
            format!("{} {panicked}", caught.is_ok())
        },
        vec![done(2, "A"), done(4, "B")],
        "true true",
    );
}

#[test]
fn buffer_unordered_asks_no_more_than_its_share_at_once() {
    check(
        code(|ctx, _| async move {
            let ctx = &ctx;
            let all =
                stream::iter(["a", "b", "c"].map(str::to_owned)).map(|name| ctx.schedule_activity(name, ""));
            let results: Vec<_> = all.buffer_unordered(2).map(Result::unwrap_or_default).collect().await;
            Ok(results.concat())
        }),
        vec![vec![start("in")], vec![done(3, "B")], vec![done(2, "A"), done(5, "C")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              3 ActivityScheduled { name: "b", input: "" }
              -> worker ActivityExecute 2 a()
              -> worker ActivityExecute 3 b()
              => Running
            T2
              4 ActivityCompleted[3] { result: "B" }
              5 ActivityScheduled { name: "c", input: "" }
              -> worker ActivityExecute 5 c()
              => Running
            T3
              6 ActivityCompleted[2] { result: "A" }
              7 ActivityCompleted[5] { result: "C" }
              8 OrchestrationCompleted { output: "BAC" }
              => Completed "BAC"
        "#]],
    );
}

#[test]
fn buffered_keeps_the_order() {
    ends(
        |ctx| async move {
            let ctx = &ctx;
            let all = stream::iter(0..5).map(|i| call(ctx, i.to_string()));
            all.buffered(3).collect::<Vec<_>>().await.concat()
        },
        vec![done(4, "2"), done(3, "1"), done(2, "0"), done(8, "3"), done(9, "4")],
        "01234",
    );
}

#[test]
fn select2_with_a_borrowed_future_keeps_it() {
    check(
        code(|ctx, _| async move {
            let mut slow = ctx.schedule_activity("slow", "");
            let mut beats = 0;
            loop {
                let tick = ctx.schedule_timer(Duration::from_secs(1));
                match ctx.select2(tick, &mut slow).await {
                    Either2::First(()) => beats += 1,
                    Either2::Second(result) => return Ok(format!("{} after {beats}", result?)),
                }
                if beats == 2 {
                    return Ok(format!("{} in the end", slow.await?));
                }
            }
        }),
        vec![vec![start("in")], vec![fired(3, 2_000)], vec![fired(5, 3_000)], vec![done(2, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "slow", input: "" }
              3 TimerCreated { fire_at_ms: 2000 }
              -> worker ActivityExecute 2 slow()
              -> TimerFired 3 at 2000
              => Running
            T2
              4 TimerFired[3] { fire_at_ms: 2000 }
              5 TimerCreated { fire_at_ms: 3000 }
              -> TimerFired 5 at 3000
              => Running
            T3
              6 TimerFired[5] { fire_at_ms: 3000 }
              => Running
            T4
              7 ActivityCompleted[2] { result: "r" }
              8 OrchestrationCompleted { output: "r in the end" }
              => Completed "r in the end"
        "#]],
    );
}

#[test]
fn a_shared_future_wakes_all_who_wait() {
    ends(
        |ctx| async move {
            let shared = call(&ctx, "a").shared();
            let one = {
                let (shared, ctx) = (shared.clone(), ctx.clone());
                async move { call(&ctx, format!("1{}", shared.await)).await }
            };
            let two = {
                let (shared, ctx) = (shared.clone(), ctx.clone());
                async move { call(&ctx, format!("2{}", shared.await)).await }
            };
            let (one, two) = futures::join!(one, two);
            format!("{one}{two}{}", shared.await)
        },
        vec![done(2, "A"), done(5, "y"), done(4, "x")],
        "xyA",
    );
}

#[test]
fn nested_joins_in_nested_blocks_work_and_replay() {
    ends(
        |ctx| async move {
            let inner = async {
                let (a, b) = futures::join!(call(&ctx, "a"), async { call(&ctx, "b").await });
                async { call(&ctx, format!("{a}{b}")).await }.await
            };
            let outer = async {
                ctx.join(vec![call(&ctx, "c").boxed(), async { ctx.schedule_wait("s").await }.boxed()]).await
            };
            let (inner, outer) = futures::join!(inner, outer);
            format!("{inner}{}", outer.concat())
        },
        vec![done(3, "B"), signal("s", "S"), done(2, "A"), done(4, "C"), done(9, "I")],
        "ICS",
    );
}

#[test]
fn select_ok_and_try_join_work_and_replay() {
    ends(
        |ctx| async move {
            let tries = ["a", "b"].map(|name| ctx.schedule_activity(name, ""));
            let first = future::select_ok(tries).await.map(|(value, _)| value);
            let both = future::try_join(ctx.schedule_activity("c", ""), ctx.schedule_activity("d", "")).await;
            format!("{first:?} {both:?}")
        },
        vec![crate::support::mail::failed(2, "no"), done(3, "B"), crate::support::mail::failed(6, "never")],
        "Ok(\"B\") Err(\"never\")",
    );
}

#[test]
fn a_future_may_be_made_in_one_poll_and_awaited_in_a_later_one() {
    ends(
        |ctx| async move {
            let early = call(&ctx, "early");
            let first = call(&ctx, "first").await;
            format!("{first}{}", early.await)
        },
        vec![done(2, "E"), done(3, "F")],
        "FE",
    );
}

#[test]
fn abortable_drops_nothing_until_it_is_dropped() {
    check(
        code(|ctx, _| async move {
            let (slow, handle) = future::abortable(ctx.schedule_activity("slow", ""));
            let stop = async {
                ctx.schedule_wait("stop").await;
                handle.abort();
            };
            let (result, ()) = futures::join!(slow, stop);
            Ok(format!("{}", result.is_err()))
        }),
        vec![vec![start("in")], vec![signal("stop", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "slow", input: "" }
              3 ExternalSubscribed { name: "stop" }
              -> worker ActivityExecute 2 slow()
              => Running
            T2
              4 ExternalEvent { name: "stop", data: "" }
              5 ActivityCancelRequested[2] { reason: "dropped_future" }
              6 OrchestrationCompleted { output: "true" }
              -> cancel activity 2
              => Completed "true"
        "#]],
    );
}
