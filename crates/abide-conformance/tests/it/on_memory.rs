//! The reference model passes everything.

use abide_conformance::{Need, Polling, report};

use crate::model::ModelFactory;

#[tokio::test(flavor = "multi_thread")]
async fn the_model_passes_every_validation_but_those_for_stores_that_never_wait() {
    let report = report(&ModelFactory::new()).await;
    let failures: Vec<_> = report.failures().collect();
    assert!(failures.is_empty(), "{failures:#?}");
    for (path, need) in report.not_applicable() {
        assert_eq!(need, Need::Polling(Polling::Short), "{path} was left out");
    }
}
