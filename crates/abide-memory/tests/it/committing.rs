//! What a commit refuses, and what it writes about instance and execution.

use abide_model::ExecutionStatus;
use abide_provider::{InstanceLease, Rejection};

use crate::support::*;

/// A store with instance `a` that has mail, and a lease on it.
fn leased() -> (Store, InstanceLease) {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", "2"));
    store.enqueue(signal("a", "3"));
    let lease = store.lease();
    (store, lease)
}

#[test]
fn an_invalid_turn_is_refused_before_its_lease_is_looked_at() {
    let (store, lease) = leased();
    let unnumbered = TurnBuilder::of_execution(1).event(0, started());
    assert_eq!(store.refused(unnumbered.under(&lease)), Some(Rejection::Invalid));
    store.advance(LEASE);
    let nowhere = TurnBuilder::of_execution(0);
    assert_eq!(store.refused(nowhere.under(&lease)), Some(Rejection::Invalid));
    let odd = TurnBuilder::of_execution(1).status("Sleeping");
    assert_eq!(store.refused(odd.under(&lease)), Some(Rejection::Invalid));
    let misplaced = TurnBuilder::of_execution(1).mail(activity("a", 2));
    assert_eq!(store.refused(misplaced.under(&lease)), Some(Rejection::Invalid));
}

#[test]
fn an_earlier_execution_is_a_conflict() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(2));
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    assert_eq!(store.refused(TurnBuilder::of_execution(1).under(&lease)), Some(Rejection::Conflict));
}

#[test]
fn an_event_that_is_there_already_is_a_conflict() {
    let (store, lease) = leased();
    assert_eq!(store.refused(TurnBuilder::starting(1).under(&lease)), Some(Rejection::Conflict));
    store.commit(TurnBuilder::of_execution(1).event(2, status_said(None)).under(&lease));
}

#[test]
fn all_of_the_batch_is_consumed_or_what_is_named() {
    let (store, lease) = leased();
    store.enqueue(signal("a", "4"));
    store.commit(TurnBuilder::of_execution(1).consuming(&lease, &[3, 4, 99]));
    assert_eq!(store.mail(), [2, 4]);
    let next = store.lease();
    assert_eq!(
        next.messages.iter().map(|message| (message.id.0, message.attempt)).collect::<Vec<_>>(),
        [(2, 1), (4, 1)]
    );
    store.commit(TurnBuilder::of_execution(1).under(&next));
    assert_eq!(store.mail(), [0; 0]);
}

#[test]
fn the_first_commit_makes_an_instance() {
    let store = Store::new();
    store.advance(seconds(1));
    store.create("a", TurnBuilder::starting(1).pinned("0.2.0").with_parent("p"));
    let dump = store.dump();
    let instance = &dump.instances["a"];
    assert!(instance.is_instance);
    assert_eq!((instance.name.as_str(), instance.version.as_str()), ("Order", "1.0.0"));
    assert_eq!(instance.parent, Some(("p".to_owned(), None, None)));
    assert_eq!((instance.execution, instance.last_event_id), (1, 1));
    assert_eq!((instance.status.as_deref(), instance.pin.as_deref()), (Some("Running"), Some("0.2.0")));
    assert_eq!((instance.created, instance.updated), (BEGIN + 1_000, BEGIN + 1_000));
    assert_eq!((instance.leased_until, instance.batch.len()), (None, 0));
}

#[test]
fn later_commits_keep_what_they_are_not_told() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).pinned("0.2.0").with_parent("p"));
    store.enqueue(signal("a", ""));
    store.advance(seconds(1));
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).named("Renamed", "2.0.0").with_parent("q").under(&lease));
    let instance = store.dump().instances["a"].clone();
    assert_eq!((instance.name.as_str(), instance.version.as_str()), ("Renamed", "2.0.0"));
    assert_eq!(instance.parent, Some(("p".to_owned(), None, None)));
    assert_eq!(instance.pin.as_deref(), Some("0.2.0"));
    assert_eq!((instance.created, instance.updated), (BEGIN, BEGIN + 1_000));
}

