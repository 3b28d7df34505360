//! The other process: it does the work. An ordinary program on abide, and the one that is killed.
//!
//! It works until its standard input ends. That happens when the shop closes it, and also when the shop dies, however it
//! dies: no worker is ever left behind.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use crate::shop::{activities, orchestrations};
use crate::store::Choice;
use crate::world::World;
use abide::providers::OpenError;
use abide::runtime::{Runtime, StartError};

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Works on the shop in this folder until standard input ends.
pub(crate) async fn work(folder: &Path) -> Result<(), WorkerError> {
    let choice = Choice::for_worker(folder);
    let store = choice.open().await?;
    let world = Arc::new(World::in_folder(folder));
    let runtime = Runtime::builder()
        .with_provider(store)
        .with_activities(activities::registry(&world))
        .with_orchestrations(orchestrations::registry())
        .with_options(choice.options())
        .build()
        .await?;
    // A read of standard input blocks its thread. An error means the same as its end, and so does a thread that is gone.
    let _end = tokio::task::spawn_blocking(|| std::io::stdin().lock().read_to_end(&mut Vec::new())).await;
    runtime.shutdown(None).await;
    Ok(())
}
