//! §19: what a client sees of instances that run.

use std::time::Duration;

use abide_client::ClientError;
use abide_model::OrchestrationStatus;

use super::support::{LONG, Node, World, millis, on_every_store};

fn node() -> Node {
    Node::new()
        .orchestration("Main", |ctx, input| async move { Ok(input + &ctx.schedule_wait("go").await) })
        .orchestration("Ends", |_, input| async move { Ok(input) })
        .orchestration("Fails", |_, input| async move { Err(input) })
        .orchestration("Parent", |ctx, _| async move { ctx.schedule_sub_orchestration("Ends", "").await })
}

#[test]
fn an_id_that_a_child_could_have_is_refused() {
    on_every_store(async |world: World| {
        let client = world.client();
        for id in ["sub::1", "a::sub::2"] {
            let refused = client.start_orchestration(id, "Main", "").await.unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!(
                    "Invalid input: instance id '{id}' uses the reserved sub-orchestration marker 'sub::'"
                )
            );
        }
        assert_eq!(world.left().await.messages, 0);
    });
}

#[test]
fn the_status_is_running_from_the_acknowledged_start_to_the_end() {
    on_every_store(async |world: World| {
        let client = world.client();
        world.start("i", "Main", "a").await;
        // Sent, but taken up by nobody.
        assert_eq!(client.get_orchestration_status("i").await.unwrap(), world.status_of_a_waiting_start());
        let runtime = world.run(node()).await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        let running = OrchestrationStatus::Running { custom_status: None, custom_status_version: 0 };
        assert_eq!(client.get_orchestration_status("i").await.unwrap(), running);
        world.raise("i", "go", "b").await;
        assert_eq!(world.end("i").await.unwrap(), "ab");
        let completed = OrchestrationStatus::Completed {
            output: "ab".to_owned(),
            custom_status: None,
            custom_status_version: 0,
        };
        assert_eq!(client.get_orchestration_status("i").await.unwrap(), completed);
        runtime.shutdown(None).await;
    });
}

#[test]
fn waiting_begins_before_there_is_anything_and_ends_with_the_instance() {
    on_every_store(async |world: World| {
        let client = world.client();
        let runtime = world.run(node()).await;
        let waiting = client.wait_for_orchestration("i", LONG);
        // Polled first, so it waits already.
        let starting = async { world.start("i", "Ends", "x").await };
        let (status, ()) = futures::join!(waiting, starting);
        assert!(matches!(status.unwrap(), OrchestrationStatus::Completed { output, .. } if output == "x"));
        runtime.shutdown(None).await;
    });
}

#[test]
fn waiting_for_what_does_not_end_in_time_is_a_timeout_and_ends_nothing() {
    on_every_store(async |world: World| {
        let client = world.client();
        let runtime = world.run(node()).await;
        let waited = client.wait_for_orchestration("nobody", millis(20)).await.unwrap_err();
        assert!(matches!(waited, ClientError::Timeout), "{waited:?}");
        assert_eq!(waited.to_string(), "Operation timed out");
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        let waited = client.wait_for_orchestration("i", millis(20)).await.unwrap_err();
        assert!(matches!(waited, ClientError::Timeout), "{waited:?}");
        world.raise("i", "go", "still here").await;
        assert_eq!(world.end("i").await.unwrap(), "still here");
        runtime.shutdown(None).await;
    });
}

#[test]
fn no_time_is_enough_for_what_has_ended() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start_and_end("i", "Ends", "x").await.unwrap();
        let status = world.client().wait_for_orchestration("i", Duration::ZERO).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn typed_waits_decode_the_output_or_say_why_not() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        let client = world.client();
        client.start_orchestration_typed("number", "Ends", 42_u32).await.unwrap();
        let number = client.wait_for_orchestration_typed::<u32>("number", LONG).await.unwrap();
        assert_eq!(number, Ok(42));
        let list = client.wait_for_orchestration_typed::<Vec<u32>>("number", LONG).await.unwrap_err();
        assert!(list.to_string().starts_with("Invalid input: decode failed: "), "{list}");
        world.start("fails", "Fails", "no luck").await;
        let failed = client.wait_for_orchestration_typed::<u32>("fails", LONG).await.unwrap();
        assert_eq!(failed, Err("no luck".to_owned()));
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_signal_or_a_cancel_before_the_start_waits_for_it_and_a_message_is_lost() {
    on_every_store(async |world: World| {
        let node = node().orchestration("Queue", |ctx, _| async move { Ok(ctx.dequeue_event("q").await) });
        world.enqueue("queue", "q", "too early").await;
        let runtime = world.run(node).await;
        // The runtime has looked: the message is gone.
        world.until(async || world.left().await.messages == 0).await;
        world.start("queue", "Queue", "").await;
        world.recorded("queue", "QueueSubscribed", 1).await;
        world.enqueue("queue", "q", "in time").await;
        assert_eq!(world.end("queue").await.unwrap(), "in time");
        // A signal is kept until the start, and is early then: recorded, and lost.
        world.raise("i", "go", "early").await;
        world.client().cancel_instance("cancelled", "early").await.unwrap();
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.start("cancelled", "Main", "").await;
        assert_eq!(world.end("cancelled").await.unwrap_err(), "canceled: early");
        runtime.shutdown(None).await;
    });
}

#[test]
fn deleting_says_why_not() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        let client = world.client();
        world.start("runs", "Main", "").await;
        world.recorded("runs", "ExternalSubscribed", 1).await;
        world.start_and_end("parent", "Parent", "").await.unwrap();
        for (instance, text) in [
            ("nobody", "Instance nobody not found"),
            ("runs", "Instance runs is still running. Use force=true or cancel first."),
            (
                "parent::sub::2",
                "Cannot delete sub-orchestration parent::sub::2 directly. Delete the root orchestration instead.",
            ),
        ] {
            assert_eq!(client.delete_instance(instance, false).await.unwrap_err().to_string(), text);
        }
        client.delete_instance("runs", true).await.unwrap();
        client.delete_instance("parent", false).await.unwrap();
        assert!(client.list_all_instances().await.unwrap().is_empty());
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_client_outlives_the_runtime_and_needs_none() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start_and_end("i", "Ends", "x").await.unwrap();
        runtime.shutdown(None).await;
        let world = world.reopened().await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert_eq!(world.client().list_instances_by_status("Completed").await.unwrap(), ["i"]);
    });
}
