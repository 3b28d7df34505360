//! How fast the engine replays: cold replay and decoding of generated histories.

mod arguments;
mod histories;
mod measure;
mod report;

use std::process::ExitCode;

use arguments::Arguments;

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    match Arguments::parse(words) {
        Ok(Some(arguments)) => run(&arguments),
        Ok(None) => {
            println!("{}", arguments::USAGE);
            ExitCode::SUCCESS
        }
        Err(complaint) => {
            eprintln!("abide-bench replay: {complaint}\n\n{}", arguments::USAGE);
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
