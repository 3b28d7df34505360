//! Limits: exactly at one is allowed, one over fails the execution and is not recorded.

use abide_engine::OrchestrationContext;
use expect_test::expect;

use crate::support::mail::{continued, done_in, signal, start};
use crate::support::{Given, check, code, print, run, run_cold};

/// How an execution ends whose code asks for something of `size`, and whether the ask is on record.
fn ask_of(
    size: usize,
    ask: impl Fn(&OrchestrationContext, String) + Send + Sync + 'static,
) -> (String, Vec<&'static str>) {
    let ask = std::sync::Arc::new(ask);
    let asks = code(move |ctx, _| {
        ask(&ctx, "x".repeat(size));
        async move { Ok(ctx.schedule_wait("go").await) }
    });
    let turn = run(&asks, &[vec![start("in")]]).pop().unwrap();
    (print::outcome(&turn.outcome), turn.events.iter().map(|event| event.kind.name()).collect())
}

#[test]
fn a_custom_status_may_have_262144_bytes() {
    let tell = |ctx: &OrchestrationContext, text| ctx.set_custom_status(text);
    let at_the_limit = ask_of(262_144, tell);
    assert_eq!(at_the_limit.0, "Running");
    assert_eq!(at_the_limit.1, ["OrchestrationStarted", "CustomStatusUpdated", "ExternalSubscribed"]);
    let (outcome, events) = ask_of(262_145, tell);
    assert_eq!(
        outcome,
        "Failed application | Custom status size (262145 bytes) exceeds limit (262144 bytes)"
    );
    assert_eq!(events, ["OrchestrationStarted", "OrchestrationFailed"]);
}

#[test]
fn a_tag_may_have_256_bytes() {
    let tag = |ctx: &OrchestrationContext, text| drop(ctx.schedule_activity("a", "").with_tag(text));
    assert_eq!(ask_of(256, tag).0, "Running");
    let (outcome, events) = ask_of(257, tag);
    assert_eq!(outcome, "Failed application | Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)");
    assert_eq!(events, ["OrchestrationStarted", "OrchestrationFailed"]);
}

#[test]
fn a_name_may_have_256_bytes_and_an_id_512() {
    type AskFor = fn(&OrchestrationContext, String);
    let names: [(&str, AskFor); 5] = [
        ("activity name", |ctx, text| drop(ctx.schedule_activity(text, ""))),
        ("orchestration name", |ctx, text| drop(ctx.schedule_sub_orchestration(text, ""))),
        ("orchestration name", |ctx, text| ctx.schedule_orchestration(text, "d-1", "")),
        ("event name", |ctx, text| drop(ctx.schedule_wait(text))),
        ("queue name", |ctx, text| drop(ctx.dequeue_event(text))),
    ];
    let ids: [(&str, AskFor); 4] = [
        ("instance id", |ctx, text| drop(ctx.schedule_sub_orchestration_with_id("C", text, ""))),
        ("instance id", |ctx, text| ctx.schedule_orchestration("D", text, "")),
        ("session id", |ctx, text| drop(ctx.schedule_activity_on_session("A", "", text))),
        ("key", |ctx, text| ctx.set_kv_value(text, "")),
    ];
    let limited =
        names.map(|(what, ask)| (what, 256, ask)).into_iter().chain(ids.map(|(what, ask)| (what, 512, ask)));
    for (what, limit, ask) in limited {
        assert_eq!(ask_of(limit, ask).0, "Running", "{what}");
        let (outcome, events) = ask_of(limit + 1, ask);
        let beginning = "x".repeat(32);
        assert_eq!(
            outcome,
            format!(
                "Failed application | {what} beginning with \"{beginning}\" has {} bytes; the limit is {limit}",
                limit + 1
            )
        );
        assert_eq!(events, ["OrchestrationStarted", "OrchestrationFailed"], "{what} is not recorded");
        if !matches!(what, "session id" | "key") {
            let told = format!("Failed application | {what} is empty; it must have at least one character");
            assert_eq!(ask_of(0, ask), (told, vec!["OrchestrationStarted", "OrchestrationFailed"]));
        }
    }
}

#[test]
fn a_version_that_no_handler_can_have_fails_the_orchestration() {
    type AskFor = fn(&OrchestrationContext, &str);
    let asks: [AskFor; 2] = [
        |ctx, version| drop(ctx.schedule_sub_orchestration_versioned("C", Some(version.to_owned()), "")),
        |ctx, version| ctx.schedule_orchestration_versioned("D", Some(version.to_owned()), "d-1", ""),
    ];
    for ask in asks {
        let with = |version: &'static str| ask_of(0, move |ctx, _| ask(ctx, version));
        assert_eq!(with("1.2.0-beta.1").0, "Running");
        let (outcome, events) = with("banana");
        assert_eq!(outcome, NOT_A_VERSION);
        assert_eq!(events, ["OrchestrationStarted", "OrchestrationFailed"], "it is not recorded");
    }
}

const NOT_A_VERSION: &str = "Failed application | 'banana' is not a version such as 1.2.0: unexpected character \
                             'b' while parsing major version number";

