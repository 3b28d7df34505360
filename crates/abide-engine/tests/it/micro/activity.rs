//! Activities: tags, sessions, retries, and waiting for several at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::model::{BackoffStrategy, RetryPolicy};
use abide_engine::{DurableFuture, OrchestrationContext};
use expect_test::expect;

use crate::support::mail::{done, failed, failed_with, fired, poisoned, signal, start};
use crate::support::{check, code, print, run};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_tag_and_a_session_are_part_of_the_record_and_of_the_job() {
    check(
        code(|ctx, _| async move {
            let tagged = ctx.schedule_activity("a", "1").map(|result| result).with_tag("cpu").with_tag("gpu");
            let session = ctx.schedule_activity_on_session("b", "2", "s-1").with_tag("gpu");
            ctx.join2(tagged, session).await.0
        }),
        vec![vec![start("in")], vec![done(2, "r"), done(3, "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "1", session_id: None, tag: Some("gpu") }
              3 ActivityScheduled { name: "b", input: "2", session_id: Some("s-1"), tag: Some("gpu") }
              -> worker ActivityExecute 2 a(1) tag=gpu
              -> worker ActivityExecute 3 b(2) session=s-1 tag=gpu
              => Running
            T2
              4 ActivityCompleted[2] { result: "r" }
              5 ActivityCompleted[3] { result: "" }
              6 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn typed_activities_encode_their_input_and_decode_their_result() {
    check(
        code(|ctx, _| async move {
            let sum: u32 = ctx.schedule_activity_typed("sum", &[1, 2]).await?;
            let text: String = ctx.schedule_activity_on_session_typed("say", &"5", "s-1").await?;
            let error = ctx.schedule_activity_typed::<_, u32>("bad", &()).await.unwrap_err();
            Ok(format!("{sum} {text} {error}"))
        }),
        vec![vec![start("in"), done(2, "3"), done(4, "five"), done(6, "six")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "sum", input: "[1,2]" }
              3 ActivityCompleted[2] { result: "3" }
              4 ActivityScheduled { name: "say", input: "\"5\"", session_id: Some("s-1"), tag: None }
              5 ActivityCompleted[4] { result: "five" }
              6 ActivityScheduled { name: "bad", input: "null" }
              7 ActivityCompleted[6] { result: "six" }
              8 OrchestrationCompleted { output: "3 five result of activity 'bad' is not a `u32`: expected value at line 1 column 1" }
              -> worker ActivityExecute 2 sum([1,2])
              -> worker ActivityExecute 4 say("5") session=s-1
              -> worker ActivityExecute 6 bad(null)
              => Completed "3 five result of activity 'bad' is not a `u32`: expected value at line 1 column 1"
        "#]],
    );
}

#[test]
fn an_input_that_cannot_be_encoded_is_an_error_and_nothing_is_scheduled() {
    check(
        code(|ctx, _| async move {
            let map = BTreeMap::from([((1, 2), 3)]);
            let plain = ctx.schedule_activity_typed::<_, u32>("a", &map).await.unwrap_err();
            let tagged = ctx.schedule_activity_typed::<_, u32>("a", &map).with_tag("gpu").await.unwrap_err();
            Ok(format!("{plain} | {tagged}"))
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationCompleted { output: "encode: key must be a string | encode: key must be a string" }
              => Completed "encode: key must be a string | encode: key must be a string"
        "#]],
    );
}

/// Why a tag is refused on what `make` makes.
fn refusal(make: impl Fn(&OrchestrationContext) + Send + Sync + 'static) -> String {
    let make = Arc::new(make);
    let tags = code(move |ctx, _| {
        let make = Arc::clone(&make);
        async move {
            make(&ctx);
            Ok(String::new())
        }
    });
    print::outcome(&run(&tags, &[vec![start("in")]])[0].outcome)
}

#[test]
fn only_activities_have_a_tag() {
    let what = |got: &str| {
        format!(
            "Failed application | orchestration panicked: with_tag() can only be called on activity futures, \
             got {got}"
        )
    };
    assert_eq!(refusal(|ctx| drop(ctx.schedule_timer(SECOND).with_tag("t"))), what("Timer"));
    assert_eq!(
        refusal(|ctx| drop(ctx.schedule_wait("s").with_tag("t"))),
        what("ExternalWait { event_name: \"s\" }")
    );
    assert_eq!(
        refusal(|ctx| drop(ctx.dequeue_event("q").with_tag("t"))),
        what("QueueDequeue { event_name: \"q\" }")
    );
    assert_eq!(
        refusal(|ctx| drop(ctx.schedule_sub_orchestration("C", "").with_tag("t"))),
        what("SubOrchestration { token: 1 }")
    );
}

#[test]
fn a_retry_pauses_between_attempts_and_gives_the_last_error() {
    check(
        code(|ctx, _| async move {
            let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::Exponential {
                base: SECOND,
                multiplier: 3.0,
                max: Duration::from_secs(30),
            });
            ctx.schedule_activity_with_retry("a", "x", policy).await
        }),
        vec![
            vec![start("in")],
            vec![failed(2, "one")],
            vec![fired(4, 3000), failed(6, "two")],
            vec![fired(8, 6000), failed(10, "three")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              -> worker ActivityExecute 2 a(x)
              => Running
            T2
              3 ActivityFailed[2] { details: Application { kind: ActivityFailed, message: "one", retryable: false } }
              4 TimerCreated { fire_at_ms: 3000 }
              -> TimerFired 4 at 3000
              says Warn: Activity 'a' attempt 1/3 failed: one. Retrying...
              => Running
            T3
              5 TimerFired[4] { fire_at_ms: 3000 }
              6 ActivityScheduled { name: "a", input: "x" }
              7 ActivityFailed[6] { details: Application { kind: ActivityFailed, message: "two", retryable: false } }
              8 TimerCreated { fire_at_ms: 6000 }
              -> worker ActivityExecute 6 a(x)
              -> activity 6 is try 2 of step 2
              -> TimerFired 8 at 6000
              says Warn: Activity 'a' attempt 2/3 failed: two. Retrying...
              => Running
            T4
              9 TimerFired[8] { fire_at_ms: 6000 }
              10 ActivityScheduled { name: "a", input: "x" }
              11 ActivityFailed[10] { details: Application { kind: ActivityFailed, message: "three", retryable: false } }
              12 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "three", retryable: false } }
              -> worker ActivityExecute 10 a(x)
              -> activity 10 is try 3 of step 2
              => Failed application | three
        "#]],
    );
}

#[test]
fn a_retry_without_pause_tries_again_at_once_on_the_same_session() {
    check(
        code(|ctx, _| async move {
            let policy = RetryPolicy::new(2).with_backoff(BackoffStrategy::None);
            let sum: u32 = ctx.schedule_activity_with_retry_on_session_typed("a", &1, policy, "s-1").await?;
            Ok(sum.to_string())
        }),
        vec![vec![start("in")], vec![failed(2, "one"), done(4, "5")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "1", session_id: Some("s-1"), tag: None }
              -> worker ActivityExecute 2 a(1) session=s-1
              => Running
            T2
              3 ActivityFailed[2] { details: Application { kind: ActivityFailed, message: "one", retryable: false } }
              4 ActivityScheduled { name: "a", input: "1", session_id: Some("s-1"), tag: None }
              5 ActivityCompleted[4] { result: "5" }
              6 OrchestrationCompleted { output: "5" }
              -> worker ActivityExecute 4 a(1) session=s-1
              -> activity 4 is try 2 of step 2
              says Warn: Activity 'a' (session=s-1) attempt 1/2 failed: one. Retrying...
              => Completed "5"
        "#]],
    );
}

#[test]
fn retries_that_run_side_by_side_keep_their_own_steps() {
    check(
        code(|ctx, _| async move {
            let policy = || RetryPolicy::new(3).with_backoff(BackoffStrategy::None).with_timeout(SECOND * 60);
            let (a, b) = futures::join!(
                ctx.schedule_activity_with_retry("a", "x", policy()),
                ctx.schedule_activity_with_retry("b", "y", policy()),
            );
            Ok(format!("{}{}", a?, b?))
        }),
        vec![
            vec![start("in")],
            vec![failed(4, "b1")],
            vec![failed(2, "a1"), failed(7, "b2")],
            vec![done(10, "A"), done(13, "B")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              3 TimerCreated { fire_at_ms: 61000 }
              4 ActivityScheduled { name: "b", input: "y" }
              5 TimerCreated { fire_at_ms: 61000 }
              -> worker ActivityExecute 2 a(x)
              -> worker ActivityExecute 4 b(y)
              -> TimerFired 3 at 61000
              -> TimerFired 5 at 61000
              => Running
            T2
              6 ActivityFailed[4] { details: Application { kind: ActivityFailed, message: "b1", retryable: false } }
              7 ActivityScheduled { name: "b", input: "y" }
              8 TimerCreated { fire_at_ms: 62000 }
              -> worker ActivityExecute 7 b(y)
              -> activity 7 is try 2 of step 4
              -> TimerFired 8 at 62000
              -> remove timer 5
              says Warn: Activity 'b' attempt 1/3 failed: b1. Retrying...
              => Running
            T3
              9 ActivityFailed[2] { details: Application { kind: ActivityFailed, message: "a1", retryable: false } }
              10 ActivityScheduled { name: "a", input: "x" }
              11 TimerCreated { fire_at_ms: 63000 }
              12 ActivityFailed[7] { details: Application { kind: ActivityFailed, message: "b2", retryable: false } }
              13 ActivityScheduled { name: "b", input: "y" }
              14 TimerCreated { fire_at_ms: 63000 }
              -> worker ActivityExecute 10 a(x)
              -> worker ActivityExecute 13 b(y)
              -> activity 10 is try 2 of step 2
              -> activity 13 is try 3 of step 4
              -> TimerFired 11 at 63000
              -> TimerFired 14 at 63000
              -> remove timer 3
              -> remove timer 8
              says Warn: Activity 'a' attempt 1/3 failed: a1. Retrying...
              says Warn: Activity 'b' attempt 2/3 failed: b2. Retrying...
              => Running
            T4
              15 ActivityCompleted[10] { result: "A" }
              16 ActivityCompleted[13] { result: "B" }
              17 OrchestrationCompleted { output: "AB" }
              -> remove timer 11
              -> remove timer 14
              => Completed "AB"
        "#]],
    );
}

#[test]
fn an_activity_that_is_dropped_in_its_turn_is_no_retry() {
    check(
        code(|ctx, _| async move {
            let policy = RetryPolicy::new(2).with_backoff(BackoffStrategy::None);
            let step = ctx.schedule_activity_with_retry("a", "x", policy);
            ctx.select2(step, ctx.schedule_wait("stop")).await;
            Ok("stopped".to_owned())
        }),
        vec![vec![start("in")], vec![failed(3, "one"), signal("stop", "now")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "stop" }
              3 ActivityScheduled { name: "a", input: "x" }
              -> worker ActivityExecute 3 a(x)
              => Running
            T2
              4 ActivityFailed[3] { details: Application { kind: ActivityFailed, message: "one", retryable: false } }
              5 ActivityScheduled { name: "a", input: "x" }
              6 ExternalEvent { name: "stop", data: "now" }
              7 ActivityCancelRequested[5] { reason: "dropped_future" }
              8 OrchestrationCompleted { output: "stopped" }
              -> cancel activity 5
              says Warn: Activity 'a' attempt 1/2 failed: one. Retrying...
              => Completed "stopped"
        "#]],
    );
}

#[test]
fn an_attempt_that_takes_too_long_is_cancelled_and_not_tried_again() {
    check(
        code(|ctx, _| async move {
            let policy = RetryPolicy::new(5).with_timeout(SECOND);
            ctx.schedule_activity_with_retry("a", "x", policy).await
        }),
        vec![vec![start("in")], vec![fired(3, 2000)]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              3 TimerCreated { fire_at_ms: 2000 }
              -> worker ActivityExecute 2 a(x)
              -> TimerFired 3 at 2000
              => Running
            T2
              4 TimerFired[3] { fire_at_ms: 2000 }
              5 ActivityCancelRequested[2] { reason: "dropped_future" }
              6 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "timeout: activity timed out", retryable: false } }
              -> cancel activity 2
              => Failed application | timeout: activity timed out
        "#]],
    );
}

#[test]
fn a_poisoned_attempt_is_not_tried_again() {
    check(
        code(|ctx, _| async move {
            let policy = RetryPolicy::new(5).with_backoff(BackoffStrategy::None);
            ctx.schedule_activity_with_retry("a", "x", policy).await
        }),
        vec![vec![start("in")], vec![failed_with(2, poisoned("a", 2))]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              -> worker ActivityExecute 2 a(x)
              => Running
            T2
              3 ActivityFailed[2] { details: Poison { attempt_count: 11, max_attempts: 10, message_type: Activity { instance: "i", execution_id: 1, activity_name: "a", activity_id: 2 }, message: "{}" } }
              4 OrchestrationFailed { details: Poison { attempt_count: 11, max_attempts: 10, message_type: Activity { instance: "i", execution_id: 1, activity_name: "a", activity_id: 2 }, message: "{}" } }
              => Failed poison | poison: activity a#2 exceeded 11 attempts (max 10)
        "#]],
    );
}

#[test]
fn a_retry_asks_for_nothing_before_it_is_polled() {
    check(
        code(|ctx, _| async move {
            drop(ctx.schedule_activity_with_retry("a", "x", RetryPolicy::default()));
            Ok("done".to_owned())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationCompleted { output: "done" }
              => Completed "done"
        "#]],
    );
}

#[test]
fn a_timeout_follows_what_it_limits_in_history() {
    check(
        code(|ctx, _| async move {
            let in_time = ctx.timeout(5 * SECOND, ctx.schedule_activity("a", "")).await??;
            let too_late = ctx.timeout(SECOND, ctx.schedule_activity("b", "")).await;
            Ok(format!("{in_time}, then {}", too_late.unwrap_err()))
        }),
        vec![vec![start("in")], vec![done(2, "r")], vec![fired(6, 3000)]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              3 TimerCreated { fire_at_ms: 6000 }
              -> worker ActivityExecute 2 a()
              -> TimerFired 3 at 6000
              => Running
            T2
              4 ActivityCompleted[2] { result: "r" }
              5 ActivityScheduled { name: "b", input: "" }
              6 TimerCreated { fire_at_ms: 3000 }
              -> worker ActivityExecute 5 b()
              -> TimerFired 6 at 3000
              -> remove timer 3
              => Running
            T3
              7 TimerFired[6] { fire_at_ms: 3000 }
              8 ActivityCancelRequested[5] { reason: "dropped_future" }
              9 OrchestrationCompleted { output: "r, then timed out after 1s" }
              -> cancel activity 5
              => Completed "r, then timed out after 1s"
        "#]],
    );
}

#[test]
fn select_all_says_who_was_first_and_drops_the_others() {
    check(
        code(|ctx, _| async move {
            let all = ["x", "y", "z"].map(|input| ctx.schedule_activity("a", input)).into();
            let (index, result) = ctx.select_all(all).await;
            Ok(format!("{index} {}", result?))
        }),
        vec![vec![start("in")], vec![done(3, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              3 ActivityScheduled { name: "a", input: "y" }
              4 ActivityScheduled { name: "a", input: "z" }
              -> worker ActivityExecute 2 a(x)
              -> worker ActivityExecute 3 a(y)
              -> worker ActivityExecute 4 a(z)
              => Running
            T2
              5 ActivityCompleted[3] { result: "r" }
              6 ActivityCancelRequested[2] { reason: "dropped_future" }
              7 ActivityCancelRequested[4] { reason: "dropped_future" }
              8 OrchestrationCompleted { output: "1 r" }
              -> cancel activity 2
              -> cancel activity 4
              => Completed "1 r"
        "#]],
    );
}

#[test]
fn select_all_of_nothing_fails_the_orchestration() {
    check(
        code(|ctx, _| async move {
            let none: Vec<DurableFuture<()>> = Vec::new();
            Ok(ctx.select_all(none).await.0.to_string())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationFailed { details: Application { kind: Panicked, message: "select_all() needs at least one future: with none it would wait for ever", retryable: false } }
              => Failed application | orchestration panicked: select_all() needs at least one future: with none it would wait for ever
        "#]],
    );
}

#[test]
fn a_join_of_nothing_is_ready_at_once() {
    check(
        code(|ctx, _| async move {
            let none: Vec<DurableFuture<()>> = Vec::new();
            Ok(ctx.join(none).await.len().to_string())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationCompleted { output: "0" }
              => Completed "0"
        "#]],
    );
}

#[test]
fn of_two_that_are_ready_at_once_the_first_argument_wins() {
    check(
        code(|ctx, _| async move {
            let (a, b) = (ctx.schedule_activity("a", ""), ctx.schedule_activity("b", ""));
            ctx.schedule_timer(SECOND).await;
            let (place, winner) = ctx.select2(a, b).await.into_tuple();
            Ok(format!("{place} {winner:?}"))
        }),
        vec![vec![start("in")], vec![done(3, "first in history"), done(2, "first argument"), fired(4, 2000)]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              3 ActivityScheduled { name: "b", input: "" }
              4 TimerCreated { fire_at_ms: 2000 }
              -> worker ActivityExecute 2 a()
              -> worker ActivityExecute 3 b()
              -> TimerFired 4 at 2000
              => Running
            T2
              5 ActivityCompleted[3] { result: "first in history" }
              6 ActivityCompleted[2] { result: "first argument" }
              7 TimerFired[4] { fire_at_ms: 2000 }
              8 OrchestrationCompleted { output: "0 Ok(\"first argument\")" }
              => Completed "0 Ok(\"first argument\")"
        "#]],
    );
}
