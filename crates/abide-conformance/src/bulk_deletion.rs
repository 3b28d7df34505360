//! Many finished instances are deleted by a filter.

use abide_provider::{DEFAULT_BULK, DeleteInstanceResult, InstanceFilter};
use futures_util::future::join_all;

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{
    assert_gone, completed_child, completed_root, ended_at, eternal_root, existing, failed_root, moment,
    numbers, only, owned, root_between_executions, run_next, running_child,
};
use crate::instance_locking::lease_all;
use crate::suite::area;
use crate::support::{Ack, Subject, activity, signal, start};

area! {
    bulk_deletion;
    test_delete_instance_bulk_filter_combinations: Administration;
    test_delete_instance_bulk_safety_and_limits: Administration;
    test_delete_instance_bulk_completed_before_filter: Administration;
    test_delete_instance_bulk_cascades_to_children: Administration;
    test_delete_instance_bulk_spares_what_goes_on: Administration;
    test_delete_instance_bulk_limit_makes_progress: Administration;
    test_delete_instance_bulk_default_limit: Administration;
    test_delete_instance_bulk_takes_mail_and_work: Administration;
}

/// All that is set must hold: names, a time, a number. An empty list of names is nobody.
pub async fn test_delete_instance_bulk_filter_combinations<F: ProviderFactory>(factory: &F) {
    let cases: [Case<'_>; 12] = [
        (None, Ended::Ever, None, 4),
        (None, Ended::Early, None, 2),
        (None, Ended::Ever, Some(3), 3),
        (None, Ended::Early, Some(1), 1),
        (None, Ended::Early, Some(3), 2),
        (Some(&[]), Ended::Ever, None, 0),
        (Some(&[]), Ended::Early, Some(3), 0),
        (Some(&["a", "late b", "unknown"]), Ended::Ever, None, 2),
        (Some(&["a", "late b", "a"]), Ended::Early, None, 1),
        (Some(&["a", "late b", "b"]), Ended::Ever, Some(2), 2),
        (Some(&["late a", "late b"]), Ended::Early, Some(1), 0),
        (Some(&["unknown"]), Ended::Ever, None, 0),
    ];
    for (ids, ended, limit, expected) in cases {
        let store = Subject::new(factory).await;
        completed_root(&store, "a").await;
        failed_root(&store, "b").await;
        moment(&store).await;
        completed_root(&store, "late a").await;
        failed_root(&store, "late b").await;
        let completed_before = match ended {
            Ended::Ever => None,
            Ended::Early => Some(ended_at(&store, "late a", 1).await),
        };
        let filter = InstanceFilter { instance_ids: ids.map(owned), completed_before, limit };
        let deleted = delete(&store, filter.clone()).await;
        assert_eq!(numbers(&deleted), [expected, expected, 2 * expected, 0], "{filter:?}");
        let left = existing(&store).await;
        assert_eq!(left.len(), usize::try_from(4 - expected).expect("four at most"), "{filter:?}: {left:?}");
        for id in ["a", "b", "late a", "late b"] {
            let is_meant = ids.is_none_or(|ids| ids.contains(&id));
            let is_in_time = completed_before.is_none() || !id.starts_with("late");
            let is_left = left.contains(&id.to_owned());
            assert!(is_left || is_meant && is_in_time, "{filter:?} does not mean '{id}', which is gone");
        }
    }
}

/// Names, time, limit, and how many of the four are deleted.
type Case<'a> = (Option<&'a [&'a str]>, Ended, Option<u32>, u64);

/// When the instances that a filter means have ended.
#[derive(Debug, Clone, Copy)]
enum Ended {
    Ever,
    Early,
}

/// What runs, children, and names of nobody are passed over without a word, named or not; a limit is kept.
pub async fn test_delete_instance_bulk_safety_and_limits<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("running").await;
    completed_child(&store, "child", "running").await;
    eternal_root(&store, "eternal", 3).await;
    completed_root(&store, "a").await;
    completed_root(&store, "b").await;
    completed_root(&store, "c").await;
    let untouched = ["running", "child", "eternal"];
    let mut before = Vec::new();
    for id in untouched {
        before.push(Observed::of(&store, id).await);
    }

    let deleted = delete(&store, only(&["running", "child", "eternal", "unknown", ""])).await;
    assert_eq!(numbers(&deleted), [0; 4], "none of them may be deleted");
    let none = InstanceFilter { limit: Some(0), ..InstanceFilter::default() };
    assert_eq!(numbers(&delete(&store, none).await), [0; 4], "at most none");
    let two = InstanceFilter { limit: Some(2), ..InstanceFilter::default() };
    assert_eq!(delete(&store, two.clone()).await.instances_deleted, 2);
    assert_eq!(existing(&store).await.len(), 4);
    assert_eq!(delete(&store, two.clone()).await.instances_deleted, 1);
    assert_eq!(numbers(&delete(&store, two).await), [0; 4], "there is nothing left to delete");
    assert_eq!(existing(&store).await, ["child", "eternal", "running"]);
    for (id, before) in untouched.iter().zip(before) {
        assert_eq!(Observed::of(&store, id).await, before, "'{id}' was touched");
    }
}

