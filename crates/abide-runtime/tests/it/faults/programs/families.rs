//! Programs of several instances.

use abide_engine::OrchestrationContext;
use abide_runtime::registry::OrchestrationRegistryBuilder;
use futures::FutureExt as _;

use super::{Program, start_and_wait, wait};

pub(super) const CHILDREN: Program = Program {
    name: "children",
    register: |registry| {
        with_child(registry).register("Parent", |ctx: OrchestrationContext, _: String| async move {
            let named = ctx.schedule_sub_orchestration_with_id("Child", "named-child", "3");
            let others = ["1", "2"].map(|input| ctx.schedule_sub_orchestration("Child", input));
            let mut children = vec![named];
            children.extend(others);
            let doubled: Result<Vec<String>, String> = ctx.join(children).await.into_iter().collect();
            Ok(doubled?.join(","))
        })
    },
    script: |client| async move { start_and_wait(&client, "parent", "Parent", "").await }.boxed(),
};

pub(super) const FAILING_CHILD: Program = Program {
    name: "failing child",
    register: |registry| {
        registry
            .register("Failing", |ctx: OrchestrationContext, _: String| async move {
                ctx.schedule_activity("Broken", "the child").await
            })
            .register("Parent", |ctx: OrchestrationContext, _: String| async move {
                match ctx.schedule_sub_orchestration("Failing", "").await {
                    Ok(output) => Err(output),
                    Err(why) => ctx.schedule_activity("Say", format!("heard: {why}")).await,
                }
            })
    },
    script: |client| async move { start_and_wait(&client, "parent", "Parent", "").await }.boxed(),
};

pub(super) const DETACHED: Program = Program {
    name: "detached",
    register: |registry| {
        with_child(registry).register("Starter", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_orchestration("Child", "free", "21");
            ctx.schedule_activity("Say", "started").await
        })
    },
    script: |client| {
        async move {
            start_and_wait(&client, "starter", "Starter", "").await;
            wait(&client, "free").await;
        }
        .boxed()
    },
};

fn with_child(registry: OrchestrationRegistryBuilder) -> OrchestrationRegistryBuilder {
    registry.register("Child", |ctx: OrchestrationContext, number: String| async move {
        ctx.schedule_activity("Double", number).await
    })
}
