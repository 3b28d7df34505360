//! §12: detached orchestrations.

use abide_model::{AppErrorKind, ErrorDetails};

use super::support::{Node, World, names, on_every_store};

/// Starts `other` detached, and ends as its input says.
fn node() -> Node {
    Node::new()
        .orchestration("Other", |ctx, input| async move { Ok(format!("{} {input}", ctx.instance_id())) })
        .orchestration("Main", |ctx, how| async move {
            if ctx.execution_id() > 1 {
                return Ok("continued".to_owned());
            }
            ctx.schedule_orchestration("Other", "other", "hello");
            match how.as_str() {
                "fail" => Err("failed".to_owned()),
                "panic" => panic!("out of eggs"),
                "continue" => ctx.continue_as_new("").await,
                "wait" => Ok(ctx.schedule_wait("s").await),
                _ => Ok("done".to_owned()),
            }
        })
}

#[test]
fn a_detached_start_is_sent_whatever_the_turn_ends_in() {
    for (how, end) in [
        ("return", "OrchestrationCompleted"),
        ("fail", "OrchestrationFailed"),
        ("panic", "OrchestrationFailed"),
        ("continue", "OrchestrationContinuedAsNew"),
    ] {
        on_every_store(async |world: World| {
            let runtime = world.run(node()).await;
            world.start("i", "Main", how).await;
            assert_eq!(world.end("other").await.unwrap(), "other hello", "{how}");
            let _end = world.end("i").await;
            let history = world.history_of("i", 1).await;
            assert_eq!(names(&history), ["OrchestrationStarted", "OrchestrationChained", end], "{how}");
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn a_detached_start_is_sent_though_a_cancel_comes_with_it() {
    on_every_store(async |world: World| {
        world.start("i", "Main", "wait").await;
        world.client().cancel_instance("i", "why").await.unwrap();
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: why");
        assert_eq!(world.end("other").await.unwrap(), "other hello");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_detached_orchestration_is_nobodys_child() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start("i", "Main", "wait").await;
        world.end("other").await.unwrap();
        let descriptor = runtime.get_orchestration_descriptor("other").await.unwrap();
        assert_eq!((descriptor.parent_instance, descriptor.parent_id), (None, None));
        // Its end is told to nobody.
        world.is_drained().await;
        world.raise("i", "s", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert_eq!(
            world.trace("i").await[1..4],
            ["2 OrchestrationChained other Other(hello)", "3 ExternalSubscribed s", "4 ExternalEvent s:x"]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_replay_starts_nothing_again() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start("i", "Main", "wait").await;
        world.end("other").await.unwrap();
        runtime.shutdown(None).await;
        let client = world.client();
        client.delete_instance("other", false).await.unwrap();
        let world = world.reopened().await;
        let runtime = world.run(node()).await;
        world.raise("i", "s", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert!(world.history("other").await.is_empty());
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_reserved_id_fails_the_orchestration() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, id| async move {
            ctx.schedule_orchestration("Other", id, "");
            Ok(String::new())
        });
        let runtime = world.run(node).await;
        for (instance, id) in [("i", "sub::1"), ("j", "a::sub::b")] {
            world.start(instance, "Main", id).await;
            let details = world.failure(instance).await;
            let ErrorDetails::Application { kind: AppErrorKind::Panicked, message, .. } = details else {
                panic!("{details:?}")
            };
            assert_eq!(
                message,
                format!(
                    "detached orchestration instance id '{id}' uses the reserved sub-orchestration marker 'sub::'; \
                     root instance ids must not start with it or contain '::sub::'"
                )
            );
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_id_that_is_taken_is_left_alone() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        assert_eq!(world.start_and_end("other", "Other", "me first").await.unwrap(), "other me first");
        assert_eq!(world.start_and_end("i", "Main", "return").await.unwrap(), "done");
        world.is_drained().await;
        assert_eq!(world.end("other").await.unwrap(), "other me first");
        runtime.shutdown(None).await;
    });
}
