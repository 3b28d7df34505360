//! Bugs that releases of the reference fixed, as far as an engine can have them.

use std::time::Duration;

use expect_test::expect;

use crate::support::drive::mail;
use crate::support::mail::{
    child_done, child_done_in, continued, continued_by, done, done_in, fired, message, signal, start,
    start_by,
};
use crate::support::past::{OURS, REFERENCE, fit_in_short, past, started, timer, timer_fired};
use crate::support::{Given, check, check_from, code, history_of, print, run, time_of};

// 0.1.12: a select loser that completed late blocked the next await, which waited for answers in order.
#[test]
fn a_late_loser_does_not_block_the_next_await() {
    check(
        code(|ctx, _| async move {
            let (slow, fast) = (ctx.schedule_activity("slow", ""), ctx.schedule_activity("fast", ""));
            ctx.select2(slow, fast).await;
            let forgotten = ctx.schedule_activity("forgotten", "");
            let last = ctx.schedule_activity("last", "").await;
            drop(forgotten);
            last
        }),
        vec![vec![start("in")], vec![done(3, "f")], vec![done(2, "s"), done(6, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "slow", input: "" }
              3 ActivityScheduled { name: "fast", input: "" }
              -> worker ActivityExecute 2 slow()
              -> worker ActivityExecute 3 fast()
              => Running
            T2
              4 ActivityCompleted[3] { result: "f" }
              5 ActivityScheduled { name: "forgotten", input: "" }
              6 ActivityScheduled { name: "last", input: "" }
              7 ActivityCancelRequested[2] { reason: "dropped_future" }
              -> worker ActivityExecute 5 forgotten()
              -> worker ActivityExecute 6 last()
              -> cancel activity 2
              => Running
            T3
              8 ActivityCompleted[2] { result: "s" }
              9 ActivityCompleted[6] { result: "r" }
              10 ActivityCancelRequested[5] { reason: "dropped_future" }
              11 OrchestrationCompleted { output: "r" }
              -> cancel activity 5
              => Completed "r"
        "#]],
    );
}

// 0.1.13: ids and times were made anew on every replay; the recorded ones must come back.
#[test]
fn a_guid_and_a_time_are_the_recorded_ones_on_every_replay() {
    check(
        code(|ctx, _| async move {
            let guid = ctx.new_guid().await?;
            let now = ctx.utc_now().await?;
            let since = now.duration_since(std::time::UNIX_EPOCH).map_err(|error| error.to_string())?;
            ctx.schedule_activity("use", format!("{guid} at {}", since.as_millis())).await
        }),
        vec![vec![start("in")], vec![done(2, "g-1")], vec![done(4, "1234")], vec![done(6, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "__duroxide_syscall:new_guid", input: "" }
              -> worker ActivityExecute 2 __duroxide_syscall:new_guid()
              => Running
            T2
              3 ActivityCompleted[2] { result: "g-1" }
              4 ActivityScheduled { name: "__duroxide_syscall:utc_now_ms", input: "" }
              -> worker ActivityExecute 4 __duroxide_syscall:utc_now_ms()
              => Running
            T3
              5 ActivityCompleted[4] { result: "1234" }
              6 ActivityScheduled { name: "use", input: "g-1 at 1234" }
              -> worker ActivityExecute 6 use(g-1 at 1234)
              => Running
            T4
              7 ActivityCompleted[6] { result: "r" }
              8 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

// 0.1.14: detached starts were not recorded, so the turn after one did not replay.
#[test]
fn a_detached_start_replays_and_is_not_sent_again() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration_versioned("Notify", Some("2.0.0".to_owned()), "n-1", "x");
            ctx.schedule_activity("a", "").await
        }),
        vec![vec![start("in")], vec![done(3, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationChained { name: "Notify", instance: "n-1", input: "x" }
              3 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 3 a()
              -> Start n-1 Notify@2.0.0(x)
              => Running
            T2
              4 ActivityCompleted[3] { result: "r" }
              5 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

// 0.1.16: a history that holds one answer twice was accepted.
#[test]
fn two_answers_to_one_ask_in_history_are_a_mismatch() {
    let sleeps = code(|ctx, _| async move {
        ctx.schedule_timer(Duration::from_secs(1)).await;
        ctx.schedule_activity("a", "").await
    });
    for version in [REFERENCE, OURS] {
        let twice =
            past(version, vec![started("in"), timer(2000), timer_fired(2, 2000), timer_fired(2, 2000)]);
        assert_eq!(
            fit_in_short(&sleeps, twice),
            if version == OURS {
                "nondeterministic: schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: \
                 \"a\", input: \"\", session_id: None, tag: None } vs event=TimerFired { fire_at_ms: 2000 }"
            } else {
                "nondeterministic: completion without open schedule"
            }
        );
    }
}

// 0.1.18: a wait that lost a select kept its place and took the next signal.
#[test]
fn a_wait_after_a_lost_one_gets_the_next_signal() {
    check(
        code(|ctx, _| async move {
            let lost = ctx.schedule_wait("s");
            ctx.select2(lost, ctx.schedule_timer(Duration::from_secs(1))).await;
            Ok(ctx.schedule_wait("s").await)
        }),
        vec![vec![start("in")], vec![fired(3, 2000)], vec![signal("s", "x")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 3 at 2000
              => Running
            T2
              4 TimerFired[3] { fire_at_ms: 2000 }
              5 ExternalSubscribed { name: "s" }
              6 ExternalSubscribedCancelled[2] { reason: "dropped_future" }
              => Running
            T3
              7 ExternalEvent { name: "s", data: "x" }
              8 OrchestrationCompleted { output: "x" }
              => Completed "x"
        "#]],
    );
}

// 0.1.19: two signals with the same payload counted as one.
#[test]
fn two_signals_with_the_same_payload_both_count() {
    check(
        code(|ctx, _| async move {
            let (first, second) = (ctx.schedule_wait("s").await, ctx.schedule_wait("s").await);
            Ok(first + &second)
        }),
        vec![vec![start("in")], vec![signal("s", "x"), signal("s", "x")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              => Running
            T2
              3 ExternalEvent { name: "s", data: "x" }
              4 ExternalSubscribed { name: "s" }
              5 ExternalEvent { name: "s", data: "x" }
              6 OrchestrationCompleted { output: "xx" }
              => Completed "xx"
        "#]],
    );
}

// 0.1.20: the custom status was lost across continue-as-new, and not the same on replay.
#[test]
fn a_custom_status_survives_replay_and_continue_as_new() {
    let tells = code(|ctx, _| async move {
        let inherited = ctx.get_custom_status();
        ctx.set_custom_status("one");
        ctx.set_custom_status("two");
        ctx.schedule_activity("a", format!("{inherited:?} {:?}", ctx.get_custom_status())).await?;
        ctx.continue_as_new("next").await
    });
    check_from(
        &Given::execution(2),
        tells,
        vec![vec![continued("next", &[], Some("old"))], vec![done_in(2, 4, "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "next", status: "old" }
              2 CustomStatusUpdated { status: Some("one") }
              3 CustomStatusUpdated { status: Some("two") }
              4 ActivityScheduled { name: "a", input: "Some(\"old\") Some(\"two\")" }
              -> worker ActivityExecute 4 a(Some("old") Some("two"))
              => Running
            T2
              5 ActivityCompleted[4] { result: "" }
              6 OrchestrationContinuedAsNew { input: "next" }
              -> ContinueAsNew i(next) version=None carry=[] status=Some("two")
              => ContinuedAsNew "next" None
        "#]],
    );
}

// 0.1.26: the key-value snapshot held the writes of the execution itself, so a counter counted twice.
#[test]
fn a_counter_counts_once_whatever_is_replayed() {
    check(
        code(|ctx, _| async move {
            let mut n = 0_u32;
            while n < 3 {
                n = ctx.get_kv_value_typed::<u32>("n")?.unwrap_or_default() + 1;
                ctx.set_kv_value_typed("n", &n);
                ctx.schedule_activity("step", "").await?;
            }
            Ok(ctx.get_kv_value("n").unwrap_or_default())
        }),
        vec![vec![start("in")], vec![done(3, "")], vec![done(6, "")], vec![done(9, "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "n", value: "1", last_updated_at_ms: 1000 }
              3 ActivityScheduled { name: "step", input: "" }
              -> worker ActivityExecute 3 step()
              => Running
            T2
              4 ActivityCompleted[3] { result: "" }
              5 KeyValueSet { key: "n", value: "2", last_updated_at_ms: 2000 }
              6 ActivityScheduled { name: "step", input: "" }
              -> worker ActivityExecute 6 step()
              => Running
            T3
              7 ActivityCompleted[6] { result: "" }
              8 KeyValueSet { key: "n", value: "3", last_updated_at_ms: 3000 }
              9 ActivityScheduled { name: "step", input: "" }
              -> worker ActivityExecute 9 step()
              => Running
            T4
              10 ActivityCompleted[9] { result: "" }
              11 OrchestrationCompleted { output: "3" }
              => Completed "3"
        "#]],
    );
}

// 0.1.29: a join over many futures hung, because its wakers were ignored. And it costs O(N), not O(N²).
#[test]
fn a_join_of_1024_completes_with_two_polls_each() {
    let joins = code(|ctx, _| async move {
        let all = (0..1024).map(|n: u32| ctx.schedule_activity("a", n.to_string())).collect();
        let results: Result<Vec<_>, String> = ctx.join(all).await.into_iter().collect();
        Ok(results?.len().to_string())
    });
    let answers = |ids: std::ops::Range<u64>| ids.rev().map(|id| done(id, "r")).collect::<Vec<_>>();
    let turns = run(&joins, &[vec![start("in")], answers(2..500), answers(500..1026)]);
    assert_eq!(print::outcome(&turns[2].outcome), "Completed \"1024\"");
    assert_eq!(turns.iter().map(|turn| turn.stats.future_polls).sum::<u64>(), 2048);
    assert_eq!(history_of(&turns).len(), 1 + 1024 + 1024 + 1);
}

// 0.1.30: a child that continued as new in its first turn lost its parent, which waited for ever.
#[test]
fn a_child_keeps_its_parent_across_continue_as_new() {
    let child = || {
        code(|ctx, input| async move {
            if input == "first" { ctx.continue_as_new("second").await } else { Ok("r".to_owned()) }
        })
    };
    check(
        child(),
        vec![vec![start_by(("P", 7, 3), "first")]],
        expect![[r##"
            T1
              1 OrchestrationStarted { input: "first", parent: "P"#7 }
              2 OrchestrationContinuedAsNew { input: "second" }
              -> ContinueAsNew i(second) version=None carry=[] status=None for P#7/Some(3)
              => ContinuedAsNew "second" None
        "##]],
    );
    check_from(
        &Given::execution(2),
        child(),
        vec![vec![continued_by(("P", 7, 3), "second")]],
        expect![[r##"
            T1
              1 OrchestrationStarted { input: "second", parent: "P"#7 }
              2 OrchestrationCompleted { output: "r" }
              -> ChildDone to P/3#7 "r"
              => Completed "r"
        "##]],
    );
}

// 0.1.30: children scheduled at the same place of every execution got the same id, and the parent hung.
#[test]
fn a_child_of_a_later_execution_has_an_id_of_its_own() {
    let parent = || {
        code(|ctx, _| async move {
            ctx.schedule_sub_orchestration("Child", "c").await?;
            ctx.continue_as_new("again").await
        })
    };
    check_from(
        &Given::execution(3),
        parent(),
        vec![vec![continued("again", &[], None)], vec![child_done_in(3, 2, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "again" }
              2 SubOrchestrationScheduled { name: "Child", instance: "sub::3_2", input: "c" }
              -> Start i::sub::3_2 Child(c) for i#2
              => Running
            T2
              3 SubOrchestrationCompleted[2] { result: "r" }
              4 OrchestrationContinuedAsNew { input: "again" }
              -> ContinueAsNew i(again) version=None carry=[] status=None
              => ContinuedAsNew "again" None
        "#]],
    );
}

// 0.1.30: the result of a child went to whichever execution of its parent was current.
#[test]
fn the_result_of_an_earlier_executions_child_reaches_nobody() {
    check_from(
        &Given::execution(2),
        code(|ctx, _| async move { ctx.schedule_sub_orchestration("Child", "c").await }),
        vec![vec![continued("again", &[], None)], vec![child_done(2, "old"), child_done_in(2, 2, "new")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "again" }
              2 SubOrchestrationScheduled { name: "Child", instance: "sub::2_2", input: "c" }
              -> Start i::sub::2_2 Child(c) for i#2
              => Running
            T2
              3 SubOrchestrationCompleted[2] { result: "new" }
              4 OrchestrationCompleted { output: "new" }
              notice: SubOrchCompleted dropped: it was meant for execution 1
              => Completed "new"
        "#]],
    );
}

// 0.1.32: a second start replaced the handler and the input of a running instance.
#[test]
fn a_second_start_changes_nothing() {
    check(
        code(|ctx, input| async move { ctx.schedule_activity("a", input).await }),
        vec![vec![start("one"), start("two")], vec![start("three"), done(2, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "one" }
              2 ActivityScheduled { name: "a", input: "one" }
              -> worker ActivityExecute 2 a(one)
              notice: StartOrchestration ignored: the instance exists already
              => Running
            T2
              3 ActivityCompleted[2] { result: "r" }
              4 OrchestrationCompleted { output: "r" }
              notice: StartOrchestration ignored: the instance exists already
              => Completed "r"
        "#]],
    );
}

// 0.1.32: a start that came between two executions took the place of the continue-as-new.
#[test]
fn a_start_between_two_executions_does_not_displace_the_continue_as_new() {
    let echo = || code(|_, input| async move { Ok(input) });
    check_from(
        &Given::execution(2),
        echo(),
        vec![vec![start("wrong"), continued("right", &[], None)]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "right" }
              2 OrchestrationCompleted { output: "right" }
              notice: StartOrchestration ignored: the instance exists already
              => Completed "right"
        "#]],
    );
    check_from(
        &Given::execution(2),
        echo(),
        vec![vec![continued("right", &[], None), start("wrong")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "right" }
              2 OrchestrationCompleted { output: "right" }
              notice: StartOrchestration ignored: the instance exists already
              => Completed "right"
        "#]],
    );
}

// 0.1.32: keys were pruned in the order of a hash map, which replay did not repeat.
#[test]
fn keys_are_pruned_in_order() {
    check_from(
        &Given::kv(&["d", "a", "f", "c", "e", "b"].map(|key| (key, "v", 10))),
        code(|ctx, _| async move {
            let pruned = ctx.prune_kv_values_updated_before(11);
            ctx.schedule_activity("a", pruned.to_string()).await
        }),
        vec![vec![start("in")], vec![done(8, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueCleared { key: "a" }
              3 KeyValueCleared { key: "b" }
              4 KeyValueCleared { key: "c" }
              5 KeyValueCleared { key: "d" }
              6 KeyValueCleared { key: "e" }
              7 KeyValueCleared { key: "f" }
              8 ActivityScheduled { name: "a", input: "6" }
              -> worker ActivityExecute 8 a(6)
              => Running
            T2
              9 ActivityCompleted[8] { result: "r" }
              10 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

// 0.1.32: a message that arrived while nobody could take it was lost with the start it waited for.
#[test]
fn messages_wait_for_the_start_of_their_execution() {
    let mut execution = Given::execution(2).fresh(&code(|_, input| async move { Ok(input) }));
    let refused = execution.turn(mail(vec![message("q", "x"), start("wrong")]), time_of(0)).unwrap_err();
    expect!["execution 2 of instance 'i' cannot start: it has no history, and none of its 2 queued messages starts it; leave them queued until the start arrives"].assert_eq(&refused.to_string());
}

// Earlier: the delay of a timer was counted from the previous event instead of from when it was made.
#[test]
fn two_timers_in_sequence_count_from_their_own_making() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_timer(Duration::from_micros(1_500_500)).await;
            ctx.schedule_timer(Duration::from_secs(1)).await;
            Ok(String::new())
        }),
        vec![vec![start("in")], vec![], vec![fired(2, 2501)], vec![fired(4, 4000)]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 2501 }
              -> TimerFired 2 at 2501
              => Running
            T2
              => Running
            T3
              3 TimerFired[2] { fire_at_ms: 2501 }
              4 TimerCreated { fire_at_ms: 4000 }
              -> TimerFired 4 at 4000
              => Running
            T4
              5 TimerFired[4] { fire_at_ms: 4000 }
              6 OrchestrationCompleted { output: "" }
              => Completed ""
        "#]],
    );
}
