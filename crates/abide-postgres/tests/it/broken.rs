//! Proof that the suite can fail on this store: every planted bug, around a real one.
//!
//! On the model the whole suite is run on each. Here it is the validation that must notice, and nothing else.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use abide_broken::{Caught, HealthyStores, Trials, bugs};

use crate::support::stores::Stores;

/// How many validations about waiting run at the same time. Those that notice a mistake take many seconds, and cost little.
const WAITING: usize = 16;

/// Each of these tests takes all processors, and measures time.
static ONE_AFTER_THE_OTHER: Mutex<()> = Mutex::new(());

fn stores() -> Box<dyn HealthyStores> {
    Box::new(Stores::new())
}

#[test]
fn every_bug_is_caught_by_the_validation_that_is_there_for_it() {
    if abide_throwaway::shared().is_none() {
        return;
    }
    let _alone = ONE_AFTER_THE_OTHER.lock().unwrap_or_else(PoisonError::into_inner);
    let caught = Trials::new(WAITING, &stores).on_their_catchers(&bugs());
    let missed: Vec<String> = caught.iter().filter_map(Caught::missed).collect();
    assert!(missed.is_empty(), "{} bugs are not caught:\n\n{}", missed.len(), missed.join("\n\n"));
}

/// Otherwise it could be something else that they notice.
#[test]
fn without_a_bug_those_validations_pass() {
    if abide_throwaway::shared().is_none() {
        return;
    }
    let _alone = ONE_AFTER_THE_OTHER.lock().unwrap_or_else(PoisonError::into_inner);
    let catchers: BTreeSet<&str> = bugs().iter().map(|bug| bug.catcher).collect();
    // Those that find nothing wrong take no time.
    let failures = Trials::new(1, &stores).without_a_bug(catchers.into_iter().map(str::to_owned));
    assert!(failures.is_empty(), "{failures:#?}");
}
