//! A node leases what it can run, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{
    Ability, Lane, LeaseWork, Rejection, RenewSessions, SUSPECT_AFTER, SessionFetchConfig, StoreError,
    TagFilter, WorkLease,
};

use crate::ProviderFactory;
use crate::batches::calls::{activities, assert_rejected_as, commit, names, under};
use crate::suite::area;
use crate::support::{
    Ack, Subject, activity, activity_with, assert_left, announce, cancel, full_node, lease_as,
    lease_one_as, lease_work_as, node, node_of_version, signal, start, start_of, supporting, without_suspects,
};

area! {
    serving;
    test_node_leases_only_orchestrations_it_has: Need::Ability(Ability::Serving);
    test_node_leases_only_versions_it_has: Need::Ability(Ability::Serving);
    test_start_without_a_version_goes_to_who_resolves_it: Need::Ability(Ability::Serving);
    test_successor_goes_to_nodes_that_have_its_version: Need::Ability(Ability::Serving);
    test_mail_of_an_ended_instance_goes_to_any_node: Need::Ability(Ability::Serving);
    test_node_finds_what_it_has_behind_what_it_has_not: Need::Ability(Ability::Serving);
    test_unserved_instance_counts_no_attempt: Need::Ability(Ability::Serving);
    test_cancel_goes_to_any_node_if_none_has_the_code: Need::Ability(Ability::Serving);
    test_cancel_goes_to_a_node_that_has_the_code: Need::Ability(Ability::Nodes);
    test_cancel_goes_to_any_node_if_none_replays_the_pin: Need::Ability(Ability::Nodes);
    test_one_call_is_granted_one_suspect: Need::Ability(Ability::Serving);
    test_suspect_is_left_by_a_call_that_takes_none: Need::Ability(Ability::Serving);
    test_lease_given_back_makes_no_suspect: Need::Ability(Ability::Serving);
    test_suspect_counts_once_its_code_runs: Need::Ability(Ability::Serving);
    test_suspect_activity_counts_once_its_code_runs: Need::Ability(Ability::Serving);
    test_suspect_begins_under_a_valid_lease: Need::Ability(Ability::Serving);
    test_call_without_serving_takes_everything: Need::Ability(Ability::Serving);
    test_node_leases_only_activities_it_has: Need::Ability(Ability::Serving);
    test_name_and_tag_of_an_activity_both_decide: Need::Ability(Ability::Serving);
    test_unserved_activity_of_a_session_is_left: Need::Ability(Ability::Serving);
    test_session_with_unserved_work_is_not_renewed: Need::Ability(Ability::Serving);
    test_session_with_work_under_way_is_renewed: Need::Ability(Ability::Serving);
    test_one_call_is_granted_one_suspect_activity: Need::Ability(Ability::Serving);
}

/// Of several services on one store, each leases its own orchestrations: starts, and instances that run.
pub async fn test_node_leases_only_orchestrations_it_has<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("running").await;
    store.post(signal("running", "go")).await;
    store.post(start_of("refund", "Refund", Some("1.0.0"))).await;
    store.post(start("order")).await;
    let (orders, refunds) = (node("b", &["Order"], &[]), node("b", &["Refund"], &[]));
    assert_left(&store, &node("b", &[], &[]), "the node has no orchestration").await;
    assert_eq!(names(&lease_as(&store, &refunds, 5).await), ["refund"]);
    assert_eq!(names(&lease_as(&store, &orders, 5).await), ["order", "running"]);
}

/// The version decides too, of starts and of instances that run.
pub async fn test_node_leases_only_versions_it_has<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("running").await;
    store.post(signal("running", "go")).await;
    store.post(start_of("new", "Order", Some("2.0.0"))).await;
    let (old, new) = (node("b", &["Order"], &[]), node_of_version("b", &["Order"], "2.0.0", &[]));
    assert_eq!(names(&lease_as(&store, &new, 5).await), ["new"]);
    assert_eq!(names(&lease_as(&store, &old, 5).await), ["running"]);
}

