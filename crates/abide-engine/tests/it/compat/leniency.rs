//! What the reference did not compare.

use std::time::Duration;

use expect_test::expect;

use super::fits_only_the_reference;
use crate::support::mail::{cancel, done};
use crate::support::past::{
    OURS, REFERENCE, activity, activity_done, activity_dropped, child, child_returned, delivered, fit,
    fit_in_short, kv_cleared, kv_set, past, returned, started, status, timer, timer_fired,
};
use crate::support::{Code, Given, check_from, code};

fn one_activity() -> Code {
    code(|ctx, _| async move { ctx.schedule_activity("a", "").await })
}

#[test]
fn the_deadline_of_a_timer_is_not_compared() {
    let sleeps = code(|ctx, _| async move {
        ctx.schedule_timer(Duration::from_secs(1)).await;
        Ok(String::new())
    });
    let rows = [started("in"), timer(1234), timer_fired(2, 1234), returned("")];
    expect!["nondeterministic: schedule mismatch: action=CreateTimer { scheduling_event_id: 0, fire_at_ms: 2000 } vs event=TimerCreated { fire_at_ms: 1234 }"].assert_eq(&fits_only_the_reference(&rows, &sleeps));
}

#[test]
fn the_instance_of_a_child_is_taken_from_the_record() {
    let calls = code(|ctx, _| async move { ctx.schedule_sub_orchestration("C", "c").await });
    let rows = [started("in"), child("C", "sub::1", "c")];
    expect![[r#"nondeterministic: schedule mismatch: action=StartSubOrchestration { scheduling_event_id: 0, name: "C", version: None, instance: "sub::pending_1", input: "c" } vs event=SubOrchestrationScheduled { name: "C", instance: "sub::1", input: "c" }"#]].assert_eq(&fits_only_the_reference(&rows, &calls));
    check_from(
        &Given::history(past(REFERENCE, rows.to_vec())),
        calls,
        vec![vec![cancel("why")]],
        expect![[r#"
            T1
              3 OrchestrationCancelRequested { reason: "why" }
              4 SubOrchestrationCancelRequested[2] { reason: "orchestration_terminal_cancelled" }
              5 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              -> Cancel i::sub::1 "parent canceled"
              => Failed application | canceled: why
        "#]],
    );
}

#[test]
fn an_explicit_instance_of_a_child_is_not_compared() {
    let calls = code(|ctx, _| async move { ctx.schedule_sub_orchestration_with_id("C", "two", "c").await });
    let rows = [started("in"), child("C", "one", "c"), child_returned(2, "r"), returned("r")];
    expect![[r#"nondeterministic: schedule mismatch: action=StartSubOrchestration { scheduling_event_id: 0, name: "C", version: None, instance: "two", input: "c" } vs event=SubOrchestrationScheduled { name: "C", instance: "one", input: "c" }"#]].assert_eq(&fits_only_the_reference(&rows, &calls));
}

#[test]
fn the_value_of_a_custom_status_is_not_compared() {
    let tells = code(|ctx, _| async move {
        ctx.set_custom_status("mine");
        ctx.schedule_activity("a", "").await
    });
    let rows = [started("in"), status("other"), activity("a", "")];
    expect![[r#"nondeterministic: custom status mismatch: action=UpdateCustomStatus { status: Some("mine") } vs event=CustomStatusUpdated { status: Some("other") }"#]].assert_eq(&fits_only_the_reference(&rows, &tells));
}

#[test]
fn recorded_state_that_the_code_does_not_write_is_passed_over() {
    let rows = [started("in"), activity("a", ""), status("x"), kv_set("k", "v", 500), kv_cleared("k")];
    expect!["nondeterministic: history schedule but no emitted action"]
        .assert_eq(&fits_only_the_reference(&rows, &one_activity()));
}

#[test]
fn recorded_state_that_the_code_does_not_write_leaves_its_later_writes_alone() {
    check_from(
        &Given::history(past(REFERENCE, vec![started("in"), activity("a", ""), kv_set("k", "v", 500)])),
        code(|ctx, _| async move {
            ctx.schedule_activity("a", "").await?;
            ctx.set_kv_value("mine", "written now");
            Ok(ctx.prune_kv_values_updated_before(1_000).to_string())
        }),
        vec![vec![done(2, "r")]],
        expect![[r#"
            T1
              4 ActivityCompleted[2] { result: "r" }
              5 KeyValueSet { key: "mine", value: "written now", last_updated_at_ms: 1000 }
              6 OrchestrationCompleted { output: "0" }
              => Completed "0"
        "#]],
    );
}

#[test]
fn a_return_before_the_recorded_asks_is_let_pass() {
    let early = code(|_, _| async move { Ok("early".to_owned()) });
    let rows = [started("in"), activity("a", ""), activity_done(2, "r"), activity("b", "")];
    expect!["nondeterministic: history schedule but no emitted action"]
        .assert_eq(&fits_only_the_reference(&rows, &early));
    check_from(
        &Given::history(past(REFERENCE, rows.to_vec())),
        early,
        vec![vec![done(4, "too late")]],
        expect![[r#"
            T1
              5 ActivityCancelRequested[4] { reason: "orchestration_terminal_completed" }
              6 OrchestrationCompleted { output: "early" }
              -> cancel activity 4
              notice: ActivityCompleted dropped: the execution has ended
              => Completed "early"
        "#]],
    );
}

/// Drops an activity when a timer fires, then runs another.
fn drops_the_slow_one() -> Code {
    code(|ctx, _| async move {
        let slow = ctx.schedule_activity("slow", "");
        ctx.select2(slow, ctx.schedule_timer(Duration::from_secs(1))).await;
        ctx.schedule_activity("next", "").await
    })
}

#[test]
fn a_drop_that_was_not_recorded_is_recorded_from_now_on() {
    let rows = [started("in"), activity("slow", ""), timer(2000), timer_fired(3, 2000), activity("next", "")];
    assert_eq!(fit_in_short(&drops_the_slow_one(), past(REFERENCE, rows.to_vec())), "fits");
    check_from(
        &Given::history(past(REFERENCE, rows.to_vec())),
        drops_the_slow_one(),
        vec![vec![done(5, "r")]],
        expect![[r#"
            T1
              6 ActivityCancelRequested[2] { reason: "dropped_future" }
              7 ActivityCompleted[5] { result: "r" }
              8 OrchestrationCompleted { output: "r" }
              -> cancel activity 2
              => Completed "r"
        "#]],
    );
}

#[test]
fn a_drop_that_was_not_recorded_in_the_middle_is_let_pass() {
    let rows = [
        started("in"),
        activity("slow", ""),
        timer(2000),
        timer_fired(3, 2000),
        activity("next", ""),
        activity_done(5, "r"),
        returned("r"),
    ];
    expect!["nondeterministic: cancellation mismatch (activities): baseline_dropped_future_cancel_requests={} ctx_cancelled_in_replayed_segment={2}"].assert_eq(&fits_only_the_reference(&rows, &drops_the_slow_one()));
}

#[test]
fn a_recorded_drop_of_a_future_that_had_its_answer_is_let_pass() {
    let drops = code(|ctx, _| async move {
        let (a, b) = (ctx.schedule_activity("a", ""), ctx.schedule_activity("b", ""));
        b.await?;
        drop(a);
        ctx.schedule_activity("c", "").await
    });
    let rows = [
        started("in"),
        activity("a", ""),
        activity("b", ""),
        activity_done(2, "unseen"),
        activity_done(3, ""),
        activity("c", ""),
        activity_dropped(2),
    ];
    expect!["nondeterministic: cancellation mismatch (activities): baseline_dropped_future_cancel_requests={2} ctx_cancelled_in_replayed_segment={}"].assert_eq(&fits_only_the_reference(&rows, &drops));
    check_from(
        &Given::history(past(REFERENCE, rows.to_vec())),
        drops,
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
fn the_order_in_which_keys_were_cleared_is_not_compared() {
    let prunes = code(|ctx, _| async move {
        for key in ["a", "b", "c"] {
            ctx.clear_kv_value(key);
        }
        ctx.schedule_activity("a", "").await
    });
    let rows = [started("in"), kv_cleared("c"), kv_cleared("a"), kv_cleared("b"), activity("a", "")];
    expect![[r#"nondeterministic: kv clear mismatch: action=ClearKeyValue { key: "a" } vs event=KeyValueCleared { key: "c" }"#]].assert_eq(&fits_only_the_reference(&rows, &prunes));
}

#[test]
fn the_error_about_a_result_that_cannot_be_decoded_is_what_it_was() {
    let logs_the_error = code(|ctx, _| async move {
        let error = ctx.schedule_activity_typed::<_, u32>("a", &1).await.unwrap_err();
        ctx.schedule_activity("log", error).await
    });
    let rows = [
        started("in"),
        activity("a", "1"),
        activity_done(2, "six"),
        activity("log", "expected value at line 1 column 1"),
        activity_done(4, ""),
        returned(""),
    ];
    expect![[r#"nondeterministic: schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "log", input: "result of activity 'a' is not a `u32`: expected value at line 1 column 1", session_id: None, tag: None } vs event=ActivityScheduled { name: "log", input: "expected value at line 1 column 1", session_id: None, tag: None }"#]].assert_eq(&fits_only_the_reference(&rows, &logs_the_error));
}

#[test]
fn typed_text_is_encoded_bare_as_it_was() {
    let typed = || {
        code(|ctx, _| async move {
            let text: String = ctx.schedule_activity_typed("a", &"5").await?;
            ctx.schedule_activity_typed("b", &Some(text)).await
        })
    };
    let rows = [started("in"), activity("a", "5")];
    expect![[r#"nondeterministic: schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "a", input: "\"5\"", session_id: None, tag: None } vs event=ActivityScheduled { name: "a", input: "5", session_id: None, tag: None }"#]].assert_eq(&fits_only_the_reference(&rows, &typed()));
    check_from(
        &Given::history(past(REFERENCE, rows.to_vec())),
        typed(),
        vec![vec![done(2, "\"null\"")]],
        expect![[r#"
            T1
              3 ActivityCompleted[2] { result: "\"null\"" }
              4 ActivityScheduled { name: "b", input: "null" }
              -> worker ActivityExecute 4 b(null)
              => Running
        "#]],
    );
}

#[test]
fn the_ids_that_an_event_repeats_are_not_compared() {
    for (version, expected) in
        [(REFERENCE, "fits"), (OURS, "nondeterministic: corrupted history: event of another execution")]
    {
        let mut history = past(version, vec![started("in"), activity("a", "")]);
        history[1].execution_id = 9;
        assert_eq!(fit_in_short(&one_activity(), history), expected);
    }
}

#[test]
fn an_answer_that_names_no_source_is_passed_over() {
    let (_, answer) = activity_done(2, "r");
    let rows = [started("in"), activity("a", ""), (None, answer)];
    expect!["nondeterministic: corrupted history: event without a source"]
        .assert_eq(&fits_only_the_reference(&rows, &one_activity()));
}

#[test]
fn what_the_reference_compares_is_compared_under_both_rules() {
    for version in [REFERENCE, OURS] {
        let other_input = past(version, vec![started("in"), activity("a", "x")]);
        assert!(fit_in_short(&one_activity(), other_input).contains("schedule mismatch"));
        let not_asked = past(version, vec![started("in"), activity("a", ""), activity("b", "")]);
        assert!(fit_in_short(&one_activity(), not_asked).contains("history schedule but no emitted action"));
        let not_dropped = past(version, vec![started("in"), activity("a", ""), activity_dropped(2)]);
        assert_eq!(
            fit_in_short(&one_activity(), not_dropped),
            "nondeterministic: cancellation mismatch (activities): \
             baseline_dropped_future_cancel_requests={2} ctx_cancelled_in_replayed_segment={}"
        );
        let wrong_kind = past(version, vec![started("in"), activity("a", ""), timer_fired(2, 0)]);
        assert!(
            fit_in_short(&one_activity(), wrong_kind).contains("completion kind mismatch: expected timer")
        );
    }
}

#[test]
fn a_history_begins_with_its_start() {
    for version in [REFERENCE, OURS] {
        for first in [activity("a", ""), activity_done(2, ""), kv_set("k", "v", 1), activity_dropped(2)] {
            let no_start = past(version, vec![first, started("in")]);
            assert_eq!(
                fit_in_short(&one_activity(), no_start),
                "nondeterministic: corrupted history: first event must be OrchestrationStarted"
            );
        }
    }
}

#[test]
fn a_mismatch_says_where_it_is_and_shows_both_sides() {
    let history = past(REFERENCE, vec![started("in"), activity("b", "x")]);
    expect![[r#"
        nondeterministic: schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "a", input: "", session_id: None, tag: None } vs event=ActivityScheduled { name: "b", input: "x", session_id: None, tag: None }
          at event 2 of execution 1 of instance 'i', recorded by version 0.1.32
          what the code asks for differs in its name, input
          The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]].assert_eq(&fit(&one_activity(), history));
}

// Passing over recorded asks, as for a return, would lose the messages delivered among them: they are not carried.
#[test]
fn a_continue_as_new_before_the_recorded_asks_is_a_mismatch_and_so_loses_no_message() {
    let rows = [started("in"), activity("a", ""), delivered("q", "m")];
    check_from(
        &Given::history(past(REFERENCE, rows.to_vec())),
        code(|ctx, _| async move { ctx.continue_as_new("2").await }),
        vec![vec![]],
        expect![[r#"
            T1
              4 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              5 OrchestrationFailed { details: Configuration { kind: Nondeterminism, resource: "", message: Some("history schedule but no emitted action\n  at event 2 of execution 1 of instance 'i', recorded by version 0.1.32\n  history holds: ActivityScheduled { name: \"a\", input: \"\" }\n  but the code continues as new with \"2\"\n  The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version.") } }
              -> cancel activity 2
              => Failed configuration | nondeterministic: history schedule but no emitted action
              at event 2 of execution 1 of instance 'i', recorded by version 0.1.32
              history holds: ActivityScheduled { name: "a", input: "", session_id: None, tag: None }
              but the code continues as new with "2"
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version.
        "#]],
    );
}
