//! Liveness: whoever waits is told, and what was started is cancelled.

use abide_engine::OrchestrationContext;
use expect_test::{Expect, expect};

use crate::support::mail::{
    cancel, child_done, child_error, child_failed, done, failed, failed_with, poisoned, signal, start,
    start_by,
};
use crate::support::past::{OURS, REFERENCE, activity, activity_done, child, past, started};
use crate::support::{Code, Given, check, check_from, code, print, run_cold};

// 1C: a child was scheduled and dropped by a function that returned in the same turn. Its cancel was sent,
// its start was not, and the queue stalled behind a message for an instance that never existed. Ours sends
// both, the cancel first: the child exists, and its code never runs.
#[test]
fn a_child_started_and_dropped_in_one_turn_is_cancelled_before_it_starts() {
    check(
        code(|ctx, _| async move {
            let _child = ctx.schedule_sub_orchestration("Child", "c");
            Ok("x".to_owned())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 SubOrchestrationScheduled { name: "Child", instance: "sub::2", input: "c" }
              3 SubOrchestrationCancelRequested[2] { reason: "dropped_future" }
              4 OrchestrationCompleted { output: "x" }
              -> Cancel i::sub::2 "parent dropped sub-orchestration future"
              -> Start i::sub::2 Child(c) for i#2
              => Completed "x"
        "#]],
    );
}

// 3a: a child broke a limit; all its outgoing messages were thrown away, the one to its parent too.
#[test]
fn a_child_that_breaks_a_limit_tells_its_parent() {
    check(
        code(|ctx, _| async move { ctx.schedule_activity("a", "x").with_tag("t".repeat(257)).await }),
        vec![vec![start_by(("P", 7, 3), "in")]],
        expect![[r##"
            T1
              1 OrchestrationStarted { input: "in", parent: "P"#7 }
              2 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)", retryable: false } }
              -> ChildFailed to P/3#7 Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)
              => Failed application | Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)
        "##]],
    );
}

// 4: a detached start in the turn of a continue-as-new was recorded and never sent.
#[test]
fn a_detached_start_is_sent_with_continue_as_new() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration("Notify", "n-1", "");
            ctx.continue_as_new("x").await
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationChained { name: "Notify", instance: "n-1", input: "" }
              3 OrchestrationContinuedAsNew { input: "x" }
              -> Start n-1 Notify()
              -> ContinueAsNew i(x) version=None carry=[] status=None
              => ContinuedAsNew "x" None
        "#]],
    );
}

// 4: the same in a turn that ends in a cancellation.
#[test]
fn a_detached_start_is_sent_though_a_cancel_follows_in_the_batch() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration("Notify", "n-1", "");
            Ok(ctx.schedule_wait("never").await)
        }),
        vec![vec![start("in"), cancel("why")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationChained { name: "Notify", instance: "n-1", input: "" }
              3 ExternalSubscribed { name: "never" }
              4 OrchestrationCancelRequested { reason: "why" }
              5 ExternalSubscribedCancelled[3] { reason: "orchestration_terminal" }
              6 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              -> Start n-1 Notify()
              => Failed application | canceled: why
        "#]],
    );
}

// 4: the same in a poll that panics.
#[test]
fn a_detached_start_is_sent_though_the_code_panics() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration("Notify", "n-1", "");
            panic!("boom")
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationChained { name: "Notify", instance: "n-1", input: "" }
              3 OrchestrationFailed { details: Application { kind: Panicked, message: "boom", retryable: false } }
              -> Start n-1 Notify()
              => Failed application | orchestration panicked: boom
        "#]],
    );
}

// 4: the same in a poll that returns an error.
#[test]
fn a_detached_start_is_sent_though_the_code_fails() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration("Notify", "n-1", "");
            Err("boom".to_owned())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationChained { name: "Notify", instance: "n-1", input: "" }
              3 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "boom", retryable: false } }
              -> Start n-1 Notify()
              => Failed application | boom
        "#]],
    );
}

// 4: the same in a poll whose next ask breaks a limit.
#[test]
fn a_detached_start_is_sent_though_the_next_ask_breaks_a_limit() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration("Notify", "n-1", "");
            ctx.schedule_activity("a", "x").with_tag("t".repeat(257)).await
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationChained { name: "Notify", instance: "n-1", input: "" }
              3 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)", retryable: false } }
              -> Start n-1 Notify()
              => Failed application | Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)
        "#]],
    );
}

