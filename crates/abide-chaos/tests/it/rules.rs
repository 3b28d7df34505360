//! The checker finds what is broken: sound evidence, damaged in one place at a time.

use std::collections::BTreeMap;
use std::path::Path;

use abide::{ErrorDetails, Event, EventKind, OrchestrationStatus};
use abide_chaos::check::{Evidence, Figures, Past, Rule, storage};
use abide_chaos::journal::{self, Activity, Journal, Line, Note};
use abide_chaos::program::{Ending, Order, Program};
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::site::Site;

const PARENT: &str = "herald";
const CHILD: &str = "herald::sub::2";

/// A herald that has continued as new once, with a child, an activity and a timer. No worker would write just this, but
/// there is nothing wrong with it.
fn sound() -> Evidence {
    let order = Order { instance: PARENT.to_owned(), program: Program::Herald, number: 7 };
    let Some(Ending::Output(output)) = order.ending() else { panic!("it has an output") };
    let first = vec![
        started(PARENT, 1, None),
        event(PARENT, 1, 2, None, scheduled_child()),
        event(PARENT, 1, 3, Some(2), EventKind::SubOrchestrationCompleted { result: "done".to_owned() }),
        event(PARENT, 1, 4, None, EventKind::OrchestrationContinuedAsNew { input: String::new() }),
    ];
    let second = vec![
        started(PARENT, 2, None),
        event(PARENT, 2, 2, None, scheduled()),
        event(PARENT, 2, 3, None, EventKind::TimerCreated { fire_at_ms: 1_004 }),
        event(PARENT, 2, 4, Some(2), EventKind::ActivityCompleted { result: output.clone() }),
        event(PARENT, 2, 5, Some(3), EventKind::TimerFired { fire_at_ms: 1_004 }),
        event(PARENT, 2, 6, None, EventKind::OrchestrationCompleted { output: output.clone() }),
    ];
    let child = vec![
        started(CHILD, 1, Some(2)),
        event(CHILD, 1, 2, None, EventKind::OrchestrationCompleted { output: "done".to_owned() }),
    ];
    let ran = Activity { instance: PARENT.to_owned(), execution: 2, event: 2 };
    let lines = [
        Note::Ready,
        Note::Began { activity: ran.clone(), attempt: 1 },
        Note::Ended { activity: ran, result: Ok(output.clone()) },
    ];
    Evidence {
        orders: vec![order],
        instances: BTreeMap::from([
            (PARENT.to_owned(), past(&output, [(1, first), (2, second)].into())),
            (CHILD.to_owned(), past("done", [(1, child)].into())),
        ]),
        journals: [("one".to_owned(), lines.map(|note| Line { at_ms: 0, note }).into())].into(),
    }
}

fn past(output: &str, executions: BTreeMap<u64, Vec<Event>>) -> Past {
    let output = output.to_owned();
    let status = OrchestrationStatus::Completed { output, custom_status: None, custom_status_version: 0 };
    Past { status, executions, kept: None }
}

fn event(instance: &str, execution: u64, id: u64, source: Option<u64>, kind: EventKind) -> Event {
    Event { timestamp_ms: 1_000 + id, ..Event::with_event_id(id, instance, execution, source, kind) }
}

fn started(instance: &str, execution: u64, parent_id: Option<u64>) -> Event {
    let kind = EventKind::OrchestrationStarted {
        name: "Herald".to_owned(),
        version: "1.0.0".to_owned(),
        input: String::new(),
        parent_instance: parent_id.map(|_| PARENT.to_owned()),
        parent_id,
        parent_execution_id: parent_id.map(|_| 1),
        carry_forward_events: None,
        initial_custom_status: None,
    };
    event(instance, execution, 1, None, kind)
}

fn scheduled() -> EventKind {
    EventKind::ActivityScheduled {
        name: "Step".to_owned(),
        input: "7".to_owned(),
        session_id: None,
        tag: None,
    }
}

