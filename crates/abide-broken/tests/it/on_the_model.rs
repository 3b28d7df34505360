//! Every bug in the model, and the whole suite on it.

use std::sync::LazyLock;

use abide_broken::{Caught, HealthyStores, Planted, Trials, all_paths, bugs};
use expect_test::expect_file;

use crate::model::Models;
use crate::table;

/// Those that wait cost nothing.
const ALL_AT_ONCE: usize = 1_000;

/// All bugs, tried once for all tests.
static CAUGHT: LazyLock<Vec<Caught>> = LazyLock::new(|| trials().on_the_suite(&bugs()));

fn trials() -> Trials<'static> {
    Trials::new(ALL_AT_ONCE, &models)
}

fn models() -> Box<dyn HealthyStores> {
    Box::new(Models::new())
}

#[test]
fn without_a_bug_everything_passes() {
    let failures = trials().without_a_bug(all_paths());
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_bug_is_caught_by_the_validation_that_is_there_for_it() {
    let missed: Vec<String> = CAUGHT.iter().filter_map(Caught::missed).collect();
    assert!(missed.is_empty(), "{} bugs are not caught:\n\n{}", missed.len(), missed.join("\n\n"));
}

#[test]
fn the_document_has_every_bug() {
    let document = table::document(&CAUGHT, &all_paths());
    expect_file!["../../../../docs/broken-providers.md"].assert_eq(&document);
}

/// For authors of bugs: `BUG=Name cargo test … -- --ignored --nocapture show`, or all without a name.
#[test]
#[ignore = "shows what bugs do to the suite"]
fn show() {
    let name = std::env::var("BUG").ok();
    let meant = |bug: &&Planted| name.as_ref().is_none_or(|name| bug.name == name);
    for caught in trials().on_the_suite(&bugs().into_iter().filter(meant).collect::<Vec<_>>()) {
        println!("{} ({})", caught.bug.name, caught.bug.catcher);
        for failure in &caught.failures {
            println!("    {}: {:?}", failure.path, failure.how);
        }
    }
}
