//! W7: from raising an event until the code that waits for it goes on. One at a time if the size is 1.

use std::time::{Duration, Instant};

use durable::OrchestrationStatus;

use crate::arguments::Arguments;
use crate::bench::{Bench, Caller, PAUSE};
use crate::clock;
use crate::notes::{Moment, Notes};
use crate::program::Fallible;
use crate::report::{Outcome, millis};

pub(crate) async fn events(arguments: &Arguments) -> Fallible<Outcome> {
    let at_once = arguments.size > 1;
    let count = if at_once { arguments.size } else { arguments.samples };
    let bench = Bench::start(arguments, count).await?;
    let (mut outcome, mut raised) = (Outcome::default(), Vec::new());
    let whole = clock::now();
    if at_once {
        begin(&bench.caller, 0..count).await?;
        raised = raise(&bench.caller, 0..count, &mut outcome).await;
    } else {
        for which in 0..count {
            begin(&bench.caller, which..which + 1).await?;
            raised.extend(raise(&bench.caller, which..which + 1, &mut outcome).await);
            if whole.elapsed() > arguments.seconds {
                break;
            }
        }
    }
    outcome.set_times(latencies(&bench.notes, &raised).collect());
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

/// Starts them, and returns once all of them wait.
async fn begin(caller: &Caller, which: std::ops::Range<u64>) -> Fallible<()> {
    for which in which.clone() {
        caller.start(&format!("wait-{which}"), "Wait", &which.to_string()).await?;
    }
    for which in which {
        let instance = format!("wait-{which}");
        let waits =
            |status| matches!(status, Ok(OrchestrationStatus::Running { custom_status: Some(_), .. }));
        while !waits(caller.client.get_orchestration_status(&instance).await) {
            clock::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Raises all of their events at once, and waits for their ends. Says when each call was made.
async fn raise(caller: &Caller, which: std::ops::Range<u64>, outcome: &mut Outcome) -> Vec<Instant> {
    let raise_one = |which: u64| {
        let caller = caller.clone();
        clock::spawn(async move {
            let (instance, raised) = (format!("wait-{which}"), clock::now());
            let sent = caller.client.raise_event(&instance, "go", "now").await;
            sent.map_err(|error| error.to_string()).map(|()| raised)
        })
    };
    let all: Vec<_> = which.clone().map(raise_one).collect();
    let mut raised = Vec::new();
    for one in all {
        match one.await.map_err(|error| error.to_string()).flatten() {
            Ok(at) => raised.push(at),
            Err(complaint) => outcome.fail(complaint),
        }
    }
    for which in which {
        outcome.note(caller.wait(&format!("wait-{which}")).await);
    }
    raised
}

fn latencies(notes: &Notes, raised: &[Instant]) -> impl Iterator<Item = f64> {
    let resumed = (0..).map(|which| notes.at(which, Moment::Resumed));
    let late = |(raised, resumed): (&Instant, Option<Instant>)| -> Option<Duration> {
        Some(resumed?.saturating_duration_since(*raised))
    };
    raised.iter().zip(resumed).filter_map(late).map(millis)
}
