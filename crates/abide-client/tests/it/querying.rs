//! Looking at one instance.

use std::collections::HashMap;

use abide_client::ClientError;
use abide_model::{AppErrorKind, ErrorDetails, OrchestrationStatus};

use crate::support::{Fault, World, is_timeout, seconds, text};

#[tokio::test(start_paused = true)]
async fn the_status_is_where_the_instance_stands() {
    let world = World::new();
    let status = async || world.client.get_orchestration_status("a").await.unwrap();
    assert_eq!(status().await, OrchestrationStatus::NotFound);

    world.client.start_orchestration("a", "Order", "").await.unwrap();
    let (custom_status, custom_status_version) = (None, 0);
    let running = OrchestrationStatus::Running { custom_status, custom_status_version };
    assert_eq!(status().await, running, "nobody has taken it up, but its start is acknowledged");

    world.past().taken_up("a").await;
    let (custom_status, custom_status_version) = (None, 0);
    assert_eq!(status().await, OrchestrationStatus::Running { custom_status, custom_status_version });

    world.past().said("a", "halfway").await;
    let (custom_status, custom_status_version) = (Some("halfway".to_owned()), 1);
    let running =
        OrchestrationStatus::Running { custom_status: custom_status.clone(), custom_status_version };
    assert_eq!(status().await, running);

    world.past().completed("a", "done").await;
    let output = "done".to_owned();
    assert_eq!(
        status().await,
        OrchestrationStatus::Completed { output, custom_status, custom_status_version }
    );
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_failure_says_why() {
    let world = World::new();
    let details = ErrorDetails::Application {
        kind: AppErrorKind::OrchestrationFailed,
        message: "out of stock".to_owned(),
        retryable: false,
    };
    world.past().started("a").await;
    world.past().failed("a", details.clone()).await;

    let status = world.client.get_orchestration_status("a").await.unwrap();

    let (custom_status, custom_status_version) = (None, 0);
    assert_eq!(status, OrchestrationStatus::Failed { details, custom_status, custom_status_version });
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_continued_is_running() {
    let world = World::new();
    world.past().started("a").await;
    world.past().continued("a", "next").await;

    let status = world.client.get_orchestration_status("a").await.unwrap();

    assert!(matches!(status, OrchestrationStatus::Running { .. }));
}

#[tokio::test(start_paused = true)]
async fn values_are_what_the_code_keeps() {
    let world = World::new();
    world.past().started("a").await;
    world.past().kept("a", "count", "7").await;
    world.past().kept("a", "name", "\"Ada\"").await;
    let client = &world.client;

    assert_eq!(client.get_kv_value("a", "count").await.unwrap().as_deref(), Some("7"));
    assert_eq!(client.get_kv_value("a", "other").await.unwrap(), None);
    assert_eq!(client.get_kv_value("b", "count").await.unwrap(), None);
    assert_eq!(client.get_kv_value_typed("a", "count").await.unwrap(), Some(7));
    assert_eq!(client.get_kv_value_typed("a", "name").await.unwrap(), Some("Ada".to_owned()));
    assert_eq!(client.get_kv_value_typed::<u8>("a", "other").await.unwrap(), None);
    let all = HashMap::from([("count", "7"), ("name", "\"Ada\"")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    assert_eq!(client.get_kv_all_values("a").await.unwrap(), all);
}

#[tokio::test(start_paused = true)]
async fn a_value_of_another_type_is_invalid() {
    let world = World::new();
    world.past().started("a").await;
    world.past().kept("a", "name", "Ada").await;

    let value = world.client.get_kv_value_typed::<u8>("a", "name").await;

    assert!(matches!(value, Err(ClientError::InvalidInput { .. })));
    assert_eq!(
        text(value),
        "Invalid input: KV deserialization error: value of key 'name' of 'a' is not a `u8`: expected value at line 1 column 1"
    );
}

#[tokio::test(start_paused = true)]
async fn the_size_of_an_instance_needs_no_administration() {
    let world = World::without_admin();
    assert_eq!(world.client.get_orchestration_stats("a").await.unwrap(), None);

    world.past().started("a").await;
    world.past().kept("a", "count", "7").await;

    let stats = world.client.get_orchestration_stats("a").await.unwrap().unwrap();
    assert_eq!((stats.history_event_count, stats.kv_user_key_count, stats.kv_total_value_bytes), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_look_that_fails_says_so_at_once() {
    let world = World::new();
    for fault in [Fault::NotApplied, Fault::Refused] {
        world.store.reads.plan([fault; 4]);
        let client = &world.client;
        let errors = [
            client.get_orchestration_status("a").await.unwrap_err(),
            client.get_kv_value("a", "k").await.unwrap_err(),
            client.get_kv_all_values("a").await.unwrap_err(),
            client.get_orchestration_stats("a").await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, ClientError::Provider(_)));
            assert_eq!(error.is_retryable(), fault == Fault::NotApplied);
        }
    }
    assert_eq!(world.now(), seconds(0));
}

#[tokio::test(start_paused = true)]
async fn a_look_that_hangs_gives_a_timeout() {
    let world = World::new();
    world.store.reads.last(Some(Fault::Hang));

    assert!(is_timeout(&world.client.get_orchestration_status("a").await));
    assert_eq!(world.now(), seconds(5));
    assert!(is_timeout(&world.client.get_kv_value_typed::<u8>("a", "k").await));
    assert!(is_timeout(&world.client.get_kv_all_values("a").await));
    assert!(is_timeout(&world.client.get_orchestration_stats("a").await));
    assert_eq!(world.now(), seconds(20));
}
