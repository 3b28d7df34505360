//! W3, W4 and W5: one orchestration with very much in it.

use std::time::Instant;

use crate::arguments::Arguments;
use crate::bench::Bench;
use crate::clock;
use crate::notes::Moment;
use crate::program::Fallible;
use crate::report::{Outcome, millis, number};

/// W3: it joins so many activities.
pub(crate) async fn fan_out(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, 0).await?;
    let mut outcome = Outcome::default();
    let begin = clock::now();
    outcome.note(bench.caller.run("fan", "FanOut", &arguments.size.to_string()).await);
    let time = begin.elapsed();
    outcome.set("seconds", time.as_secs_f64());
    outcome.set_rate("activities", arguments.size, time);
    outcome.set_steps(arguments.size);
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

/// W4: so many activities one after the other, and whether the last take longer than the first.
pub(crate) async fn sequence(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, arguments.size).await?;
    let mut outcome = Outcome::default();
    let begin = clock::now();
    outcome.note(bench.caller.run("long", "Steps", &arguments.size.to_string()).await);
    let time = begin.elapsed();
    outcome.set("seconds", time.as_secs_f64());
    outcome.set("ms_per_activity", millis(time) / number(arguments.size.max(1)));
    outcome.set_steps(arguments.size);
    let moments = bench.notes.all(Moment::Begun);
    let (first, last) = (ms_each(&moments, End::First), ms_each(&moments, End::Last));
    if let Some((first, last)) = first.zip(last) {
        outcome.set("first_100_ms", first);
        outcome.set("last_100_ms", last);
        outcome.set("last_to_first", last / first.max(1e-9));
    }
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

#[derive(Debug, Clone, Copy)]
enum End {
    First,
    Last,
}

/// Milliseconds per activity, of the hundred at one end.
fn ms_each(moments: &[Instant], end: End) -> Option<f64> {
    const MANY: usize = 100;
    let some = match end {
        End::First => moments.get(..=MANY)?,
        End::Last => moments.get(moments.len().checked_sub(MANY + 1)?..)?,
    };
    let (begin, end) = some.first().zip(some.last())?;
    Some(millis(end.duration_since(*begin)) / 100.0)
}

/// W5: so many executions, each of which only begins the next.
pub(crate) async fn executions(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, 0).await?;
    let mut outcome = Outcome::default();
    let begin = clock::now();
    outcome.note(bench.caller.run("countdown", "Countdown", &arguments.size.to_string()).await);
    let time = begin.elapsed();
    outcome.set("seconds", time.as_secs_f64());
    outcome.set_rate("executions", arguments.size, time);
    bench.stop(&mut outcome).await;
    Ok(outcome)
}
