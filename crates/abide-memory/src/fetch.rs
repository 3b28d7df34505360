//! A lease with everything a turn needs, as the required method hands it out.

use abide_model::{Entropy, Timestamp};
use abide_provider::{InstanceLease, LeaseInstances, OrchestrationItem};

use crate::state::State;

/// What `fetch_orchestration_item` returns.
pub(crate) type Fetched = (OrchestrationItem, String, u32);

impl State {
    pub(crate) fn fetch(
        &mut self,
        request: &LeaseInstances,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Vec<Fetched> {
        let leases = self.lease_instances(request, now, entropy);
        leases.into_iter().map(|lease| self.with_history(lease)).collect()
    }

    fn with_history(&self, lease: InstanceLease) -> Fetched {
        let history = self.history(&lease.instance, lease.position.execution_id);
        let kv = self.kv_snapshot(&lease.instance);
        lease.into_item(history, kv)
    }
}
