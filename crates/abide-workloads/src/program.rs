//! From the command line to the line of JSON.

use std::error::Error;
use std::process::ExitCode;

use crate::arguments::{Arguments, USAGE};
use crate::machine::Machine;
use crate::{report, store, workloads};

/// Whatever goes wrong ends the measurement with a sentence.
pub(crate) type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures what the command line says.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(complaint) => {
            eprintln!("workloads: {complaint}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let measured = tokio.map_err(Into::into).and_then(|tokio| tokio.block_on(measure(&arguments)));
    match measured {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("workloads: {failures} did not complete");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("workloads: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says how many did not complete.
async fn measure(arguments: &Arguments) -> Fallible<u64> {
    let before = Machine::now(arguments.server.as_deref());
    let outcome = workloads::run(arguments).await?;
    let failures = outcome.failures;
    if !outcome.is_silent() {
        let line = report::line(store::SIDE, arguments, &outcome, &before);
        println!("{line}");
    }
    Ok(failures)
}
