//! Canceling and deleting what cannot run: both need no code.

use abide_chaos::deploy::{ABORTING, Code};

use super::crashes::crash_until_quarantined;
use super::*;
use crate::support::deployment::{Build, Deploy, on_every_store};

/// One basket is canceled, the other one deleted.
const CANCELED: &str = "basket-0";
const DELETED: &str = "basket-1";

fn orders_of(basket: &str) -> impl Iterator<Item = String> {
    (0..CHILDREN).map(move |number| format!("{basket}-{number}"))
}

fn all_orders() -> Vec<String> {
    orders_of(CANCELED).chain(orders_of(DELETED)).collect()
}

/// Both baskets wait for their orders, and these wait for a message.
fn put_in_flight(site: &Site, client: &Client) {
    let old = Build::start(site, Deploy::of("old", Code::Right));
    for basket in [CANCELED, DELETED] {
        start(client, basket, "Basket", "");
    }
    until("all orders to wait", || {
        let effects = effects_of(site);
        all_orders().iter().all(|order| effects.contains_key(&format!("{order} reserve"))).then_some(())
    });
    old.end();
}

fn cancel(client: &Client, instance: &str) {
    block_on(client.cancel_instance(instance, "not wanted")).unwrap();
}

fn assert_canceled(client: &Client, instance: &str) {
    let error = end_of(client, instance).unwrap_err();
    assert!(error.contains("not wanted") || error.contains("parent canceled"), "{instance}: {error}");
}

fn delete(client: &Client, instance: &str) {
    block_on(client.delete_instance(instance, true)).unwrap();
    assert!(matches!(status(client, instance), OrchestrationStatus::NotFound), "{instance}");
}

/// Cancels one order, then its basket with all others; deletes the other basket.
fn cancel_and_delete(client: &Client) {
    let order = format!("{CANCELED}-0");
    cancel(client, &order);
    assert_canceled(client, &order);
    assert!(is_running(client, CANCELED), "it waits for its other orders");
    cancel(client, CANCELED);
    for instance in orders_of(CANCELED).skip(1).chain([CANCELED.to_owned()]) {
        assert_canceled(client, &instance);
    }
    delete(client, DELETED);
    for order in orders_of(DELETED) {
        assert!(matches!(status(client, &order), OrchestrationStatus::NotFound), "{order}");
    }
    assert_eq!(count_blocked(client), 0);
}

/// What a build cannot run is canceled and deleted while only that build is there.
fn with_only(code: Code, expected: usize) {
    on_every_store("canceled", |site| {
        let client = site.client();
        put_in_flight(site, &client);
        let build = Build::start(site, Deploy::of("new", code));
        for order in all_orders() {
            block_on(client.enqueue_event(&order, "go", "")).unwrap();
        }
        until("all orders to be blocked", || (count_blocked(&client) == expected).then_some(()));
        cancel_and_delete(&client);
        build.end();
        drop(client);
        assert_eq!(site.complaints(), Vec::<String>::new());
    });
}

#[test]
fn orders_that_changed_code_refuses_are_canceled_and_deleted() {
    with_only(Code::Changed, all_orders().len());
}

#[test]
fn orders_that_panicking_code_refuses_are_canceled_and_deleted() {
    with_only(Code::Panics, all_orders().len());
}

#[test]
fn orders_and_baskets_without_any_code_are_canceled_and_deleted() {
    with_only(Code::Without, 0);
}

#[test]
fn a_start_that_no_node_serves_is_canceled_and_deleted() {
    on_every_store("unserved", |site| {
        let client = site.client();
        let build = Build::start(site, Deploy::of("new", Code::Without));
        start(&client, "canceled", "Order", "");
        cancel(&client, "canceled");
        assert_canceled(&client, "canceled");
        delete(&client, "canceled");
        start(&client, "deleted", "Order", "");
        delete(&client, "deleted");
        build.end();
    });
}

#[test]
fn orders_whose_history_cannot_be_read_are_canceled_and_deleted() {
    on_every_store("corrupt", |site| {
        let client = site.client();
        put_in_flight(site, &client);
        site.damage_histories_of("basket-%-%");
        let build = Build::start(site, Deploy::of("old", Code::Right));
        for order in all_orders() {
            block_on(client.enqueue_event(&order, "go", "")).unwrap();
        }
        until("all orders to be blocked", || (count_blocked(&client) == all_orders().len()).then_some(()));
        cancel_and_delete(&client);
        build.end();
    });
}

#[test]
fn what_is_quarantined_is_canceled_and_deleted() {
    for orchestration in ["Work", "Turn"] {
        on_every_store("quarantined", |site| {
            let client = site.client();
            for instance in ["canceled", "deleted"] {
                start(&client, instance, orchestration, ABORTING);
            }
            let build = crash_until_quarantined(site, &client, 2).build;
            cancel(&client, "canceled");
            assert_canceled(&client, "canceled");
            delete(&client, "deleted");
            until("no work to be left", || (count_blocked(&client) == 0).then_some(()));
            build.end();
        });
    }
}
