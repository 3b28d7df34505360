//! Nodes: what they serve, what they lease, and what they refuse.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use abide_provider::{
    BlockInstance, BlockKind, Handlers, HoldWork, InstanceLease, LeaseInstances, LeaseWork, NodeAnnouncement,
    NodeOrchestration, PinRange, ServedTags, ServedVersions, Serving, StoreError, TagFilter, WorkLease,
};

use super::Subject;

/// How long mail of a blocked instance waits for the build that refused it: longer than a lease lasts.
pub(crate) fn retry_after(store: &Subject<'_>) -> Duration {
    4 * store.lock()
}

/// A node of this build that runs these orchestrations in version 1.0.0, and these activities. It takes a suspect.
pub(crate) fn node(build: &str, orchestrations: &[&str], activities: &[&str]) -> Serving {
    node_of_version(build, orchestrations, "1.0.0", activities)
}

pub(crate) fn node_of_version(
    build: &str,
    orchestrations: &[&str],
    version: &str,
    activities: &[&str],
) -> Serving {
    let version = semver::Version::parse(version).expect("a version");
    let served = ServedVersions { exact: BTreeSet::from([version]), resolves_unversioned: true };
    let orchestrations = orchestrations.iter().map(|name| ((*name).to_owned(), served.clone()));
    let handlers = Handlers {
        build: build.to_owned(),
        orchestrations: Some(orchestrations.collect::<BTreeMap<_, _>>()),
        activities: Some(activities.iter().map(|name| (*name).to_owned()).collect()),
        pins: None,
    };
    Serving { handlers: Arc::new(handlers), takes_suspect: true }
}

/// A node of this build that runs everything the tests start.
pub(crate) fn full_node(build: &str) -> Serving {
    node(build, &["Order", "Refund"], &["Charge", "Ship"])
}

/// The same node, which runs a suspect already.
pub(crate) fn without_suspects(serving: Serving) -> Serving {
    Serving { takes_suspect: false, ..serving }
}

/// Announces a node with these handlers.
pub(crate) async fn announce(store: &Subject<'_>, serving: &Serving) {
    let Handlers { build, orchestrations, activities, pins } = &*serving.handlers;
    let orchestration = |(name, served): (&String, &ServedVersions)| NodeOrchestration {
        name: name.clone(),
        versions: served.exact.iter().map(ToString::to_string).collect(),
        resolves_unversioned: served.resolves_unversioned,
    };
    let node = NodeAnnouncement {
        id: format!("node of {build}"),
        build: build.clone(),
        orchestrations: orchestrations.iter().flatten().map(orchestration).collect(),
        activities: activities.iter().flatten().cloned().collect(),
        orchestration_slots: 1,
        worker_slots: 1,
        pins: pins.iter().flat_map(|pins| &pins.supported_duroxide_versions).map(PinRange::of).collect(),
        tags: ServedTags::Any,
    };
    store.announce_node(node).await.unwrap_or_else(|error| panic!("a node cannot be announced: {error}"));
}

/// What a node leases in one call.
pub(crate) async fn lease_as(store: &Subject<'_>, serving: &Serving, limit: usize) -> Vec<InstanceLease> {
    let request = LeaseInstances {
        limit,
        lease_for: store.lock(),
        wait: Duration::ZERO,
        capabilities: None,
        serving: Some(serving.clone()),
    };
    let leases = store.lease_instances(request).await;
    leases.unwrap_or_else(|error| panic!("leasing instances failed: {error}"))
}

/// Leases this instance, the only one that the node can take.
pub(crate) async fn lease_one_as(store: &Subject<'_>, serving: &Serving, instance: &str) -> InstanceLease {
    let lease = lease_as(store, serving, 1).await.pop();
    let lease = lease.unwrap_or_else(|| panic!("the node serves '{instance}', but nothing was leased"));
    assert_eq!(lease.instance, instance, "another instance was leased");
    lease
}

/// The node can take no instance.
pub(crate) async fn assert_left(store: &Subject<'_>, serving: &Serving, why: &str) {
    let leases = lease_as(store, serving, 10).await;
    assert!(leases.is_empty(), "{why}, but this was leased: {leases:?}");
}

/// What a node leases of activities without a session, in one call.
pub(crate) async fn lease_work_as(store: &Subject<'_>, serving: &Serving, limit: usize) -> Vec<WorkLease> {
    let request = LeaseWork {
        limit,
        lease_for: store.lock(),
        wait: Duration::ZERO,
        session: None,
        tags: TagFilter::default_only(),
        serving: Some(serving.clone()),
    };
    let leases = store.lease_work(request).await;
    leases.unwrap_or_else(|error| panic!("leasing work failed: {error}"))
}

/// Blocks a leased instance, as a node does whose code does not fit its history.
pub(crate) fn block_of(store: &Subject<'_>, lease: &InstanceLease, build: &str) -> BlockInstance {
    BlockInstance {
        token: lease.token.clone(),
        kind: BlockKind::Nondeterminism,
        detail: "history has a timer, the code asks for an activity".to_owned(),
        build: build.to_owned(),
        event_id: Some(2),
        retry_after: Some(retry_after(store)),
    }
}

pub(crate) async fn block(store: &Subject<'_>, block: BlockInstance) {
    let blocked = store.block_instance(block).await;
    blocked.unwrap_or_else(|error| panic!("the instance could not be blocked: {error}"));
}

pub(crate) async fn try_hold(store: &Subject<'_>, token: &str, build: &str) -> Result<(), StoreError> {
    let (token, detail, build) = (token.to_owned(), "it aborts the process".to_owned(), build.to_owned());
    store.hold_work(HoldWork { token, detail, build }).await
}

pub(crate) async fn hold(store: &Subject<'_>, lease: &WorkLease, build: &str) {
    let held = try_hold(store, &lease.token, build).await;
    held.unwrap_or_else(|error| panic!("the activity could not be held: {error}"));
}
