//! The orchestrations and activities of the stores in `tests/version_1`. A store that was written with them is opened
//! by a later release, which must replay them: they are never edited.

use std::time::Duration;

use abide::runtime::registry::ActivityRegistry;
use abide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

/// What an activity does when it is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activities {
    /// Activities that are told to wait never return: their process ends first.
    SomeNeverReturn,
    AllReturn,
}

pub(crate) fn activities(kind: Activities) -> ActivityRegistry {
    let work = move |_: ActivityContext, input: String| async move {
        if kind == Activities::SomeNeverReturn && input.starts_with("wait") {
            std::future::pending::<()>().await;
        }
        Ok(format!("did {input}"))
    };
    ActivityRegistry::builder().register("Work", work).build()
}

pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Done", done)
        .register("Fails", fails)
        .register("Counts", counts)
        .register("Signal", signal)
        .register("Queue", queue)
        .register("Sleeps", sleeps)
        .register("Works", works)
        .register("Session", session)
        .register("Parent", parent)
        .build()
}

async fn done(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.set_kv_value("last", input.clone());
    ctx.set_custom_status("nearly there");
    ctx.schedule_activity("Work", input).await
}

async fn fails(_: OrchestrationContext, input: String) -> Result<String, String> {
    Err(format!("{input} is out of stock"))
}

/// Continues as new until its input is 3.
async fn counts(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let round: u32 = input.parse().map_err(|_| format!("{input} is no number"))?;
    let before = ctx.get_kv_value("rounds").unwrap_or_default();
    ctx.set_kv_value("rounds", format!("{before}{round}"));
    if round == 3 {
        return Ok(ctx.get_kv_value("rounds").unwrap_or_default());
    }
    ctx.continue_as_new((round + 1).to_string()).await
}

async fn signal(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.set_kv_value("input", input);
    ctx.set_custom_status("waits for go");
    let go = ctx.schedule_wait("go").await;
    let input = ctx.get_kv_value("input").unwrap_or_default();
    Ok(format!("{input} got {go}"))
}

async fn queue(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.push(ctx.dequeue_event("orders").await);
        ctx.set_custom_status(format!("took {}", taken.len()));
    }
    Ok(taken.join(" "))
}

async fn sleeps(ctx: OrchestrationContext, seconds: String) -> Result<String, String> {
    let seconds: u64 = seconds.parse().map_err(|_| format!("{seconds} is no number"))?;
    ctx.set_custom_status("sleeps");
    ctx.schedule_timer(Duration::from_secs(seconds)).await;
    Ok("slept".to_owned())
}

async fn works(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.set_custom_status("works");
    if let Some(tagged) = input.strip_prefix("tagged ") {
        return ctx.schedule_activity("Work", tagged).with_tag("gpu").await;
    }
    ctx.schedule_activity("Work", input).await
}

async fn session(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let first = ctx.schedule_activity_on_session("Work", format!("open {input}"), "desk").await?;
    ctx.set_custom_status("has a session");
    let second = ctx.schedule_activity_on_session("Work", format!("wait {input}"), "desk").await?;
    Ok(format!("{first}, {second}"))
}

async fn parent(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let child = format!("{}-child", ctx.instance_id());
    let answer = ctx.schedule_sub_orchestration_with_id("Signal", child, input).await?;
    Ok(format!("child: {answer}"))
}
