//! What waiting clients, gauges and health say of a blocked instance.

use abide_client::{Client, ClientError};

use super::*;
use crate::lessons::scene::{LONG, ways};

/// How every wait for an instance ends.
async fn waits(client: &Client, instance: &str, timeout: Duration) -> [ClientError; 5] {
    [
        client.wait_for_orchestration(instance, timeout).await.unwrap_err(),
        client.wait_for_orchestration_typed::<String>(instance, timeout).await.unwrap_err(),
        client.wait_for_status_change(instance, 0, MINUTE, timeout).await.unwrap_err(),
        client.wait_for_kv_value(instance, "key", timeout).await.unwrap_err(),
        client.wait_for_kv_value_typed::<String>(instance, "key", timeout).await.unwrap_err(),
    ]
}

#[test]
fn every_wait_names_the_block_when_its_time_is_over() {
    ways(&REMEMBERING, async |scene| {
        scene.node(build("bad").orchestration("Order", |_, _| async move { panic!("no") })).await;
        scene.start("order", "Order", "").await;
        scene.until_blocked("order").await;
        for error in waits(&scene.client(), "order", MINUTE).await {
            let expected = "Operation timed out: instance 'order' is blocked (panic, by build bad)";
            assert!(error.to_string().contains(expected) && error.is_retryable(), "{error}");
        }
    });
}

#[test]
fn every_wait_of_a_test_ends_with_the_block() {
    ways(&REMEMBERING, async |scene| {
        scene.node(build("bad").orchestration("Order", |_, _| async move { panic!("no") })).await;
        scene.start("order", "Order", "").await;
        let memory: std::sync::Arc<dyn abide_provider::Provider> = scene.world.memory.clone();
        let client = Client::builder(memory).clock(scene.world.clock.clone()).end_waits_at_blocks().build();
        for error in waits(&client, "order", LONG).await {
            let expected = "instance 'order' is blocked (panic, by build bad)";
            assert!(error.to_string().contains(expected) && !error.is_retryable(), "{error}");
        }
        assert!(scene.time() < LONG / 2, "it did not wait");
    });
}

#[test]
fn a_node_that_has_work_counts_also_what_another_node_blocks() {
    ways(&REMEMBERING, async |scene| {
        let other = scene.node(blocking(Code::new(), "good")).await;
        scene.pass(Duration::from_secs(1)).await;
        assert_eq!((other.health().blocked, other.health().oldest_blocked), (0, None));
        let bad = scene.node(build("bad").orchestration("Order", |_, _| async move { panic!("no") })).await;
        for order in ["first", "second"] {
            scene.start(order, "Order", "").await;
            scene.until_blocked(order).await;
            scene.pass(Duration::from_secs(1)).await;
        }
        assert_eq!(scene.run("hello", "Hello", "you").await.unwrap(), "hello you");
        scene.pass(2 * MINUTE).await;
        for node in [other, bad] {
            let health = node.health();
            assert_eq!((health.blocked, health.oldest_blocked.as_deref()), (2, Some("first")));
        }
    });
}
