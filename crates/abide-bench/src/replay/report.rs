//! Results, for machines and for people.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde_json::json;

use super::{STORE, WORKLOAD};
use crate::workloads::line::{Ended, Line, Side, Subject, Time};

/// Where the time goes, by what was measured; found with `perf` on a quiet machine.
const WHAT_DOMINATES: &[(&str, &str, &str)] = &[
    (
        "replay",
        "chain",
        "the allocator: the strings of each event are freed, and the code makes its own again; then comparing asks",
    ),
    (
        "replay",
        "fan-out",
        "memory: all asks are open at once, so every future, slot and event is far from the last one touched, and \
         the allocator merges what is freed out of order",
    ),
    (
        "replay",
        "mixed",
        "the allocator, as for the chain, and the timers and key-value entries of each round",
    ),
    ("decode", "", "the buffering of an event's fields before its kind is known, and a string per field"),
];

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

/// Says for each missed target what its time is spent on.
pub(crate) fn explanation(results: &[Measured]) -> String {
    let mut text = "A target was missed; a busy machine or a debug build misses all of them.\n".to_owned();
    for result in results.iter().filter(|result| !result.meets_target()) {
        let reason = WHAT_DOMINATES
            .iter()
            .find(|(what, shape, _)| *what == result.what && (shape.is_empty() || *shape == result.shape))
            .map_or("", |(_, _, reason)| *reason);
        writeln!(text, "{} {}: dominated by {reason}", result.what, result.shape).unwrap_or_default();
    }
    text
}

/// As results among those of whole orchestrations: a line for each repetition.
pub(crate) fn lines(results: &[Measured]) -> Vec<Line> {
    let repetitions = results.iter().map(|result| result.times.len()).max().unwrap_or_default();
    (0..repetitions).map(|repetition| line(results, repetition)).collect()
}

fn line(results: &[Measured], repetition: usize) -> Line {
    let events = results.iter().map(|result| result.events).max().unwrap_or_default();
    let subject = Subject {
        workload: WORKLOAD.to_owned(),
        // The last round of a history may go beyond what was asked for.
        size: u64::try_from(events).unwrap_or(u64::MAX) / 1_000 * 1_000,
        store: STORE.to_owned(),
        slots: None,
        nodes: 1,
        activity_ms: 0,
        side: Side::Ours,
    };
    let figure = |result: &Measured| {
        let done = if result.what == "replay" { "replayed" } else { "decoded" };
        let time = result.times.get(repetition)?;
        Some((format!("{}_{done}_per_second", result.shape), result.rate(*time)))
    };
    Line {
        subject,
        time: Time::of(u64::try_from(repetition).unwrap_or(u64::MAX).saturating_add(1)),
        ended: Ended::Good,
        failures: 0,
        figures: results.iter().filter_map(figure).collect(),
        counters: BTreeMap::new(),
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
