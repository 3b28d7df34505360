//! Canceling and deleting what cannot run: both need no code.

use abide_chaos::deploy::{ABORTING, Code, NEWER};

use super::crashes::crash_until_quarantined;
use super::*;
use crate::support::deployment::{Build, Deploy, on_every_store};

/// One basket is canceled, one deleted, and one waits for its orders, of which the first is canceled.
const CANCELED: &str = "basket-0";
const DELETED: &str = "basket-1";
const TOLD: &str = "basket-2";

/// Each waits for an activity that runs until it is canceled.
const CANCELED_ERRAND: &str = "errand-0";
const DELETED_ERRAND: &str = "errand-1";

fn orders_of(basket: &str) -> impl Iterator<Item = String> {
    (0..CHILDREN).map(move |number| format!("{basket}-{number}"))
}

fn all_orders() -> Vec<String> {
    [CANCELED, DELETED, TOLD].into_iter().flat_map(orders_of).collect()
}

/// What waits for a message.
fn all_waiting() -> Vec<String> {
    let errands = [CANCELED_ERRAND, DELETED_ERRAND].map(ToOwned::to_owned);
    all_orders().into_iter().chain(errands).collect()
}

/// The baskets wait for their orders, the errands for an activity, and both orders and errands for a message.
fn put_in_flight(site: &Site, client: &Client) {
    let old = Build::start(site, Deploy::of("old", Code::Right));
    for basket in [CANCELED, DELETED, TOLD] {
        start(client, basket, "Basket", "");
    }
    for errand in [CANCELED_ERRAND, DELETED_ERRAND] {
        start(client, errand, "Errand", "");
    }
    until("all orders and errands to wait", || {
        let effects = effects_of(site);
        let has_reserved = |order: &String| effects.contains_key(&format!("{order} reserve"));
        (all_orders().iter().all(has_reserved) && site.activities() == 2).then_some(())
    });
    old.end();
    assert_eq!(site.activities(), 2, "the activities of the errands");
}

fn send_all(client: &Client) {
    for instance in all_waiting() {
        block_on(client.enqueue_event(&instance, "go", "")).unwrap();
    }
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

/// Cancels one order, then its basket with all others; deletes another basket; does the same to the errands.
fn cancel_and_delete(site: &Site, client: &Client) {
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
    cancel(client, CANCELED_ERRAND);
    assert_canceled(client, CANCELED_ERRAND);
    delete(client, DELETED_ERRAND);
    until("the activities of the errands to be revoked", || (site.activities() == 0).then_some(()));
}

/// Cancels an order whose parent is not canceled.
fn cancel_an_order_of_the_last_basket(client: &Client) {
    let order = format!("{TOLD}-0");
    cancel(client, &order);
    assert_canceled(client, &order);
}

/// How often the parent's history records that a child failed because it was not wanted.
fn recorded_failures(client: &Client, parent: &str) -> usize {
    let history = block_on(client.read_execution_history(parent, 1)).unwrap();
    let failures = history.iter().filter(|event| {
        let EventKind::SubOrchestrationFailed { details } = &event.kind else { return false };
        details.display_message().contains("not wanted")
    });
    failures.count()
}

/// Runs the right build until `TOLD` ends, whose error counts the canceled order.
fn assert_told(site: &Site, client: Client) {
    let old = Build::start(site, Deploy::of("old", Code::Right));
    let expected = format!("{} shipped, 1 failed: canceled: not wanted", CHILDREN - 1);
    assert_eq!(end_of(&client, TOLD), Err(expected));
    assert_eq!(recorded_failures(&client, TOLD), 1);
    assert_eq!(count_blocked(&client), 0);
    old.end();
    drop(client);
    assert_eq!(site.complaints(), Vec::<String>::new());
}

/// What a build cannot run is canceled and deleted while only that build is there.
fn with_only(code: Code, expected: usize) {
    on_every_store("canceled", |site| {
        let client = site.client();
        put_in_flight(site, &client);
        let build = Build::start(site, Deploy::of("new", code));
        send_all(&client);
        until("all orders to be blocked", || (count_blocked(&client) == expected).then_some(()));
        cancel_and_delete(site, &client);
        cancel_an_order_of_the_last_basket(&client);
        assert!(is_running(&client, TOLD), "it waits for its other orders");
        build.end();
        assert_told(site, client);
    });
}

#[test]
fn orders_that_changed_code_refuses_are_canceled_and_deleted() {
    with_only(Code::Changed, all_waiting().len());
}

#[test]
fn orders_that_panicking_code_refuses_are_canceled_and_deleted() {
    with_only(Code::Panics, all_waiting().len());
}

#[test]
fn orders_and_baskets_without_any_code_are_canceled_and_deleted() {
    with_only(Code::Without, 0);
}

#[test]
fn orders_and_baskets_of_a_missing_version_are_canceled_and_deleted() {
    with_only(Code::Newer, 0);
}

#[test]
fn a_start_of_a_missing_version_is_canceled_and_deleted() {
    on_every_store("version", |site| {
        let client = site.client();
        let build = Build::start(site, Deploy::of("old", Code::Right));
        for instance in ["canceled", "deleted"] {
            block_on(client.start_orchestration_versioned(instance, "Order", NEWER, "")).unwrap();
        }
        cancel(&client, "canceled");
        assert_canceled(&client, "canceled");
        delete(&client, "canceled");
        delete(&client, "deleted");
        build.end();
        drop(client);
        assert_eq!(site.complaints(), Vec::<String>::new());
    });
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
        let told = format!("{TOLD}-0");
        for ids in ["basket-0-%", "basket-1-%", told.as_str(), "errand-%"] {
            site.damage_histories_of(ids);
        }
        let build = Build::start(site, Deploy::of("old", Code::Right));
        send_all(&client);
        let expected = 2 * CHILDREN + 1 + 2;
        until("all orders to be blocked", || (count_blocked(&client) == expected).then_some(()));
        cancel_and_delete(site, &client);
        cancel_an_order_of_the_last_basket(&client);
        build.end();
        assert_told(site, client);
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
            until("held activities to be revoked", || (site.activities() == 0).then_some(()));
            build.end();
        });
    }
}

#[test]
fn quarantined_children_end_with_their_parents_and_parents_are_told() {
    for child in ["Work", "Turn"] {
        on_every_store("family", |site| {
            let client = site.client();
            for parent in ["canceled", "deleted", "told"] {
                start(&client, parent, "Family", child);
            }
            let build = crash_until_quarantined(site, &client, 3).build;
            cancel(&client, "canceled");
            assert_canceled(&client, "canceled");
            assert_canceled(&client, "canceled-child");
            delete(&client, "deleted");
            assert!(matches!(status(&client, "deleted-child"), OrchestrationStatus::NotFound));
            cancel(&client, "told-child");
            assert_canceled(&client, "told");
            assert_eq!(recorded_failures(&client, "told"), 1);
            until("no work to be left", || (count_blocked(&client) == 0).then_some(()));
            until("held activities to be revoked", || (site.activities() == 0).then_some(()));
            build.end();
            drop(client);
            assert_eq!(site.complaints(), Vec::<String>::new());
        });
    }
}
