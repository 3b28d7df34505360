//! Roots, children and eternal instances, for the areas that look at them and delete them.

use std::time::Duration;

use abide_model::{EventKind, WorkItem};
use abide_provider::{DeleteInstanceResult, InstanceFilter, ProviderError};

use crate::support::{Ack, Subject, VERSION, assert_refused, start};

/// The orchestration that children run.
pub(crate) const CHILD: &str = "Child";

/// Enough time for any clock of milliseconds to move on.
const MOMENT: Duration = Duration::from_millis(50);

/// Lets a moment pass, so that what comes now is later than what came before.
pub(crate) async fn moment(store: &Subject<'_>) {
    store.pass(MOMENT).await;
}

/// A root that completed in its first turn, with two events.
pub(crate) async fn completed_root(store: &Subject<'_>, id: &str) {
    store.begin(Ack::first(id).completing(2)).await;
}

/// A root that failed in its first turn, with two events.
pub(crate) async fn failed_root(store: &Subject<'_>, id: &str) {
    store.begin(Ack::first(id).failing(2)).await;
}

/// A root with this many executions: the last one runs, with one event; each of the others has two.
pub(crate) async fn eternal_root(store: &Subject<'_>, id: &str, executions: u64) {
    store.post(start(id)).await;
    for execution in 1..executions {
        run_next(store, Ack::first_of(id, execution).continuing(2)).await;
    }
    run_next(store, Ack::first_of(id, executions)).await;
}

/// A root that continued as new, and whose next execution has not begun. Its mail waits: create it last.
pub(crate) async fn root_between_executions(store: &Subject<'_>, id: &str) {
    store.begin(Ack::first(id).continuing(2)).await;
}

/// Leases the instance, which has mail, and commits this turn.
pub(crate) async fn run_next(store: &Subject<'_>, turn: Ack) {
    let leased = store.fetch(&turn.instance).await;
    store.ack(&leased.token, turn).await;
}

/// The start of a child that this execution of its parent asks for; a link of older times does not say which.
pub(crate) fn birth(child: &str, parent: &str, asked_in: impl Into<Option<u64>>) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: child.to_owned(),
        orchestration: CHILD.to_owned(),
        input: "{}".to_owned(),
        version: Some(VERSION.to_owned()),
        parent_instance: Some(parent.to_owned()),
        parent_id: Some(2),
        parent_execution_id: asked_in.into(),
        execution_id: 1,
    }
}

/// The first turn of a child.
pub(crate) fn first_turn(child: &str, parent: &str, asked_in: Option<u64>) -> Ack {
    next_turn(Ack::of(child, 1), parent, asked_in)
}

/// The first turn of an execution of a child: its start event has the link to its parent, whichever execution it is.
pub(crate) fn next_turn(turn: Ack, parent: &str, asked_in: Option<u64>) -> Ack {
    let started = EventKind::OrchestrationStarted {
        name: CHILD.to_owned(),
        version: VERSION.to_owned(),
        input: "{}".to_owned(),
        parent_instance: Some(parent.to_owned()),
        parent_id: Some(2),
        parent_execution_id: asked_in,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    turn.named(CHILD, VERSION).child_of(parent).event(1, started)
}

/// A child that this execution of its parent asked for: it runs, and has one event.
pub(crate) async fn child_of(store: &Subject<'_>, child: &str, parent: &str, asked_in: u64) {
    store.post(birth(child, parent, asked_in)).await;
    run_next(store, first_turn(child, parent, Some(asked_in))).await;
}

/// A child of its parent's first execution that runs.
pub(crate) async fn running_child(store: &Subject<'_>, child: &str, parent: &str) {
    child_of(store, child, parent, 1).await;
}

/// A child of its parent's first execution that completed, with two events.
pub(crate) async fn completed_child(store: &Subject<'_>, child: &str, parent: &str) {
    store.post(birth(child, parent, 1)).await;
    run_next(store, first_turn(child, parent, Some(1)).completing(2)).await;
}

/// Completes the first execution of an instance that runs, with one more event.
pub(crate) async fn complete(store: &Subject<'_>, id: &str) {
    store.step(Ack::of(id, 1).completing(90)).await;
}

/// Every instance there is, in alphabetical order.
pub(crate) async fn existing(store: &Subject<'_>) -> Vec<String> {
    let mut ids = store.admin().list_instances().await.expect("instances can be listed");
    ids.sort();
    ids
}

/// When an execution ended, by the store's own account.
pub(crate) async fn ended_at(store: &Subject<'_>, id: &str, execution_id: u64) -> u64 {
    let info = store.admin().get_execution_info(id, execution_id).await;
    let info = info.unwrap_or_else(|error| panic!("execution {execution_id} of '{id}': {error}"));
    let ended = info.completed_at;
    ended.unwrap_or_else(|| panic!("execution {execution_id} of '{id}' ended, but has no time of it"))
}

/// There is nothing left of it.
pub(crate) async fn assert_gone(store: &Subject<'_>, id: &str) {
    let admin = store.admin();
    assert!(!existing(store).await.contains(&id.to_owned()), "'{id}' is deleted, and is listed");
    assert_says(&admin.get_instance_info(id).await, &["not found"], "information about what is deleted");
    let executions = admin.list_executions(id).await.expect("executions can be listed");
    assert!(executions.is_empty(), "'{id}' is deleted, and has executions: {executions:?}");
    for execution_id in 1..=3 {
        let events = store.event_ids(id, execution_id).await;
        assert!(events.is_empty(), "'{id}' is deleted, and has a history: {events:?}");
    }
    assert!(store.history(id).await.is_empty(), "'{id}' is deleted, and has a current history");
    let size = store.get_instance_stats(id).await.expect("stats can be read");
    assert_eq!(size, None, "'{id}' is deleted, and has statistics");
    let status = store.get_custom_status(id, 0).await.expect("a custom status can be read");
    assert_eq!(status, None, "'{id}' is deleted, and has a custom status");
    let values = store.get_kv_all_values(id).await.expect("values can be read");
    assert!(values.is_empty(), "'{id}' is deleted, and has values: {values:?}");
}

/// Refused for good, with a reason that has one of these words, in whatever case.
#[track_caller]
pub(crate) fn assert_says<T: std::fmt::Debug>(answer: &Result<T, ProviderError>, words: &[&str], what: &str) {
    assert_refused(answer, what);
    if let Err(error) = answer {
        let text = error.to_string().to_lowercase();
        let has_one = words.iter().any(|word| text.contains(word));
        assert!(has_one, "the refusal of {what} must say one of {words:?}, not: {error}");
    }
}

/// Instances, executions, events, and messages with work.
pub(crate) fn numbers(deleted: &DeleteInstanceResult) -> [u64; 4] {
    [
        deleted.instances_deleted,
        deleted.executions_deleted,
        deleted.events_deleted,
        deleted.queue_messages_deleted,
    ]
}

/// Only these.
pub(crate) fn only(ids: &[&str]) -> InstanceFilter {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    InstanceFilter { instance_ids: Some(ids), ..InstanceFilter::default() }
}

/// The same names, owned, as the frozen signatures want them.
pub(crate) fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}
