//! Crashes, memory and bookkeeping: what is kept too long, and what is lost when a process dies.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use futures::future::join_all;

use crate::support::mail::{done, fired, message, signal, start};
use crate::support::{Code, Turn, check, code, print, run};

/// How often `probe` is still held after `code` ran `turns` and everything was dropped.
fn holders_left(make: impl FnOnce(Arc<()>) -> Code, turns: &[Turn]) -> usize {
    let probe = Arc::new(());
    drop(run(&make(Arc::clone(&probe)), turns));
    Arc::strong_count(&probe) - 1
}

// 22: mapping a future leaked it, and with it the whole context: every typed call of every turn.
#[test]
fn what_a_mapped_future_holds_is_released_with_its_execution() {
    let pending = |probe: Arc<()>| {
        code(move |ctx, _| {
            let probe = Arc::clone(&probe);
            async move {
                let held = Arc::clone(&probe);
                let mapped = ctx.schedule_activity("a", "").map(move |result| (result, held).0);
                let typed = ctx.schedule_activity_typed::<_, u32>("b", &1);
                let child = ctx.schedule_sub_orchestration_typed::<_, u32>("C", &1);
                let foreign = ctx.get_kv_value_from_instance_typed::<u32>("other", "k");
                typed.await?;
                drop((mapped.await, child.await, foreign.await, probe));
                Ok(String::new())
            }
        })
    };
    assert_eq!(holders_left(pending, &[vec![start("in")]]), 0, "pending");
    assert_eq!(holders_left(pending, &[vec![start("in")], vec![done(3, "1")]]), 0, "one of them ready");
    assert_eq!(holders_left(pending, &[vec![start("in")], vec![done(3, "x")]]), 0, "failed and dropped");
}

// 22: combinators hand out wakers that own the futures they wake; the context must not keep those either.
#[test]
fn what_a_join_holds_is_released_with_its_execution() {
    let joined = |probe: Arc<()>| {
        code(move |ctx, _| {
            let held = [Arc::clone(&probe), Arc::clone(&probe)];
            async move {
                let branches = held.map(|held| {
                    let activity = ctx.schedule_activity("a", "");
                    async move { (activity.await, held).0 }
                });
                join_all(branches).await;
                Ok(String::new())
            }
        })
    };
    assert_eq!(holders_left(joined, &[vec![start("in")]]), 0);
    assert_eq!(holders_left(joined, &[vec![start("in")], vec![done(2, "")]]), 0);
}

// 23: a tag that came one await too late panicked under a lock, the destructor panicked again, and the
// process was gone.
#[test]
fn a_tag_that_comes_too_late_fails_only_that_orchestration() {
    check(
        code(|ctx, _| async move {
            let activity = ctx.schedule_activity("a", "x");
            ctx.schedule_timer(Duration::from_secs(1)).await;
            activity.with_tag("gpu").await
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
              5 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              6 OrchestrationFailed { details: Application { kind: Panicked, message: "with_tag(): token 1 not found in emitted_actions — actions were drained before with_tag() was called; call it directly on the future that schedule_activity returns", retryable: false } }
              -> cancel activity 2
              => Failed application | orchestration panicked: with_tag(): token 1 not found in emitted_actions — actions were drained before with_tag() was called; call it directly on the future that schedule_activity returns
        "#]],
    );
}

// 25: one signal with a bad payload made the orchestration panic.
#[test]
fn a_signal_that_cannot_be_read_fails_the_orchestration_readably() {
    check(
        code(|ctx, _| async move {
            let number: u32 = ctx.schedule_wait_typed("s").await;
            Ok(number.to_string())
        }),
        vec![vec![start("in")], vec![signal("s", "no number")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              => Running
            T2
              3 ExternalEvent { name: "s", data: "no number" }
              4 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "payload of event 's' is not a `u32`: expected ident at line 1 column 2", retryable: false } }
              => Failed application | payload of event 's' is not a `u32`: expected ident at line 1 column 2
        "#]],
    );
}

// 25: the same for a queue message.
#[test]
fn a_message_that_cannot_be_read_fails_the_orchestration_readably() {
    check(
        code(|ctx, _| async move {
            let number: u32 = ctx.dequeue_event_typed("q").await;
            Ok(number.to_string())
        }),
        vec![vec![start("in")], vec![message("q", "no number")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              => Running
            T2
              3 QueueEventDelivered { name: "q", data: "no number" }
              4 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "message of queue 'q' is not a `u32`: expected ident at line 1 column 2", retryable: false } }
              => Failed application | message of queue 'q' is not a `u32`: expected ident at line 1 column 2
        "#]],
    );
}

/// Writes `to` keys, waits, and writes the others up to `end`.
fn writes_keys(to: usize, end: usize) -> Code {
    code(move |ctx, _| async move {
        for key in 0..to {
            ctx.set_kv_value(format!("k{key:03}"), "");
        }
        ctx.schedule_activity("a", "").await?;
        for key in to..end {
            ctx.set_kv_value(format!("k{key:03}"), "");
        }
        Ok(ctx.get_kv_length().to_string())
    })
}

// 27: the limit of keys counted one turn only, so that an execution could write any number over its turns.
#[test]
fn keys_are_counted_over_all_turns_of_an_execution() {
    let turns = [vec![start("in")], vec![done(102, "")]];
    let outcomes = |code: &Code| run(code, &turns).pop().unwrap().outcome;
    expect![[r#"Completed "150""#]].assert_eq(&print::outcome(&outcomes(&writes_keys(100, 150))));
    expect!["Failed application | KV key count (151) exceeds limit (150)"]
        .assert_eq(&print::outcome(&outcomes(&writes_keys(100, 151))));
}

// 28: a limit broken in the poll that returned left two ends in history, Completed and then Failed.
#[test]
fn a_limit_broken_while_returning_leaves_one_end() {
    check(
        code(|ctx, _| async move {
            ctx.set_kv_value("before", "kept");
            drop(ctx.schedule_activity("a", "").with_tag("t".repeat(257)));
            ctx.set_kv_value("after", "not recorded");
            Ok("done".to_owned())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "before", value: "kept", last_updated_at_ms: 1000 }
              3 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)", retryable: false } }
              => Failed application | Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)
        "#]],
    );
}

// 29: activities that the end cancelled were recorded behind the end.
#[test]
fn the_terminal_event_is_the_last_one() {
    check(
        code(|ctx, _| async move {
            let _activity = ctx.schedule_activity("a", "");
            let _child = ctx.schedule_sub_orchestration("C", "");
            let _wait = ctx.schedule_wait("s");
            let _dequeue = ctx.dequeue_event("q");
            ctx.schedule_wait("go").await;
            panic!("boom")
        }),
        vec![vec![start("in")], vec![signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              3 SubOrchestrationScheduled { name: "C", instance: "sub::3", input: "" }
              4 ExternalSubscribed { name: "s" }
              5 QueueSubscribed { name: "q" }
              6 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 2 a()
              -> Start i::sub::3 C() for i#3
              => Running
            T2
              7 ExternalEvent { name: "go", data: "" }
              8 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              9 SubOrchestrationCancelRequested[3] { reason: "orchestration_terminal_failed" }
              10 ExternalSubscribedCancelled[4] { reason: "orchestration_terminal" }
              11 QueueSubscriptionCancelled[5] { reason: "orchestration_terminal" }
              12 OrchestrationFailed { details: Application { kind: Panicked, message: "boom", retryable: false } }
              -> Cancel i::sub::3 "parent failed"
              -> cancel activity 2
              => Failed application | orchestration panicked: boom
        "#]],
    );
}
