//! Whole executions, turn by turn: what each kind of orchestration leaves in its history.
//!
//! Messages are taken one at a time. The reference delivers a whole batch before it records what the code
//! asked: where that differs, the expected history here is ours; `compat/order.rs` and `histories.rs` have the
//! reference's. Left out: the poison of an unknown orchestration, which is decided by the runtime.

use std::time::Duration;

use abide_engine::model::{BackoffStrategy, Either2, RetryPolicy};
use expect_test::expect;

use crate::support::mail::{cancel, continued, done, failed, fired, message, signal, start};
use crate::support::{Given, check, check_from, code};

#[test]
fn one_activity_takes_two_turns() {
    check(
        code(|ctx, input| async move { ctx.schedule_activity("a", input).await }),
        vec![vec![start("in")], vec![done(2, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "in" }
              -> worker ActivityExecute 2 a(in)
              => Running
            T2
              3 ActivityCompleted[2] { result: "r" }
              4 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn a_fan_out_completes_in_any_order_and_joins_in_its_own() {
    check(
        code(|ctx, _| async move {
            let all = ["x", "y", "z"].map(|input| ctx.schedule_activity("a", input)).into();
            let results: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
            Ok(results?.join(","))
        }),
        vec![vec![start("in")], vec![done(3, "Y")], vec![done(2, "X")], vec![done(4, "Z")]],
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
              5 ActivityCompleted[3] { result: "Y" }
              => Running
            T3
              6 ActivityCompleted[2] { result: "X" }
              => Running
            T4
              7 ActivityCompleted[4] { result: "Z" }
              8 OrchestrationCompleted { output: "X,Y,Z" }
              => Completed "X,Y,Z"
        "#]],
    );
}

#[test]
fn the_loser_of_a_select_is_cancelled_and_may_still_complete() {
    check(
        code(|ctx, _| async move {
            let activity = ctx.schedule_activity("slow", "x");
            let timer = ctx.schedule_timer(Duration::from_secs(5));
            ctx.select2(activity, timer).await;
            ctx.schedule_activity("next", "").await
        }),
        vec![vec![start("in")], vec![fired(3, 6000)], vec![done(2, "too late")], vec![done(5, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "slow", input: "x" }
              3 TimerCreated { fire_at_ms: 6000 }
              -> worker ActivityExecute 2 slow(x)
              -> TimerFired 3 at 6000
              => Running
            T2
              4 TimerFired[3] { fire_at_ms: 6000 }
              5 ActivityScheduled { name: "next", input: "" }
              6 ActivityCancelRequested[2] { reason: "dropped_future" }
              -> worker ActivityExecute 5 next()
              -> cancel activity 2
              => Running
            T3
              7 ActivityCompleted[2] { result: "too late" }
              => Running
            T4
              8 ActivityCompleted[5] { result: "r" }
              9 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn an_activity_dropped_where_it_was_scheduled_never_starts() {
    check(
        code(|ctx, _| async move {
            drop(ctx.schedule_activity("a", "x"));
            Ok("done".to_owned())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              3 ActivityCancelRequested[2] { reason: "dropped_future" }
              4 OrchestrationCompleted { output: "done" }
              -> cancel activity 2
              => Completed "done"
        "#]],
    );
}

#[test]
fn cancelling_a_parent_cancels_its_child_and_its_activity() {
    check(
        code(|ctx, _| async move {
            let child = ctx.schedule_sub_orchestration("Child", "c");
            let activity = ctx.schedule_activity("a", "x");
            ctx.join2(child, activity).await.0
        }),
        vec![vec![start("in")], vec![cancel("why")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 SubOrchestrationScheduled { name: "Child", instance: "sub::2", input: "c" }
              3 ActivityScheduled { name: "a", input: "x" }
              -> worker ActivityExecute 3 a(x)
              -> Start i::sub::2 Child(c) for i#2
              => Running
            T2
              4 OrchestrationCancelRequested { reason: "why" }
              5 SubOrchestrationCancelRequested[2] { reason: "orchestration_terminal_cancelled" }
              6 ActivityCancelRequested[3] { reason: "orchestration_terminal_cancelled" }
              7 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              -> Cancel i::sub::2 "parent canceled"
              -> cancel activity 3
              => Failed application | canceled: why
        "#]],
    );
}

// The execution that ends
#[test]
fn continue_as_new_carries_unread_messages_and_the_status() {
    check(
        code(|ctx, _| async move {
            ctx.set_custom_status("s");
            ctx.schedule_wait("go").await;
            ctx.continue_as_new("next").await
        }),
        vec![vec![start("in")], vec![message("q", "a"), message("q", "b"), signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 CustomStatusUpdated { status: Some("s") }
              3 ExternalSubscribed { name: "go" }
              => Running
            T2
              4 QueueEventDelivered { name: "q", data: "a" }
              5 QueueEventDelivered { name: "q", data: "b" }
              6 ExternalEvent { name: "go", data: "" }
              7 OrchestrationContinuedAsNew { input: "next" }
              -> ContinueAsNew i(next) version=None carry=[("q", "a"), ("q", "b")] status=Some("s")
              => ContinuedAsNew "next" None
        "#]],
    );
}

// Its successor: the code is polled before the carried messages are taken
#[test]
fn a_successor_takes_carried_messages_before_all_others() {
    check_from(
        &Given::execution(2),
        code(|ctx, _| async move {
            let first = ctx.dequeue_event("q").await;
            let second = ctx.dequeue_event("q").await;
            let third = ctx.dequeue_event("q").await;
            Ok(format!("{first}{second}{third} {:?}", ctx.get_custom_status()))
        }),
        vec![vec![continued("next", &[("q", "a"), ("q", "b")], Some("s")), message("q", "c")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "next", carry: [("q", "a"), ("q", "b")], status: "s" }
              2 QueueSubscribed { name: "q" }
              3 QueueEventDelivered { name: "q", data: "a" }
              4 QueueSubscribed { name: "q" }
              5 QueueEventDelivered { name: "q", data: "b" }
              6 QueueSubscribed { name: "q" }
              7 QueueEventDelivered { name: "q", data: "c" }
              8 OrchestrationCompleted { output: "abc Some(\"s\")" }
              => Completed "abc Some(\"s\")"
        "#]],
    );
}

#[test]
fn a_queue_message_waits_for_its_dequeue() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            Ok(ctx.dequeue_event("q").await)
        }),
        vec![vec![start("in")], vec![message("q", "x")], vec![fired(2, 2000)]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 2 at 2000
              => Running
            T2
              3 QueueEventDelivered { name: "q", data: "x" }
              => Running
            T3
              4 TimerFired[2] { fire_at_ms: 2000 }
              5 QueueSubscribed { name: "q" }
              6 OrchestrationCompleted { output: "x" }
              => Completed "x"
        "#]],
    );
}

#[test]
fn a_signal_that_nobody_waits_for_is_lost() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            Ok(ctx.schedule_wait("s").await)
        }),
        vec![vec![start("in")], vec![signal("s", "a")], vec![fired(2, 2000)], vec![signal("s", "b")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 2 at 2000
              => Running
            T2
              3 ExternalEvent { name: "s", data: "a" }
              notice: signal 's' recorded, but nobody waits for it
              => Running
            T3
              4 TimerFired[2] { fire_at_ms: 2000 }
              5 ExternalSubscribed { name: "s" }
              => Running
            T4
              6 ExternalEvent { name: "s", data: "b" }
              7 OrchestrationCompleted { output: "b" }
              => Completed "b"
        "#]],
    );
}

// The wait is bound before the next message of the batch is taken
#[test]
fn a_wait_made_by_one_message_of_a_batch_gets_the_next() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            Ok(ctx.schedule_wait("s").await)
        }),
        vec![vec![start("in")], vec![fired(2, 2000), signal("s", "a")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 2 at 2000
              => Running
            T2
              3 TimerFired[2] { fire_at_ms: 2000 }
              4 ExternalSubscribed { name: "s" }
              5 ExternalEvent { name: "s", data: "a" }
              6 OrchestrationCompleted { output: "a" }
              => Completed "a"
        "#]],
    );
}

#[test]
fn dropping_the_older_of_two_waits_gives_the_signal_to_the_younger() {
    check(
        code(|ctx, _| async move {
            let older = ctx.schedule_wait("s");
            let younger = ctx.schedule_wait("s");
            ctx.schedule_timer(Duration::from_secs(1)).await;
            drop(older);
            Ok(younger.await)
        }),
        vec![vec![start("in")], vec![fired(4, 2000)], vec![signal("s", "x")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 ExternalSubscribed { name: "s" }
              4 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 4 at 2000
              => Running
            T2
              5 TimerFired[4] { fire_at_ms: 2000 }
              6 ExternalSubscribedCancelled[2] { reason: "dropped_future" }
              => Running
            T3
              7 ExternalEvent { name: "s", data: "x" }
              8 OrchestrationCompleted { output: "x" }
              => Completed "x"
        "#]],
    );
}

// The other one dropped
#[test]
fn dropping_the_younger_of_two_waits_leaves_the_signal_to_the_older() {
    check(
        code(|ctx, _| async move {
            let older = ctx.schedule_wait("s");
            let younger = ctx.schedule_wait("s");
            ctx.schedule_timer(Duration::from_secs(1)).await;
            drop(younger);
            Ok(older.await)
        }),
        vec![vec![start("in")], vec![fired(4, 2000), signal("s", "x")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 ExternalSubscribed { name: "s" }
              4 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 4 at 2000
              => Running
            T2
              5 TimerFired[4] { fire_at_ms: 2000 }
              6 ExternalSubscribedCancelled[3] { reason: "dropped_future" }
              7 ExternalEvent { name: "s", data: "x" }
              8 OrchestrationCompleted { output: "x" }
              => Completed "x"
        "#]],
    );
}

// None dropped
#[test]
fn two_waits_get_two_signals_in_the_order_they_were_made() {
    check(
        code(|ctx, _| async move {
            let older = ctx.schedule_wait("s");
            let younger = ctx.schedule_wait("s");
            match ctx.select2(younger, older).await {
                Either2::First(data) => Ok(format!("younger {data}")),
                Either2::Second(data) => Ok(format!("older {data}")),
            }
        }),
        vec![vec![start("in")], vec![signal("s", "x"), signal("s", "y")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 ExternalSubscribed { name: "s" }
              => Running
            T2
              4 ExternalEvent { name: "s", data: "x" }
              5 ExternalSubscribedCancelled[3] { reason: "dropped_future" }
              6 OrchestrationCompleted { output: "older x" }
              notice: ExternalRaised dropped: the execution has ended
              => Completed "older x"
        "#]],
    );
}

#[test]
fn a_retry_with_timeout_succeeds_at_its_second_attempt() {
    check(
        code(|ctx, _| async move {
            let policy = RetryPolicy::new(3)
                .with_timeout(Duration::from_secs(30))
                .with_backoff(BackoffStrategy::Fixed { delay: Duration::from_secs(1) });
            ctx.schedule_activity_with_retry("a", "x", policy).await
        }),
        vec![vec![start("in")], vec![failed(2, "boom")], vec![fired(5, 3000)], vec![done(7, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              3 TimerCreated { fire_at_ms: 31000 }
              -> worker ActivityExecute 2 a(x)
              -> TimerFired 3 at 31000
              => Running
            T2
              4 ActivityFailed[2] { details: Application { kind: ActivityFailed, message: "boom", retryable: false } }
              5 TimerCreated { fire_at_ms: 3000 }
              -> TimerFired 5 at 3000
              -> remove timer 3
              says Warn: Activity 'a' attempt 1/3 failed: boom. Retrying...
              => Running
            T3
              6 TimerFired[5] { fire_at_ms: 3000 }
              7 ActivityScheduled { name: "a", input: "x" }
              8 TimerCreated { fire_at_ms: 33000 }
              -> worker ActivityExecute 7 a(x)
              -> activity 7 is try 2 of step 2
              -> TimerFired 8 at 33000
              => Running
            T4
              9 ActivityCompleted[7] { result: "r" }
              10 OrchestrationCompleted { output: "r" }
              -> remove timer 8
              => Completed "r"
        "#]],
    );
}

#[test]
fn a_key_is_read_modified_and_written_again_in_every_turn() {
    check_from(
        &Given::kv(&[("n", "10", 500)]),
        code(|ctx, _| async move {
            for _ in 0..3 {
                let n: u32 = ctx.get_kv_value("n").unwrap_or_default().parse().unwrap_or_default();
                ctx.set_kv_value("n", (n + 1).to_string());
                ctx.schedule_activity("step", n.to_string()).await?;
            }
            Ok(ctx.get_kv_value("n").unwrap_or_default())
        }),
        vec![vec![start("in")], vec![done(3, "")], vec![done(6, "")], vec![done(9, "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "n", value: "11", last_updated_at_ms: 1000 }
              3 ActivityScheduled { name: "step", input: "10" }
              -> worker ActivityExecute 3 step(10)
              => Running
            T2
              4 ActivityCompleted[3] { result: "" }
              5 KeyValueSet { key: "n", value: "12", last_updated_at_ms: 2000 }
              6 ActivityScheduled { name: "step", input: "11" }
              -> worker ActivityExecute 6 step(11)
              => Running
            T3
              7 ActivityCompleted[6] { result: "" }
              8 KeyValueSet { key: "n", value: "13", last_updated_at_ms: 3000 }
              9 ActivityScheduled { name: "step", input: "12" }
              -> worker ActivityExecute 9 step(12)
              => Running
            T4
              10 ActivityCompleted[9] { result: "" }
              11 OrchestrationCompleted { output: "13" }
              => Completed "13"
        "#]],
    );
}

#[test]
fn a_detached_start_is_sent_though_the_function_returns() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration("Notify", "n-1", "hello");
            Ok("done".to_owned())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationChained { name: "Notify", instance: "n-1", input: "hello" }
              3 OrchestrationCompleted { output: "done" }
              -> Start n-1 Notify(hello)
              => Completed "done"
        "#]],
    );
}
