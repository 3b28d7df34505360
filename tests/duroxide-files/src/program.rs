//! The orchestrations and activities of the sample files.
//!
//! Two programs compile this file, each with another crate called `durable`: the generator with duroxide, and
//! the tests of the import with abide. The generator runs it in [`Mode::Record`], where some activities and
//! one turn never end, so that the process leaves them behind half done. The tests run it in
//! [`Mode::Resume`], where everything ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable::runtime::registry::ActivityRegistry;
use durable::{
    ActivityContext, BackoffStrategy, Either2, OrchestrationContext, OrchestrationRegistry, RetryPolicy,
};

/// Who runs the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The generator: what is to be left half done never ends.
    Record,
    /// A test: everything ends.
    Resume,
}

/// Notes every run of an activity as `instance activity input`.
pub type Runs = Arc<Mutex<Vec<String>>>;

/// Whether the turn of the orchestration `MidTurn` is blocked.
static TURN_IS_BLOCKED: AtomicBool = AtomicBool::new(false);

/// Longer than any test, and due in a sample file that is older than a minute.
const SOON: Duration = Duration::from_secs(60);
/// Due when nobody uses the sample files any more.
const FAR: Duration = Duration::from_secs(50 * 365 * 24 * 3600);

/// Returns the activities.
pub fn activities(mode: Mode, runs: &Runs) -> ActivityRegistry {
    let note = |runs: &Runs| {
        let runs = Arc::clone(runs);
        move |ctx: &ActivityContext, input: &str| {
            let run = format!("{} {} {input}", ctx.instance_id(), ctx.activity_name());
            runs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(run);
        }
    };
    let (greet, decline, slow, flaky, second, size) =
        (note(runs), note(runs), note(runs), note(runs), note(runs), note(runs));
    ActivityRegistry::builder()
        .register("Greet", move |ctx: ActivityContext, name: String| {
            greet(&ctx, &name);
            async move { Ok(format!("hello {name}")) }
        })
        .register("Decline", move |ctx: ActivityContext, input: String| {
            decline(&ctx, &input);
            async move { Err(format!("{input} declined")) }
        })
        .register("Slow", move |ctx: ActivityContext, input: String| {
            slow(&ctx, &input);
            async move {
                if mode == Mode::Record {
                    std::future::pending::<()>().await;
                }
                Ok(format!("slow {input}"))
            }
        })
        .register("Flaky", move |ctx: ActivityContext, input: String| {
            flaky(&ctx, &input);
            async move {
                match mode {
                    Mode::Record => Err("not yet".to_owned()),
                    Mode::Resume => Ok(format!("flaky {input}")),
                }
            }
        })
        .register("Second", move |ctx: ActivityContext, input: String| {
            second(&ctx, &input);
            async move {
                while mode == Mode::Record && !TURN_IS_BLOCKED.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Ok(format!("second {input}"))
            }
        })
        .register_typed("Size", move |ctx: ActivityContext, text: String| {
            size(&ctx, &text);
            async move { Ok(text.len()) }
        })
        .build()
}

/// Returns the orchestrations.
pub fn orchestrations(mode: Mode) -> OrchestrationRegistry {
    let registry = OrchestrationRegistry::builder()
        .register("Completes", completes)
        .register("Fails", fails)
        .register("Waits", waits)
        .register("Sleeps", sleeps)
        .register("Races", races)
        .register("Runs", runs_activity)
        .register("Counts", counts)
        .register("Parent", parent)
        .register("Launches", launches)
        .register("Keeps", keeps)
        .register("OnSession", on_session)
        .register("Retries", retries)
        .register("Typed", typed)
        .register("Tagged", tagged)
        .register("Adopts", adopts)
        .register("Busy", busy)
        .register("MidTurn", move |ctx, input| mid_turn(ctx, input, mode))
        .register_versioned("Versioned", "1.0.0", |ctx, _| async move {
            Ok(format!("version 1: {}", ctx.schedule_wait("go").await))
        });
    match mode {
        Mode::Record => registry.build(),
        Mode::Resume => registry
            .register_versioned("Versioned", "2.0.0", |ctx, _| async move {
                ctx.schedule_activity("Greet", "version 2").await
            })
            .register("Unregistered", completes)
            .build(),
    }
}

async fn completes(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let greeting = ctx.schedule_activity("Greet", input).await?;
    ctx.set_kv_value("greeting", greeting.clone());
    ctx.set_custom_status("greeted");
    Ok(greeting)
}

async fn fails(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("Decline", input).await
}

async fn waits(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let greeting = ctx.schedule_activity("Greet", input).await?;
    ctx.set_custom_status("first");
    ctx.set_custom_status("waiting");
    let word = ctx.schedule_wait("go").await;
    Ok(format!("{greeting}, {word}"))
}

