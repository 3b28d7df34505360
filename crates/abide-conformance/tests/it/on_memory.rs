//! The reference model passes everything.

use abide_conformance::{report, validations};

use crate::model::ModelFactory;

#[tokio::test(flavor = "multi_thread")]
async fn the_model_passes_every_validation_and_every_one_applies() {
    let report = report(&ModelFactory::new()).await;
    let failures: Vec<_> = report.failures().collect();
    assert!(failures.is_empty(), "{failures:#?}");
    let left_out: Vec<_> = report.not_applicable().collect();
    assert!(left_out.is_empty(), "{left_out:?}");
    assert_eq!(report.passed(), validations().len());
}
