//! Messages that come too late, twice, or to the wrong place, and small histories.

use std::time::Duration;

use abide_engine::model::WorkItem;
use abide_engine::{Mail, MailId, Step, TurnOutput};
use expect_test::expect;

use crate::support::drive::{feed, fresh};
use crate::support::mail::{
    cancel, child_done, child_done_in, continued, done, done_in, fired, message, signal, start, start_by,
};
use crate::support::{Code, Given, INSTANCE, check, code, print, run, time_of};

#[test]
fn an_error_returned_at_once_makes_two_rows() {
    check(
        code(|_, input| async move { Err(input) }),
        vec![vec![start("no")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "no" }
              2 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "no", retryable: false } }
              => Failed application | no
        "#]],
    );
}

#[test]
fn a_wait_and_its_signal_make_four_rows() {
    check(
        code(|ctx, _| async move { Ok(ctx.schedule_wait("s").await) }),
        vec![vec![start("in")], vec![signal("s", "x")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              => Running
            T2
              3 ExternalEvent { name: "s", data: "x" }
              4 OrchestrationCompleted { output: "x" }
              => Completed "x"
        "#]],
    );
}

#[test]
fn answers_for_other_executions_are_dropped() {
    check(
        code(|ctx, _| async move { ctx.schedule_activity("a", "").await }),
        vec![vec![start("in")], vec![done_in(2, 2, "x"), child_done_in(9, 2, "x"), done(2, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 2 a()
              => Running
            T2
              3 ActivityCompleted[2] { result: "r" }
              4 OrchestrationCompleted { output: "r" }
              notice: ActivityCompleted dropped: it was meant for execution 2
              notice: SubOrchCompleted dropped: it was meant for execution 9
              => Completed "r"
        "#]],
    );
}

#[test]
fn answers_that_come_twice_are_dropped() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            ctx.schedule_activity("a", "").await?;
            ctx.schedule_sub_orchestration("C", "").await
        }),
        vec![
            vec![start("in")],
            vec![fired(2, 2000), fired(2, 2000)],
            vec![fired(2, 2000), done(4, ""), done(4, "other")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 TimerCreated { fire_at_ms: 2000 }
              -> TimerFired 2 at 2000
              => Running
            T2
              3 TimerFired[2] { fire_at_ms: 2000 }
              4 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 4 a()
              notice: TimerFired dropped: event 2 had its answer before
              => Running
            T3
              5 ActivityCompleted[4] { result: "" }
              6 SubOrchestrationScheduled { name: "C", instance: "sub::6", input: "" }
              -> Start i::sub::6 C() for i#6
              notice: TimerFired dropped: event 2 had its answer before
              notice: ActivityCompleted dropped: event 4 had its answer before
              => Running
        "#]],
    );
}

#[test]
fn a_job_for_a_worker_and_a_second_continue_as_new_are_dropped() {
    let job = WorkItem::ActivityExecute {
        instance: INSTANCE.to_owned(),
        execution_id: 1,
        id: 2,
        name: "a".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    };
    check(
        code(|ctx, _| async move { ctx.schedule_activity("a", "").await }),
        vec![vec![start("in")], vec![job, continued("x", &[], None)]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 2 a()
              => Running
            T2
              notice: ActivityExecute dropped: it does not belong into this queue
              notice: ContinueAsNew ignored: the instance exists already
              => Running
        "#]],
    );
}

#[test]
fn an_answer_to_something_that_was_never_asked_fails_the_execution() {
    for (answer, text) in [
        (done(9, ""), "no matching schedule for completion id=9"),
        (fired(9, 0), "no matching schedule for timer id=9"),
        (child_done(9, ""), "no matching schedule for sub-orchestration id=9"),
        (fired(2, 0), "completion kind mismatch for id=2, expected 'activity', got 'timer'"),
        (child_done(2, ""), "completion kind mismatch for id=2, expected 'activity', got 'suborchestration'"),
    ] {
        let waits = code(|ctx, _| async move { ctx.schedule_activity("a", "").await });
        let turns = run(&waits, &[vec![start("in")], vec![answer]]);
        let outcome = print::outcome(&turns[1].outcome);
        assert_eq!(
            outcome.lines().next().unwrap(),
            format!("Failed configuration | nondeterministic: {text}")
        );
        assert_eq!(turns[1].cancelled_activities.len(), 1);
    }
}

/// The last turn of a script, whose messages are numbered from 0.
fn last(code: &Code, turns: &[Vec<WorkItem>]) -> TurnOutput {
    run(code, turns).pop().unwrap()
}

fn ids(ids: impl IntoIterator<Item = u64>) -> Vec<MailId> {
    ids.into_iter().map(MailId).collect()
}

#[test]
fn what_is_left_after_completion_is_used_up_and_a_child_start_among_it_is_answered() {
    let waits = code(|ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
    let batch = vec![
        signal("go", ""),
        message("q", "unread"),
        start_by(("Q", 5, 1), "late"),
        start("late"),
        cancel("late"),
    ];
    let turn = last(&waits, &[vec![start("in")], batch]);
    assert_eq!(turn.consumed, ids(0..5));
    expect![[r#"
        T1
          3 ExternalEvent { name: "go", data: "" }
          4 OrchestrationCompleted { output: "" }
          -> ChildFailed to Q/1#5 sub-orchestration instance id 'i' already exists and is terminal
          notice: ExternalRaisedPersistent dropped: the execution has ended
          notice: the instance exists already: its would-be parent 'Q' is told
          notice: StartOrchestration ignored: the instance exists already
          notice: CancelInstance dropped: the execution has ended
          => Completed ""
    "#]]
    .assert_eq(&print::turns(&[turn]));
}

#[test]
fn what_is_left_after_continue_as_new_stays_queued() {
    let waits = code(|ctx, _| async move {
        ctx.schedule_wait("go").await;
        ctx.continue_as_new("next").await
    });
    let batch = vec![
        message("q", "carried"),
        signal("go", ""),
        message("q", "left"),
        signal("s", "left"),
        cancel("left"),
        start_by(("Q", 5, 1), "left"),
    ];
    let turn = last(&waits, &[vec![start("in")], batch]);
    assert_eq!(turn.consumed, ids(0..2));
    expect![[r#"
        T1
          3 QueueEventDelivered { name: "q", data: "carried" }
          4 ExternalEvent { name: "go", data: "" }
          5 OrchestrationContinuedAsNew { input: "next" }
          -> ContinueAsNew i(next) version=None carry=[("q", "carried")] status=None
          => ContinuedAsNew "next" None
    "#]]
    .assert_eq(&print::turns(&[turn]));
}

#[test]
fn messages_for_an_execution_that_continued_as_new_stay_queued() {
    let next = code(|ctx, _| async move { ctx.continue_as_new("next").await });
    let turn = last(&next, &[vec![start("in")], vec![message("q", "x"), cancel("why")]]);
    assert_eq!(turn.consumed, ids([]));
    assert_eq!((turn.events, turn.orchestrator_items), (vec![], vec![]));
}

#[test]
fn messages_for_a_finished_execution_are_used_up() {
    let returns = code(|_, _| async move { Ok(String::new()) });
    let turn = last(&returns, &[vec![start("in")], vec![done(2, ""), start_by(("Q", 5, 1), "x")]]);
    assert_eq!(turn.consumed, ids(0..2));
    expect![[r#"
        T1
          -> ChildFailed to Q/1#5 sub-orchestration instance id 'i' already exists and is terminal
          notice: ActivityCompleted dropped: the execution has ended
          notice: the instance exists already: its would-be parent 'Q' is told
          => Completed ""
    "#]]
    .assert_eq(&print::turns(&[turn]));
}

#[test]
fn a_start_that_is_not_first_is_taken_first_and_all_are_used_up() {
    let echo = code(|ctx, input| async move { Ok(input + &ctx.schedule_wait("s").await) });
    let turn = last(&echo, &[vec![message("q", ""), start("in "), signal("s", "x")]]);
    assert_eq!(turn.consumed, ids([1, 0, 2]));
    expect![[r#"
        T1
          1 OrchestrationStarted { input: "in " }
          2 ExternalSubscribed { name: "s" }
          3 QueueEventDelivered { name: "q", data: "" }
          4 ExternalEvent { name: "s", data: "x" }
          5 OrchestrationCompleted { output: "in x" }
          => Completed "in x"
    "#]]
    .assert_eq(&print::turns(&[turn]));
}

#[test]
fn a_turn_that_cannot_begin_leaves_the_execution_as_it_was() {
    let returns = code(|_, input| async move { Ok(input) });
    let mut execution = fresh(&returns);
    let now = time_of(0);
    let mail = |item| vec![Mail { id: MailId(7), item }];
    assert!(execution.turn(mail(signal("s", "")), now).is_err());
    assert_eq!(
        execution.resume(Err(String::new())).unwrap_err().to_string(),
        "no turn is waiting for a host call: there is nothing to resume"
    );
    let Ok(Step::Done(turn)) = execution.turn(mail(start("in")), now) else { panic!("it runs") };
    assert_eq!(turn.consumed, ids([7]));
    assert_eq!(print::outcome(&turn.outcome), "Completed \"in\"");
}

// A continue-as-new that was delivered twice in one batch stayed queued behind its own successor's, and the
// third execution began with the input of the second.
#[test]
fn a_repeated_continue_as_new_does_not_begin_the_successor() {
    let again = code(|ctx, input| async move {
        let n: u32 = input.parse().map_err(|error| format!("{error}"))?;
        if n < 3 { ctx.continue_as_new((n + 1).to_string()).await } else { Ok(input) }
    });
    let opener = || continued("1", &[("q", "m")], None);
    let mut second = Given::execution(2).fresh(&again);
    let output = feed(&mut second, vec![opener(), opener()]);
    let consumed = output.consumed.len();
    let successor = output.orchestrator_items.into_iter();
    let inbox = std::iter::repeat_with(opener).take(2 - consumed).chain(successor).collect();
    let output = feed(&mut Given::execution(3).fresh(&again), inbox);
    assert!(print::line(&output.events[0]).contains("input: \"2\""), "{}", print::line(&output.events[0]));
}
