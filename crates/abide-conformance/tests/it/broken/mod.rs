//! Proof that the suite can fail: providers with one mistake each, and the validation that notices.
//!
//! A bug is a few lines in `bugs/` that replace one operation of a healthy store; what needs the store's inside is
//! pretended from the outside. `docs/broken-providers.md` has them all, with who caught them.

mod bug;
mod bugs;
mod clock;
mod factory;
mod planted;
mod provider;
mod run;
mod store;
mod table;

use std::sync::LazyLock;

use expect_test::expect_file;

use bug::Healthy;
use planted::{Planted, plant};
use run::{Caught, all_paths, failures_of, try_all};

/// All bugs, tried once for all tests.
static CAUGHT: LazyLock<Vec<Caught>> = LazyLock::new(|| try_all(&bugs::all()));

#[test]
fn without_a_bug_everything_passes() {
    let failures = failures_of(plant::<Healthy>, |_| true);
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_bug_is_caught_by_the_validation_that_is_there_for_it() {
    let missed: Vec<String> = CAUGHT.iter().filter_map(missed).collect();
    assert!(missed.is_empty(), "{} bugs are not caught:\n\n{}", missed.len(), missed.join("\n\n"));
}

fn missed(caught: &Caught) -> Option<String> {
    let Planted { name, what, catcher, .. } = caught.bug;
    if caught.catchers().any(|path| path == *catcher) {
        return None;
    }
    let failures: Vec<&str> = caught.failures.iter().map(|failure| failure.path.as_str()).collect();
    Some(format!("{name} ({what}) must be caught by {catcher}, but what failed is {failures:#?}"))
}

#[test]
fn the_document_has_every_bug() {
    let document = table::document(&CAUGHT, &all_paths());
    expect_file!["../../../../../docs/broken-providers.md"].assert_eq(&document);
}

/// For authors of bugs: `BUG=Name cargo test … -- --ignored --nocapture show`, or all without a name.
#[test]
#[ignore = "shows what bugs do to the suite"]
fn show() {
    let name = std::env::var("BUG").ok();
    let meant = |bug: &&Planted| name.as_ref().is_none_or(|name| bug.name == name);
    for caught in try_all(&bugs::all().into_iter().filter(meant).collect::<Vec<_>>()) {
        println!("{} ({})", caught.bug.name, caught.bug.catcher);
        for failure in &caught.failures {
            println!("    {}: {:?}", failure.path, failure.how);
        }
    }
}
