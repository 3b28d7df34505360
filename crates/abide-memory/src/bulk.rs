//! Deleting and pruning by filter.

use std::collections::BTreeSet;

use abide_model::{ExecutionStatus, INITIAL_EXECUTION_ID, PruneOptions, PruneResult, Timestamp};
use abide_provider::{AdminRefusal, DeleteInstanceResult, InstanceFilter, OrphanFilter};

use crate::overview::Named;
use crate::state::{Instance, State};

impl State {
    pub(crate) fn delete_bulk(&mut self, filter: &InstanceFilter, now: Timestamp) -> DeleteInstanceResult {
        let candidates = match &filter.instance_ids {
            Some(ids) => distinct(ids),
            None => self.ended_first(|instance| instance.parent.is_none()),
        };
        self.delete_some(candidates, filter.at_most(), now, |state, id| {
            state
                .instance(id)
                .is_some_and(|root| root.parent.is_none() && root.ended_before(filter.completed_before))
        })
    }

    pub(crate) fn delete_orphans(
        &mut self,
        filter: &OrphanFilter,
        now: Timestamp,
    ) -> Result<DeleteInstanceResult, AdminRefusal> {
        let ends = filter.ends()?;
        let candidates = self.ended_first(|instance| instance.parent.is_some());
        Ok(self.delete_some(candidates, filter.at_most(), now, |state, id| {
            state
                .instance(id)
                .is_some_and(|child| state.is_orphan(child, &ends, filter.parent_completed_before))
        }))
    }

    /// Whether the execution that asked for a child has ended, or is not there any more, before a time.
    fn is_orphan(&self, child: &Instance, ends: &[ExecutionStatus], before: Option<u64>) -> bool {
        let Some(parent) = &child.parent else { return false };
        let asked_in = parent.execution_id.unwrap_or(INITIAL_EXECUTION_ID);
        let asking = self.instance(&parent.instance).and_then(|parent| parent.executions.get(&asked_in));
        let ended_at = match asking {
            Some(asking) => asking.completed,
            None => child.ended(),
        };
        ends.contains(&child.status()) && is_before(ended_at, before)
    }

    pub(crate) fn prune_bulk(
        &mut self,
        filter: &InstanceFilter,
        options: &PruneOptions,
        now: Timestamp,
    ) -> PruneResult {
        let candidates = match &filter.instance_ids {
            Some(ids) => distinct(ids),
            None => self.by_number(|instance| !instance.outdated(options).is_empty()),
        };
        let is_meant = |state: &Self, id: &str| {
            state.instance(id).is_some_and(|instance| {
                filter.completed_before.is_none() || instance.ended_before(filter.completed_before)
            })
        };
        let mut total = PruneResult::default();
        let mut left = filter.at_most();
        for id in candidates {
            if left > 0 && is_meant(self, &id) {
                let pruned = self.prune(&id, options, u64::MAX, now);
                total.add(&pruned);
                // What has nothing to prune does not use the limit up: others are behind it.
                left -= u32::from(pruned.executions_deleted > 0);
            }
        }
        total
    }

    /// Deletes candidates that are meant and finished, up to a limit, each with everything below it.
    fn delete_some(
        &mut self,
        candidates: Vec<String>,
        limit: u32,
        now: Timestamp,
        is_meant: impl Fn(&Self, &str) -> bool,
    ) -> DeleteInstanceResult {
        let mut total = DeleteInstanceResult::default();
        let mut left = limit;
        for id in candidates {
            if left > 0
                && is_meant(self, &id)
                && let Some(deleted) = self.delete_finished(&id, now)
            {
                total.add(&deleted);
                left -= 1;
            }
        }
        total
    }

    /// Instances that completed or failed, those that did so first first.
    fn ended_first(&self, is_meant: impl Fn(&Instance) -> bool) -> Vec<String> {
        let ended = |named: Named<'_>| {
            let at = named.instance.ended()?;
            is_meant(named.instance).then(|| (at, named.incarnation, named.id.to_owned()))
        };
        let mut ended: Vec<_> = self.instances().filter_map(ended).collect();
        ended.sort();
        ended.into_iter().map(|(.., id)| id).collect()
    }

    fn by_number(&self, is_meant: impl Fn(&Instance) -> bool) -> Vec<String> {
        let mut meant: Vec<_> = self.instances().filter(|named| is_meant(named.instance)).collect();
        meant.sort_by_key(|named| (named.instance.created, named.incarnation));
        meant.into_iter().map(|named| named.id.to_owned()).collect()
    }
}

impl Instance {
    fn ended_before(&self, before: Option<u64>) -> bool {
        match before {
            None => true,
            Some(_) => is_before(self.ended(), before),
        }
    }
}

fn is_before(time: Option<Timestamp>, before: Option<u64>) -> bool {
    time.is_some_and(|time| before.is_none_or(|before| time.as_millis() < before))
}

/// Each once, in their order.
fn distinct(ids: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    ids.iter().filter(|id| seen.insert(id.as_str())).cloned().collect()
}
