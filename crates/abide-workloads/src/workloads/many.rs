//! W1, W2 and W8: many orchestrations, at once, one after the other, and as children.

use crate::arguments::Arguments;
use crate::bench::{Bench, Caller};
use crate::clock;
use crate::machine::Machine;
use crate::program::Fallible;
use crate::report::{Outcome, millis};

/// Activities of each orchestration in W1.
pub(crate) const STEPS: u64 = 5;

/// W1: so many at once, with a few activities each.
pub(crate) async fn chains(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, 0).await?;
    let before = Machine::now(arguments.server.as_deref());
    let mut outcome = bench.caller.run_all(arguments.size, "Sequence", &STEPS.to_string()).await;
    let after = Machine::now(arguments.server.as_deref());
    let time = after.at - before.at;
    outcome.set("seconds", time.as_secs_f64());
    outcome.set_rate("orchestrations", arguments.size, time);
    outcome.set_rate("activities", arguments.size * STEPS, time);
    outcome.set_steps(arguments.size * STEPS);
    outcome.set_cpu(arguments.size, after.cpu_since(&before), after.server_since(&before));
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

/// W2: one at a time, with one activity.
pub(crate) async fn one_by_one(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, 0).await?;
    let mut outcome = samples(arguments, &bench.caller).await;
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

/// Takes the time of one after the other, until there are enough or it took too long.
pub(crate) async fn samples(arguments: &Arguments, caller: &Caller) -> Outcome {
    let (mut outcome, mut times) = (Outcome::default(), Vec::new());
    let whole = clock::now();
    for number in 0..arguments.samples {
        let begin = clock::now();
        outcome.note(caller.run(&format!("one-{number}"), "Sequence", "1").await);
        times.push(millis(begin.elapsed()));
        if whole.elapsed() > arguments.seconds {
            break;
        }
    }
    outcome.set_steps(u64::try_from(times.len()).unwrap_or(u64::MAX));
    outcome.set_times(times);
    outcome
}

/// W8: one with so many children.
pub(crate) async fn children(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, 0).await?;
    let mut outcome = Outcome::default();
    let begin = clock::now();
    outcome.note(bench.caller.run("parent", "Parent", &arguments.size.to_string()).await);
    let time = begin.elapsed();
    outcome.set("seconds", time.as_secs_f64());
    outcome.set_rate("children", arguments.size, time);
    bench.stop(&mut outcome).await;
    Ok(outcome)
}
