//! Continue-as-new, and the pruning that goes with it.

use abide_engine::model::PruneOptions;
use expect_test::{Expect, expect};

use crate::support::mail::{done, signal, start};
use crate::support::{Code, check, code, run};

fn keep(keep_last: u32) -> PruneOptions {
    PruneOptions { keep_last: Some(keep_last), completed_before: None }
}

fn ends(code: Code, expected: Expect) {
    check(code, vec![vec![start("in")]], expected);
}

#[test]
fn continue_as_new_comes_plain_typed_and_versioned() {
    ends(
        code(|ctx, _| async move { ctx.continue_as_new("next").await }),
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 OrchestrationContinuedAsNew { input: "next" }
          -> ContinueAsNew i(next) version=None carry=[] status=None
          => ContinuedAsNew "next" None
    "#]],
    );
    ends(
        code(|ctx, _| async move { ctx.continue_as_new_typed(&("next", 1)).await }),
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 OrchestrationContinuedAsNew { input: "[\"next\",1]" }
          -> ContinueAsNew i(["next",1]) version=None carry=[] status=None
          => ContinuedAsNew "[\"next\",1]" None
    "#]],
    );
    ends(
        code(|ctx, _| async move { ctx.continue_as_new_versioned("2.0.0", "next").await }),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationContinuedAsNew { input: "next" }
              -> ContinueAsNew i(next) version=Some("2.0.0") carry=[] status=None
              => ContinuedAsNew "next" Some("2.0.0")
        "#]],
    );
}

#[test]
fn continue_as_new_with_a_prune_comes_plain_typed_and_versioned() {
    ends(
        code(|ctx, _| async move { ctx.continue_as_new_pruned("next", keep(2)).await }),
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 OrchestrationContinuedAsNew { input: "next" }
          -> ContinueAsNew i(next) version=None carry=[] status=None
          -> prune PruneOptions { keep_last: Some(2), completed_before: None }
          => ContinuedAsNew "next" None
    "#]],
    );
    ends(
        code(|ctx, _| async move { ctx.continue_as_new_pruned_typed(&"5", PruneOptions::default()).await }),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationContinuedAsNew { input: "\"5\"" }
              -> ContinueAsNew i("5") version=None carry=[] status=None
              -> prune PruneOptions { keep_last: None, completed_before: None }
              => ContinuedAsNew "\"5\"" None
        "#]],
    );
    ends(
        code(|ctx, _| async move { ctx.continue_as_new_pruned_versioned("2.0.0", "next", keep(1)).await }),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationContinuedAsNew { input: "next" }
              -> ContinueAsNew i(next) version=Some("2.0.0") carry=[] status=None
              -> prune PruneOptions { keep_last: Some(1), completed_before: None }
              => ContinuedAsNew "next" Some("2.0.0")
        "#]],
    );
}

#[test]
fn a_continue_as_new_counts_though_it_is_not_awaited() {
    ends(
        code(|ctx, _| async move {
            drop(ctx.continue_as_new("next"));
            Ok("not the outcome".to_owned())
        }),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationContinuedAsNew { input: "next" }
              -> ContinueAsNew i(next) version=None carry=[] status=None
              => ContinuedAsNew "next" None
        "#]],
    );
}

#[test]
fn the_first_of_two_continue_as_news_counts() {
    ends(
        code(|ctx, _| async move {
            drop(ctx.continue_as_new("first"));
            ctx.continue_as_new_pruned("second", keep(1)).await
        }),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationContinuedAsNew { input: "first" }
              -> ContinueAsNew i(first) version=None carry=[] status=None
              => ContinuedAsNew "first" None
        "#]],
    );
}

#[test]
fn a_panic_beats_a_continue_as_new_of_the_same_poll() {
    ends(
        code(|ctx, _| async move {
            drop(ctx.continue_as_new("next"));
            panic!("boom")
        }),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationFailed { details: Application { kind: Panicked, message: "boom", retryable: false } }
              => Failed application | orchestration panicked: boom
        "#]],
    );
}

#[test]
fn asks_of_the_poll_that_continues_are_recorded_and_its_state_goes_along() {
    ends(
        code(|ctx, _| async move {
            ctx.set_custom_status("s");
            ctx.set_kv_value("k", "v");
            ctx.continue_as_new("next").await
        }),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 CustomStatusUpdated { status: Some("s") }
              3 KeyValueSet { key: "k", value: "v", last_updated_at_ms: 1000 }
              4 OrchestrationContinuedAsNew { input: "next" }
              -> ContinueAsNew i(next) version=None carry=[] status=Some("s")
              => ContinuedAsNew "next" None
        "#]],
    );
}

#[test]
fn a_status_that_was_reset_is_not_inherited() {
    check(
        code(|ctx, _| async move {
            ctx.set_custom_status("s");
            ctx.schedule_wait("go").await;
            ctx.reset_custom_status();
            ctx.continue_as_new("next").await
        }),
        vec![vec![start("in")], vec![signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 CustomStatusUpdated { status: Some("s") }
              3 ExternalSubscribed { name: "go" }
              => Running
            T2
              4 ExternalEvent { name: "go", data: "" }
              5 CustomStatusUpdated { status: None }
              6 OrchestrationContinuedAsNew { input: "next" }
              -> ContinueAsNew i(next) version=None carry=[] status=None
              => ContinuedAsNew "next" None
        "#]],
    );
}

#[test]
fn automatic_pruning_is_on_until_the_code_switches_it_off_in_this_execution() {
    let switches = code(|ctx, input| async move {
        if input == "off" {
            ctx.set_auto_prune(false);
        }
        ctx.schedule_activity("a", "").await?;
        ctx.continue_as_new("next").await
    });
    let auto_prune = |input: &str| -> Vec<_> {
        run(&switches, &[vec![start(input)], vec![done(2, "")]])
            .into_iter()
            .map(|turn| turn.auto_prune)
            .collect()
    };
    assert_eq!(auto_prune("on"), [true, true]);
    assert_eq!(auto_prune("off"), [false, false]);
}

#[test]
fn an_explicit_prune_works_though_automatic_pruning_is_off() {
    let switches = code(|ctx, _| async move {
        ctx.set_auto_prune(false);
        ctx.continue_as_new_pruned("next", keep(1)).await
    });
    let [turn] = run(&switches, &[vec![start("in")]]).try_into().unwrap();
    assert_eq!((turn.auto_prune, turn.prune), (false, Some(keep(1))));
}
