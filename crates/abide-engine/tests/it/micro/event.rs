//! Signals and queue messages, typed and untyped.

use abide_engine::model::Either2;
use expect_test::expect;

use crate::support::mail::{message, signal, start};
use crate::support::{check, code};

#[test]
fn a_signal_raised_before_the_start_reaches_the_first_wait() {
    check(
        code(|ctx, _| async move { Ok(ctx.schedule_wait("s").await) }),
        vec![vec![signal("s", "early"), start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 ExternalEvent { name: "s", data: "early" }
              4 OrchestrationCompleted { output: "early" }
              => Completed "early"
        "#]],
    );
}

#[test]
fn the_first_signal_of_a_batch_wins_the_select() {
    check(
        code(|ctx, _| async move {
            match ctx.select2(ctx.schedule_wait("A"), ctx.schedule_wait("B")).await {
                Either2::First(data) => Ok(format!("A {data}")),
                Either2::Second(data) => Ok(format!("B {data}")),
            }
        }),
        vec![vec![start("in")], vec![signal("B", "b"), signal("A", "a")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "A" }
              3 ExternalSubscribed { name: "B" }
              => Running
            T2
              4 ExternalEvent { name: "B", data: "b" }
              5 ExternalSubscribedCancelled[2] { reason: "dropped_future" }
              6 OrchestrationCompleted { output: "B b" }
              notice: ExternalRaised dropped: the execution has ended
              => Completed "B b"
        "#]],
    );
}

#[test]
fn a_second_signal_goes_to_nobody_once_its_wait_has_one() {
    check(
        code(|ctx, _| async move {
            let wait = ctx.schedule_wait("s");
            ctx.schedule_wait("go").await;
            Ok(wait.await)
        }),
        vec![vec![start("in")], vec![signal("s", "x"), signal("s", "x"), signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 ExternalSubscribed { name: "go" }
              => Running
            T2
              4 ExternalEvent { name: "s", data: "x" }
              5 ExternalEvent { name: "s", data: "x" }
              6 ExternalEvent { name: "go", data: "" }
              7 OrchestrationCompleted { output: "x" }
              notice: signal 's' recorded, but nobody waits for it
              => Completed "x"
        "#]],
    );
}

#[test]
fn typed_events_are_read_by_the_codec() {
    check(
        code(|ctx, _| async move {
            let text: String = ctx.schedule_wait_typed("s").await;
            let quoted: String = ctx.schedule_wait_typed("s").await;
            let pair: (u32, bool) = ctx.dequeue_event_typed("q").await;
            Ok(format!("{text} {quoted} {pair:?}"))
        }),
        vec![vec![start("in")], vec![signal("s", "bare"), signal("s", "\"5\""), message("q", "[1,true]")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              => Running
            T2
              3 ExternalEvent { name: "s", data: "bare" }
              4 ExternalSubscribed { name: "s" }
              5 ExternalEvent { name: "s", data: "\"5\"" }
              6 QueueSubscribed { name: "q" }
              7 QueueEventDelivered { name: "q", data: "[1,true]" }
              8 OrchestrationCompleted { output: "bare 5 (1, true)" }
              => Completed "bare 5 (1, true)"
        "#]],
    );
}

#[test]
fn a_payload_that_cannot_be_read_is_an_error_for_code_that_asks_for_it() {
    check(
        code(|ctx, _| async move {
            let wait = ctx.try_schedule_wait_typed::<u32>("s").await;
            let bad = ctx.try_dequeue_event_typed::<u32>("q").await;
            let good = ctx.try_dequeue_event_typed::<u32>("q").await;
            Ok(format!("{} | {} | {good:?}", wait.unwrap_err(), bad.unwrap_err()))
        }),
        vec![vec![start("in")], vec![signal("s", "[1]"), message("q", "1.5"), message("q", "7")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              => Running
            T2
              3 ExternalEvent { name: "s", data: "[1]" }
              4 QueueSubscribed { name: "q" }
              5 QueueEventDelivered { name: "q", data: "1.5" }
              6 QueueSubscribed { name: "q" }
              7 QueueEventDelivered { name: "q", data: "7" }
              8 OrchestrationCompleted { output: "payload of event 's' is not a `u32`: invalid type: sequence, expected u32 at line 1 column 0 | message of queue 'q' is not a `u32`: invalid type: floating point, expected u32 at line 1 column 3 | Ok(7)" }
              => Completed "payload of event 's' is not a `u32`: invalid type: sequence, expected u32 at line 1 column 0 | message of queue 'q' is not a `u32`: invalid type: floating point, expected u32 at line 1 column 3 | Ok(7)"
        "#]],
    );
}

#[test]
fn a_bad_payload_fails_the_orchestration_although_another_branch_is_ready() {
    check(
        code(|ctx, _| async move {
            let number = ctx.schedule_wait_typed::<u32>("s");
            let other = ctx.schedule_wait("other");
            ctx.schedule_wait("go").await;
            match ctx.select2(number, other).await {
                Either2::First(_) => Ok("number".to_owned()),
                Either2::Second(_) => Ok("other".to_owned()),
            }
        }),
        vec![vec![start("in")], vec![signal("s", "{"), signal("other", ""), signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 ExternalSubscribed { name: "other" }
              4 ExternalSubscribed { name: "go" }
              => Running
            T2
              5 ExternalEvent { name: "s", data: "{" }
              6 ExternalEvent { name: "other", data: "" }
              7 ExternalEvent { name: "go", data: "" }
              8 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "payload of event 's' is not a `u32`: invalid type: map, expected u32 at line 1 column 0", retryable: false } }
              => Failed application | payload of event 's' is not a `u32`: invalid type: map, expected u32 at line 1 column 0
        "#]],
    );
}

#[test]
#[expect(deprecated, reason = "the older names still work")]
fn the_older_names_of_dequeue_are_the_same() {
    check(
        code(|ctx, _| async move {
            let first = ctx.schedule_wait_persistent("q").await;
            let second: u32 = ctx.schedule_wait_persistent_typed("q").await;
            Ok(format!("{first} {second}"))
        }),
        vec![vec![start("in"), message("q", "a"), message("q", "2")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 QueueEventDelivered { name: "q", data: "a" }
              4 QueueSubscribed { name: "q" }
              5 QueueEventDelivered { name: "q", data: "2" }
              6 OrchestrationCompleted { output: "a 2" }
              => Completed "a 2"
        "#]],
    );
}
