//! The orchestrations and activities, as a user would write them.

use std::sync::Arc;
use std::time::Duration;

use durable::runtime::registry::ActivityRegistry;
use durable::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

use crate::clock;
use crate::notes::{Moment, Notes};

pub(crate) const TIMER: Duration = Duration::from_millis(100);
/// Nobody waits for its end.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);
/// After so many messages the reader begins anew.
const READS: u64 = 100;

/// `Echo` takes as long as it is told to; the others note when they ran.
pub(crate) fn activities(notes: &Arc<Notes>, time: Duration) -> ActivityRegistry {
    let (steps, patience) = (Arc::clone(notes), Arc::clone(notes));
    ActivityRegistry::builder()
        .register("Echo", move |_: ActivityContext, input: String| async move {
            if !time.is_zero() {
                clock::sleep(time).await;
            }
            Ok(input)
        })
        .register("Step", move |_: ActivityContext, input: String| {
            steps.note(&input, Moment::Begun);
            async move { Ok(input) }
        })
        .register("Patient", move |ctx: ActivityContext, input: String| {
            let notes = Arc::clone(&patience);
            async move {
                notes.note(&input, Moment::Begun);
                ctx.cancelled().await;
                notes.note(&input, Moment::Resumed);
                Ok(input)
            }
        })
        .build()
}

pub(crate) fn orchestrations(notes: &Arc<Notes>) -> OrchestrationRegistry {
    let (timers, waits, sleeps) = (Arc::clone(notes), Arc::clone(notes), Arc::clone(notes));
    OrchestrationRegistry::builder()
        .register("Sequence", |ctx: OrchestrationContext, input: String| async move {
            in_sequence(&ctx, "Echo", input).await
        })
        .register("Steps", |ctx: OrchestrationContext, input: String| async move {
            in_sequence(&ctx, "Step", input).await
        })
        .register("FanOut", |ctx: OrchestrationContext, input: String| async move {
            let all = (0..count(&input)?).map(|number| ctx.schedule_activity("Echo", number.to_string()));
            all_of(ctx.join(all.collect()).await)
        })
        .register("Parent", |ctx: OrchestrationContext, input: String| async move {
            let all =
                (0..count(&input)?).map(|number| ctx.schedule_sub_orchestration("Child", number.to_string()));
            all_of(ctx.join(all.collect()).await)
        })
        .register("Child", |_: OrchestrationContext, input: String| async move { Ok(input) })
        .register("Countdown", |ctx: OrchestrationContext, input: String| async move {
            match count(&input)? {
                0 | 1 => Ok(input),
                left => ctx.continue_as_new((left - 1).to_string()).await,
            }
        })
        .register("Timer", move |ctx: OrchestrationContext, input: String| {
            let notes = Arc::clone(&timers);
            async move {
                notes.note(&input, Moment::Begun);
                ctx.schedule_timer(TIMER).await;
                notes.note(&input, Moment::Resumed);
                Ok(input)
            }
        })
        .register("Sleeper", move |ctx: OrchestrationContext, input: String| {
            let notes = Arc::clone(&sleeps);
            async move {
                notes.note(&input, Moment::Begun);
                ctx.schedule_timer(LONG).await;
                Ok(input)
            }
        })
        .register("Wait", move |ctx: OrchestrationContext, input: String| {
            let notes = Arc::clone(&waits);
            async move {
                // Seen from outside once this turn is recorded, and with it that it waits.
                ctx.set_custom_status("waiting");
                ctx.schedule_wait("go").await;
                notes.note(&input, Moment::Resumed);
                Ok(input)
            }
        })
        .register("Patience", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Patient", input).await
        })
        .register("Reader", |ctx: OrchestrationContext, input: String| async move {
            for _ in 0..READS {
                ctx.dequeue_event("flood").await;
            }
            ctx.continue_as_new(input).await
        })
        .build()
}

async fn in_sequence(ctx: &OrchestrationContext, activity: &str, input: String) -> Result<String, String> {
    for step in 0..count(&input)? {
        ctx.schedule_activity(activity, step.to_string()).await?;
    }
    Ok(input)
}

fn all_of(results: Vec<Result<String, String>>) -> Result<String, String> {
    let results: Vec<String> = results.into_iter().collect::<Result<_, _>>()?;
    Ok(results.len().to_string())
}

fn count(input: &str) -> Result<u64, String> {
    input.parse().map_err(|error| format!("'{input}' is no count: {error}"))
}
