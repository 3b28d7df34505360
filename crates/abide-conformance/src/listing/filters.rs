//! Which instances are meant.

use abide_model::ExecutionStatus::{self, Completed, ContinuedAsNew, Failed, Running};
use abide_provider::{InstanceOrder, InstanceQuery, Parentage};

use crate::ProviderFactory;
use crate::deletion::{
    completed_child, completed_root, eternal_root, failed_root, moment, root_between_executions,
    running_child,
};
use crate::listing::{ORDERS, all_pages, page};
use crate::support::{Ack, Subject, start_of};

/// The status of the current execution counts; several are an "or"; none means any.
pub async fn test_page_filter_by_status<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    eternal_root(&store, "a running", 2).await;
    completed_root(&store, "b completed").await;
    failed_root(&store, "c failed").await;
    root_between_executions(&store, "d continued").await;
    let cases: [(&[ExecutionStatus], &[&str]); 8] = [
        (&[Running], &["a running"]),
        (&[Completed], &["b completed"]),
        (&[Failed], &["c failed"]),
        (&[ContinuedAsNew], &["d continued"]),
        (&[Failed, Completed], &["b completed", "c failed"]),
        (&[Failed, Failed], &["c failed"]),
        (
            &[Running, Completed, Failed, ContinuedAsNew],
            &["a running", "b completed", "c failed", "d continued"],
        ),
        (&[], &["a running", "b completed", "c failed", "d continued"]),
    ];
    for (statuses, expected) in cases {
        let query = statuses.iter().fold(InstanceQuery::new(), |query, status| query.status(*status));
        assert_found(&store, query, expected).await;
    }
}

/// Name and version are the whole text, in the same case, as the instance has them now.
pub async fn test_page_filter_by_name_and_version<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let all = [
        ("a", "Order", "1.0.0"),
        ("b", "Order", "1.0.1"),
        ("c", "order", "1.0.0"),
        ("d", "OrderLine", "1.0.0"),
        ("e", "Ord%", "1.0.0"),
    ];
    for (id, name, version) in all {
        store.post(start_of(id, name, Some(version))).await;
        let turn = store.fetch(id).await;
        store.ack(&turn.token, Ack::first(id).named(name, version)).await;
    }
    let new = InstanceQuery::new;
    assert_found(&store, new().name("Order"), &["a", "b"]).await;
    assert_found(&store, new().name("order"), &["c"]).await;
    assert_found(&store, new().name("Ord%"), &["e"]).await;
    assert_found(&store, new().name("Ord"), &[]).await;
    assert_found(&store, new().name(""), &[]).await;
    assert_found(&store, new().version("1.0.0"), &["a", "c", "d", "e"]).await;
    assert_found(&store, new().version("1.0"), &[]).await;
    assert_found(&store, new().name("Order").version("1.0.1"), &["b"]).await;
    store.step(Ack::of("a", 1).named("Renamed", "2.0.0").signalled(2)).await;
    assert_found(&store, new().name("Order"), &["b"]).await;
    assert_found(&store, new().version("2.0.0"), &["a"]).await;
}

/// The beginning of an id is taken letter by letter: no pattern, no other case. An empty one is the beginning of every id.
pub async fn test_page_filter_by_prefix<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut all = [
        "order-1", "order-2", "Order-3", "order", "order_4", "order%5", "ordex", "a", "a%b", "a_b", "axb",
        "a\\b", "é1", "e1", "ÿ", "*x", "?x", "[a]",
    ];
    for id in all {
        completed_root(&store, id).await;
    }
    all.sort_unstable();
    let prefixes =
        ["order", "order-", "order_", "order%", "Order", "a%", "a_", "a\\", "a", "é", "ÿ", "*", "?", "["];
    for prefix in prefixes.into_iter().chain(["order-12", "nothing", ""]) {
        let expected: Vec<&str> = all.iter().filter(|id| id.starts_with(prefix)).copied().collect();
        assert_found(&store, InstanceQuery::new().id_prefix(prefix), &expected).await;
    }
}

/// Roots, or the direct children of one instance.
pub async fn test_page_filter_by_parentage<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    running_child(&store, "grandchild", "child").await;
    running_child(&store, "second child", "root").await;
    store.create("leaf").await;
    let of = |id: &str| InstanceQuery::new().parentage(Parentage::ChildOf(id.to_owned()));
    assert_found(&store, InstanceQuery::new().parentage(Parentage::Root), &["leaf", "root"]).await;
    assert_found(&store, of("root"), &["child", "second child"]).await;
    assert_found(&store, of("child"), &["grandchild"]).await;
    assert_found(&store, of("leaf"), &[]).await;
    assert_found(&store, of("unknown"), &[]).await;
    let any = InstanceQuery::new().parentage(Parentage::Any);
    assert_found(&store, any, &["child", "grandchild", "leaf", "root", "second child"]).await;
}

