//! Errors for people: what is said when the code asks, drops or returns something else than history holds.
//!
//! Every message begins with the documented text, names the event, and prints both sides in full.

use std::time::Duration;

use abide_engine::model::EventKind;
use expect_test::expect;

use crate::support::disagree::{asks, complaint, disagree, started, steps};
use crate::support::drive::recorded;
use crate::support::mail::{done, fired, signal, start};
use crate::support::{Code, Turn, code};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_changed_input_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_activity("charge", "10 EUR")),
        started(),
        asks(|ctx| ctx.schedule_activity("charge", "12 EUR")),
        expect![[r#"
            schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "charge", input: "12 EUR", session_id: None, tag: None } vs event=ActivityScheduled { name: "charge", input: "10 EUR", session_id: None, tag: None }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its input
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_name_is_named() {
    disagree(
        steps(&["charge"]),
        started(),
        steps(&["bill"]),
        expect![[r#"
            schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "bill", input: "in", session_id: None, tag: None } vs event=ActivityScheduled { name: "charge", input: "in", session_id: None, tag: None }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its name
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_tag_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_activity("charge", "").with_tag("gpu")),
        started(),
        asks(|ctx| ctx.schedule_activity("charge", "")),
        expect![[r#"
            schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "charge", input: "", session_id: None, tag: None } vs event=ActivityScheduled { name: "charge", input: "", session_id: None, tag: Some("gpu") }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its tag
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_session_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_activity_on_session("charge", "", "s1")),
        started(),
        asks(|ctx| ctx.schedule_activity_on_session("charge", "", "s2")),
        expect![[r#"
            schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "charge", input: "", session_id: Some("s2"), tag: None } vs event=ActivityScheduled { name: "charge", input: "", session_id: Some("s1"), tag: None }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its session
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn another_kind_of_ask_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_activity("charge", "")),
        started(),
        asks(|ctx| ctx.schedule_timer(MINUTE)),
        expect![[r#"
            schedule mismatch: action=CreateTimer { scheduling_event_id: 0, fire_at_ms: 61000 } vs event=ActivityScheduled { name: "charge", input: "", session_id: None, tag: None }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its kind
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_name_of_a_wait_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_wait("yes")),
        started(),
        asks(|ctx| ctx.schedule_wait("no")),
        expect![[r#"
            schedule mismatch: action=WaitExternal { scheduling_event_id: 0, name: "no" } vs event=ExternalSubscribed { name: "yes" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its name
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_wait_that_became_a_queue_of_the_same_name_is_another_kind() {
    disagree(
        asks(|ctx| ctx.schedule_wait("mail")),
        started(),
        asks(|ctx| ctx.dequeue_event("mail")),
        expect![[r#"
            schedule mismatch: action=DequeueEvent { scheduling_event_id: 0, name: "mail" } vs event=ExternalSubscribed { name: "mail" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its kind
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn an_additional_ask_before_an_arrival() {
    disagree(
        steps(&["a", "b"]),
        vec![vec![start("in")], vec![done(2, "r")]],
        code(|ctx, _| async move {
            let first = ctx.schedule_activity("a", "in");
            let _more = ctx.schedule_activity("audit", "a");
            first.await?;
            ctx.schedule_activity("b", "in").await
        }),
        expect![[r#"
            schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "audit", input: "a", session_id: None, tag: None } vs event=ActivityCompleted { result: "r" }
              at event 3 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for is not recorded before this event
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn an_additional_ask_before_the_recorded_end_is_shown_with_the_end() {
    disagree(
        steps(&["a"]),
        vec![vec![start("in")], vec![done(2, "r")]],
        steps(&["a", "audit"]),
        expect![[r#"
            schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "audit", input: "in", session_id: None, tag: None } vs event=OrchestrationCompleted { output: "out" }
              at event 4 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for is not recorded before this event
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn an_additional_ask_before_a_recorded_drop_is_shown_with_the_drop() {
    let race = |more: &'static [&'static str]| {
        code(move |ctx, _| async move {
            let slow = ctx.schedule_activity("slow", "");
            ctx.select2(slow, ctx.schedule_timer(MINUTE)).await;
            let next = ctx.schedule_activity("next", "");
            for name in more {
                ctx.set_custom_status(*name);
            }
            next.await
        })
    };
    disagree(
        race(&[]),
        vec![vec![start("in")], vec![fired(3, 61_000)]],
        race(&["late"]),
        expect![[r#"
            schedule mismatch: action=UpdateCustomStatus { status: Some("late") } vs event=ActivityCancelRequested { reason: "dropped_future" }
              at event 6 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for is not recorded before this event
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_missing_ask_is_shown_with_what_stands_in_its_place() {
    disagree(
        asks(|ctx| {
            (ctx.schedule_activity("a", ""), ctx.schedule_activity("b", ""), ctx.schedule_activity("c", ""))
        }),
        started(),
        code(|ctx, _| async move {
            let _held = (ctx.schedule_activity("a", ""), ctx.schedule_activity("b", ""));
            ctx.schedule_timer(MINUTE).await;
            Ok(String::new())
        }),
        expect![[r#"
            schedule mismatch: action=CreateTimer { scheduling_event_id: 0, fire_at_ms: 61000 } vs event=ActivityScheduled { name: "c", input: "", session_id: None, tag: None }
              at event 4 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its kind
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn code_that_asks_for_nothing_where_history_goes_on_is_told_what_is_recorded() {
    disagree(
        steps(&["a", "b"]),
        vec![vec![start("in")], vec![done(2, "r")]],
        code(|ctx, _| async move {
            ctx.schedule_activity("a", "in").await?;
            std::future::pending().await
        }),
        expect![[r#"
            history schedule but no emitted action
              at event 4 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: ActivityScheduled { name: "b", input: "in", session_id: None, tag: None }
              but the code asks for nothing here
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_return_before_a_recorded_ask_shows_both() {
    disagree(
        steps(&["a", "b"]),
        vec![vec![start("in")], vec![done(2, "r")]],
        steps(&["a"]),
        expect![[r#"
            history schedule but no emitted action
              at event 4 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: ActivityScheduled { name: "b", input: "in", session_id: None, tag: None }
              but the code returns Ok("out")
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_return_before_a_recorded_arrival_shows_both() {
    disagree(
        code(|ctx, _| async move {
            let both = (ctx.schedule_activity("a", ""), ctx.schedule_activity("b", ""));
            ctx.join2(both.0, both.1).await.1
        }),
        vec![vec![start("in")], vec![done(2, "r")]],
        code(|ctx, _| async move {
            let _held = (ctx.schedule_activity("a", ""), ctx.schedule_activity("b", ""));
            Err("no".to_owned())
        }),
        expect![[r#"
            outcome mismatch: history goes on, but the code has ended
              at event 4 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: ActivityCompleted { result: "r" }
              but the code fails with "no"
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_continue_as_new_before_a_recorded_ask_shows_both() {
    disagree(
        steps(&["a", "b"]),
        vec![vec![start("in")], vec![done(2, "r")]],
        code(|ctx, _| async move {
            ctx.schedule_activity("a", "in").await?;
            ctx.continue_as_new("again").await
        }),
        expect![[r#"
            history schedule but no emitted action
              at event 4 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: ActivityScheduled { name: "b", input: "in", session_id: None, tag: None }
              but the code continues as new with "again"
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn code_that_still_waits_does_not_fit_a_recorded_end() {
    let was = steps(&["a"]);
    let mut history = recorded(&was, &[vec![start("in")], vec![done(2, "r")]]);
    let completed = history.remove(2);
    assert!(matches!(completed.kind, EventKind::ActivityCompleted { .. }), "{completed:?}");
    expect![[r#"
        outcome mismatch: history ends in another way than the code
          at event 4 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: OrchestrationCompleted { output: "out" }
          but the code is still waiting
          The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]].assert_eq(&complaint(&was, history));
}

#[test]
fn another_return_value_is_shown_with_the_recorded_one() {
    let returns = |text: &'static str| code(move |_, _| async move { Ok::<_, String>(text.to_owned()) });
    disagree(
        returns("17"),
        started(),
        returns("18"),
        expect![[r#"
            outcome mismatch: history ends in another way than the code
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: OrchestrationCompleted { output: "17" }
              but the code returns Ok("18")
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_failure_does_not_fit_a_recorded_return() {
    disagree(
        code(|_, _| async move { Ok("17".to_owned()) }),
        started(),
        code(|_, _| async move { Err("no".to_owned()) }),
        expect![[r#"
            outcome mismatch: history ends in another way than the code
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: OrchestrationCompleted { output: "17" }
              but the code fails with "no"
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

/// One future is dropped when the timer fires: `"activity"`, `"wait"`, `"queue"`, `"child"` or none.
fn drops(which: &'static [&'static str]) -> Code {
    code(move |ctx, _| async move {
        let mut activity = Some(ctx.schedule_activity("slow", ""));
        let mut wait = Some(ctx.schedule_wait("signal"));
        let mut queue = Some(ctx.dequeue_event("mail"));
        let mut child = Some(ctx.schedule_sub_orchestration("Child", ""));
        ctx.schedule_timer(MINUTE).await;
        for dropped in which {
            match *dropped {
                "activity" => drop(activity.take()),
                "wait" => drop(wait.take()),
                "queue" => drop(queue.take()),
                "child" => drop(child.take()),
                other => panic!("{other}"),
            }
        }
        let end = ctx.schedule_wait("end").await;
        drop((activity, wait, queue, child));
        Ok(end)
    })
}

fn timer_fired() -> Vec<Turn> {
    vec![vec![start("in")], vec![fired(6, 61_000)]]
}

/// The timer fires, and then something arrives behind what is recorded for it.
fn timer_fired_and_more() -> Vec<Turn> {
    vec![vec![start("in")], vec![fired(6, 61_000)], vec![signal("other", "")]]
}

#[test]
fn a_recorded_drop_that_is_no_longer_made_is_shown() {
    disagree(
        drops(&["activity"]),
        timer_fired(),
        drops(&[]),
        expect![[r#"
            cancellation mismatch (activities): baseline_dropped_future_cancel_requests={2} ctx_cancelled_in_replayed_segment={}
              at event 9 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: ActivityCancelRequested { reason: "dropped_future" }
              but the code does not drop the future of event 2
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        drops(&["wait"]),
        timer_fired(),
        drops(&[]),
        expect![[r#"
            cancellation mismatch (external waits): baseline_dropped_future_cancel_requests={3} ctx_cancelled_in_replayed_segment={}
              at event 9 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: ExternalSubscribedCancelled { reason: "dropped_future" }
              but the code does not drop the future of event 3
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        drops(&["queue"]),
        timer_fired(),
        drops(&[]),
        expect![[r#"
            cancellation mismatch (persistent waits): baseline_dropped_future_cancel_requests={4} ctx_cancelled_in_replayed_segment={}
              at event 9 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: QueueSubscriptionCancelled { reason: "dropped_future" }
              but the code does not drop the future of event 4
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        drops(&["child"]),
        timer_fired(),
        drops(&[]),
        expect![[r#"
            cancellation mismatch (sub-orchestrations): baseline_dropped_future_cancel_requests={5} ctx_cancelled_in_replayed_segment={}
              at event 9 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: SubOrchestrationCancelRequested { reason: "dropped_future" }
              but the code does not drop the future of event 5
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_drop_of_another_future_shows_both() {
    disagree(
        drops(&["queue"]),
        timer_fired(),
        drops(&["activity"]),
        expect![[r#"
            cancellation mismatch (persistent waits): baseline_dropped_future_cancel_requests={4} ctx_cancelled_in_replayed_segment={}
              at event 9 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: QueueSubscriptionCancelled { reason: "dropped_future" }
              but the code does not drop the future of event 4
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn an_additional_drop_is_shown_with_what_is_recorded() {
    disagree(
        drops(&[]),
        timer_fired_and_more(),
        drops(&["activity"]),
        expect![[r#"
            cancellation mismatch (activities): baseline_dropped_future_cancel_requests={} ctx_cancelled_in_replayed_segment={2}
              at event 9 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: ExternalEvent { name: "other", data: "" }
              but the code first drops the future of event 2, which is not recorded before this event
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        drops(&[]),
        timer_fired_and_more(),
        drops(&["wait", "queue"]),
        expect![[r#"
            cancellation mismatch (external waits): baseline_dropped_future_cancel_requests={} ctx_cancelled_in_replayed_segment={3}
              at event 9 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: ExternalEvent { name: "other", data: "" }
              but the code first drops the future of event 3, which is not recorded before this event
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_timer_of_another_duration_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_timer(MINUTE)),
        started(),
        asks(|ctx| ctx.schedule_timer(2 * MINUTE)),
        expect![[r#"
            schedule mismatch: action=CreateTimer { scheduling_event_id: 0, fire_at_ms: 121000 } vs event=TimerCreated { fire_at_ms: 61000 }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its delay
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}