/// A start without a version goes to a node that has the name and resolves it. From then on its version is fixed.
pub async fn test_start_without_a_version_goes_to_who_resolves_it<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start_of("a", "Order", None)).await;
    assert_left(&store, &node("b", &["Refund"], &[]), "the node does not have the name").await;
    let lease = lease_one_as(&store, &node("b", &["Order"], &[]), "a").await;
    commit(&store, under(&lease, Ack::first("a"))).await;
    store.post(signal("a", "go")).await;
    let other = node_of_version("b", &["Order"], "2.0.0", &[]);
    assert_left(&store, &other, "its first turn fixed version 1.0.0").await;
    lease_one_as(&store, &node("b", &["Order"], &[]), "a").await;
}

/// Between two executions, what the next one runs is decided by the message that starts it.
pub async fn test_successor_goes_to_nodes_that_have_its_version<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut first = Ack::first("a").continuing(2);
    for item in &mut first.orchestrator_items {
        if let WorkItem::ContinueAsNew { version, .. } = item {
            *version = Some("2.0.0".to_owned());
        }
    }
    store.begin(first).await;
    assert_left(&store, &node("b", &["Order"], &[]), "the next execution is of version 2.0.0").await;
    lease_one_as(&store, &node_of_version("b", &["Order"], "2.0.0", &[]), "a").await;
}

/// Mail of an instance that has ended needs no code.
pub async fn test_mail_of_an_ended_instance_goes_to_any_node<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").completing(2)).await;
    store.post(signal("a", "too late")).await;
    lease_one_as(&store, &node("b", &[], &[]), "a").await;
}

/// However much waits that a node cannot run, what it can run is found.
pub async fn test_node_finds_what_it_has_behind_what_it_has_not<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for number in 0..60 {
        store.post(start_of(&format!("one {number}"), "Refund", Some("1.0.0"))).await;
        store.post(start_of(&format!("many {number}"), &format!("Other{number}"), Some("1.0.0"))).await;
        store.post_work(named_activity(number + 1, "Ship")).await;
        store.post_work(named_activity(number + 1, &format!("Other{number}"))).await;
    }
    store.post(start("a")).await;
    store.post_work(named_activity(99, "Charge")).await;
    let orders = node("b", &["Order"], &["Charge"]);
    lease_one_as(&store, &orders, "a").await;
    assert_eq!(activities(&lease_work_as(&store, &orders, 5).await), [99]);
    assert_left(&store, &orders, "the rest is of others").await;
}

/// What a node cannot run is not leased, and that is no attempt.
pub async fn test_unserved_instance_counts_no_attempt<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    store.post_work(activity("a", 2)).await;
    for _ in 0..5 {
        assert_left(&store, &node("b", &["Refund"], &[]), "the node does not have it").await;
        assert!(lease_work_as(&store, &node("b", &[], &["Ship"]), 5).await.is_empty());
    }
    assert_eq!(lease_one_as(&store, &full_node("b"), "a").await.attempt, 1);
    assert_eq!(lease_work_as(&store, &full_node("b"), 5).await[0].attempt, 1);
}

/// Where no live node has the code, any node takes an instance that is to be canceled, to end it without code.
pub async fn test_cancel_goes_to_any_node_if_none_has_the_code<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let stranger = node("b", &["Refund"], &[]);
    store.create("a").await;
    store.post(signal("a", "go")).await;
    assert_left(&store, &stranger, "it is not to be canceled").await;
    store.post(cancel("a")).await;
    let lease = lease_one_as(&store, &stranger, "a").await;
    commit(&store, under(&lease, Ack::of("a", 1))).await;
    store.post(signal("a", "go on")).await;
    assert_left(&store, &stranger, "its cancel was consumed").await;
}

