//! W10: from `cancel_instance` until the activity that runs for it has heard, in this process or in another one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::process::{Process, say_ready, until_told};
use crate::arguments::Arguments;
use crate::bench::{Bench, PAUSE, Part};
use crate::clock;
use crate::notes::{Moment, Notes};
use crate::program::Fallible;
use crate::report::{Outcome, millis};

pub(crate) async fn cancellations(arguments: &Arguments) -> Fallible<Outcome> {
    if arguments.nodes == 1 {
        let bench = Bench::start(arguments, arguments.samples).await?;
        return samples(arguments, bench).await;
    }
    // This process cancels and takes the turns, the other one runs the activities.
    let bench = Bench::start_part(arguments, Notes::new(arguments.samples), Part::Turns).await?;
    let notes = Arc::clone(&bench.notes);
    let other = Process::start_heard("patient", arguments, move |line| notes.hear(line)).await?;
    let outcome = samples(arguments, bench).await?;
    other.stop()?;
    Ok(outcome)
}

/// The other process: it says what its activities note.
pub(crate) async fn patient(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start_part(arguments, Notes::aloud(arguments.samples), Part::Activities).await?;
    say_ready();
    until_told().await?;
    bench.stop(&mut Outcome::default()).await;
    Ok(Outcome::default())
}

async fn samples(arguments: &Arguments, bench: Bench) -> Fallible<Outcome> {
    let (mut outcome, mut times) = (Outcome::default(), Vec::new());
    let whole = clock::now();
    for which in 0..arguments.samples {
        let instance = format!("patience-{which}");
        bench.caller.start(&instance, "Patience", &which.to_string()).await?;
        noted(&bench.notes, which, Moment::Begun).await;
        // It began just now; nobody cancels within a millisecond. And not always at the same moment between two looks that a
        // process takes at what others have done.
        clock::sleep(PAUSE * 2 + Duration::from_millis(which * 37 % 100)).await;
        let begin = clock::now();
        bench.caller.client.cancel_instance(&instance, "enough").await?;
        let heard = noted(&bench.notes, which, Moment::Resumed).await;
        times.push(millis(heard.saturating_duration_since(begin)));
        outcome.note(bench.caller.is_cancelled(&instance).await);
        if whole.elapsed() > arguments.seconds {
            break;
        }
    }
    outcome.set_times(times);
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

/// When it came, once it has.
async fn noted(notes: &Notes, which: u64, moment: Moment) -> Instant {
    loop {
        match notes.at(which, moment) {
            Some(at) => return at,
            None => clock::sleep(PAUSE).await,
        }
    }
}
