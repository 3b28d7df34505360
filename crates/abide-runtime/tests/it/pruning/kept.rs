//! What a prune leaves, and what it takes.

use abide_model::EventKind;

use super::keep;
use crate::e2e::support::{Node, World, on_every_store};

fn node() -> Node {
    Node::new()
        .orchestration("Child", |ctx, input| async move { ctx.schedule_activity("Echo", input).await })
        .orchestration("Main", |ctx, input| async move {
            if ctx.execution_id() > 1 {
                return Ok(format!("{input}, {}", ctx.schedule_wait("end").await));
            }
            ctx.set_kv_value("begun", "in the first");
            ctx.set_custom_status("busy");
            let heard = ctx.schedule_wait("hello").await;
            let child = ctx.schedule_sub_orchestration_with_id("Child", "child", heard).await?;
            ctx.continue_as_new(child).await
        })
}

#[test]
fn what_is_preserved_and_what_is_lost() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        let client = world.client();
        world.start("i", "Main", "").await;
        world.raise("i", "hello", "you").await;
        world.until(async || world.history_of("i", 2).await.len() >= 2).await;
        let current = world.history("i").await;
        let earlier = world.history_of("i", 1).await;
        assert!(earlier.iter().any(|event| matches!(event.kind, EventKind::ExternalEvent { .. })));

        let pruned = client.prune_executions("i", keep(1)).await.unwrap();
        assert_eq!(pruned.executions_deleted, 1);
        assert_eq!(pruned.events_deleted, u64::try_from(earlier.len()).unwrap());

        // Preserved: the current history with its input, values, status, children.
        assert_eq!(world.history("i").await, current);
        assert!(matches!(&current[0].kind, EventKind::OrchestrationStarted { input, .. } if input == "you"));
        assert_eq!(client.get_kv_value("i", "begun").await.unwrap().as_deref(), Some("in the first"));
        let (status, _) = world.store.get_custom_status("i", 0).await.unwrap().unwrap();
        assert_eq!(status.as_deref(), Some("busy"));
        assert_eq!(world.end("child").await.unwrap(), "you");
        // Lost: outputs, behaviour, and what was raised, of what came before.
        assert_eq!(client.list_executions("i").await.unwrap(), [2]);
        assert_eq!(client.read_execution_history("i", 1).await.unwrap(), []);
        assert!(client.get_execution_info("i", 1).await.is_err());

        world.raise("i", "end", "bye").await;
        assert_eq!(world.end("i").await.unwrap(), "you, bye");
        runtime.shutdown(None).await;
    });
}
