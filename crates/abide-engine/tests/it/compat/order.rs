//! The order of the reference: a batch is delivered first, what the code asked is recorded at the end of the
//! turn, and what it dropped behind that, family by family.

use std::time::Duration;

use abide_engine::model::{AppErrorKind, ErrorDetails, EventKind};
use expect_test::expect;

use super::fits_only_the_reference;
use crate::support::mail::{done, message, signal};
use crate::support::past::{
    REFERENCE, Row, activity, activity_cancelled, activity_done, activity_dropped, cancel_requested,
    delivered, dequeue, dequeue_dropped, fit_in_short, kv_set, past, returned, signalled, started,
    started_with, timer, timer_fired, wait, wait_dropped,
};
use crate::support::{Code, Given, check_from, code};

const SECOND: Duration = Duration::from_secs(1);

fn recorded(rows: &[Row]) -> Given {
    Given::history(past(REFERENCE, rows.to_vec()))
}

fn waits_after_a_timer() -> Code {
    code(|ctx, _| async move {
        ctx.schedule_timer(SECOND).await;
        Ok(ctx.schedule_wait("s").await)
    })
}

#[test]
fn a_signal_recorded_before_the_wait_it_followed_is_lost_as_it_was() {
    let rows = [started("in"), timer(2000), timer_fired(2, 2000), signalled("s", "early"), wait("s")];
    expect![[r#"nondeterministic: schedule mismatch: action=WaitExternal { scheduling_event_id: 0, name: "s" } vs event=ExternalEvent { name: "s", data: "early" }"#]].assert_eq(&fits_only_the_reference(&rows, &waits_after_a_timer()));
    check_from(
        &recorded(&rows),
        waits_after_a_timer(),
        vec![vec![signal("s", "late")]],
        expect![[r#"
            T1
              6 ExternalEvent { name: "s", data: "late" }
              7 OrchestrationCompleted { output: "late" }
              => Completed "late"
        "#]],
    );
}

#[test]
fn a_message_recorded_before_its_dequeue_is_read() {
    let reads = code(|ctx, _| async move {
        ctx.schedule_timer(SECOND).await;
        let message = ctx.dequeue_event("q").await;
        ctx.schedule_activity("a", message).await
    });
    let rows = [
        started("in"),
        timer(2000),
        timer_fired(2, 2000),
        delivered("q", "x"),
        dequeue("q"),
        activity("a", "x"),
    ];
    expect![[r#"nondeterministic: schedule mismatch: action=DequeueEvent { scheduling_event_id: 0, name: "q" } vs event=QueueEventDelivered { name: "q", data: "x" }"#]].assert_eq(&fits_only_the_reference(&rows, &reads));
    check_from(
        &recorded(&rows),
        reads,
        vec![vec![done(6, "r")]],
        expect![[r#"
        T1
          7 ActivityCompleted[6] { result: "r" }
          8 OrchestrationCompleted { output: "r" }
          => Completed "r"
    "#]],
    );
}

#[test]
fn asks_of_several_polls_are_recorded_behind_all_arrivals_of_their_batch() {
    let asks = code(|ctx, _| async move {
        let (a, b) = (ctx.schedule_activity("a", ""), ctx.schedule_activity("b", ""));
        a.await?;
        let c = ctx.schedule_activity("c", "");
        b.await?;
        ctx.set_kv_value("k", "v");
        c.await
    });
    let rows = [
        started("in"),
        activity("a", ""),
        activity("b", ""),
        activity_done(2, ""),
        activity_done(3, ""),
        activity("c", ""),
        kv_set("k", "v", 990),
    ];
    expect![[r#"nondeterministic: schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "c", input: "", session_id: None, tag: None } vs event=ActivityCompleted { result: "" }"#]].assert_eq(&fits_only_the_reference(&rows, &asks));
    check_from(
        &recorded(&rows),
        asks,
        vec![vec![done(6, "r")]],
        expect![[r#"
        T1
          8 ActivityCompleted[6] { result: "r" }
          9 OrchestrationCompleted { output: "r" }
          => Completed "r"
    "#]],
    );
}

#[test]
fn drops_are_recorded_at_the_end_of_the_turn() {
    let drops = code(|ctx, _| async move {
        let (slow, timer) = (ctx.schedule_activity("slow", ""), ctx.schedule_timer(SECOND));
        let other = ctx.schedule_activity("other", "");
        ctx.select2(slow, timer).await;
        other.await?;
        ctx.schedule_activity("next", "").await
    });
    let rows = [
        started("in"),
        activity("slow", ""),
        timer(2000),
        activity("other", ""),
        timer_fired(3, 2000),
        activity_done(4, ""),
        activity("next", ""),
        activity_dropped(2),
    ];
    expect!["nondeterministic: cancellation mismatch (activities): baseline_dropped_future_cancel_requests={} ctx_cancelled_in_replayed_segment={2}"].assert_eq(&fits_only_the_reference(&rows, &drops));
    check_from(
        &recorded(&rows),
        drops,
        vec![vec![done(7, "r")]],
        expect![[r#"
        T1
          9 ActivityCompleted[7] { result: "r" }
          10 OrchestrationCompleted { output: "r" }
          => Completed "r"
    "#]],
    );
}

#[test]
fn drops_are_recorded_family_by_family() {
    let drops = code(|ctx, _| async move {
        let (wait, activity) = (ctx.schedule_wait("s"), ctx.schedule_activity("slow", ""));
        ctx.schedule_timer(SECOND).await;
        drop((wait, activity));
        ctx.schedule_activity("next", "").await
    });
    let rows = [
        started("in"),
        wait("s"),
        activity("slow", ""),
        timer(2000),
        timer_fired(4, 2000),
        activity("next", ""),
        activity_dropped(3),
        wait_dropped(2),
    ];
    expect!["nondeterministic: cancellation mismatch (activities): baseline_dropped_future_cancel_requests={3} ctx_cancelled_in_replayed_segment={3}"].assert_eq(&fits_only_the_reference(&rows, &drops));
}

#[test]
fn a_dequeue_dropped_in_a_batch_leaves_its_message_to_the_one_bound_at_the_end_of_the_turn() {
    let reads = code(|ctx, _| async move {
        let lost = ctx.dequeue_event("q");
        ctx.select2(lost, ctx.schedule_timer(SECOND)).await;
        let message = ctx.dequeue_event("q").await;
        ctx.schedule_activity("a", message).await
    });
    let rows = [
        started("in"),
        dequeue("q"),
        timer(2000),
        timer_fired(3, 2000),
        delivered("q", "m1"),
        dequeue("q"),
        activity("a", "m1"),
        dequeue_dropped(2),
    ];
    expect![[r#"nondeterministic: schedule mismatch: action=DequeueEvent { scheduling_event_id: 0, name: "q" } vs event=QueueEventDelivered { name: "q", data: "m1" }"#]].assert_eq(&fits_only_the_reference(&rows, &reads));
    check_from(
        &recorded(&rows),
        reads,
        vec![vec![message("q", "m2"), done(7, "r")]],
        expect![[r#"
        T1
          9 QueueEventDelivered { name: "q", data: "m2" }
          10 ActivityCompleted[7] { result: "r" }
          11 OrchestrationCompleted { output: "r" }
          => Completed "r"
    "#]],
    );
}

#[test]
fn an_answer_between_a_drop_and_its_record_is_passed_over() {
    let drops = code(|ctx, _| async move {
        let slow = ctx.schedule_activity("slow", "");
        ctx.select2(slow, ctx.schedule_timer(SECOND)).await;
        ctx.schedule_activity("next", "").await
    });
    let rows = [
        started("in"),
        activity("slow", ""),
        timer(2000),
        timer_fired(3, 2000),
        activity_done(2, "too late"),
        activity("next", ""),
        activity_dropped(2),
    ];
    expect![[r#"nondeterministic: schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "next", input: "", session_id: None, tag: None } vs event=ActivityCompleted { result: "too late" }"#]].assert_eq(&fits_only_the_reference(&rows, &drops));
}

#[test]
fn a_dropped_timer_that_fired_later_is_passed_over() {
    let drops = code(|ctx, _| async move {
        let timer = ctx.schedule_timer(SECOND);
        ctx.select2(ctx.schedule_activity("fast", ""), timer).await;
        ctx.schedule_activity("next", "").await
    });
    let rows = [
        started("in"),
        timer(2000),
        activity("fast", ""),
        activity_done(3, ""),
        activity("next", ""),
        timer_fired(2, 2000),
    ];
    assert_eq!(fit_in_short(&drops, past(REFERENCE, rows.to_vec())), "fits");
    check_from(
        &recorded(&rows),
        drops,
        vec![vec![done(5, "r")]],
        expect![[r#"
        T1
          7 ActivityCompleted[5] { result: "r" }
          8 OrchestrationCompleted { output: "r" }
          => Completed "r"
    "#]],
    );
}

#[test]
fn carried_messages_are_recorded_right_behind_the_start() {
    let reads = code(|ctx, _| async move {
        let first = ctx.dequeue_event("q").await;
        let second = ctx.dequeue_event("q").await;
        Ok(format!("{first}{second}{}", ctx.dequeue_event("q").await))
    });
    let rows = [
        started_with("in", Some(&[("q", "a"), ("q", "b")])),
        delivered("q", "a"),
        delivered("q", "b"),
        dequeue("q"),
        dequeue("q"),
        dequeue("q"),
    ];
    expect![[r#"nondeterministic: schedule mismatch: action=DequeueEvent { scheduling_event_id: 0, name: "q" } vs event=QueueEventDelivered { name: "q", data: "a" }"#]].assert_eq(&fits_only_the_reference(&rows, &reads));
    check_from(
        &recorded(&rows),
        reads,
        vec![vec![message("q", "c")]],
        expect![[r#"
        T1
          7 QueueEventDelivered { name: "q", data: "c" }
          8 OrchestrationCompleted { output: "abc" }
          => Completed "abc"
    "#]],
    );
}

/// The end that the reference records for a cancel.
fn cancelled(reason: &str) -> Row {
    let kind = AppErrorKind::Cancelled { reason: reason.to_owned() };
    let details = ErrorDetails::Application { kind, message: String::new(), retryable: false };
    (None, EventKind::OrchestrationFailed { details })
}

#[test]
fn activities_cancelled_by_the_end_are_recorded_behind_it() {
    let rows = [
        started("in"),
        activity("a", ""),
        cancel_requested("why"),
        cancelled("why"),
        activity_cancelled(2, "orchestration_terminal_failed"),
    ];
    check_from(
        &recorded(&rows),
        code(|ctx, _| async move { ctx.schedule_activity("a", "").await }),
        vec![vec![done(2, "too late")]],
        expect![[r#"
            T1
              notice: ActivityCompleted dropped: the execution has ended
              => Failed application | canceled: why
        "#]],
    );
}

#[test]
fn what_the_code_asked_in_the_turn_of_its_cancel_is_recorded_behind_the_cancel() {
    let asks = code(|ctx, _| async move {
        ctx.schedule_activity("a", "").await?;
        ctx.schedule_activity("b", "").await
    });
    let rows = [
        started("in"),
        activity("a", ""),
        activity_done(2, ""),
        cancel_requested("why"),
        activity("b", ""),
        cancelled("why"),
        activity_cancelled(5, "orchestration_terminal_failed"),
    ];
    expect![[r#"nondeterministic: schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "b", input: "", session_id: None, tag: None } vs event=OrchestrationCancelRequested { reason: "why" }"#]].assert_eq(&fits_only_the_reference(&rows, &asks));
}

#[test]
fn code_that_was_polled_although_a_cancel_came_with_its_start_need_not_be_polled() {
    let rows = [
        started("in"),
        cancel_requested("why"),
        activity("a", ""),
        cancelled("why"),
        activity_cancelled(3, "orchestration_terminal_failed"),
    ];
    let asks = code(|ctx, _| async move { ctx.schedule_activity("a", "").await });
    assert_eq!(fit_in_short(&asks, past(REFERENCE, rows.to_vec())), "fits");
}

#[test]
fn a_number_may_be_missing() {
    let next = code(|ctx, _| async move {
        ctx.schedule_activity("a", "").await?;
        Ok("r".to_owned())
    });
    let mut history =
        past(REFERENCE, vec![started("in"), activity("a", ""), activity_done(2, ""), returned("r")]);
    history[2].event_id = 7;
    history[3].event_id = 9;
    assert_eq!(fit_in_short(&next, history), "fits");
}
