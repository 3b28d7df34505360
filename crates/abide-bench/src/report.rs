//! Results, for machines and for people.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;

/// Where the time of a replay goes, measured with `perf` and `callgrind` on the chain.
pub(crate) const WHAT_DOMINATES: &str = "\
A target was missed. On a quiet machine the replay of a chain is dominated by the allocator (the strings of
each event are freed, and the code makes them again), then by comparing and binding asks; decoding by the
buffering of fields before the kind of an event is known. A busy machine or a debug build misses both.";

/// One thing that was measured several times.
#[derive(Debug)]
pub(crate) struct Measured {
    what: &'static str,
    shape: &'static str,
    events: usize,
    /// Ascending.
    times: Vec<Duration>,
    target: f64,
}

impl Measured {
    pub(crate) fn new(
        what: &'static str,
        shape: &'static str,
        events: usize,
        mut times: Vec<Duration>,
        target: f64,
    ) -> Self {
        times.sort_unstable();
        Self { what, shape, events, times, target }
    }

    pub(crate) fn meets_target(&self) -> bool {
        self.rate(self.median()) >= self.target
    }

    fn median(&self) -> Duration {
        self.times.get(self.times.len() / 2).copied().unwrap_or_default()
    }

    /// Events per second.
    fn rate(&self, time: Duration) -> f64 {
        let events = u32::try_from(self.events).unwrap_or(u32::MAX);
        f64::from(events) / time.as_secs_f64()
    }

    fn rates(&self) -> (f64, f64, f64) {
        let slowest = self.times.last().copied().unwrap_or_default();
        let fastest = self.times.first().copied().unwrap_or_default();
        (self.rate(slowest), self.rate(self.median()), self.rate(fastest))
    }
}

/// One result as one line of JSON.
pub(crate) fn json_line(measured: &Measured) -> String {
    let (slowest, median, fastest) = measured.rates();
    json!({
        "bench": measured.what,
        "shape": measured.shape,
        "events": measured.events,
        "events_per_second": { "min": slowest.round(), "median": median.round(), "max": fastest.round() },
        "target": measured.target,
        "met": measured.meets_target(),
    })
    .to_string()
}

/// All results as a table.
pub(crate) fn table(results: &[Measured]) -> String {
    let mut text = format!(
        "{:<8} {:<8} {:>8} {:>14} {:>14} {:>14} {:>10}\n",
        "what", "shape", "events", "slowest /s", "median /s", "fastest /s", "target"
    );
    for result in results {
        let (slowest, median, fastest) = result.rates();
        let verdict = if result.meets_target() { "met" } else { "MISSED" };
        writeln!(
            text,
            "{:<8} {:<8} {:>8} {slowest:>14.0} {median:>14.0} {fastest:>14.0} {verdict:>10}",
            result.what, result.shape, result.events
        )
        .unwrap_or_default();
    }
    text
}
