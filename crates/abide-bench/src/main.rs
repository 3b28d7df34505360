//! `abide-bench`: how long a user waits, beside the reference and beside what the store allows (`workloads`, which is also what
//! runs if nothing is named; `ceiling`); how fast the engine replays (`replay`); what a store has beneath it (`store`), how fast it
//! steps (`steps`), whether its costs are flat (`flat`), and how long a page of instances takes (`list`); how soon an activity
//! hears that it is cancelled, also in another process (`cancel`).
//!
//! A program, not a test: it measures, prints a table for people and JSON lines, and judges
//! against the targets. Run it with `cargo xtask bench`.

mod cancel;
mod ceiling;
mod flat;
mod list;
mod program;
mod replay;
mod steps;
mod store;
mod workloads;

use std::env::Args;
use std::iter::{Peekable, Skip};
use std::process::ExitCode;

/// What is left of the command line.
type Words = Peekable<Skip<Args>>;

type Benchmark = fn(Words) -> ExitCode;

/// What the first word chooses.
const BENCHMARKS: [(&str, Benchmark); 8] = [
    ("workloads", workloads::main),
    ("ceiling", ceiling::main),
    ("replay", replay::main),
    ("store", store::main),
    ("steps", steps::main),
    ("flat", flat::main),
    ("list", list::main),
    ("cancel", cancel::main),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    for (name, benchmark) in BENCHMARKS {
        if words.next_if(|word| word == name).is_some() {
            return benchmark(words);
        }
    }
    workloads::main(words)
}
