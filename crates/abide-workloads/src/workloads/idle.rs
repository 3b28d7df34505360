//! W9: what a runtime uses that has nothing to do, alone or with instances that sleep.

use std::ops::RangeInclusive;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;

use super::process::Process;
use crate::arguments::Arguments;
use crate::bench::{Bench, PAUSE};
use crate::clock;
use crate::counting;
use crate::machine::{self, Machine};
use crate::notes::Moment;
use crate::program::Fallible;
use crate::report::{Outcome, number};

/// The size is the number of those that sleep.
pub(crate) async fn idle(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, arguments.size).await?;
    let mut outcome = Outcome::default();
    let begin = clock::now();
    put_to_sleep(&bench, arguments.size, &mut outcome).await;
    outcome.set("setup_seconds", begin.elapsed().as_secs_f64());
    // What began goes to its end: connections, copies of the log.
    clock::sleep(PAUSE * 200).await;
    if let Some(server) = arguments.server.as_deref() {
        outcome.set(
            "until_server_was_quiet_seconds",
            quiet(server, windows(arguments.size)).await.as_secs_f64(),
        );
    }
    let (counted_before, before) = (bench.counted().await, Machine::now(arguments.server.as_deref()));
    clock::sleep(arguments.seconds).await;
    let (after, counted_after) = (Machine::now(arguments.server.as_deref()), bench.counted().await);
    let time = after.at - before.at;
    outcome.set("seconds", time.as_secs_f64());
    let in_20 = |cpu: Duration| cpu.as_secs_f64() * 20.0 / time.as_secs_f64();
    outcome.set("cpu_seconds_in_20", in_20(after.cpu_since(&before)));
    if let Some(server) = after.server_since(&before) {
        outcome.set("cpu_seconds_in_20_with_server", in_20(after.cpu_since(&before) + server));
    }
    let counted = counting::since(&counted_before, counted_after);
    let per_second = |done: u64| number(done) / time.as_secs_f64();
    for (name, done) in &counted {
        outcome.set(&format!("{name}_per_second"), per_second(*done));
    }
    if let (Some(all), Some(looks)) = (counted.get("statements"), counted.get("data_version")) {
        outcome.set("statements_beside_looks_per_second", per_second(all.saturating_sub(*looks)));
    }
    if let (_, Some(now)) = machine::memory_of("self") {
        outcome.set("rss_mb", now);
    }
    if arguments.size > 0
        && is_shared(&arguments.store)
        && let Ok(other) = Process::start("node", arguments).await
    {
        clock::sleep(PAUSE * 200).await;
        if let (_, Some(now)) = machine::memory_of(&other.id().to_string()) {
            outcome.set("rss_mb_reopened", now);
        }
        other.stop()?;
    }
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

/// Whether another process can open it.
fn is_shared(store: &str) -> bool {
    !matches!(store, "memory" | "sqlite-memory")
}

/// How long a look at the server is, to see whether it is quiet.
const WINDOW: Duration = Duration::from_secs(5);

/// How many looks at least, and at most. What was made for those that sleep is cleaned up when the server looks for it, once a minute; what others
/// had made before, soon.
const fn windows(sleepers: u64) -> RangeInclusive<usize> {
    if sleepers > 0 { 14..=40 } else { 1..=8 }
}

/// Waits until the server has written and cleaned up what was made before, which it does in the background, and is not part of being idle. It
/// may never be quiet; then it is measured as it is. Says how long that took.
async fn quiet(server: &str, windows: RangeInclusive<usize>) -> Duration {
    /// Two looks of a store at its queues, and the server's own timers.
    const QUIET: Duration = Duration::from_millis(8);
    let begin = clock::now();
    let mut before = Machine::now(Some(server));
    for window in 1..=*windows.end() {
        clock::sleep(WINDOW).await;
        let now = Machine::now(Some(server));
        if windows.contains(&window) && now.server_since(&before).is_none_or(|used| used < QUIET) {
            break;
        }
        before = now;
    }
    begin.elapsed()
}

async fn put_to_sleep(bench: &Bench, count: u64, outcome: &mut Outcome) {
    const AT_ONCE: usize = 5_000;
    let starts = (0..count).map(|which| {
        let caller = &bench.caller;
        async move { caller.start(&format!("sleeper-{which}"), "Sleeper", &which.to_string()).await }
    });
    let mut started = stream::iter(starts).buffer_unordered(AT_ONCE);
    while let Some(started) = started.next().await {
        outcome.note(started);
    }
    while bench.notes.count(Moment::Begun) + outcome.failures < count {
        clock::sleep(PAUSE).await;
    }
}
