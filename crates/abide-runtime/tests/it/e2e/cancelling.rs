//! §9.4: cancelling an instance.

use abide_model::{AppErrorKind, ErrorDetails, OrchestrationStatus};
use abide_sim::Gate;

use super::support::{LONG, Log, Node, World, names, on_every_store, trace};

fn waiting() -> Node {
    Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("s").await) })
}

#[test]
fn a_cancelled_instance_fails_with_its_reason() {
    on_every_store(async |world: World| {
        let runtime = world.run(waiting()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.client().cancel_instance("i", "changed my mind").await.unwrap();
        let details = world.failure("i").await;
        let kind = AppErrorKind::Cancelled { reason: "changed my mind".to_owned() };
        let expected = ErrorDetails::Application { kind, message: String::new(), retryable: false };
        assert_eq!(details, expected);
        assert_eq!(details.display_message(), "canceled: changed my mind");
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 ExternalSubscribed s",
                "3 OrchestrationCancelRequested changed my mind",
                "4 ExternalSubscribedCancelled[2] orchestration_terminal",
                "5 OrchestrationFailed canceled: changed my mind",
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn of_many_cancels_the_first_counts() {
    on_every_store(async |world: World| {
        let runtime = world.run(waiting()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let client = world.client();
        for reason in ["first", "second", "third", "fourth", "fifth"] {
            client.cancel_instance("i", reason).await.unwrap();
        }
        let runtime = world.run(waiting()).await;
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: first");
        client.cancel_instance("i", "sixth").await.unwrap();
        world.is_drained().await;
        let history = world.history("i").await;
        let cancels = names(&history).into_iter().filter(|name| *name == "OrchestrationCancelRequested");
        assert_eq!(cancels.count(), 1);
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: first");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_instance_that_has_ended_is_not_cancelled() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |_, _| async move { Ok("done".to_owned()) });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "done");
        let before = trace(&world.history("i").await);
        world.client().cancel_instance("i", "too late").await.unwrap();
        world.is_drained().await;
        assert_eq!(world.trace("i").await, before);
        assert_eq!(world.end("i").await.unwrap(), "done");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_instance_that_is_cancelled_before_its_start_never_runs() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new().orchestration("Main", move |_, _| {
            writes.write("ran");
            async move { Ok("done".to_owned()) }
        });
        world.client().cancel_instance("i", "never mind").await.unwrap();
        world.start("i", "Main", "").await;
        let runtime = world.run(node).await;
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: never mind");
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 OrchestrationCancelRequested never mind",
                "3 OrchestrationFailed canceled: never mind",
            ]
        );
        assert_eq!(log.len(), 0);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_cancel_that_comes_with_the_start_fails_what_does_not_end_at_once() {
    on_every_store(async |world: World| {
        world.start("i", "Main", "").await;
        world.client().cancel_instance("i", "why").await.unwrap();
        let runtime = world.run(waiting()).await;
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: why");
        runtime.shutdown(None).await;
    });
}

#[test]
fn code_is_not_polled_again_once_it_is_cancelled() {
    on_every_store(async |world: World| {
        let polled = Log::new();
        let writes = polled.clone();
        let node = Node::new().orchestration("Main", move |ctx, _| {
            let polled = writes.clone();
            async move {
                let mut wait = ctx.schedule_wait("s");
                futures::future::poll_fn(|task| {
                    polled.write("polled");
                    std::future::Future::poll(std::pin::Pin::new(&mut wait), task)
                })
                .await;
                Ok(String::new())
            }
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        assert_eq!(polled.len(), 1);
        let writes = polled.clone();
        let node = Node::new().orchestration("Main", move |ctx, _| {
            let polled = writes.clone();
            async move {
                let wait = ctx.schedule_wait("s");
                let seen = wait.await;
                polled.write("polled with an answer");
                Ok(seen)
            }
        });
        let runtime = world.run(node).await;
        let client = world.client();
        client.cancel_instance("i", "why").await.unwrap();
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: why");
        assert_eq!(polled.len(), 1);
        runtime.shutdown(None).await;
    });
}

#[test]
fn cancelling_a_parent_cancels_the_whole_tree() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Leaf", |ctx, _| async move { Ok(ctx.schedule_wait("never").await) })
            .orchestration("Middle", |ctx, _| async move {
                let leaves = (0..2).map(|_| ctx.schedule_sub_orchestration("Leaf", "")).collect();
                ctx.join(leaves).await.swap_remove(0)
            })
            .orchestration(
                "Root",
                |ctx, _| async move { ctx.schedule_sub_orchestration("Middle", "").await },
            );
        let runtime = world.run(node).await;
        world.start("r", "Root", "").await;
        let leaves = ["r::sub::2::sub::2", "r::sub::2::sub::3"];
        for leaf in leaves {
            world.recorded(leaf, "ExternalSubscribed", 1).await;
        }
        world.client().cancel_instance("r", "why").await.unwrap();
        assert_eq!(world.end("r").await.unwrap_err(), "canceled: why");
        assert_eq!(world.end("r::sub::2").await.unwrap_err(), "canceled: parent canceled");
        for leaf in leaves {
            assert_eq!(world.end(leaf).await.unwrap_err(), "canceled: parent canceled");
        }
        // What the children report to parents that have ended is used up, and changes nothing.
        world.is_drained().await;
        assert_eq!(world.history("r").await.last().unwrap().kind.name(), "OrchestrationFailed");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_parent_sees_that_its_child_was_cancelled() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("never").await) })
            .orchestration("Main", |ctx, _| async move {
                let seen = ctx.schedule_sub_orchestration_with_id("Child", "c", "").await;
                Ok(format!("{seen:?}"))
            });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("c", "ExternalSubscribed", 1).await;
        world.client().cancel_instance("c", "enough").await.unwrap();
        assert_eq!(world.end("i").await.unwrap(), r#"Err("canceled: enough")"#);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_cancel_waits_its_turn_behind_what_came_before() {
    on_every_store(async |world: World| {
        let runtime = world.run(waiting()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        world.raise("i", "s", "first").await;
        world.client().cancel_instance("i", "too late").await.unwrap();
        let runtime = world.run(waiting()).await;
        assert_eq!(world.end("i").await.unwrap(), "first");
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_the_code_wrote_before_the_cancel_is_kept() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let gate = Gate::closed();
        let node = Node::new().held("Held", &log, &gate).orchestration("Main", |ctx, _| async move {
            ctx.set_custom_status("half way");
            ctx.set_kv_value("k", "v");
            ctx.schedule_activity("Held", "").await
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        let client = world.client();
        client.cancel_instance("i", "why").await.unwrap();
        let status = client.wait_for_orchestration("i", LONG).await.unwrap();
        let OrchestrationStatus::Failed { custom_status, .. } = status else { panic!("{status:?}") };
        assert_eq!(custom_status.as_deref(), Some("half way"));
        assert_eq!(client.get_kv_value("i", "k").await.unwrap().as_deref(), Some("v"));
        gate.open();
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn cancelling_what_does_not_exist_holds_nobody_up() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |_, _| async move { Ok("done".to_owned()) });
        world.client().cancel_instance("missing", "why").await.unwrap();
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "done");
        let status = world.client().get_orchestration_status("missing").await.unwrap();
        assert_eq!(status, OrchestrationStatus::NotFound);
        runtime.shutdown(None).await;
    });
}
