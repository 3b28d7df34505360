//! Errors for people: histories that no code could have made, and messages that answer nothing.
//!
//! Every message begins with the documented text, names the event, and says what is wrong with it.

use abide_engine::model::{Event, EventKind, Timestamp, WorkItem};
use expect_test::expect;

use crate::support::disagree::{complaint, steps};
use crate::support::drive::{end, feed, fresh, recorded};
use crate::support::mail::{child_done, done, fired, start};
use crate::support::{Code, INSTANCE, code};

/// Two steps, the first done.
fn two_steps() -> (Code, Vec<Event>) {
    let code = steps(&["a", "b"]);
    let history = recorded(&code, &[vec![start("in")], vec![done(2, "r")]]);
    (code, history)
}

fn event(id: u64, kind: EventKind) -> Event {
    Event::recorded(id, INSTANCE, 1, Timestamp::from_millis(3_000), kind)
}

fn completed(id: u64, source: u64) -> Event {
    event(id, EventKind::ActivityCompleted { result: "r".to_owned() }).with_source(source)
}

#[test]
fn a_completion_of_the_wrong_kind_is_refused() {
    let (code, mut history) = two_steps();
    history.push(event(5, EventKind::TimerFired { fire_at_ms: 7 }).with_source(4));
    expect![[r#"
        completion kind mismatch: expected timer
          at event 5 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: TimerFired { fire_at_ms: 7 }
          but it answers event 4, which waits for another kind of answer (activity)
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn an_activity_completion_for_a_timer_is_refused() {
    let code = code(|ctx, _| async move {
        ctx.schedule_timer(std::time::Duration::ZERO).await;
        Ok(String::new())
    });
    let mut history = recorded(&code, &[vec![start("in")]]);
    history.push(completed(3, 2));
    expect![[r#"
        completion kind mismatch: expected activity
          at event 3 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: ActivityCompleted { result: "r" }
          but it answers event 2, which waits for another kind of answer (timer)
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn a_completion_for_something_that_was_never_scheduled_is_refused() {
    let (code, mut history) = two_steps();
    history.push(completed(5, 77));
    expect![[r#"
        completion without open schedule
          at event 5 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: ActivityCompleted { result: "r" }
          but it answers event 77, which asks for nothing
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn a_completion_that_is_recorded_twice_is_refused() {
    let (code, mut history) = two_steps();
    history.push(completed(5, 2));
    expect![[r#"
        completion without open schedule
          at event 5 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: ActivityCompleted { result: "r" }
          but it answers event 2, which was answered before
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn a_completion_that_names_no_source_is_refused() {
    let (code, mut history) = two_steps();
    history.push(event(5, EventKind::ActivityCompleted { result: "r".to_owned() }));
    expect![[r#"
        corrupted history: event without a source
          at event 5 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: ActivityCompleted { result: "r" }
          but an answer or a cancellation names the event it is about
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn a_drop_that_names_no_source_is_refused() {
    let (code, mut history) = two_steps();
    history.push(event(5, EventKind::ActivityCancelRequested { reason: "dropped_future".to_owned() }));
    expect![[r#"
        corrupted history: event without a source
          at event 5 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: ActivityCancelRequested { reason: "dropped_future" }
          but an answer or a cancellation names the event it is about
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn a_first_event_that_is_no_start_is_refused() {
    let (code, mut history) = two_steps();
    history.remove(0);
    let said = complaint(&code, history);
    assert!(said.starts_with("corrupted history: first event must be OrchestrationStarted"), "{said}");
    assert!(said.contains("at event 2 "), "{said}");
}

#[test]
fn a_first_event_that_is_a_message_is_refused() {
    let (code, _) = two_steps();
    let early = event(1, EventKind::ExternalEvent { name: "s".to_owned(), data: "d".to_owned() });
    expect![[r#"
        corrupted history: first event must be OrchestrationStarted
          at event 1 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: ExternalEvent { name: "s", data: "d" }
          but an execution begins with OrchestrationStarted
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, vec![early]));
}

#[test]
fn a_second_start_is_refused() {
    let (code, mut history) = two_steps();
    let again = Event { event_id: 5, ..history[0].clone() };
    history.push(again);
    expect![[r#"
        corrupted history: OrchestrationStarted in the middle
          at event 5 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: OrchestrationStarted { name: "N", version: "1.0.0", input: "in", parent_instance: None, parent_id: None, parent_execution_id: None, carry_forward_events: None, initial_custom_status: None }
          but an execution starts once
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn event_ids_out_of_order_are_refused() {
    let (code, mut history) = two_steps();
    history[2].event_id = 2;
    expect![[r#"
        corrupted history: event ids must ascend
          at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: ActivityCompleted { result: "r" }
          but it follows event 2
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn an_event_of_another_execution_is_refused() {
    let (code, mut history) = two_steps();
    history[2].execution_id = 9;
    expect![[r#"
        corrupted history: event of another execution
          at event 3 of execution 9 of instance 'i', recorded by version 0.2.0
          history holds: ActivityCompleted { result: "r" }
          but this is execution 1 of instance 'i'
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

#[test]
fn an_event_of_another_instance_is_refused() {
    let (code, mut history) = two_steps();
    history[2].instance_id = "somebody else".to_owned();
    expect![[r#"
        corrupted history: event of another execution
          at event 3 of execution 1 of instance 'somebody else', recorded by version 0.2.0
          history holds: ActivityCompleted { result: "r" }
          but this is execution 1 of instance 'i'
          Rows of this history were lost, repeated, reordered or edited: restore them from a backup, or cancel the instance and start it again."#]].assert_eq(&complaint(&code, history));
}

/// What a turn says to a message that answers nothing.
fn answered_by(item: WorkItem) -> String {
    let code = code(|ctx, _| async move { ctx.schedule_activity("a", "").await });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    end(&feed(&mut execution, vec![item]))
}

#[test]
fn a_message_that_answers_what_was_never_asked_says_so() {
    expect![[r#"
        Failed configuration | nondeterministic: no matching schedule for completion id=7
          A message answers event 7, but this execution recorded no such request. Was its history edited, or the instance deleted and created again?"#]].assert_eq(&answered_by(done(7, "r")));
    expect![[r#"
        Failed configuration | nondeterministic: no matching schedule for timer id=7
          A message answers event 7, but this execution recorded no such request. Was its history edited, or the instance deleted and created again?"#]].assert_eq(&answered_by(fired(7, 0)));
    expect![[r#"
        Failed configuration | nondeterministic: no matching schedule for sub-orchestration id=7
          A message answers event 7, but this execution recorded no such request. Was its history edited, or the instance deleted and created again?"#]].assert_eq(&answered_by(child_done(7, "r")));
}

#[test]
fn a_message_that_answers_with_the_wrong_kind_says_so() {
    expect![[r#"
        Failed configuration | nondeterministic: completion kind mismatch for id=2, expected 'activity', got 'timer'
          A message answers event 2, which asks for another kind of answer."#]].assert_eq(&answered_by(fired(2, 0)));
    expect![[r#"
        Failed configuration | nondeterministic: completion kind mismatch for id=2, expected 'activity', got 'suborchestration'
          A message answers event 2, which asks for another kind of answer."#]].assert_eq(&answered_by(child_done(2, "r")));
}

#[test]
fn a_message_that_answers_the_start_says_so() {
    expect![[r#"
        Failed configuration | nondeterministic: no matching schedule for completion id=1
          A message answers event 1, but this execution recorded no such request. Was its history edited, or the instance deleted and created again?"#]].assert_eq(&answered_by(done(1, "r")));
}