#[test]
fn name_and_version_that_were_never_told_have_a_default() {
    let store = Store::new();
    store.create("a", TurnBuilder::of_execution(1).event(1, status_said(None)));
    let instance = store.dump().instances["a"].clone();
    assert_eq!((instance.name.as_str(), instance.version.as_str()), ("", "unknown"));
}

#[test]
fn an_execution_ends_when_its_status_is_terminal() {
    let (store, lease) = leased();
    store.advance(seconds(1));
    let last = TurnBuilder::of_execution(1).event(2, status_said(None));
    store.commit(last.ending(ExecutionStatus::Failed, "why").under(&lease));
    let execution = store.dump().executions[&("a".to_owned(), 1)].clone();
    assert_eq!((execution.status.as_str(), execution.output.as_deref()), ("Failed", Some("why")));
    assert_eq!((execution.started, execution.completed), (BEGIN, Some(BEGIN + 1_000)));
    assert_eq!(execution.event_ids, [1, 2]);
}

#[test]
fn an_output_goes_with_its_status() {
    let (store, lease) = leased();
    let mut commit = TurnBuilder::of_execution(1).under(&lease);
    commit.turn.metadata.output = Some("not yet".to_owned());
    store.commit(commit);
    assert_eq!(store.dump().executions[&("a".to_owned(), 1)].output, None);
}

#[test]
fn a_new_execution_becomes_the_current_one() {
    let (store, lease) = leased();
    store.advance(seconds(1));
    store.commit(TurnBuilder::starting(2).under(&lease));
    let dump = store.dump();
    assert_eq!((dump.instances["a"].execution, dump.instances["a"].last_event_id), (2, 1));
    let execution = &dump.executions[&("a".to_owned(), 2)];
    assert_eq!((execution.status.as_str(), execution.started), ("Running", BEGIN + 1_000));
    assert_eq!(execution.completed, None);
}

#[test]
fn the_custom_status_counts_commits_that_changed_it() {
    let (store, lease) = leased();
    let said = [Some("one"), None, Some("two")].map(status_said);
    store.commit(TurnBuilder::of_execution(1).events(2, said).under(&lease));
    let status =
        |seen| at_once(abide_provider::Provider::get_custom_status(&*store.provider, "a", seen)).unwrap();
    assert_eq!(status(0), Some((Some("two".to_owned()), 1)));
    assert_eq!(status(1), None);
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).event(5, status_said(None)).under(&lease));
    assert_eq!(status(1), Some((None, 2)));
}

#[test]
fn an_empty_commit_for_no_instance_only_consumes() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).pinned("0.2.0").consuming(&lease, &[1]));
    let dump = store.dump();
    assert!(!dump.instances["a"].is_instance && dump.executions.is_empty());
    assert_eq!(store.mail(), [2]);
    assert!(store.try_lease().is_none());
}

#[test]
fn each_turn_of_a_call_has_its_own_answer() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.enqueue(start("b"));
    let (a, b) = (store.lease(), store.lease());
    store.abandon(&a.token, None).unwrap();
    let turns = [&a, &b].map(|lease| TurnBuilder::starting(1).under(lease)).to_vec();
    let answers = at_once(abide_provider::Provider::commit_turns(&*store.provider, turns));
    assert!(answers[0].is_err() && answers[1].is_ok());
    assert!(store.dump().instances["b"].is_instance);
}

#[test]
fn an_ack_consumes_the_whole_batch() {
    let (store, lease) = leased();
    store.ack(&lease.token, vec![event(2, status_said(None))]).unwrap();
    assert_eq!(store.mail(), [0; 0]);
    assert_eq!(store.dump().instances["a"].last_event_id, 2);
}
