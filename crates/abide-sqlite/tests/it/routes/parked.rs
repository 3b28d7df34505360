//! Calls that wait are served what their node can run.

use std::pin::pin;

use abide_provider::{BlockInstance, BlockKind, Provider as _};
use futures::FutureExt as _;
use futures::executor::block_on;

use super::*;
use crate::support::items::*;

/// Two nodes wait; each gets its own, whoever came first.
#[test]
fn waiting_calls_are_served_by_what_they_serve() {
    let store = Store::in_memory();
    let wait = |serving: &Serving| LeaseInstances { wait: seconds(3_600), ..instances_of(serving) };
    let (orders, others) = (node("b1", &["Order"], &[]), node("b1", &["Other"], &[]));
    let mut for_orders = pin!(store.provider.lease_instances(wait(&orders)));
    let mut for_others = pin!(store.provider.lease_instances(wait(&others)));
    assert!(for_orders.as_mut().now_or_never().is_none());
    assert!(for_others.as_mut().now_or_never().is_none());
    store.enqueue(start_of("other", "Other"));
    assert_eq!(names(&block_on(for_others).unwrap()), ["other"]);
    assert!(for_orders.as_mut().now_or_never().is_none(), "nothing of its own is there");
    store.enqueue(start("order"));
    assert_eq!(names(&block_on(for_orders).unwrap()), ["order"]);
}

/// A build that refused an instance waits, and is served when its time has come.
#[test]
fn a_waiting_call_is_served_when_a_retry_is_due() {
    let store = Store::in_memory();
    let orders = node("b1", &["Order"], &[]);
    store.enqueue(start("a"));
    let lease = store.lease_with(instances_of(&orders)).remove(0);
    let block = BlockInstance {
        token: lease.token,
        kind: BlockKind::Panic,
        detail: String::new(),
        build: "b1".to_owned(),
        event_id: None,
        retry_after: Some(seconds(60)),
    };
    block_on(store.provider.block_instance(block)).unwrap();
    assert!(store.lease_with(instances_of(&orders)).is_empty());
    store.advance(seconds(60));
    assert_eq!(names(&store.lease_with(instances_of(&orders))), ["a"]);
}
