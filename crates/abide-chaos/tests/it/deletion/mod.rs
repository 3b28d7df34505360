//! Deleting one instance with very many executions: no call of another instance waits for it, and a crash
//! loses nothing of it.
//!
//! `beside.rs` measures the calls of a node beside the removal. `killed.rs` kills the process that deletes.
//! `past.rs` puts the executions into the store, `figures.rs` collects how long calls take.
//!
//! `ABIDE_DELETED_EXECUTIONS` is the number of executions: 100,000 in a normal run, 300,000 in `cargo xtask
//! torture delete`. On PostgreSQL each test starts a server that it does not share.

mod beside;
mod figures;
mod killed;
mod past;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide::providers::Provider;
use abide::runtime::Runtime;
use abide::runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide::seams::Clock;
use abide::{ActivityContext, Client, OrchestrationContext, OrchestrationStatus};
use futures::executor::block_on;

use crate::support::wait::{PATIENCE, told};

/// The instance that is deleted, and started again under the same id.
const LARGE: &str = "large";

/// The orchestration of workload W2: one activity.
const ORCHESTRATION: &str = "Latency";

/// An orchestration that does not end.
const WAITING: &str = "Waiting";

/// How many executions the deleted instance has, or how many queued activities.
fn executions() -> u64 {
    told("ABIDE_DELETED_EXECUTIONS", 100_000)
}

/// How long the workload runs before the deletion.
fn time_before() -> Duration {
    Duration::from_secs(if executions() < 300_000 { 3 } else { 60 })
}

/// Lets one test of this folder run at a time: they measure.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a node that runs [`ORCHESTRATION`] and [`WAITING`].
async fn start_node(store: Arc<dyn Provider>, clock: Arc<dyn Clock>) -> Arc<Runtime> {
    let activities = ActivityRegistry::builder()
        .register("Nothing", |_: ActivityContext, _: String| async { Ok(String::new()) });
    let orchestrations = OrchestrationRegistry::builder()
        .register(ORCHESTRATION, |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Nothing", "").await
        })
        .register(WAITING, |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.schedule_wait("never").await)
        });
    let builder = Runtime::builder().with_provider(store).with_clock(clock);
    let builder = builder.with_activities(activities.build()).with_orchestrations(orchestrations.build());
    builder.build().await.unwrap()
}

/// The threads of a node.
fn threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs one instance to its end.
fn complete(client: &Client, instance: &str) {
    block_on(client.start_orchestration(instance, ORCHESTRATION, "")).unwrap();
    wait_for_end(client, instance);
}

fn wait_for_end(client: &Client, instance: &str) {
    let status = block_on(client.wait_for_orchestration(instance, PATIENCE)).unwrap();
    assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{instance}: {status:?}");
}
