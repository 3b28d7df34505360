//! `abide-bench`: how fast the engine replays; what a store has beneath it (`store`), how fast it steps (`steps`), whether
//! its costs are flat (`flat`), and how long a page of instances takes (`list`); how long a user waits for whole
//! orchestrations (`runtime`), and how soon an activity hears that it is cancelled (`cancel`).
//!
//! A program, not a test: it measures, prints a table for people and one JSON line per result, and judges
//! against the targets. Run it with `cargo xtask bench` (or `cargo run --release -p abide-bench`).

mod arguments;
mod histories;
mod measure;
mod report;

mod cancel;
mod flat;
mod list;
mod runtime;
mod steps;
mod store;

use std::env::Args;
use std::iter::{Peekable, Skip};
use std::process::ExitCode;

use arguments::Arguments;

/// What is left of the command line.
type Words = Peekable<Skip<Args>>;

type Program = fn(Words) -> ExitCode;

/// What the first word chooses.
const PROGRAMS: [(&str, Program); 6] = [
    ("store", store::main),
    ("steps", steps::main),
    ("flat", flat::main),
    ("list", list::main),
    ("runtime", runtime::main),
    ("cancel", cancel::main),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    for (name, program) in PROGRAMS {
        if words.next_if(|word| word == name).is_some() {
            return program(words);
        }
    }
    match Arguments::parse(words) {
        Ok(Some(arguments)) => run(&arguments),
        Ok(None) => {
            println!("{}", arguments::USAGE);
            ExitCode::SUCCESS
        }
        Err(complaint) => {
            eprintln!("abide-bench: {complaint}\n\n{}", arguments::USAGE);
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> ExitCode {
    let mut results = Vec::new();
    let wanted = |shape: &&histories::Shape| arguments.shape.as_deref().is_none_or(|name| name == shape.name);
    for shape in histories::SHAPES.iter().filter(wanted) {
        eprintln!("{}: recording {} events ...", shape.name, arguments.events);
        let history = shape.record(arguments.events);
        results.push(measure::replay(shape, &history, arguments.repeat));
        results.push(measure::decode(shape, &history, arguments.repeat));
    }
    for result in &results {
        println!("{}", report::json_line(result));
    }
    println!("\n{}", report::table(&results));
    if results.iter().all(report::Measured::meets_target) {
        return ExitCode::SUCCESS;
    }
    println!("{}", report::explanation(&results));
    ExitCode::FAILURE
}
