//! W10: from `cancel_instance` until the activity that runs for it has heard.

use crate::arguments::Arguments;
use crate::bench::{Bench, PAUSE};
use crate::clock;
use crate::notes::Moment;
use crate::program::Fallible;
use crate::report::{Outcome, millis};

pub(crate) async fn cancellations(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, arguments.samples).await?;
    let (mut outcome, mut times) = (Outcome::default(), Vec::new());
    let whole = clock::now();
    for which in 0..arguments.samples {
        let instance = format!("patience-{which}");
        bench.caller.start(&instance, "Patience", &which.to_string()).await?;
        while bench.notes.at(which, Moment::Begun).is_none() {
            clock::sleep(PAUSE).await;
        }
        // It began just now; nobody cancels within a millisecond.
        clock::sleep(PAUSE * 2).await;
        let begin = clock::now();
        bench.caller.client.cancel_instance(&instance, "enough").await?;
        let heard = loop {
            match bench.notes.at(which, Moment::Resumed) {
                Some(heard) => break heard,
                None => clock::sleep(PAUSE).await,
            }
        };
        times.push(millis(heard.saturating_duration_since(begin)));
        if whole.elapsed() > arguments.seconds {
            break;
        }
    }
    outcome.set_times(times);
    bench.stop(&mut outcome).await;
    Ok(outcome)
}
