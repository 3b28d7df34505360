//! W9: what a runtime uses that has nothing to do, alone or with instances that sleep.

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
    let waited = quiet(arguments.server.as_deref(), windows_at_least(arguments.size)).await;
    outcome.set("until_server_was_quiet_seconds", waited.as_secs_f64());
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
    for (name, done) in counting::since(&counted_before, counted_after) {
        outcome.set(&format!("{name}_per_second"), number(done) / time.as_secs_f64());
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

/// What was made for those that sleep is cleaned up when the server looks for it, once a minute; what others had made before, at once.
const fn windows_at_least(sleepers: u64) -> usize {
    if sleepers > 0 { 14 } else { 1 }
}

/// Waits until the server has written and cleaned up what was made before, which it does in the background, and is not part of being idle. It
/// may never be quiet; then it is measured as it is. Says how long that took.
async fn quiet(server: Option<&str>, at_least: usize) -> Duration {
    const WINDOW: Duration = Duration::from_secs(5);
    /// Two looks of a store at its queues, and the server's own timers.
    const QUIET: Duration = Duration::from_millis(8);
    const AT_MOST: usize = 40;
    let begin = clock::now();
    let mut before = Machine::now(server);
    for window in 1..=AT_MOST {
        if before.server.is_none() {
            break;
        }
        clock::sleep(WINDOW).await;
        let now = Machine::now(server);
        if window >= at_least && now.server_since(&before).is_none_or(|used| used < QUIET) {
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
