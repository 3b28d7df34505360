//! The orchestrations.
//!
//! Each leaves a trace where it comes by for the first time. Two traces of one place are a turn that was run again, because
//! what it decided the first time was not committed.

use std::time::Duration;

use abide::runtime::registry::{OrchestrationRegistry, OrchestrationRegistryBuilder};
use abide::{BackoffStrategy, Either2, OrchestrationContext, RetryPolicy};

use super::activity::unsigned;
use super::{KEPT, LAPS, LINKS, PAUSES, Program, Surroundings, WIDTH, heir_of, hold};
use crate::journal::Note;

type Output = Result<String, String>;

/// All of them.
#[must_use]
pub fn orchestrations(around: &Surroundings) -> OrchestrationRegistry {
    let mut builder = OrchestrationRegistry::builder();
    builder = register(builder, Program::Chain.name(), around, chain);
    builder = register(builder, Program::FanOut.name(), around, fan_out);
    builder = register(builder, Program::Family.name(), around, family);
    builder = register(builder, Program::Timers.name(), around, timers);
    builder = register(builder, Program::Retries.name(), around, retries);
    builder = register(builder, Program::Mail.name(), around, mail);
    builder = register(builder, Program::Laps.name(), around, laps);
    builder = register(builder, Program::Tally.name(), around, tally);
    builder = register(builder, Program::Race.name(), around, race);
    builder = register(builder, Program::Herald.name(), around, herald);
    builder = register(builder, Program::Patient.name(), around, patient);
    builder = register(builder, WAITING, around, waiting);
    builder = register(builder, Program::HeldActivity.name(), around, held_activity);
    builder = register(builder, Program::HeldTurn.name(), around, held_turn);
    builder = register(builder, Program::Lingering.name(), around, lingering);
    builder.build()
}

fn register<F>(
    builder: OrchestrationRegistryBuilder,
    name: &str,
    around: &Surroundings,
    code: fn(Run, String) -> F,
) -> OrchestrationRegistryBuilder
where
    F: Future<Output = Output> + Send + 'static,
{
    let around = around.clone();
    builder.register(name, move |ctx: OrchestrationContext, input: String| {
        let run = Run { ctx, around: around.clone() };
        run.pass("start");
        code(run, input)
    })
}

/// One run of the code, and what is around it.
struct Run {
    ctx: OrchestrationContext,
    around: Surroundings,
}

impl Run {
    /// Leaves a trace, unless this was passed before.
    fn pass(&self, point: impl Into<String>) {
        if self.ctx.is_logging_enabled() {
            self.around.journal.note(Note::Passed {
                instance: self.ctx.instance_id(),
                execution: self.ctx.execution_id(),
                point: point.into(),
            });
        }
    }

    /// An activity, and a trace behind it.
    async fn step(&self, value: impl ToString) -> Result<u64, String> {
        let value = value.to_string();
        let result = self.ctx.schedule_activity("Step", value.clone()).await;
        self.pass(format!("after {value}"));
        number(unsigned(&result?))
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|error| format!("{text:?} is no number: {error}"))
}

async fn chain(run: Run, input: String) -> Output {
    let mut value = number(&input)?;
    for _ in 0..LINKS {
        value = run.step(value).await?;
    }
    Ok(value.to_string())
}

async fn fan_out(run: Run, input: String) -> Output {
    let first = number(&input)?;
    let steps = (0..WIDTH).map(|nth| run.ctx.schedule_activity("Step", (first + nth).to_string()));
    let results = run.ctx.join(steps.collect()).await;
    run.pass("joined");
    let results = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(results.iter().map(|result| unsigned(result)).collect::<Vec<_>>().join(" "))
}

async fn family(run: Run, input: String) -> Output {
    let first = number(&input)?;
    let ctx = &run.ctx;
    let chain = Program::Chain.name();
    let named = format!("{}-kin", ctx.instance_id());
    let children = vec![
        ctx.schedule_sub_orchestration(chain, first.to_string()),
        ctx.schedule_sub_orchestration(chain, (first + 1).to_string()),
        ctx.schedule_sub_orchestration_with_id(chain, named, (first + 2).to_string()),
    ];
    let results = ctx.join(children).await;
    run.pass("grown up");
    Ok(results.into_iter().collect::<Result<Vec<_>, _>>()?.join(" "))
}

