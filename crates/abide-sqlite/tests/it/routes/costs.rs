//! How many statements a lease call runs.

use std::collections::BTreeMap;

use abide_model::ExecutionStatus;
use futures::executor::block_on;

use super::*;
use crate::support::items::*;

fn runs(store: &Store) -> BTreeMap<&'static str, u64> {
    block_on(store.provider.costs()).into_iter().map(|(name, runs, _)| (name, runs)).collect()
}

/// How often statements with these names run in a call.
fn runs_in<T>(store: &Store, names: &[&str], call: impl FnOnce() -> T) -> u64 {
    let before = runs(store);
    call();
    let after = runs(store);
    let of = |runs: &BTreeMap<&str, u64>| names.iter().filter_map(|name| runs.get(name)).sum::<u64>();
    of(&after) - of(&before)
}

const SEEKS: [&str; 3] = ["ready_routes", "ready_numbers", "ready_mailboxes"];
const WORK_SEEKS: [&str; 3] = ["ready_work_routes", "ready_work_numbers", "ready_work"];

/// One orchestration costs two statements, and a third to find that there is no more; one activity costs one, and another.
#[test]
fn one_route_costs_as_many_seeks_as_no_routes() {
    let store = Store::in_memory();
    let orders = node("b1", &["Order"], &["charge"]);
    for name in ["a", "b"] {
        store.create(name, TurnBuilder::starting(1).work(activity(name, 2)));
    }
    for name in ["a", "b"] {
        store.enqueue(signal(name, ""));
    }
    let instances = || assert_eq!(store.lease_with(instances_of(&orders)).len(), 2);
    assert_eq!(runs_in(&store, &SEEKS, instances), 3);
    let work = || assert_eq!(store.lease_work_with(work_of(&orders)).len(), 2);
    assert_eq!(runs_in(&store, &WORK_SEEKS, work), 2);
}

/// However many routes of others are ready, a call seeks no more than its own.
#[test]
fn a_thousand_unserved_routes_are_not_hopped_over() {
    let store = Store::in_memory();
    for number in 0..1_000 {
        let start = start_of(&format!("other-{number}"), &format!("Other{number}"));
        store.enqueue(start);
        store.enqueue_work(activity_named(&format!("Other{number}"), number + 2));
    }
    store.enqueue(start("a"));
    store.enqueue_work(activity("a", 1));
    let orders = node("b1", &["Order"], &["charge"]);
    assert!(runs_in(&store, &SEEKS, || assert_eq!(store.lease_with(instances_of(&orders)).len(), 1)) <= 8);
    assert!(
        runs_in(&store, &WORK_SEEKS, || assert_eq!(store.lease_work_with(work_of(&orders)).len(), 1)) <= 8
    );
}

/// Of several routes, only rows that are leased are read.
#[test]
fn rows_of_several_routes_are_merged_by_their_numbers() {
    let store = Store::in_memory();
    for number in 0..30_u64 {
        store.enqueue(start_of(&format!("i-{number:02}"), &format!("Name{}", number % 5)));
        store.enqueue_work(activity_named(&format!("Name{}", number % 5), number + 1));
    }
    let names: Vec<String> = (0..5).map(|number| format!("Name{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let all = node("b1", &names, &names);
    let leased = store.lease_with(LeaseInstances { limit: 7, ..instances_of(&all) });
    let expected: Vec<String> = (0..7).map(|number| format!("i-{number:02}")).collect();
    assert_eq!(names_of(&leased), expected);
    let leased = store.lease_work_with(LeaseWork { limit: 7, ..work_of(&all) });
    assert_eq!(activities(&leased), (1..=7).collect::<Vec<_>>());
}

fn names_of(leases: &[abide_provider::InstanceLease]) -> Vec<String> {
    leases.iter().map(|lease| lease.instance.clone()).collect()
}

/// The route of a running instance is the same from turn to turn: steps intern nothing.
#[test]
fn steps_of_an_instance_add_no_routes() {
    let store = Store::in_memory();
    store.create("a", TurnBuilder::starting(1).work(activity("a", 2)));
    let step = |id: u64| {
        let work = store.lease_work();
        store.finish(&work.token, Some(completed("a", id))).unwrap();
        let lease = store.lease();
        let turn = TurnBuilder::of_execution(1).event(id, status_said(None)).work(activity("a", id + 1));
        store.commit(turn.under(&lease));
    };
    step(2);
    let before = (store.count("route"), store.count("work_route"));
    let route: i64 = store.value("SELECT route FROM mailbox WHERE id = 'a'");
    (3..20).for_each(step);
    assert_eq!((store.count("route"), store.count("work_route")), before);
    assert_eq!(store.value::<i64>("SELECT route FROM mailbox WHERE id = 'a'"), route);
}

/// A transaction that adds a route and fails leaves nothing behind, in the tables or in the writer's memory.
#[test]
fn a_route_of_a_transaction_that_failed_is_added_again() {
    let store = Store::in_memory();
    let change = |sql: &'static str| {
        block_on(store.provider.inspect(move |connection| connection.execute_batch(sql))).unwrap().unwrap();
    };
    // The message is there, and its mailbox is not told of it: behind the new route.
    change("CREATE TRIGGER full BEFORE UPDATE OF ready ON mailbox BEGIN SELECT RAISE(ABORT, 'full'); END");
    assert!(store.try_enqueue(start_of("a", "New"), None).is_err());
    assert!(store.try_enqueue(start_of("b", "Newer"), None).is_err());
    change("DROP TRIGGER full");
    store.enqueue(start_of("b", "Newer"));
    store.enqueue(start_of("a", "New"));
    assert_eq!(names_of(&store.lease_with(instances_of(&node("b1", &["New"], &[])))), ["a"]);
    assert_eq!(names_of(&store.lease_with(instances_of(&node("b1", &["Newer"], &[])))), ["b"]);
}

/// What starts the next execution is known to the commit that sends it.
#[test]
fn continuing_as_new_reads_no_message_again() {
    let store = Store::in_memory();
    store.create_idle("a");
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let turn = TurnBuilder::of_execution(1).ending(ExecutionStatus::ContinuedAsNew, "next");
    let commit = turn.mail(continue_as_new("a")).under(&lease);
    assert_eq!(runs_in(&store, &["first_start"], || store.commit(commit)), 0);
    assert!(store.lease_with(instances_of(&node("b1", &["Other"], &[]))).is_empty());
    assert_eq!(names_of(&store.lease_with(instances_of(&node("b1", &["Order"], &[])))), ["a"]);
}
