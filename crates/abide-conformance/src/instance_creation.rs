//! Instances come to be with their first turn, and not before.

use crate::ProviderFactory;
use crate::suite::area;
use crate::support::{Ack, Subject, start};

area! {
    instance_creation;
    test_instance_creation_via_metadata;
}

/// The first commit creates the instance, with the name and version that its metadata gives.
pub async fn test_instance_creation_via_metadata<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::first("a").named("Invoice", "2.1.0")).await;

    store.post(crate::support::signal("a", "next")).await;
    let next = store.fetch("a").await;
    assert_eq!(next.item.orchestration_name, "Invoice");
    assert_eq!(next.item.version, "2.1.0");
    assert_eq!(next.item.execution_id, 1);
}
