//! An execution that is pruned behind in more than one way.

use abide_model::PruneOptions;
use abide_provider::ProviderAdmin as _;

use super::{keep, keeps};
use crate::lessons::scene::{Code, Scene, every_way};

async fn left(scene: &Scene) -> Vec<u64> {
    scene.world.memory.list_executions("i").await.unwrap()
}

#[test]
fn a_promise_is_kept_whatever_else_is_pruned() {
    every_way(|scene| async move {
        let code = Code::bare().orchestration("Main", |ctx, input| async move {
            match ctx.execution_id() {
                1..4 => ctx.continue_as_new(input).await,
                4 => {
                    let pruned = ctx.prune_history(keep(1)).await?;
                    ctx.continue_as_new_pruned(pruned.executions_deleted.to_string(), keep(5)).await
                }
                _ => Ok(input),
            }
        });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Main", "").await.unwrap(), "3");
        assert_eq!(left(&scene).await, [4, 5]);
    });
}

#[test]
fn a_promise_does_not_replace_a_policy() {
    every_way(|scene| async move {
        // Nothing is old enough for it, so nothing is promised.
        let ancient = || PruneOptions { completed_before: Some(7), ..keep(1) };
        let code = Code::bare()
            .orchestration("Ancient", move |ctx, input| async move {
                ctx.prune_history(ancient()).await?;
                if ctx.execution_id() < 6 { ctx.continue_as_new(input).await } else { Ok(input) }
            })
            // What is promised is less than what the policy takes.
            .orchestration("Few", |ctx, input| async move {
                ctx.prune_history(keep(4)).await?;
                if ctx.execution_id() < 6 { ctx.continue_as_new(input).await } else { Ok(input) }
            })
            .options(|options| options.auto_prune.default_policy = Some(keeps(2)));
        scene.node(code).await;
        for orchestration in ["Ancient", "Few"] {
            scene.run("i", orchestration, "").await.unwrap();
            assert_eq!(left(&scene).await, [4, 5, 6], "{orchestration}");
            scene.client().delete_instance("i", true).await.unwrap();
        }
    });
}

#[test]
fn nothing_is_told_twice() {
    every_way(|scene| async move {
        let code = Code::bare().orchestration("Main", |ctx, input| async move {
            if ctx.execution_id() < 8 {
                return ctx.continue_as_new(input).await;
            }
            if input == "late" {
                ctx.schedule_activity("Echo", "").await?;
            }
            let mut told = Vec::new();
            for keep_last in [5, 5, 6, 3, 2] {
                told.push(ctx.prune_history(keep(keep_last)).await?.executions_deleted.to_string());
            }
            Ok(told.join(" "))
        });
        scene.node(code).await;
        for when in ["early", "late"] {
            assert_eq!(scene.run("i", "Main", when).await.unwrap(), "3 0 0 2 1", "{when}");
            assert_eq!(left(&scene).await, [7, 8], "{when}");
            scene.client().delete_instance("i", true).await.unwrap();
        }
    });
}
