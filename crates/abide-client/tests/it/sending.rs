//! Signals, queue messages and cancellations: what is sent is what was said.

use abide_client::ClientError;
use abide_model::WorkItem;

use crate::support::{World, text, without_json};

fn signal(name: &str, data: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: "a".to_owned(), name: name.to_owned(), data: data.to_owned() }
}

fn message(name: &str, data: &str) -> WorkItem {
    WorkItem::QueueMessage { instance: "a".to_owned(), name: name.to_owned(), data: data.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn a_signal_is_sent() {
    let world = World::new();
    world.past().started("a").await;

    world.client.raise_event("a", "go", "now").await.unwrap();
    world.client.raise_event_typed("a", "go", &7).await.unwrap();
    world.client.raise_event_typed("a", "go", &"bare").await.unwrap();

    assert_eq!(world.mail("a").await, [signal("go", "now"), signal("go", "7"), signal("go", "bare")]);
}

#[tokio::test(start_paused = true)]
async fn a_queue_message_is_sent() {
    let world = World::new();
    world.past().started("a").await;

    world.client.enqueue_event("a", "inbox", "one").await.unwrap();
    world.client.enqueue_event_typed("a", "inbox", &vec![2]).await.unwrap();
    #[expect(deprecated, reason = "the older name still works")]
    world.client.raise_event_persistent("a", "inbox", "three").await.unwrap();

    assert_eq!(
        world.mail("a").await,
        [message("inbox", "one"), message("inbox", "[2]"), message("inbox", "three")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_is_sent() {
    let world = World::new();
    world.past().started("a").await;

    world.client.cancel_instance("a", "enough").await.unwrap();

    let cancel = WorkItem::CancelInstance { instance: "a".to_owned(), reason: "enough".to_owned() };
    assert_eq!(world.mail("a").await, [cancel]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_exists_is_sent_signals_and_cancellations() {
    let world = World::new();
    world.past().started("a").await;

    world.client.send_event("a", "go", "now").await.unwrap();
    world.client.cancel_existing("a", "enough").await.unwrap();

    let cancel = WorkItem::CancelInstance { instance: "a".to_owned(), reason: "enough".to_owned() };
    assert_eq!(world.mail("a").await, [signal("go", "now"), cancel]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_stored_for_an_instance_that_must_exist_and_does_not() {
    let world = World::new();

    let sent = world.client.send_event("a", "go", "now").await;
    let canceled = world.client.cancel_existing("a", "enough").await;

    for answer in [sent, canceled] {
        assert!(
            matches!(&answer, Err(ClientError::InstanceNotFound { instance_id }) if instance_id == "a"),
            "{answer:?}"
        );
    }
    world.client.start_orchestration("a", "Order", "").await.unwrap();
    let mail = world.mail("a").await;
    assert!(matches!(&mail[..], [WorkItem::StartOrchestration { .. }]), "{mail:?}");
}

#[tokio::test(start_paused = true)]
async fn what_has_no_json_form_is_refused_and_nothing_is_sent() {
    let world = World::new();

    let raised = world.client.raise_event_typed("a", "go", &without_json()).await;
    let enqueued = world.client.enqueue_event_typed("a", "go", &without_json()).await;

    assert!(matches!(raised, Err(ClientError::InvalidInput { .. })));
    assert_eq!(text(raised), "Invalid input: encode: key must be a string");
    assert_eq!(text(enqueued), "Invalid input: encode: key must be a string");
    assert_eq!(world.store.writes.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn anybody_may_be_told_something_children_and_strangers_too() {
    let world = World::new();

    world.client.raise_event("a::sub::2", "go", "").await.unwrap();
    world.client.enqueue_event("stranger", "inbox", "").await.unwrap();
    world.client.cancel_instance("nobody", "").await.unwrap();
}
