//! A build that cannot run what is in flight replaces one that can, and is rolled back.

use abide::Client;
use abide_chaos::deploy::Code;

use super::*;
use crate::support::deployment::{Build, Deploy, on_every_store};

/// Starts all baskets on the right build and ends it when every order waits.
fn put_orders_in_flight(site: &Site, client: &Client) {
    let old = Build::start(site, Deploy::of("old", Code::Right));
    for basket in baskets() {
        start(client, &basket, "Basket", "");
    }
    wait_for_effect(site, "reserve");
    old.end();
}

/// Deploys a bad build, lets it block every order, and rolls back.
fn deploy_and_roll_back(site: &Site, code: Code, kind: &str) {
    let client = site.client();
    put_orders_in_flight(site, &client);

    let new = Build::start(site, Deploy::of("new", code));
    go_on(&client);
    until("all orders to be blocked", || (count_blocked(&client) == orders().len()).then_some(()));
    for instance in orders().into_iter().chain(baskets()) {
        assert!(is_running(&client, &instance), "{instance}: {:?}", status(&client, &instance));
    }
    let errors = new.lines("ERROR");
    let blocks: Vec<_> = errors.iter().filter(|line| line["fields"]["kind"] == kind).collect();
    let told = blocks.iter().filter(|line| line["fields"]["instance_id"].is_string()).count();
    assert_eq!((told, blocks.len()), (10, 11), "ten lines, and one that more are counted: {errors:#?}");
    assert_eq!(new.refusals(), orders().into_iter().map(|order| (order, 1)).collect());
    new.end();

    let old = Build::start(site, Deploy::of("old", Code::Right));
    assert_all_shipped(site, &client);
    old.end();
    drop(client);
    assert_eq!(site.complaints(), Vec::<String>::new());
}

#[test]
fn orders_that_changed_code_refuses_complete_after_a_rollback() {
    on_every_store("changed", |site| deploy_and_roll_back(site, Code::Changed, "nondeterminism"));
}

#[test]
fn orders_that_panicking_code_refuses_complete_after_a_rollback() {
    on_every_store("panics", |site| deploy_and_roll_back(site, Code::Panics, "panic"));
}

#[test]
fn the_count_of_withheld_lines_is_told_when_the_build_ends() {
    let site = Site::new("withheld");
    let client = site.client();
    put_orders_in_flight(&site, &client);
    let mut new = Build::start(&site, Deploy::of("new", Code::Panics));
    go_on(&client);
    until("all orders to be blocked", || (count_blocked(&client) == orders().len()).then_some(()));
    new.terminate();
    let withheld = orders().len() - 10;
    let counts: Vec<_> =
        new.lines("ERROR").into_iter().filter(|line| line["fields"]["count"] == withheld).collect();
    assert_eq!(counts.len(), 1, "{}", new.log());
}

#[test]
fn the_constructors_of_the_reference_fail_orders_as_documented() {
    on_every_store("reference", |site| {
        let client = site.client();
        put_orders_in_flight(site, &client);
        let new = Build::start(site, Deploy::of("new", Code::Changed).with(&["--constructor", "reference"]));
        go_on(&client);
        for order in orders() {
            let error = end_of(&client, &order).unwrap_err();
            assert!(error.starts_with("nondeterministic"), "{order}: {error}");
        }
        for basket in baskets() {
            let error = end_of(&client, &basket).unwrap_err();
            // The code of the parent does not see what only an operator can repair.
            assert!(error.starts_with("nondeterministic"), "{basket}: {error}");
        }
        new.end();
    });
}
