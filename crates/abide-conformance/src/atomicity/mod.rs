//! A commit happens as a whole or not at all.

mod dropped;
mod observed;

use std::collections::BTreeMap;

use abide_model::EventKind;
pub use dropped::*;
pub(crate) use observed::Observed;

use crate::ProviderFactory;
use crate::instance_locking::{assert_powerless, commit, give_back, lease_all, lease_all_work};
use crate::suite::area;
use crate::support::{
    Ack, Job, Subject, activity, assert_refused, beside, identifier, signal, start, started,
};

area! {
    atomicity;
    test_atomicity_failure_rollback;
    test_multi_operation_atomic_ack;
    test_lock_released_only_on_successful_ack;
    test_concurrent_ack_prevention;
    test_refused_first_turn_creates_nothing;
    test_dropped_fetch_loses_nothing;
    test_dropped_work_fetch_loses_nothing;
    test_dropped_ack_is_all_or_nothing;
    test_dropped_work_ack_is_all_or_nothing;
    test_dropped_enqueue_is_all_or_nothing;
}

/// A commit that fails at its last event leaves nothing behind: no event, no value, no status, no work, no message; what
/// it cancelled is still there, its batch is still leased, and comes back.
pub async fn test_atomicity_failure_rollback<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("b").await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let (a, b) = (Observed::of(&store, "a").await, Observed::of(&store, "b").await);
    store.post(signal("a", "first")).await;
    store.post(signal("a", "second")).await;
    let turn = store.fetch("a").await;

    // Everything before it is right, so a store that writes as it goes has written it all by then.
    let refused = store.try_ack(&turn.token, everything().event(1, started())).await;
    assert_refused(&refused, "an event id that is taken");
    assert_eq!(Observed::of(&store, "a").await, a, "the refused commit left something of the instance");
    assert_eq!(Observed::of(&store, "b").await, b, "the refused commit left something of another instance");
    store.assert_no_turn("the refused commit sends no mail, and the lease is still held").await;
    let work: Vec<u64> = lease_all_work(&store).await.iter().map(Job::id).collect();
    assert_eq!(work, [2], "the refused commit takes no activity back and enqueues none");

    let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock()).await;
    renewed.expect("a refused commit does not end the lease");
    give_back(&store, &turn).await;
    let again = store.fetch("a").await;
    assert_eq!(again.item.messages, turn.item.messages, "the refused commit consumed mail");
    assert_eq!(
        again.item.orchestration_name, turn.item.orchestration_name,
        "the refused commit renamed the instance"
    );
    store.assert_no_turn("the refused commit started another instance").await;
}

/// A commit does all it says, at one go: events, name, status, custom status, values, work, cancellations, messages for
/// this instance and others, the batch and the lease.
pub async fn test_multi_operation_atomic_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("b").await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    store.post(signal("a", "consumed")).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, everything().completing(20)).await;

    assert_eq!(
        store.event_ids("a", 1).await,
        [1, 2, 10, 11, 12, 13, 20],
        "the commit appends all of its events"
    );
    let status = store.get_custom_status("a", 0).await.expect("a custom status can be read");
    assert_eq!(status, Some((Some("busy".to_owned()), 1)), "the commit sets the custom status");
    let value = store.get_kv_value("a", "key").await.expect("a value can be read");
    assert_eq!(value.as_deref(), Some("value"), "the commit sets the value");
    let work: Vec<u64> = lease_all_work(&store).await.iter().map(Job::id).collect();
    assert_eq!(work, [12, 13], "two activities are enqueued, and activity 2 is taken back");
    if let Some(admin) = store.as_management_capability() {
        let info = admin.get_instance_info("a").await.expect("the instance exists");
        assert_eq!(
            (info.status.as_str(), info.output.as_deref()),
            ("Completed", Some("done")),
            "the commit ends the execution"
        );
    }

    let turns = lease_all(&store).await;
    let mail: BTreeMap<&str, _> =
        turns.iter().map(|(name, turn)| (name.as_str(), turn.item.messages.clone())).collect();
    let expected = [
        ("a", vec![signal("a", "to itself")]),
        ("b", vec![signal("b", "to another")]),
        ("c", vec![start("c")]),
    ];
    assert_eq!(mail, BTreeMap::from(expected), "the batch is gone, the lease is free, the new mail is there");
    assert_eq!(turns["a"].item.orchestration_name, "Renamed", "the commit names the instance");
    assert_eq!(turns["a"].item.version, "9.9.9", "the commit sets the version");
}