/// An execution that no live node can replay is canceled like one without code.
pub async fn test_cancel_goes_to_any_node_if_none_replays_the_pin<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").pinned("3.0.0")).await;
    store.post(cancel("a")).await;
    let owner_of = |build: &str, newest: &str| {
        let mut serving = node(build, &["Order"], &[]);
        Arc::make_mut(&mut serving.handlers).pins = Some(supporting("1.0.0", newest));
        serving
    };
    let (old, new) = (owner_of("old", "2.0.0"), owner_of("new", "3.0.0"));
    announce(&store, &old).await;
    announce(&store, &new).await;
    assert_left(&store, &old, "another live node can replay it").await;
    store.forget_node("node of new").await.expect("the node is known");
    lease_one_as(&store, &old, "a").await;
}

/// Code that compensates is waited for: a node without it leaves a cancel to one that has it.
pub async fn test_cancel_goes_to_a_node_that_has_the_code<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(cancel("a")).await;
    let owner = node("b", &["Order"], &[]);
    announce(&store, &owner).await;
    let stranger = node("c", &["Refund"], &[]);
    announce(&store, &stranger).await;
    assert_left(&store, &stranger, "another live node has the code").await;
    lease_one_as(&store, &owner, "a").await;
}

/// Leases these instances, and lets the leases run out, so often that they are suspects.
async fn crash_with(store: &Subject<'_>, instances: &[&str]) {
    for _ in 0..SUSPECT_AFTER {
        let everything = full_node("b");
        let mut taken = Vec::new();
        for _ in 0..instances.len() {
            taken.extend(lease_as(store, &everything, 5).await);
        }
        assert_eq!(names(&taken), instances, "each is leased, and its node crashes");
        store.expire_leases().await;
    }
}

/// From its third crash on, an instance is a suspect, and a call is granted one at most. Others come along.
pub async fn test_one_call_is_granted_one_suspect<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["a", "b"] {
        store.post(start(instance)).await;
    }
    crash_with(&store, &["a", "b"]).await;
    store.post(start("c")).await;
    let leases = lease_as(&store, &full_node("b"), 5).await;
    assert_eq!(names(&leases), ["a", "c"], "one suspect, and what is none");
    assert_eq!(leases[0].attempt, SUSPECT_AFTER + 1, "crashes were counted");
    lease_one_as(&store, &full_node("b"), "b").await;
}

/// A node that runs a suspect asks for no other.
pub async fn test_suspect_is_left_by_a_call_that_takes_none<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    crash_with(&store, &["a"]).await;
    assert_left(&store, &without_suspects(full_node("b")), "it is a suspect").await;
    let lease = lease_one_as(&store, &full_node("b"), "a").await;
    commit(&store, under(&lease, Ack::first("a"))).await;
    store.post(signal("a", "go")).await;
    lease_one_as(&store, &without_suspects(full_node("b")), "a").await;
}

/// A lease that is given back is no crash, however often.
pub async fn test_lease_given_back_makes_no_suspect<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    store.post_work(activity("a", 2)).await;
    for _ in 0..2 * SUSPECT_AFTER {
        let lease = lease_one_as(&store, &without_suspects(full_node("b")), "a").await;
        let given = store.abandon_orchestration_item(&lease.token, None, true).await;
        given.expect("the lease is held");
        let work = lease_work_as(&store, &without_suspects(full_node("b")), 1).await;
        store.abandon_work_item(&work[0].token, None, true).await.expect("the lease is held");
    }
}

/// A call that says nothing of its node takes every instance and every activity.
pub async fn test_call_without_serving_takes_everything<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start_of("a", "Whatever", Some("7.7.7"))).await;
    store.post_work(named_activity(2, "Whatever")).await;
    crash_with_everything(&store).await;
    store.fetch("a").await;
    assert_eq!(store.fetch_work().await.id(), 2);
}

/// Leases what there is, and lets the leases run out.
async fn crash_with_everything(store: &Subject<'_>) {
    for _ in 0..SUSPECT_AFTER {
        store.fetch("a").await;
        store.fetch_work().await;
        store.expire_leases().await;
    }
}

