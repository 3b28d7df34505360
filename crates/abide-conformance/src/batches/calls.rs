//! The provided methods, with calls as short as a sentence.
//!
//! Calls that a test is not about must succeed: they panic with what they were doing. A lease call never waits.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use abide_model::{Event, EventKind, WorkItem};
use abide_provider::{
    Authority, Committed, Consumed, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, Message,
    Rejection, StoreError, TagFilter, Turn, TurnCommit, WorkLease,
};

use crate::support::{Ack, Subject, activity, start};

/// More rounds than any test needs: a store that has not come to an end by then never will.
const ROUNDS: usize = 1_000;

/// Asks for so many instances.
pub(crate) fn instances(store: &Subject<'_>, limit: usize) -> LeaseInstances {
    LeaseInstances { limit, lease_for: store.lock(), wait: Duration::ZERO, capabilities: None, serving: None }
}

/// Asks for so many activities without tag and session.
pub(crate) fn jobs(store: &Subject<'_>, limit: usize) -> LeaseWork {
    LeaseWork {
        limit,
        lease_for: store.lock(),
        wait: Duration::ZERO,
        session: None,
        tags: TagFilter::default_only(), serving: None,
    }
}

/// One call for instances.
pub(crate) async fn lease_instances(store: &Subject<'_>, request: LeaseInstances) -> Vec<InstanceLease> {
    let limit = request.limit;
    let leases = store.lease_instances(request).await;
    let leases = leases.unwrap_or_else(|error| panic!("leasing instances failed: {error}"));
    assert!(leases.len() <= limit, "{limit} instances were asked for, and {} leased", leases.len());
    leases
}

/// Every instance that can be leased: a store that leases fewer than it is asked for is asked again.
pub(crate) async fn lease_all(store: &Subject<'_>) -> Vec<InstanceLease> {
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        let leases = lease_instances(store, instances(store, 10)).await;
        if leases.is_empty() {
            return all;
        }
        all.extend(leases);
    }
    panic!("there is no end of instances to lease, although each lease is held")
}

/// Leases the only instance that can be leased, if there is one.
pub(crate) async fn try_lease(store: &Subject<'_>) -> Option<InstanceLease> {
    lease_instances(store, instances(store, 1)).await.pop()
}

/// Leases this instance, the only one that can be leased.
pub(crate) async fn lease(store: &Subject<'_>, instance: &str) -> InstanceLease {
    let lease = try_lease(store).await;
    let lease = lease.unwrap_or_else(|| panic!("instance '{instance}' has mail, but nothing was leased"));
    assert_eq!(lease.instance, instance, "another instance was leased");
    lease
}

/// One call for activities.
pub(crate) async fn lease_jobs(store: &Subject<'_>, request: LeaseWork) -> Vec<WorkLease> {
    let limit = request.limit;
    let leases = store.lease_work(request).await;
    let leases = leases.unwrap_or_else(|error| panic!("leasing work failed: {error}"));
    assert!(leases.len() <= limit, "{limit} activities were asked for, and {} leased", leases.len());
    leases
}

/// Every activity that can be leased like this, in the order in which they are.
pub(crate) async fn lease_all_jobs(store: &Subject<'_>, request: LeaseWork) -> Vec<WorkLease> {
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        let leases = lease_jobs(store, request.clone()).await;
        if leases.is_empty() {
            return all;
        }
        all.extend(leases);
    }
    panic!("there is no end of work to lease, although each lease is held")
}

/// Leases the first activity without tag and session.
pub(crate) async fn lease_job(store: &Subject<'_>) -> WorkLease {
    let lease = lease_jobs(store, jobs(store, 1)).await.pop();
    lease.expect("there is work, but nothing was leased")
}

/// What a turn writes.
pub(crate) fn turn_of(ack: Ack) -> Turn {
    let Ack { instance: _, execution_id, events, worker_items, orchestrator_items, metadata, cancelled } =
        ack;
    Turn {
        execution_id,
        events,
        worker_items,
        retries: Vec::new(),
        orchestrator_items,
        timer_slack: Duration::ZERO,
        waiting: None,
        still_refused: None,
        metadata,
        cancelled_activities: cancelled,
        removed_timers: Vec::new(),
        prune: None,
        next: None,
    }
}

/// A turn under a lease that read all of its mail.
pub(crate) fn under(lease: &InstanceLease, ack: Ack) -> TurnCommit {
    TurnCommit {
        instance: ack.instance.clone(),
        authority: Authority::Lease { token: lease.token.clone() },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: turn_of(ack),
    }
}

/// A turn under a lease that read only these of its messages, by their place in the lease.
pub(crate) fn reading(lease: &InstanceLease, places: &[usize], ack: Ack) -> TurnCommit {
    let messages = || lease.messages.iter().enumerate();
    let read = messages().filter(|(place, _)| places.contains(place)).map(|(_, message)| message.id);
    let left = messages().filter(|(place, _)| !places.contains(place)).map(|(_, message)| &message.item);
    TurnCommit {
        consumed: Consumed::These(read.collect()),
        left: left.cloned().collect(),
        ..under(lease, ack)
    }
}

