//! Programs that keep something: values, a status, executions.

use std::time::Duration;

use abide_client::Started;
use abide_engine::OrchestrationContext;
use abide_model::PruneOptions;
use futures::FutureExt as _;

use super::{PATIENCE, Program, start_and_wait, wait};

/// Counts in the key-value store, across executions.
pub(super) const COUNTER: Program = Program {
    name: "counter",
    register: |registry| {
        registry.register("Counter", |ctx: OrchestrationContext, input: String| async move {
            let count = ctx.get_kv_value_typed::<u64>("count")?.unwrap_or_default() + 1;
            ctx.set_kv_value_typed("count", &count);
            ctx.set_kv_value(format!("round {count}"), &input);
            ctx.set_custom_status(format!("round {count}"));
            let said = ctx.schedule_activity("Say", count.to_string()).await?;
            ctx.clear_kv_value("round 1");
            if count < 3 { ctx.continue_as_new(said).await } else { Ok(count.to_string()) }
        })
    },
    script: |client| {
        async move {
            let started = client.start("counter", "Counter").input("first").await.expect("started");
            assert_eq!(started, Started::Created);
            let _second = client.wait_for_kv_value("counter", "round 2", PATIENCE).await.expect("a value");
            wait(&client, "counter").await;
        }
        .boxed()
    },
};

/// Reads a value that another instance keeps.
pub(super) const NEIGHBOUR: Program = Program {
    name: "neighbour",
    register: |registry| {
        registry
            .register("Keeper", |ctx: OrchestrationContext, value: String| async move {
                ctx.set_kv_value("value", value);
                Ok("kept".to_owned())
            })
            .register("Neighbour", |ctx: OrchestrationContext, _: String| async move {
                let value = ctx.get_kv_value_from_instance("keeper", "value").await?;
                Ok(value.unwrap_or_else(|| "nothing".to_owned()))
            })
    },
    script: |client| {
        async move {
            start_and_wait(&client, "keeper", "Keeper", "gold").await;
            start_and_wait(&client, "neighbour", "Neighbour", "").await;
        }
        .boxed()
    },
};

/// Forgets its earlier executions from within.
pub(super) const PRUNED: Program = Program {
    name: "pruned",
    register: |registry| {
        registry.register("Pruned", |ctx: OrchestrationContext, round: String| async move {
            let said = ctx.schedule_activity("Say", format!("{round}+")).await?;
            if said.len() < 3 {
                return ctx.continue_as_new(said).await;
            }
            let options = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
            // How many went is not told: if the answer was lost, they are gone when it asks again.
            ctx.prune_history(options).await.map(|_| said)
        })
    },
    script: |client| async move { start_and_wait(&client, "pruned", "Pruned", "").await }.boxed(),
};

/// What the system says is recorded: a replay hears the same, and time does not go backwards.
pub(super) const SYSTEM: Program = Program {
    name: "system",
    register: |registry| {
        registry.register("System", |ctx: OrchestrationContext, _: String| async move {
            let guid = ctx.new_guid().await?;
            ctx.set_kv_value("guid has", guid.len().to_string());
            let before = ctx.utc_now().await?;
            ctx.schedule_timer(Duration::from_secs(5)).await;
            let after = ctx.utc_now().await?;
            let passed = after.duration_since(before).map_err(|_| "time went backwards")?;
            let _again = ctx.schedule_activity("Say", "again").await?;
            Ok(if passed >= Duration::from_secs(5) { "in time" } else { "early" }.to_owned())
        })
    },
    script: |client| async move { start_and_wait(&client, "system", "System", "").await }.boxed(),
};
