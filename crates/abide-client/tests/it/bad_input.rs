//! What the client refuses before anything is sent: bad ids and names, payloads that are too large, and more.

use std::time::Duration;

use abide_client::{ClientError, StartError};
use abide_model::PruneOptions;
use abide_model::limits::{
    DEFAULT_MAX_PAYLOAD_BYTES, MAX_INSTANCE_ID_BYTES, MAX_NAME_BYTES, MAX_START_DELAY,
};

use crate::support::{AdminFault, Fault, World, is_timeout, seconds, text};

/// Everything that is sent for an instance, under a name, with a payload.
async fn send_all(world: &World, instance: &str, name: &str, payload: &str) -> Vec<Result<(), ClientError>> {
    let client = &world.client;
    let request = match client.start(instance, name).input(payload).await {
        Ok(_) => Ok(()),
        Err(StartError::Client(error)) => Err(error),
        Err(other) => panic!("{other}"),
    };
    vec![
        client.start_orchestration(instance, name, payload).await,
        client.start_orchestration_versioned(instance, name, "1.0.0", payload).await,
        client.raise_event(instance, name, payload).await,
        client.enqueue_event(instance, name, payload).await,
        request,
    ]
}

/// All of them are refused as invalid with these words, and the store is not called.
fn all_refused(world: &World, answers: Vec<Result<(), ClientError>>, words: &[&str]) {
    for answer in answers {
        assert!(matches!(answer, Err(ClientError::InvalidInput { .. })), "{answer:?}");
        let told = text(answer);
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    }
    assert_eq!(world.store.writes.calls(), 0, "nothing is stored");
}

#[tokio::test(start_paused = true)]
async fn an_empty_id_or_name_is_refused() {
    let world = World::new();
    all_refused(&world, send_all(&world, "", "Order", "").await, &["instance id is empty"]);
    all_refused(&world, send_all(&world, "a", "", "").await, &["name is empty"]);
    all_refused(&world, vec![world.client.cancel_instance("", "why").await], &["instance id is empty"]);
}

#[tokio::test(start_paused = true)]
async fn an_id_or_name_at_the_limit_is_taken_and_a_longer_one_refused() {
    let world = World::new();
    let (id, name) = ("i".repeat(MAX_INSTANCE_ID_BYTES), "n".repeat(MAX_NAME_BYTES));
    let longer = [format!("{id}i"), format!("{name}n")];
    let told = ["instance id beginning with \"iiii", "has 513 bytes; the limit is 512"];
    all_refused(&world, send_all(&world, &longer[0], "Order", "").await, &told);
    all_refused(&world, vec![world.client.cancel_instance(longer[0].as_str(), "").await], &told);
    let told = ["name beginning with \"nnnn", "has 257 bytes; the limit is 256"];
    all_refused(&world, send_all(&world, "a", &longer[1], "").await, &told);

    for answer in send_all(&world, &id, &name, "").await {
        answer.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_payload_at_the_limit_is_taken_and_a_larger_one_refused() {
    let world = World::new().asked_by(|client| client.max_payload_bytes(100));
    let told = ["has 101 bytes; the limit is 100 (max_payload_bytes)", "'Order'"];
    all_refused(&world, send_all(&world, "a", "Order", &"x".repeat(101)).await, &told);
    let client = &world.client;
    let typed = vec![
        client.start_orchestration_typed("a", "Order", "x".repeat(101)).await,
        client.raise_event_typed("a", "Order", &"x".repeat(101)).await,
        client.enqueue_event_typed("a", "Order", &"x".repeat(101)).await,
    ];
    all_refused(&world, typed, &told);
    let reason = client.cancel_instance("a", "x".repeat(101)).await;
    all_refused(&world, vec![reason], &["reason of a cancel has 101 bytes; the limit is 100"]);

    for answer in send_all(&world, "a", "Order", &"x".repeat(100)).await {
        answer.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_choice_the_limit_is_64_mebibytes() {
    let world = World::new();
    let payload = "x".repeat(DEFAULT_MAX_PAYLOAD_BYTES + 1);
    let refused = vec![world.client.raise_event("a", "go", payload).await];
    all_refused(&world, refused, &["payload of event 'go' has 67108865 bytes; the limit is 67108864"]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_does_not_show_the_payload() {
    let world = World::new().asked_by(|client| client.max_payload_bytes(10));
    let told = text(world.client.raise_event("a", "go", "a secret of some length").await);
    assert!(!told.contains("secret"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_delay_beyond_a_century_is_refused() {
    let world = World::new();
    for delay in [MAX_START_DELAY + Duration::from_nanos(1), Duration::MAX] {
        let refused = world.client.start("a", "Order").delay(delay).await;
        assert!(matches!(&refused, Err(StartError::Client(ClientError::InvalidInput { .. }))), "{refused:?}");
        assert!(text(refused).contains("a start cannot be delayed by"));
    }
    assert_eq!(world.store.writes.calls(), 0);
    world.client.start("a", "Order").delay(MAX_START_DELAY).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_status_that_does_not_exist_is_refused() {
    let world = World::new();
    for status in ["running", "Done", ""] {
        let told = text(world.client.list_instances_by_status(status).await);
        let expected = format!(
            "Invalid input: unknown execution status '{status}'; use one of Running, Completed, Failed, ContinuedAsNew"
        );
        assert_eq!(told, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_take_a_second_longer_per_mebibyte_it_sends() {
    let world = World::new().asked_by(|client| client.retry_for(Duration::ZERO));
    world.store.writes.last(Some(Fault::Hang));
    let (small, large) = ("x".repeat(1024), "x".repeat(10 * 1024 * 1024));

    assert!(is_timeout(&world.client.raise_event("a", "go", small).await));
    assert!(world.now() < seconds(6), "{:?}", world.now());
    let began = world.now();
    assert!(is_timeout(&world.client.raise_event("a", "go", large).await));
    assert_eq!(world.now().saturating_sub(began), seconds(15));
}

#[tokio::test(start_paused = true)]
async fn a_generated_child_id_may_be_longer_than_one_that_a_person_chooses() {
    let world = World::new();
    let deep = format!("{}{}", "i".repeat(MAX_INSTANCE_ID_BYTES), "::sub::2".repeat(50));
    world.client.raise_event(deep.as_str(), "go", "").await.unwrap();
    world.client.cancel_instance(deep.as_str(), "").await.unwrap();
    let deeper = deep.repeat(3);
    assert!(text(world.client.raise_event(deeper, "go", "").await).contains("the limit is 2000"));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_about_an_instance_that_exists_stays_what_the_store_said() {
    let world = World::with_admin(AdminFault::RefusesDeletion);
    world.past().started("a").await;
    let options = || PruneOptions { keep_last: Some(1), completed_before: None };

    let refused = world.client.prune_executions("a", options()).await;
    assert!(matches!(&refused, Err(ClientError::Provider(error)) if !error.is_retryable()), "{refused:?}");
    let unknown = world.client.prune_executions("nobody", options()).await;
    assert!(matches!(unknown, Err(ClientError::InstanceNotFound { .. })), "{unknown:?}");
}
