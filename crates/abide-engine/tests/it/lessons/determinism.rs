//! Determinism: replay decides what the first run decided.

use std::time::Duration;

use abide_engine::model::Either2;
use expect_test::{Expect, expect};

use crate::support::mail::{done, fired, message, start};
use crate::support::past::fit_in_short;
use crate::support::{Code, Given, Turn, check, check_from, code, history_of, run};

// 16: new dequeues were bound together and polled in the code's order, but on replay one by one in the
// order of their making. The code then decided differently, and the next turn failed.
#[test]
fn dequeues_polled_in_another_order_than_made_decide_the_same_on_replay() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            let (older, younger) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            let first = match ctx.select2(younger, older).await {
                Either2::First(data) => format!("younger {data}"),
                Either2::Second(data) => format!("older {data}"),
            };
            ctx.schedule_activity("next", first).await
        }),
        vec![
            vec![start("in")],
            vec![message("q", "m1"), message("q", "m2")],
            vec![fired(2, 2000)],
            vec![done(8, "r")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 2 at 2000
              => Running
            T2
              3 QueueEventDelivered { name: "q", data: "m1" }
              4 QueueEventDelivered { name: "q", data: "m2" }
              => Running
            T3
              5 TimerFired[2] { fire_at_ms: 2000 }
              6 QueueSubscribed { name: "q" }
              7 QueueSubscribed { name: "q" }
              8 ActivityScheduled { name: "next", input: "younger m2" }
              9 QueueSubscriptionCancelled[6] { reason: "dropped_future" }
              -> worker ActivityExecute 8 next(younger m2)
              => Running
            T4
              10 ActivityCompleted[8] { result: "r" }
              11 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

// 16: the same with arms that make their dequeue when they are first polled.
#[test]
fn dequeues_made_by_the_arms_of_a_select_decide_the_same_on_replay() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            let left = async { ctx.dequeue_event("q").await };
            let right = async { ctx.dequeue_event("q").await };
            let first = match ctx.select2(left, right).await {
                Either2::First(data) => format!("left {data}"),
                Either2::Second(data) => format!("right {data}"),
            };
            let second = ctx.dequeue_event("q").await;
            ctx.schedule_activity("next", format!("{first}, then {second}")).await
        }),
        vec![
            vec![start("in")],
            vec![message("q", "m1"), fired(2, 2000), message("q", "m2")],
            vec![done(10, "r")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 2 at 2000
              => Running
            T2
              3 QueueEventDelivered { name: "q", data: "m1" }
              4 TimerFired[2] { fire_at_ms: 2000 }
              5 QueueSubscribed { name: "q" }
              6 QueueSubscribed { name: "q" }
              7 QueueSubscribed { name: "q" }
              8 QueueSubscriptionCancelled[6] { reason: "dropped_future" }
              9 QueueEventDelivered { name: "q", data: "m2" }
              10 ActivityScheduled { name: "next", input: "left m1, then m2" }
              -> worker ActivityExecute 10 next(left m1, then m2)
              => Running
            T3
              11 ActivityCompleted[10] { result: "r" }
              12 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

// 17: when an older dequeue was dropped after a younger one had its message, later reads were counted
// anew and gave a message twice, or skipped one.
#[test]
fn dropping_an_older_dequeue_after_a_younger_one_was_read_neither_repeats_nor_skips_a_message() {
    check(
        code(|ctx, _| async move {
            let (older, younger) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            let second = younger.await;
            drop(older);
            let mut rest = Vec::new();
            for _ in 0..3 {
                rest.push(ctx.dequeue_event("q").await);
            }
            Ok(format!("{second} then {}", rest.join(" ")))
        }),
        vec![
            vec![start("in")],
            vec![message("q", "m1"), message("q", "m2")],
            vec![message("q", "m3"), message("q", "m4")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 QueueSubscribed { name: "q" }
              => Running
            T2
              4 QueueEventDelivered { name: "q", data: "m1" }
              5 QueueEventDelivered { name: "q", data: "m2" }
              6 QueueSubscribed { name: "q" }
              7 QueueSubscriptionCancelled[2] { reason: "dropped_future" }
              8 QueueSubscribed { name: "q" }
              => Running
            T3
              9 QueueEventDelivered { name: "q", data: "m3" }
              10 QueueSubscribed { name: "q" }
              11 QueueEventDelivered { name: "q", data: "m4" }
              12 OrchestrationCompleted { output: "m2 then m1 m3 m4" }
              => Completed "m2 then m1 m3 m4"
        "#]],
    );
}

// 18: a replayed write was stamped with the time of the replay, so that a key written earlier in the same
// execution always looked fresh, and pruning by age decided differently from turn to turn.
#[test]
fn a_replayed_write_keeps_the_time_it_was_made_at() {
    check(
        code(|ctx, _| async move {
            ctx.set_kv_value("old", "1");
            ctx.schedule_activity("a", "").await?;
            ctx.set_kv_value("new", "2");
            ctx.schedule_activity("b", "").await?;
            let pruned = ctx.prune_kv_values_updated_before(2_000);
            ctx.schedule_activity("c", format!("pruned {pruned}, left {:?}", ctx.get_kv_all_keys())).await
        }),
        vec![vec![start("in")], vec![done(3, "")], vec![done(6, "")], vec![done(9, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "old", value: "1", last_updated_at_ms: 1000 }
              3 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 3 a()
              => Running
            T2
              4 ActivityCompleted[3] { result: "" }
              5 KeyValueSet { key: "new", value: "2", last_updated_at_ms: 2000 }
              6 ActivityScheduled { name: "b", input: "" }
              -> worker ActivityExecute 6 b()
              => Running
            T3
              7 ActivityCompleted[6] { result: "" }
              8 KeyValueCleared { key: "old" }
              9 ActivityScheduled { name: "c", input: "pruned 1, left [\"new\"]" }
              -> worker ActivityExecute 9 c(pruned 1, left ["new"])
              => Running
            T4
              10 ActivityCompleted[9] { result: "r" }
              11 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

// 19: a line traced between two awaits was written by the turn that reached it and by the next one.
#[test]
fn a_line_between_two_awaits_is_said_once() {
    check(
        code(|ctx, _| async move {
            let (a, b) = (ctx.schedule_activity("a", ""), ctx.schedule_activity("b", ""));
            a.await?;
            ctx.trace_info("between");
            b.await
        }),
        vec![vec![start("in")], vec![done(2, "")], vec![done(3, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              3 ActivityScheduled { name: "b", input: "" }
              -> worker ActivityExecute 2 a()
              -> worker ActivityExecute 3 b()
              => Running
            T2
              4 ActivityCompleted[2] { result: "" }
              says Info: between
              => Running
            T3
              5 ActivityCompleted[3] { result: "r" }
              6 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

/// What is said when `changed` replays the history that `original` made.
#[track_caller]
fn drift(original: &Code, turns: &[Turn], changed: &Code, expected: &Expect) {
    let history = history_of(&run(original, turns));
    assert_eq!(fit_in_short(original, history.clone()), "fits");
    expected.assert_eq(&fit_in_short(changed, history));
}

// 20: code that returned earlier than it had before passed unnoticed.
#[test]
fn returning_before_a_recorded_ask_is_noticed() {
    drift(
        &code(|ctx, _| async move { ctx.schedule_activity("a", "").await }),
        &[vec![start("in")]],
        &code(|_, _| async move { Ok("early".to_owned()) }),
        &expect!["nondeterministic: history schedule but no emitted action"],
    );
}

// 20: another duration of a timer passed unnoticed.
#[test]
fn another_duration_of_a_timer_is_noticed() {
    let sleep = |seconds| {
        code(move |ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(seconds)).await;
            Ok(String::new())
        })
    };
    drift(
        &sleep(5),
        &[vec![start("in")]],
        &sleep(6),
        &expect![
            "nondeterministic: schedule mismatch: action=CreateTimer { scheduling_event_id: 0, fire_at_ms: 7000 } vs event=TimerCreated { fire_at_ms: 6000 }"
        ],
    );
}

// 20: another id of a child passed unnoticed.
#[test]
fn another_id_of_a_child_is_noticed() {
    let call = |id: &'static str| {
        code(move |ctx, _| async move { ctx.schedule_sub_orchestration_with_id("Child", id, "c").await })
    };
    drift(
        &call("one"),
        &[vec![start("in")]],
        &call("two"),
        &expect![[
            r#"nondeterministic: schedule mismatch: action=StartSubOrchestration { scheduling_event_id: 0, name: "Child", version: None, instance: "two", input: "c" } vs event=SubOrchestrationScheduled { name: "Child", instance: "one", input: "c" }"#
        ]],
    );
    let auto = code(|ctx, _| async move { ctx.schedule_sub_orchestration("Child", "c").await });
    drift(
        &call("one"),
        &[vec![start("in")]],
        &auto,
        &expect![[
            r#"nondeterministic: schedule mismatch: action=StartSubOrchestration { scheduling_event_id: 0, name: "Child", version: None, instance: "sub::pending_1", input: "c" } vs event=SubOrchestrationScheduled { name: "Child", instance: "one", input: "c" }"#
        ]],
    );
}

// 20: another custom status passed unnoticed, and so did one that was not set any more.
#[test]
fn another_custom_status_is_noticed() {
    let tell = |status: Option<&'static str>| {
        code(move |ctx, _| async move {
            if let Some(status) = status {
                ctx.set_custom_status(status);
            }
            ctx.schedule_activity("a", "").await
        })
    };
    drift(
        &tell(Some("one")),
        &[vec![start("in")]],
        &tell(Some("two")),
        &expect![[
            r#"nondeterministic: custom status mismatch: action=UpdateCustomStatus { status: Some("two") } vs event=CustomStatusUpdated { status: Some("one") }"#
        ]],
    );
    drift(
        &tell(Some("one")),
        &[vec![start("in")]],
        &tell(None),
        &expect![[
            r#"nondeterministic: custom status mismatch: action=CallActivity { scheduling_event_id: 0, name: "a", input: "", session_id: None, tag: None } vs event=CustomStatusUpdated { status: Some("one") }"#
        ]],
    );
}

// 20: a row for a key-value write that the code did not make any more passed unnoticed.
#[test]
fn a_write_that_is_not_made_any_more_is_noticed() {
    let write = |key: Option<&'static str>| {
        code(move |ctx, _| async move {
            let activity = ctx.schedule_activity("a", "");
            if let Some(key) = key {
                ctx.set_kv_value(key, "v");
            }
            activity.await
        })
    };
    let turns = [vec![start("in")], vec![done(2, "r")]];
    drift(
        &write(Some("k")),
        &turns[..1],
        &write(Some("l")),
        &expect![[
            r#"nondeterministic: kv set mismatch: action=SetKeyValue { key: "l", value: "v", last_updated_at_ms: 1000 } vs event=KeyValueSet { key: "k", value: "v", last_updated_at_ms: 1000 }"#
        ]],
    );
    drift(
        &write(Some("k")),
        &turns[..1],
        &write(None),
        &expect!["nondeterministic: history schedule but no emitted action"],
    );
    drift(
        &write(Some("k")),
        &turns,
        &write(None),
        &expect!["nondeterministic: history schedule but no emitted action"],
    );
}

// 20: an additional ask between recorded ones is noticed where it is made.
#[test]
fn an_additional_ask_is_noticed() {
    let ask = |twice| {
        code(move |ctx, _| async move {
            if twice {
                ctx.set_kv_value("k", "v");
            }
            let first = ctx.schedule_activity("a", "").await?;
            if twice {
                drop(ctx.schedule_activity("b", ""));
            }
            Ok(first)
        })
    };
    let turns = [vec![start("in")], vec![done(2, "r")]];
    drift(
        &ask(false),
        &turns[..1],
        &ask(true),
        &expect![[
            r#"nondeterministic: schedule mismatch: action=SetKeyValue { key: "k", value: "v", last_updated_at_ms: 1000 } vs event=ActivityScheduled { name: "a", input: "", session_id: None, tag: None }"#
        ]],
    );
    drift(
        &ask(false),
        &turns,
        &ask(true),
        &expect![[
            r#"nondeterministic: schedule mismatch: action=SetKeyValue { key: "k", value: "v", last_updated_at_ms: 2000 } vs event=ActivityScheduled { name: "a", input: "", session_id: None, tag: None }"#
        ]],
    );
}

// 20: an output that changed is noticed when a finished history is replayed.
#[test]
fn another_output_is_noticed() {
    let give = |output: &'static str| code(move |_, _| async move { Ok(output.to_owned()) });
    drift(
        &give("one"),
        &[vec![start("in")]],
        &give("two"),
        &expect!["nondeterministic: outcome mismatch: history ends in another way than the code"],
    );
}

// 21: all values came in the order of a hash map, which differs from run to run; keys and entries are
// sorted.
#[test]
fn keys_and_entries_come_in_order() {
    check_from(
        &Given::kv(&[("m", "0", 1), ("z", "0", 1)]),
        code(|ctx, _| async move {
            for key in ["b", "c", "a"] {
                ctx.set_kv_value(key, key.to_uppercase());
            }
            let entries: Vec<_> = ctx.get_kv_entries().into_iter().collect();
            Ok(format!("{:?} {entries:?} {}", ctx.get_kv_all_keys(), ctx.get_kv_length()))
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "b", value: "B", last_updated_at_ms: 1000 }
              3 KeyValueSet { key: "c", value: "C", last_updated_at_ms: 1000 }
              4 KeyValueSet { key: "a", value: "A", last_updated_at_ms: 1000 }
              5 OrchestrationCompleted { output: "[\"a\", \"b\", \"c\", \"m\", \"z\"] [(\"a\", \"A\"), (\"b\", \"B\"), (\"c\", \"C\"), (\"m\", \"0\"), (\"z\", \"0\")] 5" }
              => Completed "[\"a\", \"b\", \"c\", \"m\", \"z\"] [(\"a\", \"A\"), (\"b\", \"B\"), (\"c\", \"C\"), (\"m\", \"0\"), (\"z\", \"0\")] 5"
        "#]],
    );
}
