//! A page of instances costs the same out of ten thousand and out of many more: one statement, and as many rows as the page.

use abide_model::ExecutionStatus;
use abide_provider::{
    BlockKind, InstanceOrder, InstancePage, InstanceQuery, PageCursor, Parentage, ProviderAdmin,
};
use futures::executor::block_on;

use super::{many, put_behind};
use crate::support::store::Store;

const FEW: usize = 10_000;
const PAGE: u32 = 5;

fn filled(rows: usize) -> Store {
    let store = Store::in_memory();
    put_behind(&store, include_str!("instances.sql"), rows);
    store
}

/// Queries whose page an index knows; each with what it is for.
fn queries(rows: usize) -> Vec<(&'static str, InstanceQuery)> {
    let middle = 1_600_000_000_000 + u64::try_from(rows / 6).unwrap();
    let page = || InstanceQuery::new().limit(PAGE);
    let oldest = || page().order(InstanceOrder::OldestFirst);
    let child = || Parentage::ChildOf(format!("order-{:08}", rows / 2));
    vec![
        ("newest", page()),
        ("oldest", oldest()),
        ("failed", page().status(ExecutionStatus::Failed)),
        (
            "running or failed, oldest first",
            oldest().status(ExecutionStatus::Failed).status(ExecutionStatus::Running),
        ),
        ("of a name", page().name("Order7")),
        ("of a name and failed", page().name("Order7").status(ExecutionStatus::Failed)),
        ("of no name", page().name("Nobody")),
        ("from the middle, newest first", page().created_before(middle)),
        ("from the middle, oldest first", oldest().created_from(middle)),
        ("a range of time", page().created_from(middle).created_before(middle + 100)),
        ("children of one", page().parentage(Parentage::ChildOf(format!("order-{:08}", rows / 20 * 10)))),
        ("children of one without any", page().parentage(child()).name("Nobody")),
        ("roots", page().parentage(Parentage::Root).status(ExecutionStatus::Completed)),
        ("blocked", page().blocked()),
        ("blocked, by id", page().blocked_by(BlockKind::Panic).order(InstanceOrder::ById)),
        ("by id", page().order(InstanceOrder::ById)),
        ("by id, of a prefix", page().order(InstanceOrder::ById).id_prefix("order-000050")),
    ]
}

fn cost(store: &Store, query: &InstanceQuery) -> u64 {
    block_on(store.provider.listing_cost(query.clone())).unwrap()
}

#[test]
fn a_page_costs_the_same_however_many_instances_there_are() {
    let (few, rows) = (filled(FEW), many().max(FEW * 2));
    let crowd = filled(rows);
    for ((name, small), (_, large)) in queries(FEW).iter().zip(&queries(rows)) {
        let (small, large) = (cost(&few, small), cost(&crowd, large));
        assert!(large <= small + small / 5 + 40, "{name}: {small} instructions of {FEW}, {large} of {rows}");
        println!("{name}: {large} instructions");
    }
}

#[test]
fn the_last_page_costs_what_the_first_does() {
    let store = filled(FEW);
    let list = |query: InstanceQuery| -> InstancePage {
        block_on(store.provider.list_instances_page(query)).unwrap()
    };
    for (name, query) in [
        ("newest", InstanceQuery::new()),
        ("oldest", InstanceQuery::new().order(InstanceOrder::OldestFirst)),
        ("by id", InstanceQuery::new().order(InstanceOrder::ById)),
        ("completed", InstanceQuery::new().status(ExecutionStatus::Completed)),
    ] {
        let first = query.limit(100);
        let mut cheapest = u64::MAX;
        let mut dearest = 0;
        let mut next = list(first.clone()).next;
        let mut pages = 1;
        while let Some(cursor) = next {
            let query = first.clone().after(cursor);
            let page = list(query.clone());
            if page.instances.len() == 100 && page.next.is_some() {
                let cost = cost(&store, &query);
                (cheapest, dearest) = (cheapest.min(cost), dearest.max(cost));
            }
            next = page.next;
            pages += 1;
        }
        assert!(pages > 50, "{name}: only {pages} pages");
        assert!(dearest <= cheapest * 2, "{name}: a page costs {cheapest} to {dearest} instructions");
    }
}

#[test]
fn instances_of_one_moment_cost_what_others_do() {
    let store = filled(FEW);
    let first = cost(&store, &InstanceQuery::new().limit(PAGE).created_before(1_600_000_002_000));
    store.damage("UPDATE mailbox SET created_at = 7");
    for order in [InstanceOrder::NewestFirst, InstanceOrder::OldestFirst] {
        let middle = PageCursor::created(order, 7, (FEW / 2).to_string());
        let query = InstanceQuery::new().limit(PAGE).order(order).after(middle);
        let deep = cost(&store, &query);
        assert!(
            deep <= first * 2,
            "{order:?}: {deep} instructions in the middle of a tie, {first} elsewhere"
        );
    }
}

#[test]
fn roots_are_found_among_many_children() {
    let store = filled(FEW);
    let roots = || InstanceQuery::new().limit(PAGE).parentage(Parentage::Root);
    let many = cost(&store, &roots());
    store.damage("UPDATE mailbox SET parent = 'order-00000010' WHERE no > 100");
    let few = cost(&store, &roots());
    assert!(few <= many + many / 5 + 40, "{few} instructions for a page of few roots, {many} of many");
}