async fn sleeps(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_timer(SOON).await;
    ctx.schedule_activity("Greet", input).await
}

async fn races(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    match ctx.select2(ctx.schedule_timer(FAR), ctx.schedule_wait("go")).await {
        Either2::First(()) => Ok("the timer won".to_owned()),
        Either2::Second(word) => ctx.schedule_activity("Greet", word).await,
    }
}

async fn runs_activity(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let first = ctx.schedule_activity("Greet", input.clone()).await?;
    let second = ctx.schedule_activity("Slow", input).await?;
    Ok(format!("{first}, {second}"))
}

/// Continues as new until the third execution, which takes three messages. The first execution leaves two
/// unread.
async fn counts(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let count: u32 = input.parse().map_err(|_| format!("'{input}' is not a number"))?;
    ctx.set_kv_value("count", count.to_string());
    ctx.set_kv_value(format!("execution {count}"), "seen");
    ctx.set_custom_status(format!("execution {count}"));
    if count == 1 {
        ctx.schedule_wait("filled").await;
    }
    if count < 3 {
        return ctx.continue_as_new((count + 1).to_string()).await;
    }
    let mut messages = Vec::new();
    for _ in 0..3 {
        messages.push(ctx.dequeue_event("inbox").await);
    }
    Ok(format!("{count}: {}", messages.join(" ")))
}

async fn parent(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let done = ctx.schedule_sub_orchestration_with_id("Completes", format!("{input}-done"), "child").await?;
    let waiting = ctx.schedule_sub_orchestration("Waits", "waiting child");
    let failed = ctx.schedule_sub_orchestration("Fails", "child");
    let (waiting, failed) = ctx.join2(waiting, failed).await;
    Ok(format!("{done}; {}; {}", waiting?, failed.unwrap_or_else(|error| error)))
}

async fn launches(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_orchestration("Waits", format!("{input}-detached"), "detached");
    ctx.schedule_activity("Greet", input).await
}

/// The first execution sets two keys; the second changes one, clears the other, adds one, and waits.
async fn keeps(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    if input == "first" {
        ctx.set_kv_value("kept", "old");
        ctx.set_kv_value("changed", "old");
        ctx.set_kv_value("cleared", "old");
        return ctx.continue_as_new("second").await;
    }
    ctx.set_kv_value("changed", "new");
    ctx.clear_kv_value("cleared");
    ctx.set_kv_value("added", "new");
    ctx.schedule_wait("go").await;
    let keys = ctx.get_kv_all_keys();
    let values = keys.iter().map(|key| format!("{key}={}", ctx.get_kv_value(key).unwrap_or_default()));
    Ok(values.collect::<Vec<_>>().join(" "))
}

async fn on_session(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let first = ctx.schedule_activity_on_session("Greet", input.clone(), "session-1").await?;
    let second = ctx.schedule_activity_on_session("Slow", input, "session-1").await?;
    Ok(format!("{first}, {second}"))
}

async fn retries(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::Fixed { delay: SOON });
    ctx.schedule_activity_with_retry("Flaky", input, policy).await
}

/// The text `5` was recorded bare. By abide's own rules it would be recorded as `"5"`.
async fn typed(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let size: usize = ctx.schedule_activity_typed("Size", &input).await?;
    let word = ctx.schedule_wait("go").await;
    Ok(format!("{size} {word}"))
}

/// Asks for an activity with a tag that no worker serves.
async fn tagged(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("Greet", input).with_tag("gpu").await
}

/// Its child cannot start: there is no such orchestration in [`Mode::Record`].
async fn adopts(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration("Unregistered", input).await
}

/// Ends while everything it asked for is still open.
async fn busy(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let activity = ctx.schedule_activity("Slow", input.clone());
    let timer = ctx.schedule_timer(FAR);
    let child = ctx.schedule_sub_orchestration_with_id("Waits", format!("{input}-child"), "child");
    let reason = ctx.schedule_wait("fail").await;
    drop((activity, timer, child));
    Err(reason)
}

/// When the first activity is done, the turn never ends in [`Mode::Record`]; the second one's result waits in
/// the queue.
async fn mid_turn(ctx: OrchestrationContext, input: String, mode: Mode) -> Result<String, String> {
    let second = ctx.schedule_activity("Second", input.clone());
    let first = ctx.schedule_activity("Greet", input).await?;
    if mode == Mode::Record {
        TURN_IS_BLOCKED.store(true, Ordering::SeqCst);
        loop {
            std::thread::park();
        }
    }
    Ok(format!("{first}, {}", second.await?))
}