fn scheduled_child() -> EventKind {
    let (name, instance) = ("Chain".to_owned(), "sub::2".to_owned());
    EventKind::SubOrchestrationScheduled { name, instance, input: String::new() }
}

/// The history of the last execution of the parent.
fn last(evidence: &mut Evidence) -> &mut Vec<Event> {
    parent(evidence).executions.get_mut(&2).unwrap()
}

fn parent(evidence: &mut Evidence) -> &mut Past {
    evidence.instances.get_mut(PARENT).unwrap()
}

fn running() -> OrchestrationStatus {
    OrchestrationStatus::Running { custom_status: None, custom_status_version: 0 }
}

fn failed(details: ErrorDetails) -> OrchestrationStatus {
    OrchestrationStatus::Failed { details, custom_status: None, custom_status_version: 0 }
}

#[track_caller]
fn finds<T>(rule: Rule, damage: impl FnOnce(&mut Evidence) -> T) {
    let mut evidence = sound();
    let _taken_out = damage(&mut evidence);
    let broken = evidence.violations();
    assert!(broken.iter().any(|violation| violation.rule == rule), "{rule:?} is not among {broken:?}");
}

#[test]
fn sound_evidence_breaks_no_rule() {
    assert_eq!(sound().violations(), []);
}

#[test]
fn what_is_lost_stuck_or_wrong_is_found() {
    finds(Rule::NothingLost, |evidence| evidence.instances.remove(PARENT));
    finds(Rule::NothingStuck, |evidence| parent(evidence).status = running());
    finds(Rule::NothingStuck, |evidence| evidence.instances.get_mut(CHILD).unwrap().status = running());
    finds(Rule::RightEnd, |evidence| evidence.orders[0].number += 1);
    finds(Rule::RightEnd, |evidence| {
        parent(evidence).status = failed(ErrorDetails::orchestration_failed("by itself"));
    });
    finds(Rule::RightEnd, |evidence| parent(evidence).status = failed(ErrorDetails::cancelled("why?")));
    finds(Rule::RightValues, |evidence| parent(evidence).kept = Some("too much".to_owned()));
}

#[test]
fn ghosts_and_children_that_answer_otherwise_are_found() {
    finds(Rule::NoGhosts, |evidence| evidence.orders.clear());
    finds(Rule::NoGhosts, |evidence| {
        let history = parent(evidence).executions.get_mut(&1).unwrap();
        history[1] = event(PARENT, 1, 2, None, scheduled());
    });
    finds(Rule::ParentTold, |evidence| {
        let other = EventKind::SubOrchestrationCompleted { result: "something else".to_owned() };
        parent(evidence).executions.get_mut(&1).unwrap()[2] = event(PARENT, 1, 3, Some(2), other);
    });
    finds(Rule::ParentTold, |evidence| {
        parent(evidence).executions.get_mut(&1).unwrap().remove(2);
    });
}

#[test]
fn damaged_histories_are_found() {
    finds(Rule::Executions, |evidence| parent(evidence).executions.remove(&1));
    finds(Rule::Executions, |evidence| parent(evidence).executions.remove(&2));
    finds(Rule::Events, |evidence| last(evidence).remove(2));
    finds(Rule::Events, |evidence| last(evidence)[3].instance_id = CHILD.to_owned());
    finds(Rule::Events, |evidence| last(evidence)[3].execution_id = 1);
    finds(Rule::Events, |evidence| last(evidence)[3].duroxide_version = "0.0.1".to_owned());
    finds(Rule::OneStart, |evidence| last(evidence).remove(0));
    finds(Rule::OneStart, |evidence| {
        let start = last(evidence)[0].clone();
        last(evidence).insert(1, start);
    });
    finds(Rule::OneEnd, |evidence| {
        let end = last(evidence)[5].clone();
        last(evidence).push(end);
    });
    finds(Rule::OneEnd, |evidence| last(evidence).swap(4, 5));
    finds(Rule::Time, |evidence| last(evidence)[3].timestamp_ms = 1);
    finds(Rule::TimerNotEarly, |evidence| {
        last(evidence)[4].kind = EventKind::TimerFired { fire_at_ms: 2_000 };
    });
}

