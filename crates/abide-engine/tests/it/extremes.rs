//! Extremes: sizes, names, times, numbers and limits at their ends.

use std::sync::Arc;
use std::time::Duration;

use abide_engine::Outcome;
use abide_engine::model::{Event, EventKind, Timestamp, WorkItem};
use expect_test::expect;

use crate::support::drive::{agree, cold, end, feed, feed_at, fresh, recorded, returned, text};
use crate::support::mail::{child_done, continued, done, fired, message, signal, start, start_by};
use crate::support::{Code, Given, INSTANCE, check, code, run_cold, run_resident};

fn waits() -> Code {
    code(|ctx, _| async move { ctx.schedule_activity("a", "").await })
}

#[test]
fn a_megabyte_goes_through() {
    let big = "x".repeat(1 << 20);
    let code = code(|ctx, input| async move {
        let echoed = ctx.schedule_activity("echo", input).await?;
        let child = ctx.schedule_sub_orchestration("child", echoed).await?;
        Ok(child + &ctx.dequeue_event("q").await)
    });
    let turns = [vec![start(&big)], vec![done(2, &big)], vec![message("q", &big)], vec![child_done(4, &big)]];
    let outputs = agree(&code, &turns);
    assert_eq!(returned(&outputs[3]).len(), 2 << 20);
}

#[test]
fn names_may_be_anything() {
    for name in
        ["\0", "a\0b", "naïve ☃ 𝔘", "\n\t\"'\\", "\u{202e}evil", " ", "sub:", "__duroxide_syscall:new_guid"]
    {
        let code = code(move |ctx, _| async move {
            ctx.set_kv_value(name, name);
            ctx.set_custom_status(name);
            let activity = ctx.schedule_activity_on_session(name, name, name).with_tag(name);
            let child = ctx.schedule_sub_orchestration_with_id(name, format!("id {name}"), name);
            let (wait, queue) = (ctx.schedule_wait(name), ctx.dequeue_event(name));
            let (a, c, w) = ctx.join3(activity, child, wait).await;
            ctx.clear_kv_value(name);
            Ok(format!("{}{}{w}{}", a?, c?, queue.await))
        });
        let turns = [
            vec![start(name), message(name, "q"), signal(name, "w")],
            vec![done(4, "a"), child_done(5, "c")],
        ];
        assert_eq!(returned(&agree(&code, &turns)[1]), "acwq", "{name:?}");
    }
}

#[test]
fn timers_of_any_length_replay() {
    let durations = [Duration::MAX, Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(u64::MAX)];
    for duration in durations {
        let code = code(move |ctx, _| async move {
            ctx.schedule_timer(duration).await;
            Ok("fired".to_owned())
        });
        let first = recorded(&code, &[vec![start("in")]]);
        let EventKind::TimerCreated { fire_at_ms } = first[1].kind else { panic!("{:?}", first[1]) };
        assert!(i64::try_from(fire_at_ms).is_ok(), "{duration:?}: a store can hold {fire_at_ms}");
        assert!(u128::from(fire_at_ms - 1_000) >= duration.as_millis().min(1 << 62), "never early");
        assert_eq!(returned(&agree(&code, &[vec![start("in")], vec![fired(2, fire_at_ms)]])[1]), "fired");
    }
}

#[test]
fn the_end_of_time_is_a_time_like_any_other() {
    let mut execution = fresh(&code(|ctx, _| async move {
        ctx.set_kv_value("k", "v");
        ctx.schedule_timer(Duration::from_secs(1)).await;
        Ok(String::new())
    }));
    let output = feed_at(&mut execution, u64::MAX, vec![start("in")]);
    assert_eq!(output.events[0].timestamp_ms, Timestamp::MAX.as_millis());
    assert_eq!(returned(&feed_at(&mut execution, 0, vec![fired(3, 0)])), "", "time may also run backwards");
}

/// The history of one activity that is scheduled, its ids ending at `last`.
fn ending_at(last: u64) -> Vec<Event> {
    let mut history = recorded(&waits(), &[vec![start_by(("p", 7, 1), "in")]]);
    history[1].event_id = last;
    history
}

#[test]
fn a_history_with_room_for_the_end_ends() {
    let last = i64::MAX.unsigned_abs() - 2;
    let output = feed(&mut cold(&waits(), ending_at(last)), vec![done(last, "r")]);
    assert_eq!(returned(&output), "r");
    assert_eq!(output.events.len(), 2);
}

