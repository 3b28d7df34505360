//! Leasing instances.

use std::collections::BTreeSet;
use std::time::Duration;

use abide_model::{EventKind, ExecutionStatus, WorkItem};
use abide_provider::{InstanceLease, LeaseInstances, Message, ParentLink};

use super::calls::{
    assert_rejected, commit, instances, jobs, lease, lease_all, lease_instances, lease_jobs, names, signals,
    try_commit, try_lease, under,
};
use crate::ProviderFactory;
use crate::support::{
    Ack, ORCHESTRATION, Subject, VERSION, activity, assert_refused, beside, signal, start, start_child,
    start_of, started, supporting,
};

/// Lease calls give every instance that has mail, each once, with a token of its own, and never more than were
/// asked for.
pub async fn test_lease_instances_gives_each_instance_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["a", "b", "c", "d", "e"] {
        store.post(start(instance)).await;
    }

    let mut leases = lease_instances(&store, instances(&store, 2)).await;
    assert!(!leases.is_empty(), "five instances have mail, but none was leased");
    leases.extend(lease_all(&store).await);

    assert_eq!(names(&leases), ["a", "b", "c", "d", "e"]);
    let tokens: BTreeSet<&str> = leases.iter().map(|lease| lease.token.as_str()).collect();
    assert_eq!(tokens.len(), 5, "every lease has a token of its own");
    for lease in &leases {
        assert_eq!(lease.attempt, 1);
        let items: Vec<&WorkItem> = lease.messages.iter().map(|message| &message.item).collect();
        assert_eq!(items, [&start(&lease.instance)], "a lease brings the mail of its instance, and no other");
    }
    store.assert_no_turn("every instance is leased").await;
}

/// Asking for no instance or no activity gives none, and takes none.
pub async fn test_lease_of_none_takes_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    store.post_work(activity("a", 2)).await;
    assert!(lease_instances(&store, instances(&store, 0)).await.is_empty());
    assert!(lease_jobs(&store, jobs(&store, 0)).await.is_empty());

    assert_eq!(lease(&store, "a").await.attempt, 1, "a call for nothing is no attempt");
    assert_eq!(store.fetch_work().await.attempt, 1, "a call for nothing is no attempt");
}

/// No instance to lease is an empty answer, not an error: in an empty store, where nobody has mail, and where all
/// are leased.
pub async fn test_lease_instances_gives_nothing_without_mail<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert!(lease_all(&store).await.is_empty(), "the store is empty");
    store.create("a").await;
    assert!(lease_all(&store).await.is_empty(), "the instance has no mail");
    store.post(signal("a", "one")).await;
    lease(&store, "a").await;
    store.post(signal("a", "two")).await;
    assert!(lease_all(&store).await.is_empty(), "the instance is leased, whatever mail it gets");
}

/// The lease on an instance that does not exist yet says what its start says: name, version (`"unknown"` if the
/// start leaves it open) and no execution.
pub async fn test_lease_describes_an_instance_that_does_not_exist_yet<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start_of("a", "Invoice", Some("2.1.0"))).await;
    let first = lease(&store, "a").await;
    assert_eq!(first.orchestration_name, "Invoice");
    assert_eq!(first.orchestration_version, "2.1.0");
    assert_eq!(first.position.execution_id, 0, "there is no execution yet");
    assert_eq!(first.position.last_event_id, 0, "there is no event yet");
    assert_eq!(first.status, None, "there is no execution yet");
    assert_eq!(first.parent, None);

    store.post(start_of("b", "Invoice", None)).await;
    assert_eq!(lease(&store, "b").await.orchestration_version, "unknown");
}

