//! Programs that are told something: by time, by people, or that they should end.

use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use futures::FutureExt as _;

use super::{PATIENCE, Program, start_and_wait, wait};

pub(super) const TIMERS: Program = Program {
    name: "timers",
    register: |registry| {
        registry.register("Timers", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_timer(Duration::from_secs(60)).await;
            let said = ctx.schedule_activity("Say", "a minute later").await?;
            let timers = [3, 2, 1].map(|time| ctx.schedule_timer(Duration::from_secs(time)));
            ctx.join(timers.into()).await;
            Ok(said)
        })
    },
    script: |client| async move { start_and_wait(&client, "timers", "Timers", "").await }.boxed(),
};

pub(super) const APPROVAL: Program = Program {
    name: "approval",
    register: approval,
    script: |client| {
        async move {
            let input = PATIENCE.as_secs().to_string();
            client.start_orchestration("approval", "Approval", input).await.expect("started");
            // A signal that nobody waits for is lost.
            let pause = Duration::from_secs(1);
            let _waits =
                client.wait_for_status_change("approval", 0, pause, PATIENCE).await.expect("a status");
            client.raise_event("approval", "decision", "yes").await.expect("raised");
            wait(&client, "approval").await;
        }
        .boxed()
    },
};

pub(super) const NO_APPROVAL: Program = Program {
    name: "no approval",
    register: approval,
    script: |client| async move { start_and_wait(&client, "approval", "Approval", "90").await }.boxed(),
};

fn approval(
    registry: abide_runtime::registry::OrchestrationRegistryBuilder,
) -> abide_runtime::registry::OrchestrationRegistryBuilder {
    registry.register("Approval", |ctx: OrchestrationContext, seconds: String| async move {
        let limit = Duration::from_secs(seconds.parse().map_err(|_| "not a number")?);
        let decision = ctx.schedule_wait("decision");
        ctx.set_custom_status("waiting");
        match ctx.timeout(limit, decision).await {
            Ok(decision) => ctx.schedule_activity("Say", format!("decided: {decision}")).await,
            Err(_) => ctx.schedule_activity("Say", "nobody decided").await,
        }
    })
}

pub(super) const QUEUE: Program = Program {
    name: "queue",
    register: |registry| {
        registry.register("Queue", |ctx: OrchestrationContext, _: String| async move {
            let mut read = Vec::new();
            for _ in 0..4 {
                let message = ctx.dequeue_event("orders").await;
                read.push(ctx.schedule_activity("Say", message).await?);
            }
            Ok(read.join(","))
        })
    },
    script: |client| {
        async move {
            client.start_orchestration("queue", "Queue", "").await.expect("started");
            send_all(&client, "queue").await;
            wait(&client, "queue").await;
        }
        .boxed()
    },
};

/// Reads one message per execution: those that wait are carried over or stay.
pub(super) const QUEUE_ACROSS_EXECUTIONS: Program = Program {
    name: "queue across executions",
    register: |registry| {
        registry.register("Reader", |ctx: OrchestrationContext, read: String| async move {
            let message = ctx.dequeue_event("orders").await;
            let said = ctx.schedule_activity("Say", message).await?;
            let read = if read.is_empty() { said } else { format!("{read},{said}") };
            if read.split(',').count() < 4 { ctx.continue_as_new(read).await } else { Ok(read) }
        })
    },
    script: |client| {
        async move {
            client.start_orchestration("reader", "Reader", "").await.expect("started");
            send_all(&client, "reader").await;
            wait(&client, "reader").await;
        }
        .boxed()
    },
};

async fn send_all(client: &Client, instance: &str) {
    for message in ["a", "b", "c", "d"] {
        client.enqueue_event(instance, "orders", message).await.expect("sent");
    }
}

/// A parent with an activity and a child is cancelled, and everything below it.
pub(super) const CANCELLED: Program = Program {
    name: "cancelled",
    register: |registry| {
        registry
            .register("Endless", |ctx: OrchestrationContext, _: String| async move {
                ctx.set_custom_status("busy");
                let loser = ctx.schedule_activity("Loser", "");
                let child = ctx.schedule_sub_orchestration_with_id("Child", "endless-child", "");
                let (_, _) = ctx.join2(loser, child).await;
                Ok("ended by itself".to_owned())
            })
            .register("Child", |ctx: OrchestrationContext, _: String| async move {
                ctx.set_custom_status("waiting");
                ctx.schedule_wait("never").await;
                Ok("ended by itself".to_owned())
            })
    },
    script: |client| {
        async move {
            client.start_orchestration("endless", "Endless", "").await.expect("started");
            // Its start and its cancellation in one commit would be no child at all.
            let pause = Duration::from_secs(1);
            let _there =
                client.wait_for_status_change("endless-child", 0, pause, PATIENCE).await.expect("a status");
            client.cancel_instance("endless", "enough").await.expect("cancelled");
            wait(&client, "endless").await;
            wait(&client, "endless-child").await;
        }
        .boxed()
    },
};