/// The time is that of the end, strictly: what ended at that moment stays. When it was created or continued does not count.
pub async fn test_delete_instance_bulk_completed_before_filter<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("old, ended late").await;
    eternal_root(&store, "eternal", 2).await;
    completed_root(&store, "a").await;
    moment(&store).await;
    completed_root(&store, "b").await;
    moment(&store).await;
    store.step(Ack::of("old, ended late", 1).completing(2)).await;
    let (a, b) = (ended_at(&store, "a", 1).await, ended_at(&store, "b", 1).await);
    let late = ended_at(&store, "old, ended late", 1).await;
    let before = |time| InstanceFilter { completed_before: Some(time), ..InstanceFilter::default() };

    for time in [0, a] {
        assert_eq!(delete(&store, before(time)).await.instances_deleted, 0, "nothing ended before {time}");
    }
    assert_eq!(delete(&store, before(a + 1)).await.instances_deleted, 1);
    assert_gone(&store, "a").await;
    assert_eq!(delete(&store, before(b)).await.instances_deleted, 0, "the time is strict");
    assert_eq!(delete(&store, before(late)).await.instances_deleted, 1);
    assert_eq!(existing(&store).await, ["eternal", "old, ended late"]);
    let far = InstanceFilter { completed_before: Some(late + 1_000_000), ..only(&["eternal"]) };
    assert_eq!(delete(&store, far).await.instances_deleted, 0, "what runs never ended");
    assert_eq!(delete(&store, before(late + 1)).await.instances_deleted, 1);
    assert_eq!(existing(&store).await, ["eternal"]);
}

/// A root goes with everything below it, whenever that ended; all of it is counted, and the limit counts roots.
pub async fn test_delete_instance_bulk_cascades_to_children<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for root in ["a", "b", "c", "d"] {
        completed_root(&store, root).await;
        completed_child(&store, &format!("{root} child"), root).await;
        completed_child(&store, &format!("{root} other child"), root).await;
        completed_child(&store, &format!("{root} grandchild"), &format!("{root} child")).await;
        moment(&store).await;
    }
    for (limit, roots) in [(1, 1), (2, 2)] {
        let some = InstanceFilter { limit: Some(limit), ..InstanceFilter::default() };
        let deleted = delete(&store, some).await;
        assert_eq!(
            numbers(&deleted),
            [4 * roots, 4 * roots, 8 * roots, 0],
            "a limit of {limit} is {roots} trees"
        );
    }
    let left = existing(&store).await;
    let root = left.first().cloned().expect("one tree is left");
    assert_eq!(left.len(), 4, "one tree is left, as a whole: {left:?}");
    assert!(left.iter().all(|id| id.starts_with(&root)), "a part of a tree was deleted: {left:?}");

    completed_child(&store, "late child", &root).await;
    let before =
        InstanceFilter { completed_before: Some(ended_at(&store, &root, 1).await + 1), ..only(&[&root]) };
    let deleted = delete(&store, before).await;
    assert_eq!(deleted.instances_deleted, 5, "the end of the root counts, not that of its children");
    assert!(existing(&store).await.is_empty());
}

