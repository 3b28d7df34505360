//! The chores of this workspace, as `cargo xtask <command>`.
//!
//! [`tidy`] checks the rules no compiler knows, [`test_run`] is everything a change must pass, [`planted`] breaks the
//! code on purpose to show that the tests notice, [`soak`] and [`torture`] go on where the tests stop, and [`mod@bench`] measures. Start at
//! [`cli`], which lists them. [`postgres`] is the server that tests share.
//!
//! Deliberately absent: anything that needs more than a Rust toolchain, crates.io, and PostgreSQL, which is installed where
//! Debian's tools are.

use std::env;
use std::process::ExitCode;

use crate::cli::{Command, USAGE};
use crate::workspace::Workspace;

mod bench;
mod cli;
mod planted;
mod postgres;
mod soak;
mod stopwatch;
mod test_run;
mod tidy;
mod torture;
mod workspace;

const FAILED: u8 = 1;
const MISUSED: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let command = match Command::parse(&arguments) {
        Ok(command) => command,
        Err(misuse) => {
            eprintln!("xtask: {misuse}\n\n{USAGE}");
            return ExitCode::from(MISUSED);
        }
    };
    match run(command) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("\nxtask: {failure:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::locate()?;
    match command {
        Command::Help => println!("{USAGE}"),
        Command::Tidy => tidy::run(&workspace)?,
        Command::Test(scope) => test_run::run(&workspace, scope)?,
        Command::Planted(request) => planted::run(&workspace, &request)?,
        Command::Soak(soak) => soak::run(&workspace, soak)?,
        Command::Torture(torture) => torture::run(&workspace, &torture)?,
        Command::Bench { options } => return bench::run(&workspace, &options),
    }
    Ok(ExitCode::SUCCESS)
}
