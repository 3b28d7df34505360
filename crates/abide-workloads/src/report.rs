//! What a measurement came to, as a line of JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::counting::Counters;
use crate::machine::{self, Machine};

/// Figures by name, and how many things did not complete.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) figures: Map<String, Value>,
    pub(crate) failures: u64,
    pub(crate) complaint: Option<String>,
    pub(crate) counters: Counters,
}

impl Outcome {
    /// What a process has to say that only helps another one.
    pub(crate) fn is_silent(&self) -> bool {
        self.figures.is_empty()
    }

    pub(crate) fn set(&mut self, name: &str, figure: f64) {
        self.figures.insert(name.to_owned(), json!(round(figure)));
    }

    /// How many, and how many of them per second.
    pub(crate) fn set_rate(&mut self, what: &str, count: u64, time: Duration) {
        self.set(&format!("{what}_per_second"), number(count) / time.as_secs_f64().max(1e-9));
    }

    /// Median and the like of times, in milliseconds.
    pub(crate) fn set_times(&mut self, mut millis: Vec<f64>) {
        millis.sort_by(f64::total_cmp);
        self.set("samples", number(u64::try_from(millis.len()).unwrap_or(u64::MAX)));
        for (name, permille) in [("p50_ms", 500), ("p90_ms", 900), ("p99_ms", 990), ("max_ms", 1_000)] {
            if let Some(time) = permille_of(&millis, permille) {
                self.set(name, time);
            }
        }
    }

    /// What an orchestration costs: in this process, and with the server if it is known.
    pub(crate) fn set_cpu(&mut self, orchestrations: u64, cpu: Duration, server: Option<Duration>) {
        let each = |time: Duration| millis(time) / number(orchestrations.max(1));
        self.set("cpu_seconds", cpu.as_secs_f64());
        self.set("cpu_ms_per_orchestration", each(cpu));
        if let Some(server) = server {
            self.set("server_cpu_seconds", server.as_secs_f64());
            self.set("cpu_ms_with_server", each(cpu + server));
        }
    }

    /// How many activities ran: what is counted is divided by it.
    pub(crate) fn set_steps(&mut self, steps: u64) {
        self.counters.insert("steps".to_owned(), steps);
    }

    pub(crate) fn fail(&mut self, complaint: impl Into<String>) {
        self.failures += 1;
        self.complaint.get_or_insert(complaint.into());
    }
}

/// Those that every line has: `null` is what this store or this program does not count.
const COUNTERS: [&str; 8] = [
    "steps",
    "transactions",
    "statements",
    "fsyncs",
    "lease_calls",
    "polls",
    "events_decoded",
    "allocations",
];

fn counters(counted: &Counters) -> Map<String, Value> {
    let known = COUNTERS.into_iter().map(|name| (name.to_owned(), Value::Null));
    let counted = counted.iter().map(|(name, count)| (name.clone(), json!(count)));
    known.chain(counted).collect()
}

/// The value that so many of a thousand do not exceed.
fn permille_of(sorted: &[f64], permille: usize) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((sorted.len() * permille / 1_000).min(last)).copied()
}

/// Six digits are more than a benchmark knows.
fn round(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A count as a number to divide: exact up to four thousand million, close enough beyond.
pub(crate) fn number(count: u64) -> f64 {
    let thousands = u32::try_from(count / 1_000).unwrap_or(u32::MAX);
    let rest = u32::try_from(count % 1_000).unwrap_or_default();
    f64::from(thousands) * 1e3 + f64::from(rest)
}

pub(crate) fn line(side: &str, arguments: &Arguments, outcome: &Outcome, before: &Machine) -> Value {
    let after = Machine::now(arguments.server.as_deref());
    let (peak, _) = machine::memory_of("self");
    let mut figures = outcome.figures.clone();
    let mut usual = |name: &str, figure: f64| {
        figures.entry(name).or_insert_with(|| json!(round(figure)));
    };
    usual("wall_seconds", (after.at - before.at).as_secs_f64());
    usual("process_cpu_seconds", after.cpu_since(before).as_secs_f64());
    if let Some(server) = after.server_since(before) {
        usual("server_cpu_seconds", server.as_secs_f64());
    }
    if let Some(peak) = peak {
        usual("peak_rss_mb", peak);
    }
    json!({
        "workload": arguments.workload,
        "size": arguments.size,
        "store": arguments.store,
        "slots": arguments.slots,
        "nodes": arguments.nodes,
        "activity_ms": arguments.activity.as_millis().to_string().parse::<u64>().unwrap_or_default(),
        "side": side,
        "failures": outcome.failures,
        "complaint": outcome.complaint,
        "figures": figures,
        "counters": counters(&outcome.counters),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ranked_and_rounded() {
        let mut outcome = Outcome::default();
        outcome.set_times((1..=100).rev().map(|it| number(it) + 0.123_456_789).collect());
        assert_eq!(outcome.figures["p50_ms"], json!(51.1235));
        assert_eq!(outcome.figures["p99_ms"], json!(100.123));
        assert_eq!(outcome.figures["samples"], json!(100.0));
    }

    #[test]
    fn what_is_not_counted_is_null() {
        let counted = counters(&Counters::from([("fsyncs".to_owned(), 3), ("commit".to_owned(), 4)]));
        assert_eq!((&counted["fsyncs"], &counted["commit"]), (&json!(3), &json!(4)));
        assert_eq!(counted["allocations"], Value::Null);
    }

    #[test]
    fn the_first_complaint_is_kept() {
        let mut outcome = Outcome::default();
        outcome.fail("one");
        outcome.fail("two");
        assert_eq!((outcome.failures, outcome.complaint.as_deref()), (2, Some("one")));
    }
}