fn named_activity(id: u64, name: &str) -> WorkItem {
    let mut item = activity("a", id);
    if let WorkItem::ActivityExecute { name: named, .. } = &mut item {
        name.clone_into(named);
    }
    item
}

/// Of several services on one store, each leases its own activities, in order.
pub async fn test_node_leases_only_activities_it_has<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (id, name) in [(1, "Charge"), (2, "Ship"), (3, "Pack"), (4, "Charge"), (5, "Ship")] {
        store.post_work(named_activity(id, name)).await;
    }
    assert!(lease_work_as(&store, &node("b", &[], &[]), 5).await.is_empty(), "the node has no activity");
    let both = node("b", &[], &["Ship", "Charge"]);
    assert_eq!(activities(&lease_work_as(&store, &both, 3).await), [1, 2, 4]);
    assert_eq!(activities(&lease_work_as(&store, &both, 3).await), [5]);
    assert_eq!(activities(&lease_work_as(&store, &node("b", &[], &["Pack"]), 3).await), [3]);
}

/// An activity is leased by a node that has it and serves its tag.
pub async fn test_name_and_tag_of_an_activity_both_decide<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity_with("a", 2, None, Some("gpu"))).await;
    let request = |name: &str, tags: TagFilter| LeaseWork {
        limit: 5,
        lease_for: store.lock(),
        wait: Duration::ZERO,
        session: None,
        tags,
        serving: Some(node("b", &[], &[name])),
    };
    for (name, tags) in [("Ship", TagFilter::tags(["gpu"])), ("Charge", TagFilter::default_only())] {
        let leases = store.lease_work(request(name, tags)).await.expect("finding nothing is no error");
        assert!(leases.is_empty(), "name and tag must both fit: {leases:?}");
    }
    let leases = store.lease_work(request("Charge", TagFilter::tags(["gpu"]))).await.expect("it fits");
    assert_eq!(activities(&leases), [2]);
}

/// An activity of a session that a node does not have is left, with its session.
pub async fn test_unserved_activity_of_a_session_is_left<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity_with("a", 2, Some("s"), None)).await;
    let leases = lease_of_sessions(&store, "stranger", "Ship").await;
    assert!(leases.is_empty(), "the node does not have it: {leases:?}");
    let leases = lease_of_sessions(&store, "owner", "Charge").await;
    assert_eq!(activities(&leases), [2], "the session is nobody's");
}

/// Leases work, that of sessions included, for a node that has one activity.
async fn lease_of_sessions(store: &Subject<'_>, owner: &str, name: &str) -> Vec<WorkLease> {
    let request = LeaseWork {
        limit: 5,
        lease_for: store.lock(),
        wait: Duration::ZERO,
        session: Some(SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout: store.lock() }),
        tags: TagFilter::default_only(),
        serving: Some(node("b", &[], &[name])),
    };
    store.lease_work(request).await.expect("finding nothing is no error")
}

/// Renews the sessions of a node that has one activity; returns how many.
async fn renew_sessions_as(store: &Subject<'_>, owner: &str, name: &str, tags: TagFilter) -> usize {
    let request = RenewSessions {
        owner: owner.to_owned(),
        extend_for: store.lock() * 4,
        idle_timeout: Duration::from_secs(3600),
        tags,
        serving: Some(node("b", &[], &[name])),
    };
    store.renew_sessions(request).await.expect("renewing is no error")
}

fn activity_in_session(id: u64, name: &str, session: &str) -> WorkItem {
    let mut item = activity_with("a", id, Some(session), None);
    if let WorkItem::ActivityExecute { name: named, .. } = &mut item {
        name.clone_into(named);
    }
    item
}

