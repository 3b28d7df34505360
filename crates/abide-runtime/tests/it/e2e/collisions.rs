//! §11.5–11.6: ids that are taken.

use abide_model::WorkItem;

use super::support::{Log, Node, World, names, on_every_store};

fn node() -> Node {
    Node::new()
        .orchestration("Waits", |ctx, _| async move { Ok(ctx.schedule_wait("s").await) })
        .orchestration("Ends", |_, _| async move { Ok("ended".to_owned()) })
        .orchestration("Main", |ctx, id| async move {
            let seen = ctx.schedule_sub_orchestration_with_id("Ends", id, "").await;
            Ok(format!("{seen:?}"))
        })
}

#[test]
fn a_child_id_of_a_running_instance_is_an_error_for_the_parent() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start("taken", "Waits", "").await;
        world.recorded("taken", "ExternalSubscribed", 1).await;
        assert_eq!(
            world.start_and_end("i", "Main", "taken").await.unwrap(),
            r#"Err("sub-orchestration instance id 'taken' already exists")"#
        );
        // The one that was there does not notice.
        world.raise("taken", "s", "still here").await;
        assert_eq!(world.end("taken").await.unwrap(), "still here");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_id_of_a_finished_instance_is_an_error_for_the_parent() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start_and_end("taken", "Ends", "").await.unwrap();
        assert_eq!(
            world.start_and_end("i", "Main", "taken").await.unwrap(),
            r#"Err("sub-orchestration instance id 'taken' already exists and is terminal")"#
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn two_children_with_one_id_are_one_child_and_one_error() {
    on_every_store(async |world: World| {
        let node = node().orchestration("Twice", |ctx, _| async move {
            let first = ctx.schedule_sub_orchestration_with_id("Waits", "c", "");
            let second = ctx.schedule_sub_orchestration_with_id("Waits", "c", "");
            let second = second.await;
            ctx.set_custom_status(format!("{second:?}"));
            first.await
        });
        let runtime = world.run(node).await;
        world.start("i", "Twice", "").await;
        world.recorded("i", "SubOrchestrationFailed", 1).await;
        world.raise("c", "s", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_same_start_of_a_running_child_again_is_ignored() {
    on_every_store(async |world: World| {
        let node = node().orchestration("Parent", |ctx, _| async move {
            ctx.schedule_sub_orchestration_with_id("Waits", "c", "").await
        });
        let runtime = world.run(node).await;
        world.start("i", "Parent", "").await;
        world.recorded("c", "ExternalSubscribed", 1).await;
        let again = WorkItem::StartOrchestration {
            instance: "c".to_owned(),
            orchestration: "Waits".to_owned(),
            input: String::new(),
            version: None,
            parent_instance: Some("i".to_owned()),
            parent_id: Some(2),
            parent_execution_id: Some(1),
            execution_id: 1,
        };
        world.mail(again).await;
        world.raise("c", "s", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn starting_what_runs_changes_nothing() {
    on_every_store(async |world: World| {
        let runs = Log::new();
        let writes = runs.clone();
        let node = Node::new().orchestration("Main", move |ctx, input| {
            let runs = writes.clone();
            async move {
                let signal = ctx.schedule_wait("s").await;
                runs.write("went on");
                Ok(input + &signal)
            }
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "first ").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.start("i", "Main", "second ").await;
        world.start("i", "No such thing", "third ").await;
        world.raise("i", "s", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "first x");
        assert_eq!(runs.len(), 1);
        runtime.shutdown(None).await;
    });
}

#[test]
fn starting_what_has_ended_changes_nothing() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        assert_eq!(world.start_and_end("i", "Ends", "").await.unwrap(), "ended");
        let before = world.history("i").await;
        world.start("i", "Waits", "").await;
        world.is_drained().await;
        assert_eq!(world.history("i").await, before);
        assert_eq!(world.end("i").await.unwrap(), "ended");
        runtime.shutdown(None).await;
    });
}

#[test]
fn many_starts_at_once_make_one_instance() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        let client = world.client();
        let starts = (0..20).map(|n| client.start_orchestration("i", "Ends", n.to_string()));
        for started in futures::future::join_all(starts).await {
            started.unwrap();
        }
        assert_eq!(world.end("i").await.unwrap(), "ended");
        world.is_drained().await;
        assert_eq!(names(&world.history("i").await), ["OrchestrationStarted", "OrchestrationCompleted"]);
        assert_eq!(client.list_executions("i").await.unwrap(), [1]);
        runtime.shutdown(None).await;
    });
}