/// Only a commit that is written ends the lease. One that is refused leaves it with its holder, who can commit again.
pub async fn test_lock_released_only_on_successful_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    store.post(signal("a", "waiting")).await;
    for (ack, why) in [
        (Ack::of("a", 1).signalled(1), "an event id that is taken"),
        (Ack::of("a", 1).signalled(0), "an event that was never numbered"),
        (Ack::of("a", 1).signalled(5).signalled(5), "an event id that is given twice"),
    ] {
        assert_refused(&store.try_ack(&turn.token, ack).await, why);
        store.assert_no_turn("a refused commit must not end the lease").await;
    }

    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "the holder can commit a turn that is right");
    assert_eq!(store.fetch("a").await.signals(), ["waiting"], "the commit ended the lease");
}

/// Of several commits under one lease, however close, one is written.
pub async fn test_concurrent_ack_prevention<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    // Their events do not collide: nothing but the lease keeps the second one out.
    let commits: Vec<_> = (1..=8)
        .map(|number| {
            let (provider, token) = (store.shared(), turn.token.clone());
            let ack = Ack::of("a", 1).signalled(number * 10).mail(signal("b", &number.to_string()));
            beside(async move { (number, commit(provider.as_ref(), &token, ack).await.is_ok()) })
        })
        .collect();
    let mut written = Vec::new();
    for commit in commits {
        let (number, is_written) = commit.await.expect("an ack answers, and does not panic");
        written.extend(is_written.then_some(number));
    }

    let [number] = written.as_slice() else {
        panic!("one commit of eight under the same lease must be written, not {written:?}");
    };
    assert_eq!(store.event_ids("a", 1).await, [1, number * 10], "a refused commit appended its events");
    assert_eq!(store.fetch("b").await.signals(), [number.to_string()], "a refused commit sent its message");
    assert_powerless(&store, &turn.token, "a", "the lease ended with the commit").await;
}

/// A first commit that fails creates no instance.
pub async fn test_refused_first_turn_creates_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let before = Observed::of(&store, "a").await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    let first = Ack::first("a").scheduling(activity("a", 2)).mail(start("c"));
    let refused = store.try_ack(&turn.token, first.clone().event(2, started())).await;
    assert_refused(&refused, "an event id that is given twice");
    assert_eq!(Observed::of(&store, "a").await, before, "the refused commit created something");
    store.assert_no_work("the refused commit enqueues nothing").await;
    store.assert_no_turn("the refused commit sends nothing").await;

    store.ack(&turn.token, first).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "after a refused commit the right one is written");
    assert_eq!(store.fetch_work().await.id(), 2, "after a refused commit the right one enqueues its work");
    assert_eq!(
        store.fetch("c").await.item.messages,
        [start("c")],
        "after a refused commit the right one sends its mail"
    );
}

/// A turn of "a" that does what a turn can do. Its instance has activity 2 queued.
fn everything() -> Ack {
    let status = EventKind::CustomStatusUpdated { status: Some("busy".to_owned()) };
    let value = EventKind::KeyValueSet {
        key: "key".to_owned(),
        value: "value".to_owned(),
        last_updated_at_ms: 1_700_000_000_000,
    };
    Ack::of("a", 1)
        .named("Renamed", "9.9.9")
        .event(10, status)
        .event(11, value)
        .scheduling(activity("a", 12))
        .scheduling(activity("a", 13))
        .cancelling(identifier("a", 2))
        .mail(signal("a", "to itself"))
        .mail(signal("b", "to another"))
        .mail(start("c"))
}
