//! Instances come to be with their first turn, and not before.

use abide_model::EventKind;

use crate::ProviderFactory;
use crate::instance_locking::give_back;
use crate::suite::area;
use crate::support::{
    Ack, ORCHESTRATION, Subject, VERSION, activity, cancel, event, queue_message, signal, start, start_child,
    start_of, started, timer,
};

area! {
    instance_creation;
    test_instance_creation_via_metadata;
    test_no_instance_creation_on_enqueue;
    test_null_version_handling;
    test_sub_orchestration_instance_creation;
    test_start_names_the_instance_before_its_first_turn;
    test_metadata_updates_name_and_version;
    test_second_start_is_mail;
    test_appended_history_is_an_instance;
    test_enqueued_start_is_not_listed: Administration;
    test_parent_link_is_kept: Administration;
}

/// The first commit creates the instance, with the name and version that its metadata gives.
pub async fn test_instance_creation_via_metadata<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start_of("a", "Order", Some("1.0.0"))).await;
    let turn = store.fetch("a").await;
    assert_unknown(&store, "a").await;
    store.ack(&turn.token, Ack::first("a").named("Invoice", "2.1.0")).await;

    let stats = store.get_instance_stats("a").await.expect("stats can be read");
    assert_eq!(stats.map(|stats| stats.history_event_count), Some(1), "the commit creates the instance");
    store.post(signal("a", "next")).await;
    let next = store.fetch("a").await;
    assert_eq!(next.item.orchestration_name, "Invoice", "the name comes from the metadata");
    assert_eq!(next.item.version, "2.1.0", "the version comes from the metadata");
    assert_eq!(next.item.execution_id, 1, "the first execution is number one");
    assert_eq!(next.item.history, store.history("a").await, "the lease carries the history");
    assert_eq!(next.item.history.len(), 1, "one event was committed");
}

/// No message and no activity creates an instance, and neither does a lease: only a commit does.
pub async fn test_no_instance_creation_on_enqueue<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("signalled", "early")).await;
    store.post(cancel("cancelled")).await;
    store.post(queue_message("queued", "early")).await;
    store.post(timer("timed", 2, store.now_ms())).await;
    store.post_work(activity("worked", 2)).await;
    store.post(start("started")).await;
    let names = ["signalled", "cancelled", "queued", "timed", "worked", "started"];
    for name in names {
        assert_unknown(&store, name).await;
    }

    let turn = store.fetch("started").await;
    assert_unknown(&store, "started").await;
    give_back(&store, &turn).await;
    for name in names {
        assert_unknown(&store, name).await;
    }
}

/// A start that leaves the version to the registry shows as version `"unknown"`, until the metadata tells.
pub async fn test_null_version_handling<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start_of("a", "Order", None)).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.orchestration_name, "Order", "the start tells the name");
    assert_eq!(turn.item.version, "unknown", "a start without a version has the version \"unknown\"");
    assert_eq!(turn.item.messages, [start_of("a", "Order", None)], "the message itself says nothing");
    store.ack(&turn.token, Ack::first("a").named("Order", "3.0.0")).await;

    store.post(signal("a", "next")).await;
    assert_eq!(store.fetch("a").await.item.version, "3.0.0", "the version was resolved by the first turn");
}

/// A child is an instance like any other: started by a message of its parent's commit, created by its own first one.
pub async fn test_sub_orchestration_instance_creation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let first = Ack::first("parent").event(2, child_scheduled()).mail(start_child("child", "parent", 2));
    store.begin(first).await;
    assert_unknown(&store, "child").await;
    let of_parent = store.history("parent").await;

    let turn = store.fetch("child").await;
    assert_eq!(turn.item.orchestration_name, "Child", "the start tells the child's name");
    assert_eq!(turn.item.version, VERSION, "the start tells the child's version");
    assert_eq!(turn.item.messages, [start_child("child", "parent", 2)], "the child's batch is its start");
    assert!(turn.item.history.is_empty(), "a child begins with a history of its own");
    store.ack(&turn.token, first_of_child("child", "parent")).await;

    assert_eq!(store.event_ids("child", 1).await, [1], "the child has its own history");
    assert_eq!(store.history("parent").await, of_parent, "the child's commit is none of the parent's");
    store.post(signal("child", "next")).await;
    assert_eq!(store.fetch("child").await.item.orchestration_name, "Child", "the child keeps its name");
    if let Some(admin) = store.as_management_capability() {
        let parent = admin.get_parent_id("child").await.expect("the child exists");
        assert_eq!(parent.as_deref(), Some("parent"), "the metadata names the parent");
        let children = admin.list_children("parent").await.expect("children can be listed");
        assert_eq!(children, ["child"], "the parent has one child");
    }
}

/// The lease that begins an instance has the name and version of the message that starts it, execution 1, and no past.
pub async fn test_start_names_the_instance_before_its_first_turn<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "early")).await;
    store.post(start_of("a", "Invoice", Some("4.5.6"))).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.orchestration_name, "Invoice", "the start tells the name");
    assert_eq!(turn.item.version, "4.5.6", "the start tells the version");
    assert_eq!(turn.item.execution_id, 1, "the first execution is number one");
    assert!(turn.item.history.is_empty(), "there is no history yet: {:?}", turn.item.history);
    assert_eq!(turn.item.history_error, None, "a history that is not there is not unreadable");
    assert!(turn.item.kv_snapshot.is_empty(), "there are no values yet");
    assert_eq!(
        turn.item.messages,
        [signal("a", "early"), start_of("a", "Invoice", Some("4.5.6"))],
        "mail that came before the start waited for it, and keeps its place"
    );
}