#[test]
fn a_successor_of_a_version_that_no_handler_can_have_fails_the_orchestration() {
    let code = code(|ctx, _| async move {
        ctx.schedule_wait("go").await;
        ctx.continue_as_new_versioned("banana", "next").await
    });
    let turns = [vec![start("in")], vec![signal("go", "")]];
    let (warm, cold) = (run(&code, &turns), run_cold(&Given::default(), &code, &turns));
    for turns in [warm, cold] {
        assert_eq!(print::outcome(&turns[1].outcome), NOT_A_VERSION);
        let names: Vec<_> = turns[1].events.iter().map(|event| event.kind.name()).collect();
        assert_eq!(names, ["ExternalEvent", "OrchestrationFailed"]);
    }
}

/// What an older release recorded replays as it was: the check is for what is recorded now.
#[test]
fn a_recorded_version_that_no_handler_can_have_replays() {
    let child = code(|ctx, _| async move {
        ctx.schedule_sub_orchestration_versioned("C", Some("banana".to_owned()), "").await
    });
    let plain = code(|ctx, _| async move { ctx.schedule_sub_orchestration("C", "").await });
    let recorded = run(&plain, &[vec![start("in")]]).pop().unwrap().events;
    let given = Given { history: recorded, ..Given::default() };
    let turn = run_cold(&given, &child, &[vec![signal("unheard", "")]]).pop().unwrap();
    assert_eq!(print::outcome(&turn.outcome), "Running");
}

#[test]
fn a_value_may_have_65536_bytes() {
    let write = |ctx: &OrchestrationContext, text| ctx.set_kv_value("k", text);
    assert_eq!(ask_of(65_536, write).0, "Running");
    let (outcome, events) = ask_of(65_537, write);
    assert_eq!(
        outcome,
        "Failed application | KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)"
    );
    assert_eq!(events, ["OrchestrationStarted", "OrchestrationFailed"]);
}

#[test]
fn there_may_be_150_keys() {
    let write = |count| {
        move |ctx: &OrchestrationContext, _| {
            for key in 0..count {
                ctx.set_kv_value(format!("k{key}"), "");
            }
        }
    };
    assert_eq!(ask_of(0, write(150)).0, "Running");
    let (outcome, events) = ask_of(0, write(151));
    assert_eq!(outcome, "Failed application | KV key count (151) exceeds limit (150)");
    assert_eq!(events.len(), 1 + 150 + 1, "the others are recorded");
}

#[test]
fn keys_are_counted_with_what_previous_executions_left_and_all_turns() {
    let given = Given {
        execution_id: Some(2),
        ..Given::kv(&(0..100).map(|n| (format!("old{n}"), "", 1)).map(leak).collect::<Vec<_>>())
    };
    let writes = |last: usize| {
        code(move |ctx, _| async move {
            for key in 0..49 {
                ctx.set_kv_value(format!("new{key}"), "");
            }
            ctx.set_kv_value("old1", "rewritten: not counted twice");
            ctx.schedule_activity("a", "").await?;
            ctx.clear_kv_value("old0");
            for key in 0..last {
                ctx.set_kv_value(format!("last{key}"), "");
            }
            Ok(ctx.get_kv_length().to_string())
        })
    };
    let turns = [vec![continued("in", &[], None)], vec![done_in(2, 52, "")]];
    let outcome = |last| print::outcome(&run_cold(&given, &writes(last), &turns)[1].outcome);
    assert_eq!(outcome(2), "Completed \"150\"");
    assert_eq!(outcome(3), "Failed application | KV key count (151) exceeds limit (150)");
}

/// Keys that are made up live as long as the test binary.
fn leak((key, value, at): (String, &'static str, u64)) -> (&'static str, &'static str, u64) {
    (key.leak(), value, at)
}

#[test]
fn asks_behind_the_violating_one_are_not_recorded_and_drops_neither() {
    check(
        code(|ctx, _| async move {
            let held = ctx.schedule_activity("held", "");
            ctx.schedule_wait("go").await;
            drop(held);
            ctx.set_kv_value("fine", "");
            ctx.set_kv_value("big", "x".repeat(65_537));
            ctx.set_kv_value("behind", "");
            Ok(ctx.schedule_wait("more").await)
        }),
        vec![vec![start("in")], vec![signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "held", input: "" }
              3 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 2 held()
              => Running
            T2
              4 ExternalEvent { name: "go", data: "" }
              5 KeyValueSet { key: "fine", value: "", last_updated_at_ms: 2000 }
              6 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              7 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "KV value for key 'big' (65537 bytes) exceeds limit (65536 bytes)", retryable: false } }
              -> cancel activity 2
              => Failed application | KV value for key 'big' (65537 bytes) exceeds limit (65536 bytes)
        "#]],
    );
}

#[test]
fn large_payloads_and_fan_out_are_within_the_default_limits() {
    let large = || "x".repeat(1_000_000);
    let asks = code(move |ctx, _| async move {
        drop(ctx.schedule_activity("n".repeat(256), large()));
        for _ in 0..2_000 {
            drop(ctx.schedule_timer(std::time::Duration::ZERO));
        }
        Ok(large())
    });
    let turn = run(&asks, &[vec![start("in")]]).pop().unwrap();
    assert!(matches!(turn.outcome, abide_engine::Outcome::Completed { .. }));
    assert_eq!(turn.events.len(), 1 + 1 + 2_000 + 1 + 1);
}
