//! W11: a process with much under way is killed. How soon another goes on, and when all is done.

use super::many::STEPS;
use super::process::{Process, say_ready, until_told};
use crate::arguments::Arguments;
use crate::bench::{Bench, PAUSE};
use crate::clock;
use crate::notes::Moment;
use crate::program::Fallible;
use crate::report::Outcome;

/// The process that is killed: it starts all of them, and says when they are under way.
pub(crate) async fn victim(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, STEPS).await?;
    let start_one = |which: u64| {
        let caller = bench.caller.clone();
        clock::spawn(async move { caller.start(&name(which), "Steps", &STEPS.to_string()).await })
    };
    let all: Vec<_> = (0..arguments.size).map(start_one).collect();
    for one in all {
        one.await??;
    }
    // In the middle of it: about as many activities have run as there are orchestrations.
    while bench.notes.total() < arguments.size {
        clock::sleep(PAUSE / 10).await;
    }
    say_ready();
    until_told().await?;
    Ok(Outcome::default())
}

pub(crate) async fn recovery(arguments: &Arguments) -> Fallible<Outcome> {
    let killed = Process::start("victim", arguments).await?;
    killed.kill()?;
    let begin = clock::now();
    // Each activity of a sequence has the number of its place in it.
    let bench = Bench::start(arguments, STEPS).await?;
    let mut outcome = Outcome::default();
    outcome.set("open_seconds", begin.elapsed().as_secs_f64());
    while bench.notes.count(Moment::Begun) == 0 {
        clock::sleep(PAUSE / 10).await;
    }
    let first = bench.notes.all(Moment::Begun).into_iter().min().unwrap_or(begin);
    outcome.set("first_progress_seconds", first.saturating_duration_since(begin).as_secs_f64());
    let wait_for = |which: u64| {
        let caller = bench.caller.clone();
        clock::spawn(async move { caller.wait(&name(which)).await })
    };
    let all: Vec<_> = (0..arguments.size).map(wait_for).collect();
    for one in all {
        outcome.note(one.await.map_err(|error| error.to_string()).flatten());
    }
    let time = begin.elapsed();
    outcome.set("all_done_seconds", time.as_secs_f64());
    let left = bench.notes.total();
    outcome.set("activities_left", crate::report::number(left));
    outcome.set_rate("activities", left, time);
    outcome.set_steps(left);
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

fn name(which: u64) -> String {
    format!("survivor-{which}")
}
