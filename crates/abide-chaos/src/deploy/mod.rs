//! A service in a process of its own, in one of several builds: the code that is right, code that has changed, code that
//! panics, and code that ends the process.
//!
//! The driver (`tests/it/deploys`) starts and ends builds as a deployment does. A worker runs until `SIGTERM`, and ends
//! when its standard input does, which means that the driver is gone. It logs to its standard output, as JSON.

mod code;
mod options;

use std::sync::Arc;

use abide::runtime::Runtime;
use abide::runtime::observability::{LogFormat, ObservabilityConfig, init_logging};
use abide_host::SystemClock;
use tokio::signal::unix::{SignalKind, signal};

pub use code::{ABORTING, CHILDREN, Code, NEWER};
pub use options::{Constructor, Options};

use crate::worker::{WorkerError, end_with_the_driver};

/// The line that tells the driver that the runtime has started.
pub const READY: &str = "the deployed build is ready";

/// Runs a build until it is told to end.
///
/// # Errors
///
/// If it cannot begin.
pub fn run(options: &Options) -> Result<(), WorkerError> {
    end_with_the_driver()?;
    let logging = ObservabilityConfig { log_format: LogFormat::Json, ..ObservabilityConfig::default() };
    init_logging(&logging).map_err(WorkerError::Usage)?;
    let tasks = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    tasks.block_on(serve(options))
}

async fn serve(options: &Options) -> Result<(), WorkerError> {
    let mut told = signal(SignalKind::terminate())?;
    let store = options.store.open(Arc::new(SystemClock::new())).await?;
    let (activities, orchestrations) = (code::activities(options)?, code::orchestrations(options.code));
    let settings = options.runtime_options();
    let runtime = match options.constructor {
        Constructor::Builder => {
            let builder = Runtime::builder().with_provider(store).with_options(settings);
            builder.with_activities(activities).with_orchestrations(orchestrations).build().await?
        }
        Constructor::Reference => {
            Runtime::start_with_options(store, activities, orchestrations, settings).await
        }
    };
    println!("{READY}");
    told.recv().await;
    runtime.shutdown(None).await;
    Ok(())
}
