//! Deleting earlier executions of an instance.

use std::collections::BTreeSet;

use abide_model::{PruneOptions, PruneResult, Timestamp};
use abide_provider::StolenBecause;

use crate::state::{Execution, Instance, State};

impl State {
    /// Prunes at most `most` executions of an instance, oldest first.
    pub(crate) fn prune(
        &mut self,
        name: &str,
        options: &PruneOptions,
        most: u64,
        now: Timestamp,
    ) -> PruneResult {
        let mut result = PruneResult { instances_processed: 1, ..PruneResult::default() };
        let mailbox = self.mailboxes.get_mut(name);
        let Some(instance) = mailbox.and_then(|mailbox| mailbox.instance.as_mut()) else {
            return result;
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let pruned: BTreeSet<u64> = instance.outdated(options).into_iter().take(most).collect();
        for execution in pruned.iter().filter_map(|id| instance.executions.remove(id)) {
            result.executions_deleted += 1;
            result.events_deleted += u64::try_from(execution.events.len()).unwrap_or(u64::MAX);
        }
        self.steal_work(&StolenBecause::InstanceDeleted, now, |work| {
            work.activity.instance == name && pruned.contains(&work.activity.execution_id)
        });
        result
    }
}

impl Instance {
    pub(crate) fn outdated(&self, options: &PruneOptions) -> BTreeSet<u64> {
        let keep_last = usize::try_from(options.kept()).unwrap_or(usize::MAX);
        let older = self.executions.iter().rev().skip(keep_last);
        older
            .filter(|(id, execution)| **id != self.current && execution.is_outdated(options.completed_before))
            .map(|(id, _)| *id)
            .collect()
    }
}

impl Execution {
    fn is_outdated(&self, completed_before: Option<u64>) -> bool {
        let is_old_enough = completed_before
            .is_none_or(|before| self.completed.is_some_and(|completed| completed.as_millis() < before));
        self.status.is_terminal() && is_old_enough
    }
}