/// A session whose waiting activities its owner cannot run is not renewed, so that another node gets it. While one of
/// them is the owner's own, or none waits, it is renewed.
pub async fn test_session_with_unserved_work_is_not_renewed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let default = TagFilter::default_only();
    store.post_work(activity_in_session(2, "Charge", "s")).await;
    let charge = lease_of_sessions(&store, "owner", "Charge").await.remove(0);
    store.ack_work_item(&charge.token, None).await.expect("the lease is held");
    assert_eq!(renew_sessions_as(&store, "owner", "Charge", default.clone()).await, 1, "nothing waits");

    store.post_work(activity_in_session(3, "Charge", "s")).await;
    store.post_work(activity_in_session(4, "Ship", "s")).await;
    assert_eq!(renew_sessions_as(&store, "owner", "Charge", default.clone()).await, 1, "it can run one");
    assert_eq!(renew_sessions_as(&store, "owner", "Pack", default.clone()).await, 0, "it can run none");
    let other_tags = TagFilter::tags(["gpu"]);
    assert_eq!(renew_sessions_as(&store, "owner", "Charge", other_tags).await, 0, "the tag decides, too");

    let charge = lease_of_sessions(&store, "owner", "Charge").await.remove(0);
    store.ack_work_item(&charge.token, None).await.expect("the lease is held");
    assert_eq!(renew_sessions_as(&store, "owner", "Charge", default).await, 0, "only the other's is left");
    store.pass(store.lock() * 5).await;
    assert_eq!(activities(&lease_of_sessions(&store, "other", "Ship").await), [4], "the lock ran out");
}

/// While an activity of a session is leased, the owner keeps the session, whatever else waits.
pub async fn test_session_with_work_under_way_is_renewed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let default = TagFilter::default_only();
    store.post_work(activity_in_session(2, "Charge", "s")).await;
    store.post_work(activity_in_session(3, "Ship", "s")).await;
    let charge = lease_of_sessions(&store, "owner", "Charge").await;
    assert_eq!(activities(&charge), [2]);
    assert_eq!(renew_sessions_as(&store, "owner", "Charge", default.clone()).await, 1, "it is under way");
    store.expire_leases().await;
    assert_eq!(renew_sessions_as(&store, "owner", "Pack", default).await, 0, "the lease ran out");
}

/// From its third crash on, an activity is a suspect, and a call is granted one at most.
pub async fn test_one_call_is_granted_one_suspect_activity<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in [2, 3] {
        store.post_work(activity("a", id)).await;
    }
    for _ in 0..SUSPECT_AFTER {
        assert_eq!(activities(&lease_work_as(&store, &full_node("b"), 5).await), [2, 3]);
        store.expire_leases().await;
    }
    store.post_work(activity("a", 4)).await;
    let busy = without_suspects(full_node("b"));
    let leases = lease_work_as(&store, &busy, 1).await;
    assert_eq!(activities(&leases), [4], "the node runs a suspect already");
    store.abandon_work_item(&leases[0].token, None, true).await.expect("the lease is held");
    assert_eq!(activities(&lease_work_as(&store, &full_node("b"), 5).await), [2, 4]);
    assert_eq!(activities(&lease_work_as(&store, &full_node("b"), 5).await), [3]);
}

/// How often a suspect is lost whose code did not run: more often than anything may crash.
const LOST: u32 = 20;