/// Name and version change when a commit's metadata says so, and stay when it does not.
pub async fn test_metadata_updates_name_and_version<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("other").await;
    store.create("a").await;
    store.step(Ack::of("a", 1).signalled(2)).await;
    store.post(signal("a", "look")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.orchestration_name, ORCHESTRATION, "metadata that says nothing changes nothing");
    assert_eq!(turn.item.version, VERSION, "metadata that says nothing changes nothing");

    store.ack(&turn.token, Ack::of("a", 1).named("Renamed", "7.0.0").signalled(3)).await;
    store.post(signal("a", "look")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.orchestration_name, "Renamed", "the commit told another name");
    assert_eq!(turn.item.version, "7.0.0", "the commit told another version");
    store.post(signal("other", "look")).await;
    let other = store.fetch("other").await;
    assert_eq!(other.item.orchestration_name, ORCHESTRATION, "another instance was renamed too");
}

/// A start for an instance that exists begins nothing: it is one more message, and the history stays.
pub async fn test_second_start_is_mail<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let before = store.history("a").await;
    store.post(start_of("a", "Impostor", Some("6.6.6"))).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.orchestration_name, ORCHESTRATION, "the first start decides the name");
    assert_eq!(turn.item.version, VERSION, "the first start decides the version");
    assert_eq!(turn.item.history, before, "the history is that of the instance that is there");
    assert_eq!(
        turn.item.messages,
        [start_of("a", "Impostor", Some("6.6.6"))],
        "the second start is a message like any other"
    );
    store.ack(&turn.token, Ack::of("a", 1)).await;
    assert_eq!(store.history("a").await, before, "the second start changes no history");
}

/// A history that was appended without a lease is an instance: its start event tells name and version.
pub async fn test_appended_history_is_an_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let past = vec![event("a", 1, 1, started()), event("a", 1, 2, child_scheduled())];
    store.append_with_execution("a", 1, past.clone()).await.expect("a past can be appended");
    assert_eq!(store.history("a").await, past, "what was appended can be read");
    store.assert_no_turn("an instance without mail has no turn").await;

    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.orchestration_name, ORCHESTRATION, "the start event tells the name");
    assert_eq!(turn.item.version, VERSION, "the start event tells the version");
    assert_eq!(turn.item.execution_id, 1, "the past is of the first execution");
    assert_eq!(turn.item.history, past, "a lease carries what was appended");
    store.ack(&turn.token, Ack::of("a", 1).signalled(3)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3], "a commit goes on where the past ended");
}

/// What is only enqueued is in no list, and cannot be looked at.
pub async fn test_enqueued_start_is_not_listed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    let listed = store.admin().list_instances().await.expect("instances can be listed");
    assert!(listed.is_empty(), "an instance without a commit is none: {listed:?}");
    let info = store.admin().get_instance_info("a").await;
    assert!(info.is_err(), "an instance without a commit has no information: {info:?}");

    store.ack(&turn.token, Ack::first("a")).await;
    let listed = store.admin().list_instances().await.expect("instances can be listed");
    assert_eq!(listed, ["a"], "the commit makes the instance known");
}

/// The parent that the first commit names stays, whatever later commits say.
pub async fn test_parent_link_is_kept<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    store.create("stranger").await;
    store.post(start_child("child", "parent", 2)).await;
    let turn = store.fetch("child").await;
    store.ack(&turn.token, first_of_child("child", "parent")).await;
    store.step(Ack::of("child", 1).signalled(2)).await;
    store.step(Ack::of("child", 1).child_of("stranger").signalled(3)).await;

    let parent = store.admin().get_parent_id("child").await.expect("the child exists");
    assert_eq!(parent.as_deref(), Some("parent"), "a parent link never changes");
    let children = store.admin().list_children("stranger").await.expect("children can be listed");
    assert!(children.is_empty(), "a stranger got the child: {children:?}");
}

/// Nothing that can be read knows this name.
async fn assert_unknown(store: &Subject<'_>, name: &str) {
    let stats = store.get_instance_stats(name).await.expect("stats can be read");
    assert_eq!(stats, None, "'{name}' has no commit, so it has no statistics");
    let history = store.history(name).await;
    assert!(history.is_empty(), "'{name}' has no commit, so it has no history: {history:?}");
    let custom = store.get_custom_status(name, 0).await.expect("a custom status can be read");
    assert_eq!(custom, None, "'{name}' has no commit, so it has no status");
    let values = store.get_kv_all_values(name).await.expect("values can be read");
    assert!(values.is_empty(), "'{name}' has no commit, so it has no values: {values:?}");
}

fn first_of_child(child: &str, parent: &str) -> Ack {
    let started = EventKind::OrchestrationStarted {
        name: "Child".to_owned(),
        version: VERSION.to_owned(),
        input: "{}".to_owned(),
        parent_instance: Some(parent.to_owned()),
        parent_id: Some(2),
        parent_execution_id: Some(1),
        carry_forward_events: None,
        initial_custom_status: None,
    };
    Ack::of(child, 1).named("Child", VERSION).child_of(parent).event(1, started)
}

fn child_scheduled() -> EventKind {
    EventKind::SubOrchestrationScheduled {
        name: "Child".to_owned(),
        instance: "child".to_owned(),
        input: "{}".to_owned(),
    }
}
