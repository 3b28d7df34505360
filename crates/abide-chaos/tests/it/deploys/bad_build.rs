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

/// The lines that were not written are counted when the build ends.
fn assert_withheld_lines_are_counted(build: &Build, kind: &str) {
    let withheld = orders().len() - 10;
    let errors = build.lines("ERROR");
    let counts: Vec<_> = errors.iter().filter(|line| line["fields"]["count"] == withheld).collect();
    assert_eq!(counts.len(), 1, "{errors:#?}");
    assert_eq!((&counts[0]["fields"]["kind"], &counts[0]["fields"]["name"]), (&kind.into(), &"Order".into()));
}

/// Deploys a bad build, lets it block every order, and rolls back.
fn deploy_and_roll_back(site: &Site, code: Code, kind: &str) {
    let client = site.client();
    put_orders_in_flight(site, &client);

    let mut new = Build::start(site, Deploy::of("new", code));
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
    new.terminate();
    assert_withheld_lines_are_counted(&new, kind);

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

/// Deploys a bad build with the reference's constructors, and returns how each basket ends.
fn fail_with_the_constructors_of_the_reference(site: &Site, code: Code, error: &str) -> Vec<String> {
    let client = site.client();
    put_orders_in_flight(site, &client);
    let new = Build::start(site, Deploy::of("new", code).with(&["--constructor", "reference"]));
    go_on(&client);
    for order in orders() {
        let ended = end_of(&client, &order).unwrap_err();
        assert!(ended.starts_with(error), "{order}: {ended}");
    }
    let ends = baskets().map(|basket| end_of(&client, &basket).unwrap_err()).collect();
    assert_eq!(count_blocked(&client), 0);
    new.end();
    ends
}

#[test]
fn the_constructors_of_the_reference_fail_changed_orders_and_their_parents() {
    on_every_store("reference", |site| {
        let ends = fail_with_the_constructors_of_the_reference(site, Code::Changed, "nondeterministic");
        // The code of the parent does not see what only an operator can repair.
        assert!(ends.iter().all(|error| error.starts_with("nondeterministic")), "{ends:#?}");
    });
}

#[test]
fn the_constructors_of_the_reference_fail_panicking_orders_and_tell_their_parents() {
    on_every_store("reference-panics", |site| {
        let panicked = "orchestration panicked: this build cannot run orders";
        let ends = fail_with_the_constructors_of_the_reference(site, Code::Panics, panicked);
        let expected = format!("0 shipped, {CHILDREN} failed: {panicked}");
        assert!(ends.iter().all(|error| *error == expected), "{ends:#?}");
    });
}