/// A lease on a suspect that ran out counts as a crash only if its code was about to run.
pub async fn test_suspect_counts_once_its_code_runs<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    crash_with(&store, &["a"]).await;
    for round in 0..LOST {
        let lease = lease_one_as(&store, &full_node("b"), "a").await;
        assert_eq!(lease.attempt, SUSPECT_AFTER + 1, "no code has run in {round} leases");
        if round % 2 == 0 {
            store.expire_leases().await;
        } else {
            let given = store.abandon_orchestration_item(&lease.token, None, true).await;
            given.expect("the lease is held");
        }
    }
    let lease = lease_one_as(&store, &full_node("b"), "a").await;
    for _ in 0..2 {
        begin(&store, Lane::Instances, &lease.token).await.expect("the lease is held");
    }
    store.expire_leases().await;
    let lease = lease_one_as(&store, &full_node("b"), "a").await;
    assert_eq!(lease.attempt, SUSPECT_AFTER + 2, "its code ran once");
    begin(&store, Lane::Instances, &lease.token).await.expect("the lease is held");
    store.abandon_orchestration_item(&lease.token, None, true).await.expect("the lease is held");
    let lease = lease_one_as(&store, &full_node("b"), "a").await;
    assert_eq!(lease.attempt, SUSPECT_AFTER + 2, "a lease that was given back is no crash");
    store.abandon_orchestration_item(&lease.token, None, false).await.expect("the lease is held");
    assert_eq!(store.fetch("a").await.attempt, SUSPECT_AFTER + 3, "it was given back as an attempt");
    store.expire_leases().await;
    assert_eq!(store.fetch("a").await.attempt, SUSPECT_AFTER + 4, "this call does not say what it serves");
}

/// The same for an activity.
pub async fn test_suspect_activity_counts_once_its_code_runs<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    for _ in 0..SUSPECT_AFTER {
        assert_eq!(activities(&lease_work_as(&store, &full_node("b"), 1).await), [2]);
        store.expire_leases().await;
    }
    for round in 0..LOST {
        let lease = lease_suspect_work(&store, SUSPECT_AFTER + 1).await;
        if round % 2 == 0 {
            store.expire_leases().await;
        } else {
            store.abandon_work_item(&lease.token, None, true).await.expect("the lease is held");
        }
    }
    let lease = lease_suspect_work(&store, SUSPECT_AFTER + 1).await;
    for _ in 0..2 {
        begin(&store, Lane::Work, &lease.token).await.expect("the lease is held");
    }
    store.expire_leases().await;
    let lease = lease_suspect_work(&store, SUSPECT_AFTER + 2).await;
    begin(&store, Lane::Work, &lease.token).await.expect("the lease is held");
    store.abandon_work_item(&lease.token, None, true).await.expect("the lease is held");
    let lease = lease_suspect_work(&store, SUSPECT_AFTER + 2).await;
    store.abandon_work_item(&lease.token, None, false).await.expect("the lease is held");
    assert_eq!(store.fetch_work().await.attempt, SUSPECT_AFTER + 3, "it was given back as an attempt");
    store.expire_leases().await;
    assert_eq!(store.fetch_work().await.attempt, SUSPECT_AFTER + 4, "this call does not say what it serves");
}

/// Leases the one activity, whose lease is this attempt.
async fn lease_suspect_work(store: &Subject<'_>, attempt: u32) -> WorkLease {
    let lease = lease_work_as(store, &full_node("b"), 1).await.pop().expect("the activity is ready");
    assert_eq!(lease.attempt, attempt, "only leases under which code ran count");
    lease
}

async fn begin(store: &Subject<'_>, lane: Lane, token: &str) -> Result<(), StoreError> {
    store.begin_suspect(lane, token).await
}

/// Code must not run under a lease that ran out, or that there never was.
pub async fn test_suspect_begins_under_a_valid_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    crash_with(&store, &["a"]).await;
    let lease = lease_one_as(&store, &full_node("b"), "a").await;
    store.post_work(activity("a", 2)).await;
    let work = lease_work_as(&store, &full_node("b"), 1).await;
    begin(&store, Lane::Work, &work[0].token).await.expect("a lease on what is no suspect counts already");
    store.expire_leases().await;
    for (lane, token) in [
        (Lane::Instances, lease.token.as_str()),
        (Lane::Work, &work[0].token),
        (Lane::Instances, "unknown"),
        (Lane::Work, "unknown"),
    ] {
        let lost = begin(&store, lane, token).await;
        assert_rejected_as(&lost, Rejection::LeaseLost, "code of a suspect without a lease");
    }
    let lease = lease_one_as(&store, &full_node("b"), "a").await;
    assert_eq!(lease.attempt, SUSPECT_AFTER + 1, "its code never ran");
}