// 5: children of earlier turns ran on as orphans after continue-as-new; what was scheduled in its own turn
// was recorded, never started, never cancelled.
#[test]
fn continue_as_new_cancels_children_and_activities_of_this_turn_and_of_earlier_ones() {
    check(
        code(|ctx, _| async move {
            let _old_child = ctx.schedule_sub_orchestration("Child", "old");
            let _old_activity = ctx.schedule_activity("a", "old");
            ctx.schedule_wait("go").await;
            let _new_child = ctx.schedule_sub_orchestration("Child", "new");
            let _new_activity = ctx.schedule_activity("a", "new");
            ctx.continue_as_new("next").await
        }),
        vec![vec![start("in")], vec![signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 SubOrchestrationScheduled { name: "Child", instance: "sub::2", input: "old" }
              3 ActivityScheduled { name: "a", input: "old" }
              4 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 3 a(old)
              -> Start i::sub::2 Child(old) for i#2
              => Running
            T2
              5 ExternalEvent { name: "go", data: "" }
              6 SubOrchestrationScheduled { name: "Child", instance: "sub::6", input: "new" }
              7 ActivityScheduled { name: "a", input: "new" }
              8 SubOrchestrationCancelRequested[2] { reason: "orchestration_terminal_continued_as_new" }
              9 ActivityCancelRequested[3] { reason: "orchestration_terminal_continued_as_new" }
              10 SubOrchestrationCancelRequested[6] { reason: "orchestration_terminal_continued_as_new" }
              11 ActivityCancelRequested[7] { reason: "orchestration_terminal_continued_as_new" }
              12 OrchestrationContinuedAsNew { input: "next" }
              -> Cancel i::sub::6 "parent continued as new"
              -> Start i::sub::6 Child(new) for i#6
              -> Cancel i::sub::2 "parent continued as new"
              -> ContinueAsNew i(next) version=None carry=[] status=None
              -> cancel activity 3
              -> cancel activity 7
              => ContinuedAsNew "next" None
        "#]],
    );
}

// 8: a failure that was delivered twice was recorded twice, and the second one failed the orchestration.
#[test]
fn a_repeated_failure_of_an_activity_changes_nothing() {
    check(
        code(|ctx, _| async move {
            let error = ctx.schedule_activity("a", "x").await.unwrap_err();
            ctx.schedule_activity("b", error).await
        }),
        vec![
            vec![start("in")],
            vec![failed(2, "e"), failed(2, "e")],
            vec![failed(2, "e"), done(2, "late"), done(4, "r")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              -> worker ActivityExecute 2 a(x)
              => Running
            T2
              3 ActivityFailed[2] { details: Application { kind: ActivityFailed, message: "e", retryable: false } }
              4 ActivityScheduled { name: "b", input: "e" }
              -> worker ActivityExecute 4 b(e)
              notice: ActivityFailed dropped: event 2 had its answer before
              => Running
            T3
              5 ActivityCompleted[4] { result: "r" }
              6 OrchestrationCompleted { output: "r" }
              notice: ActivityFailed dropped: event 2 had its answer before
              notice: ActivityCompleted dropped: event 2 had its answer before
              => Completed "r"
        "#]],
    );
}

// 8: the same for a child that both completed and failed.
#[test]
fn a_failure_after_a_childs_result_changes_nothing() {
    check(
        code(|ctx, _| async move {
            let result = ctx.schedule_sub_orchestration("Child", "c").await?;
            ctx.schedule_activity("b", result).await
        }),
        vec![
            vec![start("in")],
            vec![child_done(2, "r"), child_failed(2, child_error("e"))],
            vec![child_failed(2, child_error("e")), done(4, "r")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 SubOrchestrationScheduled { name: "Child", instance: "sub::2", input: "c" }
              -> Start i::sub::2 Child(c) for i#2
              => Running
            T2
              3 SubOrchestrationCompleted[2] { result: "r" }
              4 ActivityScheduled { name: "b", input: "r" }
              -> worker ActivityExecute 4 b(r)
              notice: SubOrchFailed dropped: event 2 had its answer before
              => Running
            T3
              5 ActivityCompleted[4] { result: "r" }
              6 OrchestrationCompleted { output: "r" }
              notice: SubOrchFailed dropped: event 2 had its answer before
              => Completed "r"
        "#]],
    );
}

/// An activity and a child are in flight when `last` runs.
async fn with_work_in_flight(
    ctx: OrchestrationContext,
    last: impl FnOnce(&OrchestrationContext) + Send,
) -> Result<String, String> {
    let activity = ctx.schedule_activity("a", "x");
    let child = ctx.schedule_sub_orchestration("Child", "c");
    ctx.schedule_wait("go").await;
    last(&ctx);
    ctx.join2(activity, child).await.0
}

fn fails_with_work_in_flight(code: Code, expected: Expect) {
    check(code, vec![vec![start("in")], vec![signal("go", "")]], expected);
}

// 14: a panic left activities and children running.
#[test]
fn a_panic_cancels_activities_and_children() {
    fails_with_work_in_flight(
        code(|ctx, _| with_work_in_flight(ctx, |_| panic!("boom"))),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              3 SubOrchestrationScheduled { name: "Child", instance: "sub::3", input: "c" }
              4 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 2 a(x)
              -> Start i::sub::3 Child(c) for i#3
              => Running
            T2
              5 ExternalEvent { name: "go", data: "" }
              6 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              7 SubOrchestrationCancelRequested[3] { reason: "orchestration_terminal_failed" }
              8 OrchestrationFailed { details: Application { kind: Panicked, message: "boom", retryable: false } }
              -> Cancel i::sub::3 "parent failed"
              -> cancel activity 2
              => Failed application | orchestration panicked: boom
        "#]],
    );
}

// 14: a broken limit left activities and children running.
#[test]
fn a_broken_limit_cancels_activities_and_children() {
    fails_with_work_in_flight(
        code(|ctx, _| with_work_in_flight(ctx, |ctx| ctx.set_kv_value("k", "v".repeat(65_537)))),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              3 SubOrchestrationScheduled { name: "Child", instance: "sub::3", input: "c" }
              4 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 2 a(x)
              -> Start i::sub::3 Child(c) for i#3
              => Running
            T2
              5 ExternalEvent { name: "go", data: "" }
              6 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              7 SubOrchestrationCancelRequested[3] { reason: "orchestration_terminal_failed" }
              8 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)", retryable: false } }
              -> Cancel i::sub::3 "parent failed"
              -> cancel activity 2
              => Failed application | KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)
        "#]],
    );
}

// 14: a poisoned activity left its siblings running.
#[test]
fn a_poisoned_activity_cancels_its_sibling_and_children() {
    check(
        code(|ctx, _| async move {
            let first = ctx.schedule_activity("a", "1");
            let second = ctx.schedule_activity("b", "2");
            let child = ctx.schedule_sub_orchestration("Child", "c");
            ctx.join3(first, second, child).await.0
        }),
        vec![vec![start("in")], vec![failed_with(2, poisoned("a", 2))]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "1" }
              3 ActivityScheduled { name: "b", input: "2" }
              4 SubOrchestrationScheduled { name: "Child", instance: "sub::4", input: "c" }
              -> worker ActivityExecute 2 a(1)
              -> worker ActivityExecute 3 b(2)
              -> Start i::sub::4 Child(c) for i#4
              => Running
            T2
              5 ActivityFailed[2] { details: Poison { attempt_count: 11, max_attempts: 10, message_type: Activity { instance: "i", execution_id: 1, activity_name: "a", activity_id: 2 }, message: "{}" } }
              6 ActivityCancelRequested[3] { reason: "orchestration_terminal_failed" }
              7 SubOrchestrationCancelRequested[4] { reason: "orchestration_terminal_failed" }
              8 OrchestrationFailed { details: Poison { attempt_count: 11, max_attempts: 10, message_type: Activity { instance: "i", execution_id: 1, activity_name: "a", activity_id: 2 }, message: "{}" } }
              -> Cancel i::sub::4 "parent failed"
              -> cancel activity 3
              => Failed poison | poison: activity a#2 exceeded 11 attempts (max 10)
        "#]],
    );
}

// 14: nondeterminism left activities and children running; those that only history knows count too.
#[test]
fn nondeterminism_cancels_activities_and_children_that_history_knows() {
    let rows = vec![
        started("in"),
        activity("a", ""),
        child("Child", "sub::3", "c"),
        activity("b", ""),
        activity_done(2, "r"),
    ];
    let changed = code(|ctx, _| async move { Ok(ctx.schedule_wait("something else").await) });
    let [turn] = run_cold(&Given::history(past(OURS, rows)), &changed, &[vec![]]).try_into().unwrap();
    let (cleanup, end) = turn.events.split_at(turn.events.len() - 1);
    assert!(end[0].is_terminal());
    expect![[r#"
        before the end
          6 SubOrchestrationCancelRequested[3] { reason: "orchestration_terminal_failed" }
          7 ActivityCancelRequested[4] { reason: "orchestration_terminal_failed" }
          -> Cancel i::sub::3 "parent failed"
          -> cancel activity 4
    "#]]
    .assert_eq(&format!("before the end\n{}{}", print::lines(cleanup), print::effects(&turn)));
}

// 14: an execution that the reference began is cancelled like one of our own.
#[test]
fn a_cancel_of_an_old_execution_cancels_its_activities() {
    check_from(
        &Given::history(past(REFERENCE, vec![started("in"), activity("a", "")])),
        code(|ctx, _| async move { ctx.schedule_activity("a", "").await }),
        vec![vec![cancel("why")]],
        expect![[r#"
            T1
              3 OrchestrationCancelRequested { reason: "why" }
              4 ActivityCancelRequested[2] { reason: "orchestration_terminal_cancelled" }
              5 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              -> cancel activity 2
              => Failed application | canceled: why
        "#]],
    );
}
