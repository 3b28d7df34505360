//! What abide can do so far, on a screen: one order, crashed after every turn.
//!
//! There is no store and no runtime yet. This program plays their part in memory: it keeps the committed
//! events, delivers the answers, and throws the execution away after every turn, so that each turn begins
//! by replaying what was committed, as after a crash.

mod order;
mod world;

use std::process::ExitCode;

use world::{Crash, World};

const USAGE: &str = "\
abide-demo: one order through the engine, in memory

usage: cargo run [-- --resident]

  --resident   keep the execution in memory between turns, instead of crashing it after each
  --help       this text";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let crash = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => Crash::AfterEveryTurn,
        ["--resident"] => Crash::Never,
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [unknown, ..] => {
            eprintln!("abide-demo: there is no option '{unknown}'\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match World::new(crash).run() {
        Ok(output) => {
            println!("\nThe order ended exactly once: {output}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("\nabide-demo: {error}");
            ExitCode::FAILURE
        }
    }
}
