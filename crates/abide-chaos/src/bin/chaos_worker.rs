//! A worker that may be killed: see [`abide_chaos::worker`].

use std::process::ExitCode;

use abide_chaos::worker::{Options, run};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chaos-worker: {error}");
            ExitCode::FAILURE
        }
    }
}