#[test]
fn a_history_that_is_full_fails_and_the_parent_hears_of_it() {
    for last in [i64::MAX.unsigned_abs() - 1, i64::MAX.unsigned_abs(), u64::MAX - 1, u64::MAX] {
        let mut execution = cold(&waits(), ending_at(last));
        let output = feed(&mut execution, vec![done(last, "r")]);
        assert!(end(&output).contains("the history is full"), "{last}: {}", end(&output));
        let told: Vec<_> = output
            .orchestrator_items
            .iter()
            .filter(|item| matches!(item, WorkItem::SubOrchFailed { .. }))
            .collect();
        assert_eq!(told.len(), 1, "{last}: the parent hears of it: {:?}", output.orchestrator_items);
        assert!(execution.outcome().is_terminal());
    }
}

#[test]
fn executions_of_any_number_run() {
    for execution_id in [0, 1, 2, u64::MAX] {
        let given = Given::execution(execution_id);
        let code = code(|ctx, _| async move { Ok(ctx.execution_id().to_string()) });
        let output = run_resident(&given, &code, &[vec![continued("in", &[], None)]]);
        assert_eq!(returned(&output[0]), execution_id.to_string());
        assert_eq!(run_cold(&given, &code, &[vec![continued("in", &[], None)]]), output);
    }
}

#[test]
fn what_breaks_a_limit_fails_although_the_code_returned() {
    let code = code(|ctx, _| async move {
        ctx.set_custom_status("x".repeat(262_145));
        Ok("out".to_owned())
    });
    check(
        code,
        vec![vec![start("in")]],
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "Custom status size (262145 bytes) exceeds limit (262144 bytes)", retryable: false } }
          => Failed application | Custom status size (262145 bytes) exceeds limit (262144 bytes)
    "#]],
    );
}

#[test]
fn what_breaks_a_limit_fails_although_the_code_continued_as_new() {
    let code = code(|ctx, _| async move {
        ctx.schedule_orchestration("before", "d", "");
        ctx.set_kv_value("k", "x".repeat(65_537));
        ctx.continue_as_new("next").await
    });
    check(
        code,
        vec![vec![start("in")]],
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 OrchestrationChained { name: "before", instance: "d", input: "" }
          3 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)", retryable: false } }
          -> Start d before()
          => Failed application | KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)
    "#]],
    );
}

#[test]
fn what_breaks_a_limit_is_no_better_explanation_than_a_panic() {
    let code = code(|ctx, _| async move {
        ctx.set_custom_status("x".repeat(262_145));
        panic!("later")
    });
    let code2 = Arc::clone(&code);
    let first = feed(&mut fresh(&code), vec![start("in")]);
    let mut again = cold(&code2, first.events.clone());
    assert_eq!((end(&feed(&mut again, vec![])), again.mismatch()), (end(&first), None));
    expect!["Failed application | orchestration panicked: later"].assert_eq(&end(&first));
}

#[test]
fn rows_that_old_code_did_not_ask_for_do_not_shift_the_times_of_writes() {
    let code = code(|ctx, _| async move {
        ctx.schedule_wait("go").await;
        ctx.set_kv_value("mine", "1");
        Ok(ctx.schedule_wait("end").await)
    });
    let mut history = recorded(&code, &[vec![start("in")]]);
    let unasked = EventKind::KeyValueSet { key: "old".into(), value: "0".into(), last_updated_at_ms: 17 };
    history.push(Event::recorded(3, INSTANCE, 1, Timestamp::from_millis(1_000), unasked));
    for event in &mut history {
        event.duroxide_version = "0.1.32".to_owned();
    }
    let output = feed_at(&mut cold(&code, history), 9_000, vec![signal("go", "")]);
    let mine = EventKind::KeyValueSet { key: "mine".into(), value: "1".into(), last_updated_at_ms: 9_000 };
    assert!(output.events.iter().any(|event| event.kind == mine), "{}", text(&output));
}

// Whose child it is stands in the first row: when that very row was damaged, the parent waited for ever.
#[test]
fn a_parent_hears_of_a_child_whose_first_row_is_damaged() {
    let mut history = recorded(&waits(), &[vec![start_by(("p", 7, 1), "in")]]);
    history[0].execution_id = 9;
    let output = feed(&mut cold(&waits(), history), vec![]);
    assert!(matches!(output.outcome, Outcome::Failed { .. }), "{}", end(&output));
    let [WorkItem::SubOrchFailed { parent_instance, parent_execution_id: 1, parent_id: 7, .. }] =
        &output.orchestrator_items[..]
    else {
        panic!("the parent is told: {:?}", output.orchestrator_items)
    };
    assert_eq!(parent_instance, "p");
}