/// What goes on is not deleted: an instance between two executions, a root above something that runs or is between two
/// executions.
pub async fn test_delete_instance_bulk_spares_what_goes_on<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    running_child(&store, "grandchild", "child").await;
    completed_root(&store, "second").await;
    running_child(&store, "continuing child", "second").await;
    store.step(Ack::of("continuing child", 1).continuing(2)).await;
    let turn = store.fetch("continuing child").await;
    root_between_executions(&store, "continuing").await;
    let all = existing(&store).await;
    let far = store.now_ms() + 1_000_000;

    for completed_before in [None, Some(far)] {
        let everybody = InstanceFilter { completed_before, ..InstanceFilter::default() };
        let named = InstanceFilter { completed_before, ..only(&["root", "second", "continuing"]) };
        for filter in [everybody, named] {
            assert_eq!(numbers(&delete(&store, filter.clone()).await), [0; 4], "{filter:?}");
            assert_eq!(existing(&store).await, all, "{filter:?}");
        }
    }
    let next = store.fetch("continuing").await;
    assert_eq!(numbers(&delete(&store, InstanceFilter::default()).await), [0; 4], "its next turn is leased");
    store.ack(&next.token, Ack::first_of("continuing", 2)).await;
    store.ack(&turn.token, Ack::first_of("continuing child", 2).completing(2)).await;
    assert_eq!(numbers(&delete(&store, InstanceFilter::default()).await), [2, 3, 6, 0], "one tree has ended");
    assert_eq!(existing(&store).await, ["child", "continuing", "grandchild", "root"]);
}

/// What cannot be deleted does not use the limit up: a few trees that are kept do not keep all others.
pub async fn test_delete_instance_bulk_limit_makes_progress<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for blocked in ["blocked 1", "blocked 2", "blocked 3"] {
        completed_root(&store, blocked).await;
        running_child(&store, &format!("child of {blocked}"), blocked).await;
    }
    moment(&store).await;
    completed_root(&store, "a").await;
    completed_root(&store, "b").await;
    let one = InstanceFilter { limit: Some(1), ..InstanceFilter::default() };
    assert_eq!(delete(&store, one.clone()).await.instances_deleted, 1);
    assert_eq!(delete(&store, one.clone()).await.instances_deleted, 1);
    assert_eq!(delete(&store, one).await.instances_deleted, 0);
    assert_eq!(existing(&store).await.len(), 6, "the three trees are whole");

    completed_root(&store, "c").await;
    let named = InstanceFilter { limit: Some(1), ..only(&["blocked 1", "unknown", "blocked 2", "c"]) };
    assert_eq!(delete(&store, named).await.instances_deleted, 1, "the same holds for names");
    assert_gone(&store, "c").await;
}

/// Without a limit one call deletes a thousand, and not more.
pub async fn test_delete_instance_bulk_default_limit<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let all: Vec<String> = (0..=DEFAULT_BULK).map(|number| format!("instance {number}")).collect();
    for some in all.chunks(10) {
        join_all(some.iter().map(|id| store.post(start(id)))).await;
        let turns = lease_all(&store).await;
        join_all(turns.iter().map(|(id, turn)| store.ack(&turn.token, Ack::first(id).completing(2)))).await;
    }
    let deleted = delete(&store, InstanceFilter::default()).await;
    assert_eq!(deleted.instances_deleted, u64::from(DEFAULT_BULK));
    assert_eq!(existing(&store).await.len(), 1, "one is left for the next call");
}

/// Stray mail and work of what ended goes with it, and is counted; that of others stays.
pub async fn test_delete_instance_bulk_takes_mail_and_work<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("other").await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    store.post(signal("root", "late")).await;
    store.post(signal("child", "late")).await;
    store.post(signal("other", "next")).await;
    store.post_work(activity("child", 5)).await;
    store.post_work(activity("other", 6)).await;
    let deleted = delete(&store, InstanceFilter::default()).await;
    assert_eq!(numbers(&deleted), [2, 2, 4, 3]);
    run_next(&store, Ack::of("other", 1).signalled(2)).await;
    store.assert_no_turn("stray mail went with its instance").await;
    assert_eq!(store.fetch_work().await.id(), 6);
    store.assert_no_work("stray work went with its instance").await;
    store.post(start("root")).await;
    assert_eq!(store.fetch("root").await.item.messages, [start("root")], "the name begins anew");
}

async fn delete(store: &Subject<'_>, filter: InstanceFilter) -> DeleteInstanceResult {
    let deleted = store.admin().delete_instance_bulk(filter.clone()).await;
    deleted
        .unwrap_or_else(|error| panic!("a deletion by {filter:?} passes over what it cannot delete: {error}"))
}