/// A lease says where its instance stands: current execution, last event, status, and the stored name and version.
pub async fn test_lease_tells_where_an_instance_stands<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").named("Invoice", "3.0.0").signalled(2)).await;
    store.post(signal("a", "one")).await;
    let running = lease(&store, "a").await;
    assert_stands(&running, 1, 2, ExecutionStatus::Running);
    assert_eq!(running.orchestration_name, "Invoice", "the name is the committed one");
    assert_eq!(running.orchestration_version, "3.0.0", "the version is the committed one");

    commit(&store, under(&running, Ack::of("a", 1).continuing(3))).await;
    let between = lease(&store, "a").await;
    assert_stands(&between, 1, 3, ExecutionStatus::ContinuedAsNew);

    commit(&store, under(&between, Ack::first_of("a", 2).signalled(2))).await;
    store.post(signal("a", "two")).await;
    let second = lease(&store, "a").await;
    assert_stands(&second, 2, 2, ExecutionStatus::Running);

    commit(&store, under(&second, Ack::of("a", 2).completing(3))).await;
    store.post(signal("a", "late")).await;
    assert_stands(&lease(&store, "a").await, 2, 3, ExecutionStatus::Completed);

    store.begin(Ack::first("b").failing(2)).await;
    store.post(signal("b", "late")).await;
    assert_stands(&lease(&store, "b").await, 1, 2, ExecutionStatus::Failed);
}

#[track_caller]
fn assert_stands(lease: &InstanceLease, execution_id: u64, last_event_id: u64, status: ExecutionStatus) {
    let position = (lease.position.execution_id, lease.position.last_event_id);
    assert_eq!(position, (execution_id, last_event_id), "execution and last event of '{}'", lease.instance);
    assert_eq!(lease.status, Some(status), "status of execution {execution_id} of '{}'", lease.instance);
}

/// A lease on a child names who waits for its result: instance, execution and event; before its first turn and
/// after it.
pub async fn test_lease_knows_who_waits_for_the_result<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let parent = ParentLink { instance: "parent".to_owned(), execution_id: Some(1), event_id: Some(3) };
    store.create("parent").await;
    store.post(start_child("child", "parent", 3)).await;
    let first = lease(&store, "child").await;
    assert_eq!(first.parent.as_ref(), Some(&parent), "as its start says");

    let first_turn =
        Ack::of("child", 1).named("Child", VERSION).child_of("parent").event(1, started_by(&parent));
    commit(&store, under(&first, first_turn)).await;
    store.post(signal("child", "next")).await;
    assert_eq!(lease(&store, "child").await.parent, Some(parent), "as its history says");

    store.post(signal("parent", "next")).await;
    assert_eq!(lease(&store, "parent").await.parent, None, "nobody waits for a root");
}

/// The start of a child.
pub(crate) fn started_by(parent: &ParentLink) -> EventKind {
    let EventKind::OrchestrationStarted { input, carry_forward_events, initial_custom_status, .. } =
        started()
    else {
        panic!("a start is a start");
    };
    EventKind::OrchestrationStarted {
        name: "Child".to_owned(),
        version: VERSION.to_owned(),
        input,
        parent_instance: Some(parent.instance.clone()),
        parent_id: parent.event_id,
        parent_execution_id: parent.execution_id,
        carry_forward_events,
        initial_custom_status,
    }
}

/// The mail of a lease begins with what starts an execution (a start, or a continue-as-new after one), whenever
/// that came; the rest is in the order of enqueueing. Where nothing is to be started, everything is.
pub async fn test_lease_begins_with_what_starts_an_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "early")).await;
    store.post(start("a")).await;
    store.post(signal("a", "late")).await;
    let first = lease(&store, "a").await;
    assert!(matches!(first.messages[0].item, WorkItem::StartOrchestration { .. }), "{first:?}");
    assert_eq!(signals(&first.messages), ["early", "late"]);
    assert_ids_ascend(&first.messages[1..]);
    assert_eq!(first.orchestration_name, ORCHESTRATION);

    store.post(signal("a", "while the turn ran")).await;
    commit(&store, under(&first, Ack::first("a").continuing(2))).await;
    let between = lease(&store, "a").await;
    assert!(matches!(between.messages[0].item, WorkItem::ContinueAsNew { .. }), "{between:?}");
    assert_eq!(signals(&between.messages), ["while the turn ran"]);

    commit(&store, under(&between, Ack::first_of("a", 2))).await;
    store.post(signal("a", "one")).await;
    store.post(start("a")).await;
    store.post(signal("a", "two")).await;
    let running = lease(&store, "a").await;
    assert_eq!(running.messages.len(), 3, "a repeated start is mail like any other");
    assert!(matches!(running.messages[1].item, WorkItem::StartOrchestration { .. }), "{running:?}");
    assert_eq!(signals(&running.messages), ["one", "two"]);
    assert_ids_ascend(&running.messages);
}

#[track_caller]
fn assert_ids_ascend(messages: &[Message]) {
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "ids follow the order of enqueueing: {ids:?}");
}

