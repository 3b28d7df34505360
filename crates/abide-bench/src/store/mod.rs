//! What a database file can do for a store: the limits beneath it, and the ways to lay out a history.
//!
//! Every figure is of a file of its own, in WAL mode with `synchronous=FULL`, with a single writer.

// Reading order: what is asked for, what is written, where to, and then the parts that measure.
mod arguments;
pub(crate) mod clock;
mod traffic;

mod file;
mod groups;
mod schema;

mod checkpoint;
pub(crate) mod commits;
mod history;
mod overhead;

mod table;

use std::error::Error;
use std::process::ExitCode;

use arguments::{Arguments, Part};
use schema::APPENDED_TURNS;
use traffic::{Pattern, Texts};

use crate::program::{Program, Verdict};

/// Whatever goes wrong ends the benchmark with a sentence.
pub(crate) type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench store", usage: arguments::USAGE };
    program.run(Arguments::parse(words), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Fallible<Verdict> {
    let texts = Texts::new()?;
    let span = arguments.span;
    let preloaded = || history::preloaded(&APPENDED_TURNS, Pattern::ShortLived, &texts);
    eprintln!("SQLite {}, {}", rusqlite::version(), std::env::temp_dir().display());
    for part in &arguments.parts {
        eprintln!("{} ...", part.name());
        let lines = match part {
            Part::Commits => commits::measure(span)?,
            Part::History => history::measure(&texts, span)?,
            Part::Overhead => overhead::measure(&preloaded()?, &texts, span)?,
            Part::Checkpoint => checkpoint::measure(&preloaded()?, &texts, span)?,
        };
        for line in &lines {
            println!("{line}");
        }
        println!("\n{}", table::table(*part, &lines));
    }
    Ok(Verdict::Met)
}
