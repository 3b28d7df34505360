//! A world in which an hour passes in a millisecond.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_memory::InMemoryProvider;
use abide_model::OrchestrationStatus;
use abide_provider::Provider;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{Runtime, RuntimeOptions};
use abide_sim::{LocalTasks, SeededEntropy, VirtualClock};

/// Longer than any test waits, and soon over in virtual time.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

/// Everything that time and chance come from, and a store.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) entropy: Arc<SeededEntropy>,
    pub(crate) tasks: Arc<LocalTasks>,
    pub(crate) store: Arc<InMemoryProvider>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let clock = Arc::new(VirtualClock::new());
        let entropy = Arc::new(SeededEntropy::new(seed));
        let store = Arc::new(InMemoryProvider::with_seams(clock.clone(), entropy.clone()));
        Self { tasks: Arc::new(LocalTasks::new()), clock, entropy, store }
    }

    pub(crate) fn client(&self) -> Client {
        self.client_of(self.store.clone())
    }

    pub(crate) fn client_of(&self, store: Arc<dyn Provider>) -> Client {
        Client::builder(store).clock(self.clock.clone()).entropy(self.entropy.clone()).build()
    }

    pub(crate) async fn runtime(
        &self,
        store: Arc<dyn Provider>,
        activities: ActivityRegistry,
        orchestrations: OrchestrationRegistry,
        options: RuntimeOptions,
    ) -> Arc<Runtime> {
        Runtime::builder()
            .with_reference_policies()
            .with_provider(store)
            .with_activities(activities)
            .with_orchestrations(orchestrations)
            .with_options(options)
            .with_clock(self.clock.clone())
            .with_entropy(self.entropy.clone())
            .with_spawn(self.tasks.clone())
            .build()
            .await
            .unwrap()
    }
}

/// Runs a test in virtual time.
pub(crate) fn in_virtual_time<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test)
}

pub(crate) fn output(status: OrchestrationStatus) -> String {
    match status {
        OrchestrationStatus::Completed { output, .. } => output,
        other @ (OrchestrationStatus::NotFound
        | OrchestrationStatus::Running { .. }
        | OrchestrationStatus::Failed { .. }) => panic!("not completed: {other:?}"),
    }
}
