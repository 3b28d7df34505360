//! W6: how late timers are. One at a time if the size is 1.

use crate::arguments::Arguments;
use crate::bench::Bench;
use crate::code::TIMER;
use crate::notes::{Moment, Notes};
use crate::program::Fallible;
use crate::report::{Outcome, millis, number};

pub(crate) async fn timers(arguments: &Arguments) -> Fallible<Outcome> {
    if arguments.size > 1 {
        let bench = Bench::start(arguments, arguments.size).await?;
        let mut outcome = bench.caller.run_all(arguments.size, "Timer", "#").await;
        set_lateness(&mut outcome, &bench.notes, arguments.size);
        bench.stop(&mut outcome).await;
        return Ok(outcome);
    }
    let bench = Bench::start(arguments, arguments.samples).await?;
    let mut outcome = Outcome::default();
    for which in 0..arguments.samples {
        let ended = bench.caller.run(&format!("timer-{which}"), "Timer", &which.to_string()).await;
        outcome.note(ended);
    }
    set_lateness(&mut outcome, &bench.notes, arguments.samples);
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

fn set_lateness(outcome: &mut Outcome, notes: &Notes, count: u64) {
    let lateness = |which| {
        let (begun, resumed) = notes.at(which, Moment::Begun).zip(notes.at(which, Moment::Resumed))?;
        Some(millis(resumed.duration_since(begun)) - millis(TIMER))
    };
    let all: Vec<f64> = (0..count).filter_map(lateness).collect();
    let early = all.iter().filter(|late| **late < 0.0).count();
    outcome.set("early", number(u64::try_from(early).unwrap_or(u64::MAX)));
    outcome.set_times(all);
}