#[test]
fn answers_to_nothing_and_second_answers_are_found() {
    finds(Rule::Asked, |evidence| last(evidence)[3].source_event_id = Some(3));
    finds(Rule::Asked, |evidence| last(evidence)[3].source_event_id = None);
    finds(Rule::Asked, |evidence| last(evidence).swap(1, 3));
    finds(Rule::AnsweredOnce, |evidence| {
        let answer = last(evidence)[3].clone();
        last(evidence).insert(4, answer);
    });
}

#[test]
fn results_nobody_returned_and_runs_nobody_asked_for_are_found() {
    finds(Rule::ResultOfRun, |evidence| evidence.journals.clear());
    finds(Rule::ResultOfRun, |evidence| {
        last(evidence)[3].kind = EventKind::ActivityCompleted { result: "made up".to_owned() };
    });
    finds(Rule::ResultOfRun, |evidence| {
        let details = ErrorDetails::orchestration_failed("made up");
        last(evidence)[3].kind = EventKind::ActivityFailed { details };
    });
    finds(Rule::ResultOfLastRun, |evidence| {
        let signed = "7#1".to_owned();
        last(evidence)[3].kind = EventKind::ActivityCompleted { result: signed.clone() };
        let lines = evidence.journals.values_mut().next().unwrap();
        let activity = Activity { instance: PARENT.to_owned(), execution: 2, event: 2 };
        lines.push(Line { at_ms: 0, note: Note::Ended { activity: activity.clone(), result: Ok(signed) } });
        lines.push(Line { at_ms: 0, note: Note::Began { activity, attempt: 2 } });
    });
    finds(Rule::RunAskedFor, |evidence| {
        last(evidence)[1].kind = EventKind::ExternalSubscribed { name: "instead".to_owned() };
    });
}

#[test]
fn what_happened_is_counted() {
    let mut evidence = sound();
    let lines = evidence.journals["one"].clone();
    let passed = Note::Passed { instance: PARENT.to_owned(), execution: 1, point: "here".to_owned() };
    let passed = Line { at_ms: 0, note: passed };
    let died = [lines[0].clone(), lines[1].clone(), passed.clone()];
    evidence.journals.insert("two".to_owned(), died.into());
    evidence.journals.insert("three".to_owned(), vec![passed]);
    let figures = Figures::of(&evidence);
    let Figures { instances, executions, events, activities, runs, run_again, .. } = figures;
    assert_eq!((instances, executions, events), (2, 3, 12));
    assert_eq!((activities, runs, run_again, figures.turns_again), (1, 2, 1, 1));
    assert_eq!((figures.most_attempts, figures.died_in_activity, figures.died_starting), (1, 1, 1));
}

#[test]
fn what_is_left_in_a_file_is_found() {
    let site = Site::new("rules");
    let client = site.client();
    block_on(client.start_orchestration("nobody", "runs", "this")).unwrap();
    drop(client);
    let broken = storage::violations(&site.db()).unwrap();
    let subjects: Vec<&str> = broken.iter().map(|violation| violation.subject.as_str()).collect();
    assert_eq!(subjects, ["messages"]);
    let busy = Connection::open(site.db()).unwrap();
    assert!(storage::is_writable(&site.db()).unwrap());
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(!storage::is_writable(&site.db()).unwrap());
}

#[test]
fn half_a_line_is_no_line() {
    let site = Site::new("journal");
    let path = site.journals().join("one.jsonl");
    assert_eq!(journal::read(&path).unwrap(), []);
    let journal = Journal::append_to(&path).unwrap();
    journal.note(Note::Ready);
    append(&path, "{\"at_ms\":5,");
    let notes: Vec<Note> = journal::read(&path).unwrap().into_iter().map(|line| line.note).collect();
    assert_eq!(notes, [Note::Ready]);
    append(&path, "\n");
    assert!(journal::read(&path).is_err());
}

fn append(path: &Path, text: &str) {
    let before = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, before + text).unwrap();
}
