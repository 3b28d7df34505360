//! Programs of activities.

use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_model::{BackoffStrategy, Either2, RetryPolicy};
use futures::FutureExt as _;

use super::{Program, start_and_wait};

pub(super) const CHAIN: Program = Program {
    name: "chain",
    register: |registry| {
        registry.register("Chain", |ctx: OrchestrationContext, number: String| async move {
            let mut number = number;
            for _ in 0..3 {
                number = ctx.schedule_activity("Double", number).await?;
            }
            Ok(number)
        })
    },
    script: |client| run(client, "chain", "Chain", "1"),
};

pub(super) const FAN: Program = Program {
    name: "fan",
    register: |registry| {
        registry.register("Fan", |ctx: OrchestrationContext, _: String| async move {
            let parts = (1..=5).map(|number| ctx.schedule_activity("Double", number.to_string())).collect();
            let doubled: Result<Vec<String>, String> = ctx.join(parts).await.into_iter().collect();
            Ok(doubled?.join("+"))
        })
    },
    script: |client| run(client, "fan", "Fan", ""),
};

pub(super) const RETRIES: Program = Program {
    name: "retries",
    register: |registry| {
        registry.register("Retries", |ctx: OrchestrationContext, _: String| async move {
            let policy = || {
                let delay = Duration::from_secs(1);
                RetryPolicy::new(3).with_backoff(BackoffStrategy::Fixed { delay })
            };
            let third = ctx.schedule_activity_with_retry("Flaky", "yes", policy()).await?;
            let never = ctx.schedule_activity_with_retry("Broken", "it", policy()).await;
            Ok(format!("{third}, {}", never.unwrap_err()))
        })
    },
    script: |client| run(client, "retries", "Retries", ""),
};

/// Longer than the lease of an activity, so that it is renewed.
pub(super) const LONG_ACTIVITY: Program = Program {
    name: "long activity",
    register: |registry| {
        registry.register("Long", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Wait", "35").await
        })
    },
    script: |client| run(client, "long", "Long", ""),
};

pub(super) const SAGA: Program = Program {
    name: "saga",
    register: |registry| {
        registry.register("Saga", |ctx: OrchestrationContext, _: String| async move {
            let mut done = Vec::new();
            for step in ["hotel", "flight"] {
                done.push(ctx.schedule_activity("Say", format!("book {step}")).await?);
            }
            let Err(why) = ctx.schedule_activity("Broken", "car").await else {
                return Err("the car was booked".to_owned());
            };
            let mut undone = Vec::new();
            for step in done.into_iter().rev() {
                undone.push(ctx.schedule_activity("Say", format!("undo {step}")).await?);
            }
            Err(format!("{why}: {}", undone.join(", ")))
        })
    },
    script: |client| run(client, "saga", "Saga", ""),
};

/// An activity that never ends by itself loses against a timer, and is cancelled.
pub(super) const RACE: Program = Program {
    name: "race",
    register: |registry| {
        registry.register("Race", |ctx: OrchestrationContext, _: String| async move {
            let loser = ctx.schedule_activity("Loser", "");
            let timer = ctx.schedule_timer(Duration::from_secs(15));
            match ctx.select2(loser, timer).await {
                Either2::First(_) => Err("the loser won".to_owned()),
                Either2::Second(()) => ctx.schedule_activity("Say", "time is up").await,
            }
        })
    },
    script: |client| run(client, "race", "Race", ""),
};

pub(super) const SESSION: Program = Program {
    name: "session",
    register: |registry| {
        registry.register("Session", |ctx: OrchestrationContext, _: String| async move {
            let mut said = Vec::new();
            for word in ["open", "use"] {
                said.push(ctx.schedule_activity_on_session("Say", word, "car").await?);
            }
            // Long enough for the session to be renewed.
            said.push(ctx.schedule_activity_on_session("Wait", "12", "car").await?);
            Ok(said.join(", "))
        })
    },
    script: |client| run(client, "session", "Session", ""),
};

pub(super) const TAG: Program = Program {
    name: "tag",
    register: |registry| {
        registry.register("Tag", |ctx: OrchestrationContext, _: String| async move {
            let tagged = ctx.schedule_activity("Say", "printed").with_tag("printer");
            let plain = ctx.schedule_activity("Say", "thought");
            let (tagged, plain) = ctx.join2(tagged, plain).await;
            Ok(format!("{}, {}", tagged?, plain?))
        })
    },
    script: |client| run(client, "tag", "Tag", ""),
};

fn run(
    client: Client,
    instance: &'static str,
    orchestration: &'static str,
    input: &'static str,
) -> futures::future::BoxFuture<'static, ()> {
    async move { start_and_wait(&client, instance, orchestration, input).await }.boxed()
}
