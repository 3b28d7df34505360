//! How fast the engine replays: cold replay and decoding of generated histories.

mod arguments;
mod histories;
mod measure;
mod report;

use std::fs::File;
use std::io::Write as _;
use std::process::ExitCode;

use arguments::Arguments;
use report::Measured;

use crate::program::{Program, Verdict};
use crate::store::Fallible;
use crate::workloads::line::Line;

/// What it is called among the results of whole orchestrations, and what stands there for a store.
pub(crate) const WORKLOAD: &str = "replay";
pub(crate) const STORE: &str = "engine";

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench replay", usage: arguments::USAGE };
    program.run(Arguments::parse(words), |arguments| run(&arguments))
}

/// With default options, as results among others.
pub(crate) fn lines() -> Vec<Line> {
    report::lines(&measured(&Arguments::default()))
}

fn measured(arguments: &Arguments) -> Vec<Measured> {
    let mut results = Vec::new();
    let wanted = |shape: &&histories::Shape| arguments.shape.as_deref().is_none_or(|name| name == shape.name);
    for shape in histories::SHAPES.iter().filter(wanted) {
        eprintln!("{}: recording {} events ...", shape.name, arguments.events);
        let history = shape.record(arguments.events);
        results.push(measure::replay(shape, &history, arguments.repeat));
        results.push(measure::decode(shape, &history, arguments.repeat));
    }
    results
}

fn run(arguments: &Arguments) -> Fallible<Verdict> {
    let results = measured(arguments);
    if let Some(path) = &arguments.json {
        let mut file = File::options().create(true).append(true).open(path)?;
        for line in report::lines(&results) {
            writeln!(file, "{}", line.to_json())?;
        }
    }
    for result in &results {
        println!("{}", report::json_line(result));
    }
    println!("\n{}", report::table(&results));
    if results.iter().all(Measured::meets_target) {
        return Ok(Verdict::Met);
    }
    println!("{}", report::explanation(&results));
    Ok(Verdict::Missed)
}
