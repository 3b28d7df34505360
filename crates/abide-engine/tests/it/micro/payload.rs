//! The size of payloads: what is too large fails alone where something waits for it, and replays under every
//! limit.

use abide_engine::model::{Either2, Event, PayloadTooLarge};
use abide_engine::{Execution, TurnOutput};
use expect_test::{Expect, expect};

use crate::support::drive::{feed, fresh};
use crate::support::mail::{done, start};
use crate::support::{Code, Turn, code, history_of, print};

const LIMIT: usize = 300;

fn limited(code: &Code) -> Execution {
    fresh(code).with_max_payload_bytes(LIMIT)
}

fn replayed(code: &Code, limit: usize, history: Vec<Event>) -> Execution {
    let mut execution = fresh(code).with_max_payload_bytes(limit);
    execution.replay(history).unwrap();
    execution
}

/// Runs the turns under the limit, resident and cold, and replays the result under other limits.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "scripts are written in place")]
fn check(code: Code, turns: Vec<Turn>, expected: Expect) -> Vec<TurnOutput> {
    let mut resident = limited(&code);
    let outputs: Vec<_> = turns.iter().map(|turn| feed(&mut resident, turn.clone())).collect();
    let mut history = Vec::new();
    for (output, turn) in outputs.iter().zip(turns) {
        let mut cold = replayed(&code, LIMIT, std::mem::take(&mut history));
        assert_eq!(feed(&mut cold, turn).events, output.events, "a cold execution decides the same");
        history =
            history_of(&outputs).into_iter().take_while(|event| event.event_id <= last(output)).collect();
    }
    expected.assert_eq(&print::turns(&outputs));
    for limit in [1, LIMIT, usize::MAX] {
        let mut again = replayed(&code, limit, history_of(&outputs));
        assert_eq!(again.mismatch(), None, "under a limit of {limit}");
        assert_eq!(feed(&mut again, Vec::new()).events, [], "replay appends nothing");
    }
    outputs
}

fn last(output: &TurnOutput) -> u64 {
    output.events.last().map_or(0, |event| event.event_id)
}

fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[test]
fn an_input_that_is_too_large_fails_its_activity_and_the_code_goes_on() {
    check(
        code(|ctx, _| async move {
            let large = ctx.schedule_activity("Large", text(LIMIT + 1));
            let at_the_limit = ctx.schedule_activity("Fits", text(LIMIT));
            let (large, fits) = ctx.join2(large, at_the_limit).await;
            Ok(format!("{} | {}", large.unwrap_err(), fits?))
        }),
        vec![vec![start("")], vec![done(3, "ok")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 ActivityScheduled { name: "Large", input: "abide: refused input of 301 bytes" }
              3 ActivityScheduled { name: "Fits", input: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" }
              4 ActivityFailed[2] { details: Application { kind: ActivityFailed, message: "input of activity 'Large' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client", retryable: false } }
              -> worker ActivityExecute 3 Fits(xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx)
              => Running
            T2
              5 ActivityCompleted[3] { result: "ok" }
              6 OrchestrationCompleted { output: "input of activity 'Large' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client | ok" }
              => Completed "input of activity 'Large' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client | ok"
        "#]],
    );
}

#[test]
fn an_input_that_is_too_large_fails_its_child_which_is_never_started() {
    let outputs = check(
        code(|ctx, _| async move {
            let error = ctx.schedule_sub_orchestration("Child", text(LIMIT + 1)).await.unwrap_err();
            ctx.schedule_activity("Compensate", error).await
        }),
        vec![vec![start("")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 SubOrchestrationScheduled { name: "Child", instance: "sub::2", input: "abide: refused input of 301 bytes" }
              3 SubOrchestrationFailed[2] { details: Application { kind: OrchestrationFailed, message: "input of sub-orchestration 'Child' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client", retryable: false } }
              4 ActivityScheduled { name: "Compensate", input: "input of sub-orchestration 'Child' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client" }
              -> worker ActivityExecute 4 Compensate(input of sub-orchestration 'Child' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client)
              => Running
        "#]],
    );
    assert_eq!(outputs[0].orchestrator_items, []);
}

#[test]
fn a_refused_child_that_is_dropped_at_once_is_not_cancelled_either() {
    let outputs = check(
        code(|ctx, _| async move {
            drop(ctx.schedule_sub_orchestration("Child", text(LIMIT + 1)));
            Ok(ctx.schedule_wait("go").await)
        }),
        vec![vec![start("")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 SubOrchestrationScheduled { name: "Child", instance: "sub::2", input: "abide: refused input of 301 bytes" }
              3 ExternalSubscribed { name: "go" }
              4 SubOrchestrationCancelRequested[2] { reason: "dropped_future" }
              => Running
        "#]],
    );
    assert_eq!(outputs[0].orchestrator_items, []);
}

#[test]
fn a_refused_activity_loses_no_race() {
    check(
        code(|ctx, _| async move {
            let refused = ctx.schedule_activity("Large", text(LIMIT + 1));
            match ctx.select2(ctx.schedule_wait("go"), refused).await {
                Either2::First(_) => Ok("signal".to_owned()),
                Either2::Second(result) => result,
            }
        }),
        vec![vec![start("")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 ActivityScheduled { name: "Large", input: "abide: refused input of 301 bytes" }
              3 ExternalSubscribed { name: "go" }
              4 ActivityFailed[2] { details: Application { kind: ActivityFailed, message: "input of activity 'Large' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client", retryable: false } }
              5 ExternalSubscribedCancelled[3] { reason: "dropped_future" }
              6 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "input of activity 'Large' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client", retryable: false } }
              => Failed application | input of activity 'Large' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client
        "#]],
    );
}

#[test]
fn what_nobody_waits_for_fails_the_orchestration() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration("Detached", "d-1", text(LIMIT + 1));
            Ok(ctx.schedule_wait("go").await)
        }),
        vec![vec![start("")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "input of detached orchestration 'Detached' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client", retryable: false } }
              => Failed application | input of detached orchestration 'Detached' has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client
        "#]],
    );
}

#[test]
fn the_requests_of_one_turn_may_hold_four_payloads_together() {
    let asks = |count: usize| {
        code(move |ctx, _| async move {
            let asked: Vec<_> = (0..count).map(|_| ctx.schedule_activity("A", text(LIMIT))).collect();
            ctx.join(asked).await;
            Ok(String::new())
        })
    };
    let at_the_limit = feed(&mut limited(&asks(4)), vec![start("")]);
    assert_eq!(
        (print::outcome(&at_the_limit.outcome), at_the_limit.worker_items.len()),
        ("Running".into(), 4)
    );
    let outputs = check(
        asks(5),
        vec![vec![start("")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 ActivityScheduled { name: "A", input: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" }
              3 ActivityScheduled { name: "A", input: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" }
              4 ActivityScheduled { name: "A", input: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" }
              5 ActivityScheduled { name: "A", input: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" }
              6 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              7 ActivityCancelRequested[3] { reason: "orchestration_terminal_failed" }
              8 ActivityCancelRequested[4] { reason: "orchestration_terminal_failed" }
              9 ActivityCancelRequested[5] { reason: "orchestration_terminal_failed" }
              10 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "input of activity 'A' has 300 bytes; with it the requests of this turn hold 1500 bytes, and the limit is 1200 (4 times max_payload_bytes). Wait for some of them before requesting more", retryable: false } }
              -> cancel activity 2
              -> cancel activity 3
              -> cancel activity 4
              -> cancel activity 5
              => Failed application | input of activity 'A' has 300 bytes; with it the requests of this turn hold 1500 bytes, and the limit is 1200 (4 times max_payload_bytes). Wait for some of them before requesting more
        "#]],
    );
    assert_eq!(outputs[0].worker_items, [], "what was asked for before it is taken back");
}

#[test]
fn the_next_turn_may_hold_as_much_again() {
    let asks = code(|ctx, _| async move {
        for _ in 0..10 {
            ctx.schedule_activity("A", text(LIMIT)).await?;
        }
        Ok("done".to_owned())
    });
    let mut execution = limited(&asks);
    let mut output = feed(&mut execution, vec![start("")]);
    for step in 0..10 {
        output = feed(&mut execution, vec![done(2 + 2 * step, "")]);
    }
    assert_eq!(print::outcome(&output.outcome), "Completed \"done\"");
}

#[test]
fn an_end_that_is_too_large_is_a_failure() {
    check(
        code(|_, _| async { Ok(text(LIMIT + 1)) }),
        vec![vec![start("")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "output of the orchestration has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client", retryable: false } }
              => Failed application | output of the orchestration has 301 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client
        "#]],
    );
    check(
        code(|_, _| async { Err(text(16 * 1024 + 1)) }),
        vec![vec![start("")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "error of the orchestration has 16385 bytes; the limit is 16384 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client", retryable: false } }
              => Failed application | error of the orchestration has 16385 bytes; the limit is 16384 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client
        "#]],
    );
    check(
        code(|ctx, _| async move { ctx.continue_as_new(text(LIMIT + 3)).await }),
        vec![vec![start("")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "input of the next execution has 303 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client", retryable: false } }
              => Failed application | input of the next execution has 303 bytes; the limit is 300 (max_payload_bytes). Store large data elsewhere and pass a reference to it, or raise the limit on every node and client
        "#]],
    );
}

#[test]
fn an_input_that_only_looks_refused_is_run() {
    let outputs = check(
        code(|ctx, _| async move { ctx.schedule_activity("A", "abide: refused input of 301 bytes").await }),
        vec![vec![start("")], vec![done(2, "ok")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "" }
              2 ActivityScheduled { name: "A", input: "abide: refused input of 301 bytes" }
              -> worker ActivityExecute 2 A(abide: refused input of 301 bytes)
              => Running
            T2
              3 ActivityCompleted[2] { result: "ok" }
              4 OrchestrationCompleted { output: "ok" }
              => Completed "ok"
        "#]],
    );
    assert_eq!(outputs[0].worker_items.len(), 1);
}

#[test]
fn without_a_choice_the_limit_is_64_mebibytes() {
    let large = 64 * 1024 * 1024 + 1;
    let asks = code(move |ctx, _| async move { ctx.schedule_activity("A", text(large)).await });
    let output = feed(&mut fresh(&asks), vec![start("")]);
    let told = PayloadTooLarge { what: "input of activity 'A'".to_owned(), bytes: large, limit: large - 1 };
    assert_eq!(print::outcome(&output.outcome), format!("Failed application | {told}"));
    assert_eq!(output.worker_items, []);
}

#[test]
fn code_that_asks_for_another_size_than_was_refused_does_not_fit() {
    let asks = |bytes: usize| {
        code(move |ctx, _| async move {
            let refused = ctx.schedule_activity("A", text(bytes)).await.is_err();
            ctx.schedule_wait("go").await;
            Ok(refused.to_string())
        })
    };
    let output = feed(&mut limited(&asks(LIMIT + 1)), vec![start("")]);
    assert!(replayed(&asks(LIMIT + 2), LIMIT, output.events.clone()).mismatch().is_some());
    assert!(replayed(&asks(LIMIT + 1), LIMIT, output.events).mismatch().is_none());
}
