//! Cancelling, from inside (a future is dropped) and from outside (a cancel arrives).

use std::time::Duration;

use abide_engine::model::{Timestamp, WorkItem};
use abide_engine::{Mail, MailId, cancel_unstarted};
use expect_test::expect;

use crate::support::drive::text;
use crate::support::mail::{
    cancel, child_error, child_failed, done, failed_with, fired, message, poisoned, signal, start, start_by,
};
use crate::support::{check, code, identity};

#[test]
fn what_is_dropped_in_the_poll_that_made_it_is_recorded_and_never_runs() {
    check(
        code(|ctx, _| async move {
            drop(ctx.schedule_timer(Duration::from_secs(5)));
            drop(ctx.schedule_sub_orchestration("C", "c"));
            drop(ctx.schedule_activity("a", "x").with_tag("gpu"));
            drop(ctx.schedule_wait("s"));
            ctx.schedule_activity("b", "y").await
        }),
        vec![vec![start("in")], vec![done(6, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 6000 }
              3 SubOrchestrationScheduled { name: "C", instance: "sub::3", input: "c" }
              4 ActivityScheduled { name: "a", input: "x", session_id: None, tag: Some("gpu") }
              5 ExternalSubscribed { name: "s" }
              6 ActivityScheduled { name: "b", input: "y" }
              7 SubOrchestrationCancelRequested[3] { reason: "dropped_future" }
              8 ActivityCancelRequested[4] { reason: "dropped_future" }
              9 ExternalSubscribedCancelled[5] { reason: "dropped_future" }
              -> worker ActivityExecute 6 b(y)
              -> Cancel i::sub::3 "parent dropped sub-orchestration future"
              -> Start i::sub::3 C(c) for i#3
              -> cancel activity 4
              => Running
            T2
              10 ActivityCompleted[6] { result: "r" }
              11 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn drops_are_recorded_ascending_whatever_their_order() {
    check(
        code(|ctx, _| async move {
            let first = ctx.schedule_activity("a", "1");
            let child = ctx.schedule_sub_orchestration("C", "c");
            let wait = ctx.schedule_wait("s");
            let dequeue = ctx.dequeue_event("q");
            ctx.schedule_timer(Duration::from_secs(1)).await;
            drop((dequeue, wait, child, first));
            ctx.schedule_activity("next", "").await
        }),
        vec![vec![start("in")], vec![fired(6, 2000)], vec![done(8, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "1" }
              3 SubOrchestrationScheduled { name: "C", instance: "sub::3", input: "c" }
              4 ExternalSubscribed { name: "s" }
              5 QueueSubscribed { name: "q" }
              6 TimerCreated { fire_at_ms: 2000 }
              -> worker ActivityExecute 2 a(1)
              -> Start i::sub::3 C(c) for i#3
              -> TimerFired 6 at 2000
              => Running
            T2
              7 TimerFired[6] { fire_at_ms: 2000 }
              8 ActivityScheduled { name: "next", input: "" }
              9 ActivityCancelRequested[2] { reason: "dropped_future" }
              10 SubOrchestrationCancelRequested[3] { reason: "dropped_future" }
              11 ExternalSubscribedCancelled[4] { reason: "dropped_future" }
              12 QueueSubscriptionCancelled[5] { reason: "dropped_future" }
              -> worker ActivityExecute 8 next()
              -> Cancel i::sub::3 "parent dropped sub-orchestration future"
              -> cancel activity 2
              => Running
            T3
              13 ActivityCompleted[8] { result: "r" }
              14 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn a_dropped_timer_leaves_the_queue_and_its_late_firing_is_not_recorded() {
    check(
        code(|ctx, _| async move {
            let timer = ctx.schedule_timer(Duration::from_secs(5));
            ctx.schedule_activity("a", "").await?;
            drop(timer);
            ctx.schedule_activity("b", "").await
        }),
        vec![vec![start("in")], vec![done(3, "")], vec![fired(2, 6000), done(5, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 6000 }
              3 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 3 a()
              -> TimerFired 2 at 6000
              => Running
            T2
              4 ActivityCompleted[3] { result: "" }
              5 ActivityScheduled { name: "b", input: "" }
              -> worker ActivityExecute 5 b()
              -> remove timer 2
              => Running
            T3
              6 ActivityCompleted[5] { result: "r" }
              7 OrchestrationCompleted { output: "r" }
              notice: timer 2 fired, but nobody waits for it any more
              => Completed "r"
        "#]],
    );
}

#[test]
fn the_drop_of_an_answered_future_is_not_recorded() {
    check(
        code(|ctx, _| async move {
            let (answered, other) = (ctx.schedule_activity("a", "1"), ctx.schedule_activity("b", "2"));
            let (child, wait) = (ctx.schedule_sub_orchestration("C", "c"), ctx.schedule_wait("s"));
            other.await?;
            drop((answered, child, wait));
            ctx.schedule_activity("c", "3").await
        }),
        vec![
            vec![start("in")],
            vec![
                done(2, "unseen"),
                child_failed(4, child_error("unseen")),
                signal("s", "unseen"),
                done(3, ""),
            ],
            vec![done(10, "r")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "1" }
              3 ActivityScheduled { name: "b", input: "2" }
              4 SubOrchestrationScheduled { name: "C", instance: "sub::4", input: "c" }
              5 ExternalSubscribed { name: "s" }
              -> worker ActivityExecute 2 a(1)
              -> worker ActivityExecute 3 b(2)
              -> Start i::sub::4 C(c) for i#4
              => Running
            T2
              6 ActivityCompleted[2] { result: "unseen" }
              7 SubOrchestrationFailed[4] { details: Application { kind: OrchestrationFailed, message: "unseen", retryable: false } }
              8 ExternalEvent { name: "s", data: "unseen" }
              9 ActivityCompleted[3] { result: "" }
              10 ActivityScheduled { name: "c", input: "3" }
              -> worker ActivityExecute 10 c(3)
              => Running
            T3
              11 ActivityCompleted[10] { result: "r" }
              12 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn a_ready_dequeue_that_is_dropped_is_recorded_because_its_message_goes_on() {
    check(
        code(|ctx, _| async move {
            let unread = ctx.dequeue_event("q");
            ctx.schedule_activity("a", "").await?;
            drop(unread);
            Ok(ctx.dequeue_event("q").await)
        }),
        vec![vec![start("in")], vec![message("q", "m"), done(3, "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 3 a()
              => Running
            T2
              4 QueueEventDelivered { name: "q", data: "m" }
              5 ActivityCompleted[3] { result: "" }
              6 QueueSubscribed { name: "q" }
              7 QueueSubscriptionCancelled[2] { reason: "dropped_future" }
              8 OrchestrationCompleted { output: "m" }
              => Completed "m"
        "#]],
    );
}

#[test]
fn a_failure_that_code_may_not_catch_is_no_failure_once_its_future_is_dropped() {
    check(
        code(|ctx, _| async move {
            let slow = ctx.schedule_activity("slow", "");
            ctx.select2(slow, ctx.schedule_timer(Duration::from_secs(1))).await;
            ctx.schedule_activity("next", "").await
        }),
        vec![
            vec![start("in")],
            vec![fired(3, 2000)],
            vec![failed_with(2, poisoned("slow", 2)), done(5, "r")],
        ],
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
              5 ActivityScheduled { name: "next", input: "" }
              6 ActivityCancelRequested[2] { reason: "dropped_future" }
              -> worker ActivityExecute 5 next()
              -> cancel activity 2
              => Running
            T3
              7 ActivityFailed[2] { details: Poison { attempt_count: 11, max_attempts: 10, message_type: Activity { instance: "i", execution_id: 1, activity_name: "slow", activity_id: 2 }, message: "{}" } }
              8 ActivityCompleted[5] { result: "r" }
              9 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn what_is_pending_when_the_function_returns_counts_as_dropped() {
    check(
        code(|ctx, _| async move {
            let _activity = ctx.schedule_activity("a", "");
            let _child = ctx.schedule_sub_orchestration("C", "");
            let _timer = ctx.schedule_timer(Duration::from_secs(9));
            ctx.schedule_wait("go").await;
            Ok("done".to_owned())
        }),
        vec![vec![start("in")], vec![signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              3 SubOrchestrationScheduled { name: "C", instance: "sub::3", input: "" }
              4 TimerCreated { fire_at_ms: 10000 }
              5 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 2 a()
              -> Start i::sub::3 C() for i#3
              -> TimerFired 4 at 10000
              => Running
            T2
              6 ExternalEvent { name: "go", data: "" }
              7 ActivityCancelRequested[2] { reason: "dropped_future" }
              8 SubOrchestrationCancelRequested[3] { reason: "dropped_future" }
              9 OrchestrationCompleted { output: "done" }
              -> Cancel i::sub::3 "parent dropped sub-orchestration future"
              -> cancel activity 2
              -> remove timer 4
              => Completed "done"
        "#]],
    );
}

#[test]
fn drops_made_while_a_panic_unwinds_are_not_the_codes_decision() {
    check(
        code(|ctx, _| async move {
            let _activity = ctx.schedule_activity("a", "");
            let decided = ctx.schedule_activity("b", "");
            ctx.schedule_wait("go").await;
            drop(decided);
            ctx.set_kv_value("k", "asked before the panic");
            panic!("boom")
        }),
        vec![vec![start("in")], vec![signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              3 ActivityScheduled { name: "b", input: "" }
              4 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 2 a()
              -> worker ActivityExecute 3 b()
              => Running
            T2
              5 ExternalEvent { name: "go", data: "" }
              6 KeyValueSet { key: "k", value: "asked before the panic", last_updated_at_ms: 2000 }
              7 ActivityCancelRequested[3] { reason: "dropped_future" }
              8 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              9 OrchestrationFailed { details: Application { kind: Panicked, message: "boom", retryable: false } }
              -> cancel activity 2
              -> cancel activity 3
              => Failed application | orchestration panicked: boom
        "#]],
    );
}

#[test]
fn a_cancel_ends_the_execution_without_another_poll() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_wait("go").await;
            ctx.trace_info("polled");
            ctx.schedule_wait("more").await;
            ctx.trace_info("polled again");
            Ok(String::new())
        }),
        vec![vec![start("in")], vec![signal("go", ""), cancel("why"), signal("more", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "go" }
              => Running
            T2
              3 ExternalEvent { name: "go", data: "" }
              4 ExternalSubscribed { name: "more" }
              5 OrchestrationCancelRequested { reason: "why" }
              6 ExternalSubscribedCancelled[4] { reason: "orchestration_terminal" }
              7 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              says Info: polled
              notice: ExternalRaised dropped: the execution has ended
              => Failed application | canceled: why
        "#]],
    );
}

#[test]
fn a_cancel_that_comes_after_the_end_of_its_batch_changes_nothing() {
    check(
        code(|ctx, _| async move { Ok(ctx.schedule_wait("go").await) }),
        vec![vec![start("in")], vec![signal("go", "x"), cancel("why")], vec![cancel("again")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "go" }
              => Running
            T2
              3 ExternalEvent { name: "go", data: "x" }
              4 OrchestrationCompleted { output: "x" }
              notice: CancelInstance dropped: the execution has ended
              => Completed "x"
            T3
              notice: CancelInstance dropped: the execution has ended
              => Completed "x"
        "#]],
    );
}

#[test]
fn a_cancel_older_than_the_start_ends_the_execution_before_its_code_runs() {
    check(
        code(|ctx, _| async move {
            ctx.trace_info("polled");
            ctx.schedule_activity("a", "").await
        }),
        vec![vec![signal("early", ""), cancel("why"), start_by(("P", 2, 1), "in"), cancel("again")]],
        expect![[r##"
            T1
              1 OrchestrationStarted { input: "in", parent: "P"#2 }
              2 OrchestrationCancelRequested { reason: "why" }
              3 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              -> ChildFailed to P/1#2 canceled: why
              notice: ExternalRaised dropped: the execution has ended
              notice: CancelInstance dropped: the execution has ended
              => Failed application | canceled: why
        "##]],
    );
}

#[test]
fn a_cancel_in_the_batch_of_the_start_lets_the_first_poll_happen() {
    check(
        code(|ctx, _| async move {
            ctx.set_custom_status("begun");
            ctx.schedule_activity("a", "").await
        }),
        vec![vec![start("in"), cancel("why")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 CustomStatusUpdated { status: Some("begun") }
              3 ActivityScheduled { name: "a", input: "" }
              4 OrchestrationCancelRequested { reason: "why" }
              5 ActivityCancelRequested[3] { reason: "orchestration_terminal_cancelled" }
              6 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              -> cancel activity 3
              => Failed application | canceled: why
        "#]],
    );
}

#[test]
fn of_five_cancels_one_is_recorded_with_the_first_reason() {
    check(
        code(|ctx, _| async move { Ok(ctx.schedule_wait("never").await) }),
        vec![vec![start("in")], (1..=5).map(|n| cancel(&format!("reason {n}"))).collect()],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "never" }
              => Running
            T2
              3 OrchestrationCancelRequested { reason: "reason 1" }
              4 ExternalSubscribedCancelled[2] { reason: "orchestration_terminal" }
              5 OrchestrationFailed { details: Application { kind: Cancelled { reason: "reason 1" }, message: "", retryable: false } }
              notice: CancelInstance dropped: the execution has ended
              notice: CancelInstance dropped: the execution has ended
              notice: CancelInstance dropped: the execution has ended
              notice: CancelInstance dropped: the execution has ended
              => Failed application | canceled: reason 1
        "#]],
    );
}

#[test]
fn a_cancel_removes_the_timers_and_frees_the_waits_of_its_execution() {
    check(
        code(|ctx, _| async move {
            let (wait, dequeue) = (ctx.schedule_wait("s"), ctx.dequeue_event("q"));
            let timer = ctx.schedule_timer(Duration::from_secs(9));
            ctx.select3(wait, dequeue, timer).await;
            Ok(String::new())
        }),
        vec![vec![start("in")], vec![cancel("why")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 QueueSubscribed { name: "q" }
              4 TimerCreated { fire_at_ms: 10000 }
              -> TimerFired 4 at 10000
              => Running
            T2
              5 OrchestrationCancelRequested { reason: "why" }
              6 ExternalSubscribedCancelled[2] { reason: "orchestration_terminal" }
              7 QueueSubscriptionCancelled[3] { reason: "orchestration_terminal" }
              8 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              -> remove timer 4
              => Failed application | canceled: why
        "#]],
    );
}

#[test]
fn a_cancelled_child_tells_its_parent() {
    check(
        code(|ctx, _| async move { Ok(ctx.schedule_wait("never").await) }),
        vec![vec![start_by(("P", 4, 2), "in")], vec![cancel("parent canceled")]],
        expect![[r##"
            T1
              1 OrchestrationStarted { input: "in", parent: "P"#4 }
              2 ExternalSubscribed { name: "never" }
              => Running
            T2
              3 OrchestrationCancelRequested { reason: "parent canceled" }
              4 ExternalSubscribedCancelled[2] { reason: "orchestration_terminal" }
              5 OrchestrationFailed { details: Application { kind: Cancelled { reason: "parent canceled" }, message: "", retryable: false } }
              -> ChildFailed to P/2#4 canceled: parent canceled
              => Failed application | canceled: parent canceled
        "##]],
    );
}

#[test]
fn an_execution_that_is_cancelled_before_its_start_needs_no_code() {
    let id = |place: usize| MailId(u64::try_from(place).unwrap());
    let mail = |items: Vec<WorkItem>| -> Vec<Mail> {
        items.into_iter().enumerate().map(|(place, item)| Mail { id: id(place), item }).collect()
    };
    let end_of = |items| cancel_unstarted(identity(1), mail(items), Timestamp::from_millis(1_000));

    let output = end_of(vec![cancel("why"), start_by(("P", 7, 3), "in"), signal("s", "")]);
    let output = output.expect("the cancel is older than the start");
    expect![[r##"
        T1
          1 OrchestrationStarted { input: "in", parent: "P"#7 }
          2 OrchestrationCancelRequested { reason: "why" }
          3 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
          -> ChildFailed to P/3#7 canceled: why
          notice: ExternalRaised dropped: the execution has ended
          => Failed application | canceled: why
    "##]]
    .assert_eq(&text(&output));
    assert_eq!(output.consumed.len(), 3, "nothing is left for anybody to run");

    assert_eq!(end_of(vec![start("in"), cancel("late")]), None, "its code runs first");
    assert_eq!(end_of(vec![start("in")]), None);
    assert_eq!(end_of(vec![cancel("early")]), None, "nothing starts it");
}
