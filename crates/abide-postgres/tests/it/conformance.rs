//! The suite for anyone's store, on this one.

use abide_conformance::{Need, Polling, report};

use crate::support::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_every_validation_that_applies() {
    if abide_throwaway::shared().is_none() {
        return;
    }
    let report = report(&Stores::new()).await;
    let failures: Vec<_> = report.failures().collect();
    assert!(failures.is_empty(), "{failures:#?}");
    // Only what is for stores that answer at once is left out.
    for (path, need) in report.not_applicable() {
        assert_eq!(need, Need::Polling(Polling::Short), "{path} was left out");
    }
}
