//! How fast the engine replays: cold replay and decoding of generated histories.

mod arguments;
mod histories;
mod measure;
mod report;

use std::process::ExitCode;

use arguments::Arguments;

use crate::program::{Program, Verdict};

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench replay", usage: arguments::USAGE };
    program.run(Arguments::parse(words), |arguments| Ok(run(&arguments)))
}

fn run(arguments: &Arguments) -> Verdict {
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
        return Verdict::Met;
    }
    println!("{}", report::explanation(&results));
    Verdict::Missed
}