/// Commits one turn.
pub(crate) async fn try_commit(store: &Subject<'_>, commit: TurnCommit) -> Result<Committed, StoreError> {
    let mut answers = store.commit_turns(vec![commit]).await;
    assert_eq!(answers.len(), 1, "one turn has one answer");
    answers.remove(0)
}

/// Commits one turn, which must be accepted.
pub(crate) async fn commit(store: &Subject<'_>, commit: TurnCommit) -> Committed {
    let instance = commit.instance.clone();
    let answer = try_commit(store, commit).await;
    answer.unwrap_or_else(|error| panic!("the turn of '{instance}' could not be committed: {error}"))
}

/// Finishes one activity.
pub(crate) async fn try_finish(
    store: &Subject<'_>,
    token: &str,
    completion: Option<WorkItem>,
) -> Result<(), StoreError> {
    let mut answers = store.finish_work(vec![FinishedWork { token: token.to_owned(), completion }]).await;
    assert_eq!(answers.len(), 1, "one finished activity has one answer");
    answers.remove(0)
}

/// The refusal of a call for good, whatever the reason.
#[track_caller]
pub(crate) fn assert_rejected<T: Debug>(answer: &Result<T, StoreError>, what: &str) {
    match answer {
        Ok(done) => panic!("{what} must be refused, but was answered with {done:?}"),
        Err(error) => assert!(!error.is_retryable(), "{what} is refused for good, not for now: {error}"),
    }
}

/// The refusal of a call for this reason.
#[track_caller]
pub(crate) fn assert_rejected_as<T: Debug>(answer: &Result<T, StoreError>, rejection: Rejection, what: &str) {
    match answer {
        Ok(done) => panic!("{what} must be refused as {rejection:?}, but was answered with {done:?}"),
        Err(error) => {
            assert_eq!(error.rejection(), Some(rejection), "{what} is refused for another reason: {error}");
        }
    }
}

/// What the signals among these messages carry, in order.
pub(crate) fn signals(messages: &[Message]) -> Vec<&str> {
    let data = messages.iter().filter_map(|message| {
        if let WorkItem::ExternalRaised { data, .. } = &message.item { Some(data.as_str()) } else { None }
    });
    data.collect()
}

/// What these leases are of, in alphabetical order.
pub(crate) fn names(leases: &[InstanceLease]) -> Vec<&str> {
    let mut names: Vec<&str> = leases.iter().map(|lease| lease.instance.as_str()).collect();
    names.sort_unstable();
    names
}

/// The events that asked for these activities, in the order of the leases.
pub(crate) fn activities(leases: &[WorkLease]) -> Vec<u64> {
    let id = |lease: &WorkLease| {
        let WorkItem::ActivityExecute { id, .. } = lease.item else {
            panic!("this is no activity: {:?}", lease.item);
        };
        id
    };
    leases.iter().map(id).collect()
}

/// What a turn can change of an instance.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    history: Vec<Event>,
    custom_status: Option<(Option<String>, u64)>,
    values: BTreeMap<String, String>,
}

impl Written {
    pub(crate) async fn of(store: &Subject<'_>, instance: &str) -> Self {
        let custom_status =
            store.get_custom_status(instance, 0).await.expect("the custom status is readable");
        let values = store.get_kv_all_values(instance).await.expect("the values are readable");
        Self { history: store.history(instance).await, custom_status, values: values.into_iter().collect() }
    }
}

/// A turn that writes something everywhere, so that a refused one can be seen to have written nothing: events from
/// this one on, custom status, a value, an activity, and the start of instance `"written"`.
pub(crate) fn writing_everywhere(instance: &str, from: u64) -> Ack {
    let key_value =
        EventKind::KeyValueSet { key: "written".to_owned(), value: "yes".to_owned(), last_updated_at_ms: 7 };
    Ack::of(instance, 1)
        .event(from, EventKind::CustomStatusUpdated { status: Some("written".to_owned()) })
        .event(from + 1, key_value)
        .scheduling(activity(instance, from + 2))
        .mail(start("written"))
}

/// Such a turn was refused: the instance is as it was, and nobody has mail or work. What else there is must be
/// leased.
pub(crate) async fn assert_written_nowhere(store: &Subject<'_>, instance: &str, before: &Written) {
    let now = Written::of(store, instance).await;
    assert_eq!(&now, before, "a refused turn of '{instance}' was written, at least in part");
    store.assert_no_turn("a refused turn sends no mail and gives no lease back").await;
    store.assert_no_work("a refused turn schedules nothing").await;
}

/// Such a turn was committed, and nothing else is to be done.
pub(crate) async fn assert_written_everywhere(store: &Subject<'_>, instance: &str, from: u64) {
    let ids = store.event_ids(instance, 1).await;
    assert_eq!(ids, (1..=from + 2).collect::<Vec<u64>>(), "the turn's events follow the others");
    let now = Written::of(store, instance).await;
    assert_eq!(now.custom_status, Some((Some("written".to_owned()), 1)));
    assert_eq!(now.values.get("written").map(String::as_str), Some("yes"));
    assert_eq!(store.fetch_work().await.id(), from + 2, "the turn's activity is there");
    store.assert_no_work("the turn schedules one activity").await;
    store.fetch("written").await;
    store.assert_no_turn("the turn sends one message").await;
}
