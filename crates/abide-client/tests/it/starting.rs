//! Starting: what is sent, what is refused, and what a request is told.

use abide_client::{ClientError, StartError, Started};
use abide_model::WorkItem;
use abide_provider::Ability;

use crate::support::{Fault, World, seconds, text, without_json};

fn start(input: &str, version: Option<&str>) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: "a".to_owned(),
        orchestration: "Order".to_owned(),
        input: input.to_owned(),
        version: version.map(ToOwned::to_owned),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_is_sent() {
    let world = World::new();
    world.client.start_orchestration("a", "Order", "two boxes").await.unwrap();
    assert_eq!(world.mail("a").await, [start("two boxes", None)]);
}

#[tokio::test(start_paused = true)]
async fn a_start_of_what_is_no_version_is_refused_and_nothing_is_sent() {
    let world = World::new();
    for version in ["1.0", "latest", ""] {
        let refused = [
            world.client.start_orchestration_versioned("a", "Order", version, "").await.unwrap_err(),
            world.client.start_orchestration_versioned_typed("a", "Order", version, 1).await.unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, ClientError::InvalidInput { .. }), "{error:?}");
            assert!(error.to_string().contains("is not a version such as 1.2.0"), "{error}");
        }
        assert!(world.client.start("a", "Order").version(version).await.is_err());
    }
    assert!(world.mail("a").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_start_of_a_version_is_sent() {
    let world = World::new();
    world.client.start_orchestration_versioned("a", "Order", "2.0.0", "x").await.unwrap();
    assert_eq!(world.mail("a").await, [start("x", Some("2.0.0"))]);
}

#[tokio::test(start_paused = true)]
async fn a_typed_start_is_sent() {
    let world = World::new();
    world.client.start_orchestration_typed("a", "Order", (1, "b")).await.unwrap();
    assert_eq!(world.mail("a").await, [start("[1,\"b\"]", None)]);
}

#[tokio::test(start_paused = true)]
async fn a_typed_start_of_a_version_is_sent() {
    let world = World::new();
    world.client.start_orchestration_versioned_typed("a", "Order", "2.0.0", "5").await.unwrap();
    assert_eq!(world.mail("a").await, [start("\"5\"", Some("2.0.0"))], "a text that looks like a number");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_a_child_could_have_is_refused() {
    let world = World::new();
    let client = &world.client;
    for id in ["sub::1", "a::sub::2"] {
        let refusal =
            format!("Invalid input: instance id '{id}' uses the reserved sub-orchestration marker 'sub::'");
        assert_eq!(text(client.start_orchestration(id, "Order", "").await), refusal);
        assert_eq!(text(client.start_orchestration_versioned(id, "Order", "1.0.0", "").await), refusal);
        assert_eq!(text(client.start_orchestration_typed(id, "Order", 1).await), refusal);
        assert_eq!(text(client.start_orchestration_versioned_typed(id, "Order", "1.0.0", 1).await), refusal);
        assert_eq!(text(client.start(id, "Order").await), refusal);
    }
    assert_eq!(world.store.writes.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_only_resembles_one_is_accepted() {
    let world = World::new();
    for id in ["sub", "a:sub:1", "a::subs"] {
        world.client.start_orchestration(id, "Order", "").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_without_json_form_is_refused() {
    let world = World::new();
    let client = &world.client;
    let refusal = "Invalid input: encode: key must be a string";
    assert_eq!(text(client.start_orchestration_typed("a", "Order", without_json()).await), refusal);
    let versioned = client.start_orchestration_versioned_typed("a", "Order", "1.0.0", without_json());
    assert_eq!(text(versioned.await), refusal);
    assert_eq!(text(client.start("a", "Order").typed_input(&without_json()).await), refusal);
    assert_eq!(world.store.writes.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn starting_what_is_there_is_no_error() {
    let world = World::new();
    world.past().started("a").await;
    world.client.start_orchestration("a", "Order", "again").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_sends_what_it_was_told() {
    let world = World::new();

    let request = world.client.start("a", "Order").input("first").typed_input(&[1]).version("2.0.0");

    assert_eq!(request.send().await.unwrap(), Started::Created);
    assert_eq!(world.mail("a").await, [start("[1]", Some("2.0.0"))]);
}

#[tokio::test(start_paused = true)]
async fn a_request_says_nothing_before_it_is_awaited() {
    let world = World::new();
    let request = world.client.start("a", "Order").input("secret").delay(seconds(1)).or_refuse();
    assert_eq!(
        format!("{request:?}"),
        "StartRequest { instance: \"a\", orchestration: \"Order\", version: None, delay: Some(1s), \
         if_exists: Refuse, .. }"
    );
    drop(request);
    assert_eq!(world.store.writes.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_start_waits() {
    let world = World::new();

    world.client.start("a", "Order").delay(seconds(60)).await.unwrap();

    world.at(seconds(59)).await;
    assert_eq!(world.mail("a").await, []);
    world.at(seconds(60)).await;
    assert_eq!(world.mail("a").await, [start("", None)]);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_told_that_the_instance_was_there() {
    let world = World::new();
    world.past().started("a").await;

    assert_eq!(world.client.start("a", "Order").await.unwrap(), Started::AlreadyExisted);

    assert_eq!(world.mail("a").await, [], "nothing is sent");
}

#[tokio::test(start_paused = true)]
async fn a_request_may_refuse_what_is_there() {
    let world = World::new();
    assert_eq!(world.client.start("a", "Order").or_refuse().await.unwrap(), Started::Created);
    world.past().taken_up("a").await;
    world.past().completed("a", "done").await;

    let again = world.client.start("a", "Order").or_refuse().await;

    assert!(matches!(again, Err(StartError::AlreadyExists { instance_id }) if instance_id == "a"));
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_answer_was_lost_does_not_take_its_own_instance_for_another() {
    let world = World::new();
    world.store.writes.plan([Fault::Unknown, Fault::HangAfter, Fault::NotApplied]);

    let started = world.client.start("a", "Order").or_refuse().await;

    assert_eq!(started.unwrap(), Started::Created);
    assert_eq!(world.mail("a").await, [start("", None)]);
    assert_eq!(world.store.writes.calls(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_answer_was_lost_is_not_repeated_where_that_would_mislead() {
    for missing in [Ability::AtomicStarts, Ability::KeyedRequests] {
        let world = World::without_ability(missing);
        world.store.writes.plan([Fault::Unknown]);

        let started = world.client.start("a", "Order").await;

        let Err(StartError::Client(ClientError::Provider(error))) = started else { panic!("{started:?}") };
        assert!(error.is_retryable());
        assert_eq!(world.store.writes.calls(), 1);
    }
}
