//! A lease with everything a turn needs, as the required method hands it out.

use abide_model::{Entropy, INITIAL_EXECUTION_ID, Timestamp};
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
        let mut messages = lease.messages;
        messages.sort_by_key(|message| message.id);
        let history = self.history(&lease.instance, lease.position.execution_id);
        let (history, history_error) = match history {
            Ok(events) => (events, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let item = OrchestrationItem {
            orchestration_name: lease.orchestration_name,
            execution_id: lease.position.execution_id.max(INITIAL_EXECUTION_ID),
            version: lease.orchestration_version,
            history,
            messages: messages.into_iter().map(|message| message.item).collect(),
            history_error,
            kv_snapshot: self.kv_snapshot(&lease.instance).into_iter().collect(),
            instance: lease.instance,
        };
        (item, lease.token, lease.attempt)
    }
}
