//! Children: their ids, who hears of them, and which of their errors code may see.

use abide_engine::model::{AppErrorKind, ConfigErrorKind, Either2, ErrorDetails, WorkItem};
use expect_test::{Expect, expect};

use crate::support::mail::{
    app_error, child_done, child_error, child_failed, done, failed_with, poisoned, start, start_by,
};
use crate::support::{Code, INSTANCE, check, code, print, run};

#[test]
fn children_are_named_after_the_event_that_schedules_them() {
    check(
        code(|ctx, _| async move {
            let auto = ctx.schedule_sub_orchestration("C", "1");
            let own = ctx.schedule_sub_orchestration_with_id("C", "mine::sub::x", "2");
            let versioned = ctx.schedule_sub_orchestration_versioned("C", Some("2.1.0".to_owned()), "3");
            ctx.join3(auto, own, versioned).await.0
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 SubOrchestrationScheduled { name: "C", instance: "sub::2", input: "1" }
              3 SubOrchestrationScheduled { name: "C", instance: "mine::sub::x", input: "2" }
              4 SubOrchestrationScheduled { name: "C", instance: "sub::4", input: "3" }
              -> Start i::sub::2 C(1) for i#2
              -> Start mine::sub::x C(2) for i#3
              -> Start i::sub::4 C@2.1.0(3) for i#4
              => Running
        "#]],
    );
}

#[test]
fn a_child_id_that_looks_generated_is_an_error_and_nothing_is_recorded() {
    check(
        code(|ctx, _| async move { ctx.schedule_sub_orchestration_with_id("C", "sub::2", "").await }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "sub-orchestration instance id 'sub::2' starts with the reserved marker 'sub::', which the runtime uses to mark auto-generated child ids; use an id that does not begin with it", retryable: false } }
              => Failed application | sub-orchestration instance id 'sub::2' starts with the reserved marker 'sub::', which the runtime uses to mark auto-generated child ids; use an id that does not begin with it
        "#]],
    );
}

#[test]
fn a_detached_id_that_is_reserved_panics() {
    for id in ["sub::1", "root::sub::1"] {
        let starts = code(move |ctx, _| async move {
            ctx.schedule_orchestration("N", id, "");
            Ok(String::new())
        });
        let turns = run(&starts, &[vec![start("in")]]);
        assert_eq!(
            print::outcome(&turns[0].outcome),
            format!(
                "Failed application | orchestration panicked: detached orchestration instance id '{id}' uses \
                 the reserved sub-orchestration marker 'sub::'; root instance ids must not start with it or \
                 contain '::sub::'"
            )
        );
        assert_eq!((turns[0].events.len(), turns[0].orchestrator_items.len()), (2, 0));
    }
}

/// A child of event 7 of execution 3 of `P`, whose id is wanted a second time.
fn wanted_again(by: (&str, u64, u64), ended: &[WorkItem], expected: Expect) {
    let mut batch = ended.to_vec();
    batch.push(start_by(by, "other"));
    check(
        code(|ctx, _| async move { ctx.schedule_activity("a", "").await }),
        vec![vec![start_by(("P", 7, 3), "in")], batch],
        expected,
    );
}

#[test]
fn a_child_id_of_a_running_instance_is_taken() {
    wanted_again(
        ("Q", 2, 1),
        &[],
        expect![[r##"
        T1
          1 OrchestrationStarted { input: "in", parent: "P"#7 }
          2 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 2 a()
          => Running
        T2
          -> ChildFailed to Q/1#2 sub-orchestration instance id 'i' already exists
          notice: the instance exists already: its would-be parent 'Q' is told
          => Running
    "##]],
    );
}

#[test]
fn a_child_id_of_a_finished_instance_is_taken_too() {
    wanted_again(
        ("Q", 2, 1),
        &[done(2, "r")],
        expect![[r##"
        T1
          1 OrchestrationStarted { input: "in", parent: "P"#7 }
          2 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 2 a()
          => Running
        T2
          3 ActivityCompleted[2] { result: "r" }
          4 OrchestrationCompleted { output: "r" }
          -> ChildDone to P/3#7 "r"
          -> ChildFailed to Q/1#2 sub-orchestration instance id 'i' already exists and is terminal
          notice: the instance exists already: its would-be parent 'Q' is told
          => Completed "r"
    "##]],
    );
}

#[test]
fn another_call_of_the_same_parent_finds_the_id_taken() {
    wanted_again(
        ("P", 8, 3),
        &[],
        expect![[r##"
        T1
          1 OrchestrationStarted { input: "in", parent: "P"#7 }
          2 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 2 a()
          => Running
        T2
          -> ChildFailed to P/3#8 sub-orchestration instance id 'i' already exists
          notice: the instance exists already: its would-be parent 'P' is told
          => Running
    "##]],
    );
    wanted_again(
        ("P", 7, 4),
        &[],
        expect![[r##"
        T1
          1 OrchestrationStarted { input: "in", parent: "P"#7 }
          2 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 2 a()
          => Running
        T2
          -> ChildFailed to P/4#7 sub-orchestration instance id 'i' already exists
          notice: the instance exists already: its would-be parent 'P' is told
          => Running
    "##]],
    );
}

#[test]
fn the_same_call_of_the_same_parent_is_ignored() {
    wanted_again(
        ("P", 7, 3),
        &[],
        expect![[r##"
        T1
          1 OrchestrationStarted { input: "in", parent: "P"#7 }
          2 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 2 a()
          => Running
        T2
          notice: StartOrchestration ignored: the instance exists already
          => Running
    "##]],
    );
}

#[test]
fn the_same_call_is_ignored_also_when_the_child_has_ended() {
    wanted_again(
        ("P", 7, 3),
        &[done(2, "r")],
        expect![[r##"
        T1
          1 OrchestrationStarted { input: "in", parent: "P"#7 }
          2 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 2 a()
          => Running
        T2
          3 ActivityCompleted[2] { result: "r" }
          4 OrchestrationCompleted { output: "r" }
          -> ChildDone to P/3#7 "r"
          notice: StartOrchestration ignored: the instance exists already
          => Completed "r"
    "##]],
    );
}

#[test]
fn a_child_start_that_reaches_a_root_instance_is_answered() {
    check(
        code(|ctx, _| async move { ctx.schedule_activity("a", "").await }),
        vec![vec![start("in")], vec![start_by((INSTANCE, 2, 1), "myself"), start("again")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 2 a()
              => Running
            T2
              -> ChildFailed to i/1#2 sub-orchestration instance id 'i' already exists
              notice: the instance exists already: its would-be parent 'i' is told
              notice: StartOrchestration ignored: the instance exists already
              => Running
        "#]],
    );
}

/// What code sees of the failure of an activity (event 2) and of a child (event 3).
fn seen(details: &ErrorDetails) -> [String; 2] {
    let sees: Code = code(|ctx, _| async move {
        let activity = ctx.schedule_activity("a", "");
        let child = ctx.schedule_sub_orchestration("C", "");
        match ctx.select2(activity, child).await {
            Either2::First(result) | Either2::Second(result) => Ok(format!("sees {result:?}")),
        }
    });
    [failed_with(2, details.clone()), child_failed(3, details.clone())].map(|failure| {
        let turns = run(&sees, &[vec![start("in")], vec![failure]]);
        print::outcome(&turns[1].outcome)
    })
}

#[test]
fn code_sees_the_errors_of_applications_and_no_others() {
    let application = |kind| ErrorDetails::Application { kind, message: "m".to_owned(), retryable: false };
    let cases = [
        app_error("e"),
        child_error("e"),
        application(AppErrorKind::Panicked),
        application(AppErrorKind::Cancelled { reason: "r".to_owned() }),
        poisoned("a", 2),
        ErrorDetails::Infrastructure {
            operation: "ack".to_owned(),
            message: "disk".to_owned(),
            retryable: false,
        },
        ErrorDetails::Configuration {
            kind: ConfigErrorKind::Nondeterminism,
            resource: String::new(),
            message: Some("drift".to_owned()),
        },
    ];
    let mut table = String::new();
    for case in &cases {
        let [of_activity, of_child] = seen(case);
        assert_eq!(of_activity, of_child);
        table = table + &of_activity + "\n";
    }
    expect![[r#"
        Completed "sees Err(\"e\")"
        Completed "sees Err(\"e\")"
        Completed "sees Err(\"orchestration panicked: m\")"
        Completed "sees Err(\"canceled: r\")"
        Failed poison | poison: activity a#2 exceeded 11 attempts (max 10)
        Failed infrastructure | infrastructure:ack: disk
        Failed configuration | nondeterministic: drift
    "#]]
    .assert_eq(&table);
}

#[test]
fn typed_children_and_detached_starts_encode_their_input() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_orchestration_typed("D", "d-1", &("x", 1));
            ctx.schedule_orchestration_versioned_typed("D", Some("1.2.3".to_owned()), "d-2", &"5");
            let child = ctx.schedule_sub_orchestration_with_id_typed::<_, u32>("C", "c-1", &"text").await?;
            Ok((child + 1).to_string())
        }),
        vec![vec![start("in")], vec![child_done(4, "41")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationChained { name: "D", instance: "d-1", input: "[\"x\",1]" }
              3 OrchestrationChained { name: "D", instance: "d-2", input: "\"5\"" }
              4 SubOrchestrationScheduled { name: "C", instance: "c-1", input: "text" }
              -> Start d-1 D(["x",1])
              -> Start d-2 D@1.2.3("5")
              -> Start c-1 C(text) for i#4
              => Running
            T2
              5 SubOrchestrationCompleted[4] { result: "41" }
              6 OrchestrationCompleted { output: "42" }
              => Completed "42"
        "#]],
    );
}
