//! The programs that must not notice: each with what it registers, and what its client does.
//!
//! A program's outcome depends on nothing that a fault may change: not on time, not on how often an activity ran, not on
//! who ran it. [`ALL`] lists them. `activities.rs` has what they call, the other files what they are.

mod activities;
mod families;
mod messages;
mod states;
mod steps;

use std::fmt;
use std::time::Duration;

use abide_client::Client;
use abide_runtime::registry::{OrchestrationRegistry, OrchestrationRegistryBuilder};
use futures::future::BoxFuture;

pub(super) use self::activities::{Stage, activities};

/// Longer than any fault lasts, and soon over in virtual time.
pub(super) const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Something to run.
pub(super) struct Program {
    pub(super) name: &'static str,
    register: fn(OrchestrationRegistryBuilder) -> OrchestrationRegistryBuilder,
    /// Starts what is to be started, tells it what is to be told, and returns when all of it has ended.
    pub(super) script: fn(Client) -> BoxFuture<'static, ()>,
}

impl Program {
    pub(super) fn orchestrations(&self) -> OrchestrationRegistry {
        (self.register)(OrchestrationRegistry::builder()).build()
    }

    /// The program of this name.
    pub(super) fn named(name: &str) -> &'static Self {
        ALL.iter().find(|program| program.name == name).expect("a program of that name")
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every program.
pub(super) const ALL: &[Program] = &[
    steps::CHAIN,
    steps::FAN,
    steps::RETRIES,
    steps::LONG_ACTIVITY,
    steps::SAGA,
    steps::RACE,
    steps::SESSION,
    steps::TAG,
    messages::TIMERS,
    messages::APPROVAL,
    messages::NO_APPROVAL,
    messages::QUEUE,
    messages::QUEUE_ACROSS_EXECUTIONS,
    messages::CANCELLED,
    families::CHILDREN,
    families::FAILING_CHILD,
    families::DETACHED,
    states::COUNTER,
    states::NEIGHBOUR,
    states::PRUNED,
    states::SYSTEM,
];

/// Starts an instance and waits for its end.
async fn start_and_wait(client: &Client, instance: &str, orchestration: &str, input: &str) {
    client.start_orchestration(instance, orchestration, input).await.expect("started");
    wait(client, instance).await;
}

async fn wait(client: &Client, instance: &str) {
    let _status = client.wait_for_orchestration(instance, PATIENCE).await.expect("ended");
}
