//! One build of a service: see [`abide_chaos::deploy`].

use std::process::ExitCode;

use abide_chaos::deploy::{Options, run};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("deploy-worker: {error}");
            ExitCode::FAILURE
        }
    }
}
