//! Group commits, one after the other, for a while.

use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times, cpu_time, micros_per, millis, rate};

/// What a run of group commits came to.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) turns: u64,
    pub(crate) elapsed: Duration,
    /// What the writer used of a core.
    cpu: Option<Duration>,
    /// Of each group, from BEGIN until the next can begin.
    times: Times,
}

/// Commits groups of `size` calls of `turn` until `span` is over; `after` follows each commit.
pub(crate) fn commit_groups(
    connection: &Connection,
    size: u64,
    span: Duration,
    mut turn: impl FnMut() -> Fallible<()>,
    mut after: impl FnMut() -> Fallible<()>,
) -> Fallible<Groups> {
    let mut begin = connection.prepare("BEGIN IMMEDIATE")?;
    let mut commit = connection.prepare("COMMIT")?;
    let mut times = Vec::new();
    let mut turns = 0;
    let cpu_before = cpu_time();
    let whole = Stopwatch::start();
    while whole.elapsed() < span {
        let group = Stopwatch::start();
        begin.execute([])?;
        for _ in 0..size {
            turn()?;
        }
        commit.execute([])?;
        after()?;
        times.push(group.elapsed());
        turns += size;
    }
    let elapsed = whole.elapsed();
    let cpu = cpu_time().zip(cpu_before).map(|(now, before)| now.saturating_sub(before));
    Ok(Groups { turns, elapsed, cpu, times: times.into() })
}

impl Groups {
    /// What every run has to say.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "turns_per_second": rate(self.turns, self.elapsed),
            "cpu_micros_per_turn": self.cpu.map(|cpu| micros_per(cpu, self.turns)),
            "group_ms": {
                "p50": millis(self.times.median()),
                "p99": millis(self.times.permille(990)),
                "p999": millis(self.times.permille(999)),
                "max": millis(self.times.longest()),
            },
        })
    }
}
