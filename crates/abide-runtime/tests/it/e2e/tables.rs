//! §29: what is done with mail, by where the instance stands; which end wins; what a status is.

use abide_model::{ErrorDetails, OrchestrationStatus, WorkItem};

use super::support::{Left, Node, World, names, on_every_store};

fn node() -> Node {
    Node::new()
        .orchestration("Main", |ctx, input| async move { Ok(input + &ctx.schedule_wait("go").await) })
        .orchestration("Ends", |_, input| async move { Ok(input) })
        .orchestration("Fails", |_, input| async move { Err(input) })
}

/// One of every kind of message that may be in the mail of `instance` besides starts.
fn every_kind(instance: &str) -> Vec<WorkItem> {
    let instance = instance.to_owned();
    let details = ErrorDetails::orchestration_failed("stale");
    vec![
        WorkItem::ActivityCompleted {
            instance: instance.clone(),
            execution_id: 7,
            id: 2,
            result: String::new(),
        },
        WorkItem::ActivityFailed {
            instance: instance.clone(),
            execution_id: 7,
            id: 2,
            details: details.clone(),
        },
        WorkItem::TimerFired { instance: instance.clone(), execution_id: 7, id: 2, fire_at_ms: 1 },
        WorkItem::ExternalRaised { instance: instance.clone(), name: "s".to_owned(), data: String::new() },
        WorkItem::QueueMessage { instance: instance.clone(), name: "q".to_owned(), data: String::new() },
        WorkItem::SubOrchCompleted {
            parent_instance: instance.clone(),
            parent_execution_id: 7,
            parent_id: 2,
            result: String::new(),
        },
        WorkItem::SubOrchFailed { parent_instance: instance, parent_execution_id: 7, parent_id: 2, details },
    ]
}

#[test]
fn mail_that_comes_with_the_start_is_taken_with_it() {
    on_every_store(async |world: World| {
        world.start("i", "Main", "in ").await;
        world.enqueue("i", "q", "kept").await;
        world.raise("i", "go", "x").await;
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "in x");
        // The code begins first: its wait is there when the signal is taken.
        assert_eq!(
            names(&world.history("i").await),
            [
                "OrchestrationStarted",
                "ExternalSubscribed",
                "QueueEventDelivered",
                "ExternalEvent",
                "OrchestrationCompleted"
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn queue_messages_for_nobody_are_deleted_and_everything_else_waits() {
    on_every_store(async |world: World| {
        world.enqueue("only queue", "q", "").await;
        world.raise("signal", "go", "").await;
        let runtime = world.run(node()).await;
        world.until(async || world.left().await.messages == 1).await;
        assert_eq!(world.start_and_end("other", "Ends", "").await.unwrap(), "");
        world.leaves(Left { messages: 1, work: 0, leases: 0 }).await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn stale_mail_of_a_running_instance_is_used_up() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        for item in every_kind("i") {
            world.mail(item).await;
        }
        world.recorded("i", "QueueEventDelivered", 1).await;
        world.raise("i", "go", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        // Signals and messages are recorded though nobody waits; answers for other executions are not.
        assert_eq!(
            names(&world.history("i").await),
            [
                "OrchestrationStarted",
                "ExternalSubscribed",
                "ExternalEvent",
                "QueueEventDelivered",
                "ExternalEvent",
                "OrchestrationCompleted"
            ]
        );
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn mail_of_an_instance_that_has_ended_is_used_up_and_changes_nothing() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        let _ends = world.start_and_end("completed", "Ends", "").await;
        let _fails = world.start_and_end("failed", "Fails", "").await;
        for instance in ["completed", "failed"] {
            let before = world.history(instance).await;
            for item in every_kind(instance) {
                world.mail(item).await;
            }
            world.start(instance, "Main", "").await;
            world.client().cancel_instance(instance, "late").await.unwrap();
            world.is_drained().await;
            assert_eq!(world.history(instance).await, before);
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_answer_to_something_that_was_never_asked_fails_the_instance() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        let result = String::new();
        world
            .mail(WorkItem::ActivityCompleted { instance: "i".to_owned(), execution_id: 1, id: 99, result })
            .await;
        let details = world.failure("i").await;
        assert_eq!(details.category(), "configuration");
        let text = details.display_message();
        assert!(text.starts_with("nondeterministic: no matching schedule for completion id=99"), "{text}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_first_end_wins() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Panic after continue", |ctx, _| async move {
                let _next = ctx.continue_as_new("");
                panic!("out of eggs");
            })
            .orchestration("Continue and return", |ctx, input| async move {
                if input == "again" {
                    return Ok("continued".to_owned());
                }
                let _next = ctx.continue_as_new("again");
                Err("not this".to_owned())
            });
        let runtime = world.run(node).await;
        assert_eq!(
            world.start_and_end("panic", "Panic after continue", "").await.unwrap_err(),
            "orchestration panicked: out of eggs"
        );
        assert_eq!(world.start_and_end("continue", "Continue and return", "").await.unwrap(), "continued");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_instance_stands_as_its_current_execution_does() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start("running", "Main", "").await;
        world.recorded("running", "ExternalSubscribed", 1).await;
        let _ends = world.start_and_end("completed", "Ends", "output").await;
        let _fails = world.start_and_end("failed", "Fails", "no luck").await;
        let client = world.client();
        for (instance, status, output) in [
            ("running", "Running", None),
            ("completed", "Completed", Some("output")),
            ("failed", "Failed", Some("no luck")),
        ] {
            let info = client.get_instance_info(instance).await.unwrap();
            assert_eq!((info.status.as_str(), info.output.as_deref()), (status, output));
            assert_eq!(client.list_instances_by_status(status).await.unwrap(), [instance]);
        }
        let metrics = client.get_system_metrics().await.unwrap();
        assert_eq!(
            (metrics.running_instances, metrics.completed_instances, metrics.failed_instances),
            (1, 1, 1)
        );
        assert_eq!(client.get_orchestration_status("nobody").await.unwrap(), OrchestrationStatus::NotFound);
        runtime.shutdown(None).await;
    });
}