async fn timers(run: Run, input: String) -> Output {
    let mut value = number(&input)?;
    let mut time = run.ctx.utc_now().await?;
    for _ in 0..PAUSES {
        run.ctx.schedule_timer(Duration::from_millis(20 + value % 30)).await;
        run.pass(format!("fired at {value}"));
        value = run.step(value).await?;
        // Whichever nodes were asked.
        let earlier = std::mem::replace(&mut time, run.ctx.utc_now().await?);
        if time < earlier {
            return Err(format!("time went back from {earlier:?} to {time:?}"));
        }
    }
    Ok(value.to_string())
}

async fn retries(run: Run, input: String) -> Output {
    let pause = BackoffStrategy::Fixed { delay: Duration::from_millis(10) };
    let policy = RetryPolicy::new(5).with_backoff(pause);
    let result = run.ctx.schedule_activity_with_retry("Flaky", input, policy).await;
    run.pass("retried");
    result
}

async fn mail(run: Run, _: String) -> Output {
    let go = run.ctx.schedule_wait("go").await;
    run.pass("go");
    let mut messages = Vec::new();
    for _ in 0..LAPS {
        messages.push(run.ctx.dequeue_event("box").await);
        run.pass(format!("message {}", messages.len()));
    }
    Ok(format!("{go}: {}", messages.join(" ")))
}

async fn laps(run: Run, input: String) -> Output {
    let (lap, sum) = lap_and_value(&input)?;
    let message = run.ctx.dequeue_event("laps").await;
    let sum = run.step(sum + number(&message)?).await?;
    if lap == LAPS {
        return Ok(sum.to_string());
    }
    run.ctx.continue_as_new(format!("{},{sum}", lap + 1)).await
}

async fn tally(run: Run, input: String) -> Output {
    let (lap, value) = lap_and_value(&input)?;
    run.step(value).await?;
    let sum = run.ctx.get_kv_value(KEPT).map_or(Ok(0), |text| number(&text))? + value;
    run.ctx.set_kv_value(KEPT, sum.to_string());
    if lap == LAPS {
        return Ok(sum.to_string());
    }
    run.ctx.continue_as_new(format!("{},{value}", lap + 1)).await
}

fn lap_and_value(input: &str) -> Result<(u64, u64), String> {
    let (lap, value) = input.split_once(',').ok_or_else(|| format!("{input:?} is no lap"))?;
    Ok((number(lap)?, number(value)?))
}

async fn race(run: Run, input: String) -> Output {
    let quick = run.ctx.schedule_activity("Step", input);
    let slow = run.ctx.schedule_activity("Dawdle", "");
    let first = run.ctx.select2(quick, slow).await;
    run.pass("decided");
    match first {
        Either2::First(result) => result.map(|result| unsigned(&result).to_owned()),
        Either2::Second(_) => Err("the wrong one won".to_owned()),
    }
}

async fn herald(run: Run, input: String) -> Output {
    let heir = heir_of(&run.ctx.instance_id());
    run.ctx.schedule_orchestration(Program::Chain.name(), heir, input.clone());
    Ok(run.step(input).await?.to_string())
}

/// The child of [`patient`].
const WAITING: &str = "Waiting";

async fn patient(run: Run, input: String) -> Output {
    run.ctx.schedule_sub_orchestration(WAITING, input).await
}

async fn waiting(run: Run, _: String) -> Output {
    Ok(run.ctx.schedule_wait("never").await)
}

async fn held_activity(run: Run, input: String) -> Output {
    let held_by = run.ctx.schedule_activity("Hold", "").await?;
    run.step(input).await?;
    Ok(held_by)
}

async fn held_turn(run: Run, input: String) -> Output {
    let value = run.step(input).await?;
    run.pass("at the gate");
    hold::wait_at(&run.around.gate);
    Ok(run.step(value).await?.to_string())
}

async fn lingering(run: Run, _: String) -> Output {
    run.ctx.schedule_activity("Linger", "").await
}
