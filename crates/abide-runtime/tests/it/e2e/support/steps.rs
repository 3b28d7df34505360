//! The two ways in which a result comes to its orchestration.

use std::sync::Arc;

use abide_provider::{Abilities, Ability};
use abide_sim::{FaultPlan, FaultStore};

use super::World;

/// How a result is told for which an orchestration waits that is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    /// In the commit of the turn that takes it in, if the store can do that.
    Fused,
    /// By itself, as a message.
    Told,
}

impl Steps {
    pub(crate) const BOTH: [Self; 2] = [Self::Fused, Self::Told];
}

impl World {
    /// A store before the one of this world, in which things go wrong by a plan.
    pub(crate) fn faulty(&self, steps: Steps, plan: FaultPlan) -> Arc<FaultStore> {
        let store = FaultStore::new(self.store.clone(), self.clock.clone()).with_plan(plan);
        Arc::new(match steps {
            Steps::Fused => store,
            Steps::Told => store.with_abilities(Abilities::ALL.without(Ability::FusedSteps)),
        })
    }

    /// How many messages a result is in this world.
    pub(crate) fn messages_of_a_result(&self, steps: Steps) -> usize {
        let is_fused = steps == Steps::Fused && self.store.abilities().has(Ability::FusedSteps);
        usize::from(!is_fused)
    }
}
