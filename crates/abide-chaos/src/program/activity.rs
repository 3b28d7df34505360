//! The activities. Each notes that it began, and what it is about to return.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use abide::ActivityContext;
use abide::runtime::registry::ActivityRegistry;
use abide::seams::Clock;
use abide_host::SystemClock;

use super::{Surroundings, hold};
use crate::journal::{Activity, Journal, Note};

/// An activity with a lower id fails: it is the first or the second try. Before the third, history holds the start, and twice
/// what was asked for, its failure, a timer and its firing.
const THIRD_TRY: u64 = 10;

/// Longer than any run: only a cancellation ends it.
const FOR_EVER: Duration = Duration::from_secs(600);

/// All of them.
#[must_use]
pub fn activities(around: &Surroundings) -> ActivityRegistry {
    let (plain, flaky, slow) = (around.journal.clone(), around.journal.clone(), around.journal.clone());
    let (held, lingering) = (around.clone(), around.clone());
    ActivityRegistry::builder()
        .register("Step", move |ctx: ActivityContext, input: String| {
            let journal = plain.clone();
            async move {
                noted(&journal, &ctx, async {
                    work_for(&input).await;
                    stepped(&input).map(|value| signed(&value, ctx.attempt()))
                })
                .await
            }
        })
        .register("Flaky", move |ctx: ActivityContext, input: String| {
            let journal = flaky.clone();
            async move {
                let id = Activity::of(&ctx).event;
                noted(&journal, &ctx, async {
                    if id < THIRD_TRY { Err(format!("activity {id} fails")) } else { stepped(&input) }
                })
                .await
            }
        })
        .register("Dawdle", move |ctx: ActivityContext, _: String| {
            let journal = slow.clone();
            async move {
                let until_told = ctx.clone();
                noted(&journal, &ctx, async move {
                    dawdle(&until_told).await;
                    Err("told to stop".to_owned())
                })
                .await
            }
        })
        .register("Hold", move |ctx: ActivityContext, _: String| {
            let around = held.clone();
            async move {
                noted(&around.journal, &ctx, async {
                    hold::wait_at(&around.gate);
                    Ok(around.label.clone())
                })
                .await
            }
        })
        .register("Linger", move |ctx: ActivityContext, _: String| {
            let around = lingering.clone();
            async move {
                let until_told = ctx.clone();
                noted(&around.journal, &ctx, async {
                    hold::linger_at(&around.gate, &until_told).await?;
                    Ok(around.label.clone())
                })
                .await
            }
        })
        .build()
}

/// Runs an activity between the notes of its beginning and its end.
async fn noted(
    journal: &Journal,
    ctx: &ActivityContext,
    run: impl Future<Output = Result<String, String>>,
) -> Result<String, String> {
    let activity = Activity::of(ctx);
    journal.note(Note::Began { activity: activity.clone(), attempt: ctx.attempt() });
    let result = run.await;
    journal.note(Note::Ended { activity, result: result.clone() });
    result
}

/// Up to 15 ms, the same for the same input: long enough to be killed in, short enough to come to an end.
async fn work_for(input: &str) {
    let time = Duration::from_millis(input.parse::<u64>().unwrap_or_default() % 16);
    let clock = SystemClock::new();
    clock.sleep_until(clock.monotonic().saturating_add(time)).await;
}

async fn dawdle(ctx: &ActivityContext) {
    let clock = SystemClock::new();
    let mut for_ever = clock.sleep_until(clock.monotonic().saturating_add(FOR_EVER));
    let mut told = pin!(ctx.cancelled());
    poll_fn(|cx| {
        let is_over = told.as_mut().poll(cx).is_ready() || for_ever.as_mut().poll(cx).is_ready();
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn stepped(input: &str) -> Result<String, String> {
    let number: u64 = input.parse().map_err(|error| format!("{input:?} is no number: {error}"))?;
    Ok(step(number).to_string())
}

/// What the activity `Step` makes of a number.
#[must_use]
pub const fn step(number: u64) -> u64 {
    (number % 1_000_003 * 31 + 7) % 1_000_003
}

/// A result that says which run it is of, so that one of a run that had lost its lease would be seen.
fn signed(value: &str, attempt: u32) -> String {
    format!("{value}#{attempt}")
}

/// What such a result says, without that.
pub(super) fn unsigned(result: &str) -> &str {
    result.split_once('#').map_or(result, |(value, _)| value)
}

/// Which run such a result is of.
pub(crate) fn attempt_of(result: &str) -> Option<u32> {
    result.split_once('#')?.1.parse().ok()
}