/// A lease call takes only what its caller can replay; what it passes over is neither leased nor counted.
pub async fn test_lease_instances_respects_the_capability_filter<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (instance, pin) in [("old", "1.2.0"), ("new", "2.0.0")] {
        store.begin(Ack::first(instance).pinned(pin)).await;
    }
    for instance in ["old", "new"] {
        store.post(signal(instance, "next")).await;
    }
    let only_two =
        LeaseInstances { capabilities: Some(supporting("2.0.0", "2.9.9")), ..instances(&store, 10) };
    let leases = lease_instances(&store, only_two.clone()).await;
    assert_eq!(names(&leases), ["new"]);
    assert!(lease_instances(&store, only_two).await.is_empty(), "nothing else can be replayed");

    let old = lease(&store, "old").await;
    assert_eq!(old.attempt, 1, "what was passed over has no attempt");
}

/// A fetched instance is not leased, a leased one is not fetched, and either token is good for either form of
/// commit.
pub async fn test_leases_and_fetches_of_instances_exclude_each_other<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let fetched = store.fetch("a").await;
    assert!(lease_all(&store).await.is_empty(), "the instance is fetched");
    store.post(start("b")).await;
    let leased = lease(&store, "b").await;
    store.assert_no_turn("both instances are taken").await;

    let lease_of_fetch = InstanceLease { token: fetched.token, ..leased.clone() };
    commit(&store, under(&lease_of_fetch, Ack::first("a"))).await;
    store.ack(&leased.token, Ack::first("b")).await;
    assert_eq!(store.event_ids("a", 1).await, [1]);
    assert_eq!(store.event_ids("b", 1).await, [1]);
    store.assert_no_turn("the mail of both was consumed").await;
}

/// A lease from a lease call lasts as long as it was asked for, is renewed and abandoned like a fetched one, counts
/// as an attempt if it runs out, and is void then.
pub async fn test_lease_of_an_instance_ends_like_a_fetch<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let first = lease(&store, "a").await;
    store.renew_orchestration_item_lock(&first.token, store.lock() * 3).await.expect("the lease is held");
    store.expire_leases().await;
    assert!(try_lease(&store).await.is_none(), "the lease was renewed");
    store.abandon_orchestration_item(&first.token, None, true).await.expect("the lease is held");

    let second = lease(&store, "a").await;
    assert_eq!(second.attempt, 1, "an abandoned lease that is ignored is no attempt");
    assert_ne!(second.token, first.token);
    store.expire_leases().await;
    let third = lease(&store, "a").await;
    assert_eq!(third.attempt, 2, "a lease that ran out is an attempt");
    assert_eq!(third.messages[0].attempt, 2, "of each of its messages");

    let renewed = store.renew_orchestration_item_lock(&second.token, store.lock()).await;
    assert_refused(&renewed, "renewing a lease that ran out");
    assert_rejected(
        &try_commit(&store, under(&second, Ack::first("a"))).await,
        "a commit under a void lease",
    );
    commit(&store, under(&third, Ack::first("a"))).await;
}

/// Enough for four dispatchers to take thirty instances, even one by one.
const CALLS: usize = 8;

/// Lease calls at the same time never lease the same instance.
pub async fn test_concurrent_lease_instances_share_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let expected: Vec<String> = (10..40).map(|number| format!("i{number}")).collect();
    for instance in &expected {
        store.post(start(instance)).await;
    }
    let dispatchers: Vec<_> = (0..4)
        .map(|_| {
            let provider = store.shared();
            let request = LeaseInstances { lease_for: Duration::from_secs(600), ..instances(&store, 3) };
            beside(async move {
                let mut leases = Vec::new();
                for _ in 0..CALLS {
                    leases.extend(provider.lease_instances(request.clone()).await.expect("leasing works"));
                }
                leases
            })
        })
        .collect();
    let mut leases = Vec::new();
    for dispatcher in dispatchers {
        leases.extend(dispatcher.await.expect("a dispatcher does not panic"));
    }
    leases.extend(lease_all(&store).await);
    assert_eq!(names(&leases), expected, "every instance is leased once");
    let tokens: BTreeSet<&str> = leases.iter().map(|lease| lease.token.as_str()).collect();
    assert_eq!(tokens.len(), expected.len(), "every lease has a token of its own");
}
