//! One of everything.

use std::sync::Arc;

use abide_memory::InMemoryProvider;

use crate::{FaultPlan, FaultStore, LocalTasks, SeededEntropy, VirtualClock};

/// A clock, chance, tasks and a store in memory, which belong together.
///
/// ```
/// use std::time::Duration;
///
/// use abide_sim::{FaultPlan, World, simulate};
///
/// simulate(Duration::from_secs(3600), async {
///     let world = World::new(42);
///     let store = world.faulty(FaultPlan::none());
///     // Start a runtime on `store`, with `world.clock`, `world.entropy` and `world.tasks`.
///     assert!(!store.fired());
/// });
/// ```
#[derive(Debug, Clone)]
pub struct World {
    /// The time of this world.
    pub clock: Arc<VirtualClock>,
    /// Its chance.
    pub entropy: Arc<SeededEntropy>,
    /// Who runs its tasks.
    pub tasks: Arc<LocalTasks>,
    /// What it remembers.
    pub memory: Arc<InMemoryProvider>,
}

impl World {
    /// An empty world. Two of the same seed are the same.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let clock = Arc::new(VirtualClock::new());
        // Tokens are drawn from another sequence, so that a call more or less does not change what others draw.
        let tokens = Arc::new(SeededEntropy::new(!seed));
        Self {
            memory: Arc::new(InMemoryProvider::with_seams(clock.clone(), tokens)),
            entropy: Arc::new(SeededEntropy::new(seed)),
            tasks: Arc::new(LocalTasks::new()),
            clock,
        }
    }

    /// The store of this world, through which things go wrong by this plan.
    #[must_use]
    pub fn faulty(&self, plan: FaultPlan) -> Arc<FaultStore> {
        Arc::new(FaultStore::new(self.memory.clone(), self.clock.clone()).with_plan(plan))
    }
}
