//! Steps through a store alone: what a runtime would ask of it, without the engine.
//!
//! A *step* is an activity done and the next one running: a turn leased and committed with one activity, that
//! activity leased and finished. *W1* runs many instances at once, five activities each; *W4* runs one instance, one
//! step after the other. Beside them, from the same minute: a bare commit, and the ceiling of one appended row per
//! step in groups.

mod arguments;
mod driver;
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use abide_sqlite::{Durability, SqliteProvider};
use arguments::{Arguments, Store};
use driver::{Flow, Measured, Style};
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::program::{Program, Verdict};
use crate::store::Fallible;
use crate::store::clock::{millis, number, rate};
use crate::store::commits;

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench steps", usage: arguments::USAGE };
    program.run(Arguments::parse(words), |arguments| run(&arguments))
}

/// What a SQLite store must reach on a local disk: many instances at once, and one alone.
const STEPS_PER_SECOND: f64 = 15_000.0;
const COMMITS_PER_STEP: f64 = 3.0;

fn run(arguments: &Arguments) -> Fallible<Verdict> {
    let limits = commits::measure(arguments.span)?;
    let commit_ms = limits.first().and_then(|line| line.pointer("/group_ms/p50")).and_then(Value::as_f64);
    let commit_ms = commit_ms.unwrap_or(f64::NAN);
    for line in &limits {
        println!("{line}");
    }
    let mut verdict = Verdict::Met;
    for (flow, style) in arguments.cells() {
        let measured = with_store(arguments.store, |provider| {
            block_on(driver::run(provider, flow, style, arguments.span))
        })?;
        let line = describe(flow, style, &measured, commit_ms);
        println!("{line}");
        let met = match (flow, style) {
            // Whoever runs one step after the other has the instance at hand, and fuses.
            (Flow::OneByOne, Style::Plain) => true,
            (Flow::OneByOne, Style::Fused) => measured.median_step_ms() / commit_ms <= COMMITS_PER_STEP,
            (Flow::Many { .. }, Style::Plain | Style::Fused) => {
                measured.steps_per_second() >= STEPS_PER_SECOND
            }
        };
        if !met {
            verdict = Verdict::Missed;
        }
    }
    Ok(verdict)
}

fn describe(flow: Flow, style: Style, measured: &Measured, commit_ms: f64) -> Value {
    json!({
        "bench": "steps",
        "workload": flow.name(),
        "in_flight": flow.in_flight(),
        "style": style.name(),
        "steps": measured.steps,
        "steps_per_second": rate(measured.steps, measured.time).round(),
        "ms_per_step": millis(measured.time) / number(measured.steps.max(1)),
        "transactions_per_step": number(measured.transactions) / number(measured.steps.max(1)),
        "round_ms": { "p50": millis(measured.rounds.median()), "p99": millis(measured.rounds.permille(990)) },
        "bare_commit_ms": commit_ms,
        "bare_commits_per_step": match flow {
            Flow::OneByOne => Some(measured.median_step_ms() / commit_ms),
            Flow::Many { .. } => None,
        },
    })
}

impl Measured {
    fn steps_per_second(&self) -> f64 {
        rate(self.steps, self.time)
    }

    /// Compared with the median of bare commits, so that a disturbance of the disk hits neither.
    fn median_step_ms(&self) -> f64 {
        millis(self.rounds.median())
    }
}

fn with_store<T>(store: Store, measure: impl FnOnce(&SqliteProvider) -> Fallible<T>) -> Fallible<T> {
    let folder = Folder::new()?;
    let file = url(&folder.0.join("store.db"));
    let builder = match store {
        Store::Full => SqliteProvider::builder(&file),
        Store::Normal => SqliteProvider::builder(&file).durability(Durability::Normal),
        Store::Memory => SqliteProvider::builder("sqlite::memory:"),
    };
    measure(&block_on(builder.open())?)
}

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// A folder that is removed with its contents.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Fallible<Self> {
        let folder = std::env::temp_dir().join(format!("abide-steps-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("abide-bench: {} stays behind: {error}", self.0.display());
        }
    }
}

/// How long a lease lasts: longer than any measurement.
const LEASE: Duration = Duration::from_secs(60);
