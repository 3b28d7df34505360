//! Key-value state and custom status.

use std::collections::BTreeMap;

use abide_engine::StatusUpdate;
use abide_engine::model::EventKind;
use expect_test::expect;

use crate::support::drive::{cold, feed};
use crate::support::mail::{continued, done, done_in, start};
use crate::support::past::OURS;
use crate::support::{Given, check, check_from, code, history_of, run};

#[test]
fn reads_see_what_previous_executions_left_and_what_this_one_wrote() {
    check_from(
        &Given { execution_id: Some(2), ..Given::kv(&[("a", "old", 100), ("b", "old", 200)]) },
        code(|ctx, _| async move {
            ctx.set_kv_value("a", "new");
            ctx.clear_kv_value("b");
            ctx.clear_kv_value("never there");
            ctx.set_kv_value("c", "new");
            ctx.schedule_activity("show", format!("{:?}", ctx.get_kv_entries())).await?;
            ctx.clear_all_kv_values();
            Ok(format!("{:?} {}", ctx.get_kv_value("a"), ctx.get_kv_length()))
        }),
        vec![vec![continued("in", &[], None)], vec![done_in(2, 6, "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "a", value: "new", last_updated_at_ms: 1000 }
              3 KeyValueCleared { key: "b" }
              4 KeyValueCleared { key: "never there" }
              5 KeyValueSet { key: "c", value: "new", last_updated_at_ms: 1000 }
              6 ActivityScheduled { name: "show", input: "{\"a\": \"new\", \"c\": \"new\"}" }
              -> worker ActivityExecute 6 show({"a": "new", "c": "new"})
              => Running
            T2
              7 ActivityCompleted[6] { result: "" }
              8 KeyValuesCleared
              9 OrchestrationCompleted { output: "None 0" }
              => Completed "None 0"
        "#]],
    );
}

#[test]
fn pruning_by_age_clears_strictly_older_keys_in_order_also_those_of_this_turn() {
    check_from(
        &Given::kv(&[("z", "", 999), ("at", "", 1000), ("b", "", 5)]),
        code(|ctx, _| async move {
            ctx.set_kv_value("now", "");
            let older = ctx.prune_kv_values_updated_before(1_000);
            let left = ctx.get_kv_all_keys();
            let rest = ctx.prune_kv_values_updated_before(1_001);
            Ok(format!("{older} {left:?} {rest} {}", ctx.prune_kv_values_updated_before(u64::MAX)))
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "now", value: "", last_updated_at_ms: 1000 }
              3 KeyValueCleared { key: "b" }
              4 KeyValueCleared { key: "z" }
              5 KeyValueCleared { key: "at" }
              6 KeyValueCleared { key: "now" }
              7 OrchestrationCompleted { output: "2 [\"at\", \"now\"] 2 0" }
              => Completed "2 [\"at\", \"now\"] 2 0"
        "#]],
    );
}

#[test]
fn rewriting_a_key_renews_its_age() {
    check_from(
        &Given::kv(&[("k", "old", 5)]),
        code(|ctx, _| async move {
            ctx.set_kv_value("k", "old");
            Ok(ctx.prune_kv_values_updated_before(1_000).to_string())
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "k", value: "old", last_updated_at_ms: 1000 }
              3 OrchestrationCompleted { output: "0" }
              => Completed "0"
        "#]],
    );
}

#[test]
fn typed_values_are_json_and_one_that_does_not_fit_is_an_error() {
    check(
        code(|ctx, _| async move {
            ctx.set_kv_value_typed("text", &"5");
            ctx.set_kv_value_typed("pair", &(1, true));
            ctx.set_kv_value("bare", "no json");
            let text: Option<String> = ctx.get_kv_value_typed("text")?;
            let pair: Option<(u8, bool)> = ctx.get_kv_value_typed("pair")?;
            let missing: Option<u8> = ctx.get_kv_value_typed("missing")?;
            let bare = ctx.get_kv_value_typed::<u8>("bare").unwrap_err();
            Ok(format!("{text:?} {pair:?} {missing:?} {bare}"))
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 KeyValueSet { key: "text", value: "\"5\"", last_updated_at_ms: 1000 }
              3 KeyValueSet { key: "pair", value: "[1,true]", last_updated_at_ms: 1000 }
              4 KeyValueSet { key: "bare", value: "no json", last_updated_at_ms: 1000 }
              5 OrchestrationCompleted { output: "Some(\"5\") Some((1, true)) None KV deserialization error for key 'bare': value is not a `u8`: expected ident at line 1 column 2" }
              => Completed "Some(\"5\") Some((1, true)) None KV deserialization error for key 'bare': value is not a `u8`: expected ident at line 1 column 2"
        "#]],
    );
}

#[test]
fn a_key_of_another_instance_is_read_by_a_built_in_activity() {
    check(
        code(|ctx, _| async move {
            let plain = ctx.get_kv_value_from_instance("other \"one\"", "k").await?;
            let missing = ctx.get_kv_value_from_instance_typed::<u32>("other", "k").await?;
            let typed = ctx.get_kv_value_from_instance_typed::<u32>("other", "k").await?;
            let bad = ctx.get_kv_value_from_instance_typed::<u32>("other", "k").await.unwrap_err();
            let broken = ctx.get_kv_value_from_instance("other", "k").await.unwrap_err();
            Ok(format!("{plain:?} {missing:?} {typed:?} | {bad} | {broken}"))
        }),
        vec![vec![
            start("in"),
            done(2, "\"v\""),
            done(4, "null"),
            done(6, "\"7\""),
            done(8, "\"x\""),
            done(10, "x"),
        ]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "__duroxide_syscall:get_kv_value", input: "{\"instance_id\":\"other \\\"one\\\"\",\"key\":\"k\"}" }
              3 ActivityCompleted[2] { result: "\"v\"" }
              4 ActivityScheduled { name: "__duroxide_syscall:get_kv_value", input: "{\"instance_id\":\"other\",\"key\":\"k\"}" }
              5 ActivityCompleted[4] { result: "null" }
              6 ActivityScheduled { name: "__duroxide_syscall:get_kv_value", input: "{\"instance_id\":\"other\",\"key\":\"k\"}" }
              7 ActivityCompleted[6] { result: "\"7\"" }
              8 ActivityScheduled { name: "__duroxide_syscall:get_kv_value", input: "{\"instance_id\":\"other\",\"key\":\"k\"}" }
              9 ActivityCompleted[8] { result: "\"x\"" }
              10 ActivityScheduled { name: "__duroxide_syscall:get_kv_value", input: "{\"instance_id\":\"other\",\"key\":\"k\"}" }
              11 ActivityCompleted[10] { result: "x" }
              12 OrchestrationCompleted { output: "Some(\"v\") None Some(7) | get_kv_value_from_instance_typed deserialization error: value of key 'k' of instance 'other' is not a `u32`: expected value at line 1 column 1 | get_kv_value_from_instance deserialization error: expected value at line 1 column 1" }
              -> worker ActivityExecute 2 __duroxide_syscall:get_kv_value({"instance_id":"other \"one\"","key":"k"})
              -> worker ActivityExecute 4 __duroxide_syscall:get_kv_value({"instance_id":"other","key":"k"})
              -> worker ActivityExecute 6 __duroxide_syscall:get_kv_value({"instance_id":"other","key":"k"})
              -> worker ActivityExecute 8 __duroxide_syscall:get_kv_value({"instance_id":"other","key":"k"})
              -> worker ActivityExecute 10 __duroxide_syscall:get_kv_value({"instance_id":"other","key":"k"})
              => Completed "Some(\"v\") None Some(7) | get_kv_value_from_instance_typed deserialization error: value of key 'k' of instance 'other' is not a `u32`: expected value at line 1 column 1 | get_kv_value_from_instance deserialization error: expected value at line 1 column 1"
        "#]],
    );
}

#[test]
fn every_status_call_is_an_event_and_the_last_one_of_a_turn_counts() {
    let tells = || {
        code(|ctx, _| async move {
            ctx.set_custom_status("one");
            ctx.set_custom_status("two");
            ctx.schedule_activity("a", "").await?;
            let before = ctx.get_custom_status();
            ctx.reset_custom_status();
            Ok(format!("{before:?} {:?}", ctx.get_custom_status()))
        })
    };
    let turns = || vec![vec![start("in")], vec![done(4, "")]];
    check(
        tells(),
        turns(),
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 CustomStatusUpdated { status: Some("one") }
          3 CustomStatusUpdated { status: Some("two") }
          4 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 4 a()
          => Running
        T2
          5 ActivityCompleted[4] { result: "" }
          6 CustomStatusUpdated { status: None }
          7 OrchestrationCompleted { output: "Some(\"two\") None" }
          => Completed "Some(\"two\") None"
    "#]],
    );
    let updates: Vec<_> = run(&tells(), &turns()).into_iter().map(|turn| turn.custom_status).collect();
    assert_eq!(updates, [Some(StatusUpdate::Set("two".to_owned())), Some(StatusUpdate::Reset)]);
}

#[test]
fn a_turn_that_tells_nothing_updates_no_status() {
    let tells = code(|ctx, _| async move {
        ctx.set_custom_status("one");
        ctx.schedule_activity("a", "").await
    });
    let turns = run(&tells, &[vec![start("in")], vec![done(3, "")]]);
    assert_eq!(turns[1].custom_status, None);
}

#[test]
fn a_status_set_while_failing_is_kept() {
    let tells = code(|ctx, _| async move {
        ctx.set_custom_status("last words");
        Err("failed".to_owned())
    });
    let turns = run(&tells, &[vec![start("in")]]);
    assert_eq!(turns[0].custom_status, Some(StatusUpdate::Set("last words".to_owned())));
}

#[test]
#[expect(clippy::disallowed_types, reason = "users have maps without an order")]
fn a_typed_hash_map_is_written_sorted_and_replays() {
    let code = code(|ctx, _| async move {
        let map: std::collections::HashMap<String, u32> = (0..20).map(|n| (format!("k{n:02}"), n)).collect();
        ctx.set_kv_value_typed("map", &map);
        Ok(ctx.schedule_wait("end").await)
    });
    let history = history_of(&run(&code, &[vec![start("in")]]));
    assert_eq!(history[0].duroxide_version, OURS);
    let EventKind::KeyValueSet { value, .. } = &history[1].kind else { panic!("{:?}", history[1]) };
    let sorted: BTreeMap<String, u32> = (0..20).map(|n| (format!("k{n:02}"), n)).collect();
    assert_eq!(*value, serde_json::to_string(&sorted).unwrap());
    // Every map has an order of its own.
    for _ in 0..16 {
        let mut execution = cold(&code, history.clone());
        assert_eq!(execution.mismatch(), None);
        assert_eq!(feed(&mut execution, vec![]).events, vec![]);
    }
}