/// Created from a time on, that time included; created before a time, that time not included.
pub async fn test_page_filter_by_creation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut created = Vec::new();
    for id in ["a", "b", "c"] {
        completed_root(&store, id).await;
        created.push(store.admin().get_instance_info(id).await.expect("it exists").created_at);
        moment(&store).await;
    }
    let [a, b, c] = created[..] else { panic!("three were created") };
    assert!(a < b && b < c, "later instances have later times: {created:?}");
    let (from, before) =
        (|time| InstanceQuery::new().created_from(time), |time| InstanceQuery::new().created_before(time));
    assert_found(&store, from(0), &["a", "b", "c"]).await;
    assert_found(&store, from(b), &["b", "c"]).await;
    assert_found(&store, from(b + 1), &["c"]).await;
    assert_found(&store, from(c + 1), &[]).await;
    assert_found(&store, before(a), &[]).await;
    assert_found(&store, before(b), &["a"]).await;
    assert_found(&store, before(b + 1), &["a", "b"]).await;
    assert_found(&store, before(u64::MAX), &["a", "b", "c"]).await;
    assert_found(&store, from(b).created_before(c), &["b"]).await;
    assert_found(&store, from(b).created_before(b), &[]).await;
    assert_found(&store, from(c).created_before(a), &[]).await;
}

/// All that is set must hold: every pair of filters, and all of them together.
pub async fn test_page_filters_combined<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("o-parent").await;
    moment(&store).await;
    let from = store.now_ms();
    moment(&store).await;
    completed_child(&store, "o-child", "o-parent").await;
    failed_root(&store, "o-failed").await;
    completed_root(&store, "x-completed").await;
    completed_child(&store, "x-child", "o-parent").await;
    moment(&store).await;
    let before = store.now_ms();
    moment(&store).await;
    completed_child(&store, "o-late child", "o-parent").await;
    store.step(Ack::of("o-parent", 1).named("Parent", "2.0.0").signalled(2)).await;

    // Each of them leaves something out that the others do not.
    let filters: [fn(InstanceQuery) -> InstanceQuery; 5] = [
        |query| query.status(Completed),
        |query| query.name("Child"),
        |query| query.version("1.0.0"),
        |query| query.id_prefix("o-"),
        |query| query.parentage(Parentage::ChildOf("o-parent".to_owned())),
    ];
    let everything = page(&store, InstanceQuery::new().limit(100)).await;
    assert_eq!(everything.instances.len(), 6);
    let timed = [
        InstanceQuery::new(),
        InstanceQuery::new().created_from(from),
        InstanceQuery::new().created_before(before),
        InstanceQuery::new().created_from(from).created_before(before),
    ];
    for query in timed {
        for mask in 0_u32..1 << filters.len() {
            let chosen = filters.iter().enumerate().filter(|(bit, _)| mask & (1 << bit) != 0);
            let query = chosen.fold(query.clone(), |query, (_, filter)| filter(query));
            // What a query admits is decided by the values that the unfiltered page shows.
            let mut expected: Vec<&str> = everything
                .instances
                .iter()
                .filter(|instance| query.admits(instance))
                .map(|instance| instance.instance_id.as_str())
                .collect();
            expected.sort_unstable();
            assert_found(&store, query, &expected).await;
        }
    }
    let all = filters.iter().fold(InstanceQuery::new(), |query, filter| filter(query));
    assert_found(&store, all.created_from(from).created_before(before), &["o-child"]).await;
}

/// A filter holds on every page, and pages are full of what it means.
pub async fn test_page_filters_hold_on_every_page<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut expected = Vec::new();
    for number in 0..15 {
        let id = format!("instance {number:02}");
        if number % 3 == 0 {
            failed_root(&store, &id).await;
            expected.push(id);
        } else {
            completed_root(&store, &id).await;
        }
    }
    for order in ORDERS {
        for size in [1, 2, 4, 5] {
            let query = InstanceQuery::new().status(Failed).order(order).limit(size);
            let mut found = all_pages(&store, query).await;
            found.sort();
            assert_eq!(found, expected, "{order:?} with {size} a page");
        }
    }
}

/// The query means these, in whatever order it lists them.
async fn assert_found(store: &Subject<'_>, query: InstanceQuery, expected: &[&str]) {
    for order in [InstanceOrder::ById, InstanceOrder::NewestFirst] {
        let mut found = all_pages(store, query.clone().order(order).limit(2)).await;
        found.sort();
        assert_eq!(found, expected, "{query:?}");
    }
}
