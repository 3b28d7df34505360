//! Situations of deleting and pruning by filter.

use abide_memory::Dump;
use abide_model::PruneOptions;
use abide_provider::{InstanceFilter, OrphanFilter, Retention};

use super::deleting::Family as _;
use super::{Coverage, Scene};

impl Coverage {
    pub(super) fn bulk(&mut self, filter: &InstanceFilter, scene: Scene<'_>) {
        let gone = scene.gone();
        let named = filter.instance_ids.is_some();
        self.note("roots were deleted in bulk", !gone.is_empty() && !named);
        self.note("roots were deleted in bulk by name", !gone.is_empty() && named);
        let is_meant = |name: &String| {
            filter.instance_ids.as_ref().is_none_or(|ids| ids.contains(name))
                && !scene.after.is_child(name)
                && is_old_enough(scene.after, name, filter.completed_before)
        };
        self.kept(filter.limit, &is_meant, scene);
        let is_young = |name: &String| {
            scene.after.ended(name).is_some_and(|ended| filter.completed_before == Some(ended))
        };
        self.note("a root that ended that very moment stayed", scene.after.instances.keys().any(is_young));
        let is_named = |name: &String| filter.instance_ids.iter().flatten().any(|id| id == name);
        let named_child = |name: &String| scene.after.is_child(name) && is_named(name);
        self.note("a child that was named in bulk stayed", scene.after.instances.keys().any(named_child));
        let over = |name: &&&String| {
            let status = scene.before.instances[**name].status.as_deref();
            status == Some("ContinuedAsNew") && !scene.before.is_child(name)
        };
        self.note(
            "a root that continued as nothing was deleted in bulk",
            gone.iter().any(|name| over(&name)),
        );
    }

    /// Why candidates are still there.
    fn kept(&mut self, limit: Option<u32>, is_meant: &dyn Fn(&String) -> bool, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let was_there = |name: &&String| before.is_instance(name);
        let kept = after.instances.keys().filter(|name| after.is_instance(name) && is_meant(name));
        let kept: Vec<&String> = kept.filter(was_there).collect();
        let finished = kept.iter().filter(|name| after.is_finished(name));
        let below_runs = |status: &str| {
            finished.clone().any(|name| {
                let mut below = after.below(name).into_iter();
                below.any(|child| !after.is_finished(child) && stands(after, child, status))
            })
        };
        self.note("a running child kept its root", below_runs("Running"));
        self.note("a child between two executions kept its root", below_runs("ContinuedAsNew"));
        let own_gap =
            kept.iter().any(|name| !after.is_finished(name) && stands(after, name, "ContinuedAsNew"));
        self.note("the gap between two executions kept a root", own_gap);
        let could_go = |name: &&&String| after.below(name).iter().all(|child| after.is_finished(child));
        let stopped = finished.clone().any(|name| could_go(&name));
        self.note("the limit stopped a deletion", stopped && limit.is_some_and(|limit| limit > 0));
        self.note("a limit of nothing stopped a deletion", stopped && limit == Some(0));
    }

    pub(super) fn retention(&mut self, retention: Retention, scene: Scene<'_>) {
        let keep_for = u64::try_from(retention.keep_for.as_millis()).unwrap_or(u64::MAX);
        let cutoff = scene.world.now.saturating_sub(keep_for);
        self.note("old instances were removed", !scene.gone().is_empty());
        let roots = scene.after.instances.keys().filter(|name| !scene.after.is_child(name));
        let ends: Vec<u64> = roots.filter_map(|name| scene.after.ended(name)).collect();
        self.note("a young instance was kept", ends.iter().any(|ended| *ended > cutoff));
        self.note("an instance was kept that ended at the very cutoff", ends.contains(&cutoff));
        self.note("the limit stopped retention", {
            ends.iter().any(|ended| *ended < cutoff) && retention.limit > 0
        });
    }

    pub(super) fn orphans(&mut self, filter: &OrphanFilter, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        self.note("what is no end of a child was refused", scene.is_refused_as("is no end of a child"));
        let gone = scene.gone();
        let is_top = |name: &&&String| {
            let parent = before.instances[**name].parent.as_ref();
            parent.is_none_or(|(parent, ..)| !gone.contains(&parent))
        };
        let tops: Vec<Parent> = gone.iter().filter(is_top).map(|name| asking(before, name)).collect();
        self.note("an orphan was deleted: its parent ended", tops.contains(&Parent::Ended));
        self.note("an orphan was deleted: its parent continued as new", tops.contains(&Parent::Continued));
        self.note("an orphan was deleted: its parent was pruned", tops.contains(&Parent::Pruned));
        self.note("an orphan was deleted: its parent is not there", tops.contains(&Parent::Gone));
        self.note("several orphans were deleted", tops.len() > 1);
        self.note("an orphan was deleted with its children", gone.len() > tops.len());
        let ended = after.instances.keys().filter(|name| after.is_child(name) && after.ended(name).is_some());
        let kept: Vec<&String> = ended.collect();
        let still_asked_for = kept.iter().any(|name| asking(after, name) == Parent::Runs);
        self.note("a child was kept whose parent runs", still_asked_for && scene.is_done());
        let orphans = kept.iter().filter(|name| asking(after, name) != Parent::Runs);
        let has_running = |name: &&&String| after.below(name).iter().any(|child| !after.is_finished(child));
        self.note("an orphan was kept with something running below it", {
            scene.is_done() && orphans.clone().any(|name| has_running(&name))
        });
        let is_free = |name: &&&String| !has_running(name) && filter.child_status.is_empty();
        let could_go = filter.parent_completed_before.is_none() && orphans.clone().any(|name| is_free(&name));
        self.note("the limit stopped orphans", scene.is_done() && could_go);
        let is_limited = filter.parent_completed_before.is_some() || !filter.child_status.is_empty();
        self.note(
            "an orphan was kept by the filter",
            is_limited && orphans.count() > 0 && filter.limit.is_none(),
        );
    }

    pub(super) fn pruned(&mut self, instance: &str, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let pruned = before.executions.len() - after.executions.len();
        self.note("an instance was pruned", pruned > 0);
        self.note("several executions were pruned", pruned > 1);
        self.note("an instance that runs was pruned", pruned > 0 && stands(before, instance, "Running"));
        self.note("there was nothing to prune", scene.is_done() && pruned == 0);
        self.note("nobody was not pruned", scene.is_refused_as("not found"));
        let told = scene.done.stolen.iter().any(|stolen| stolen.contains("InstanceDeleted"));
        self.note("a holder was told of work of a pruned execution", told);
    }

    pub(super) fn pruned_in_bulk(
        &mut self,
        filter: &InstanceFilter,
        options: &PruneOptions,
        scene: Scene<'_>,
    ) {
        let Scene { before, after, .. } = scene;
        let pruned = before.executions.len() - after.executions.len();
        self.note("instances were pruned in bulk", pruned > 0 && filter.instance_ids.is_none());
        self.note("instances were pruned in bulk by name", pruned > 0 && filter.instance_ids.is_some());
        let is_past = |(name, number): &&(String, u64)| {
            after.instances.get(name).is_some_and(|instance| instance.execution > *number)
        };
        let past = after.executions.keys().filter(is_past).count();
        let all = options.keep_last.is_none_or(|keep| keep < 2) && options.completed_before.is_none();
        let everybody = filter.instance_ids.is_none() && filter.completed_before.is_none();
        self.note("the limit stopped pruning", past > 0 && all && everybody && filter.limit == Some(1));
        let by_end = filter.completed_before.is_some() && filter.limit.is_none();
        self.note("an end kept executions from being pruned", past > 0 && by_end && all);
    }
}

fn stands(dump: &Dump, name: &str, status: &str) -> bool {
    dump.instances.get(name).is_some_and(|instance| instance.status.as_deref() == Some(status))
}

fn is_old_enough(dump: &Dump, name: &str, before: Option<u64>) -> bool {
    before.is_none_or(|before| dump.ended(name).is_some_and(|ended| ended < before))
}

/// How the execution stands that asked for a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parent {
    Runs,
    Ended,
    Continued,
    Pruned,
    Gone,
}

fn asking(dump: &Dump, child: &str) -> Parent {
    let Some((parent, execution, _)) = &dump.instances[child].parent else { return Parent::Runs };
    let asking = dump.executions.get(&(parent.clone(), execution.unwrap_or(1)));
    match asking.map(|execution| execution.status.as_str()) {
        Some("Running") => Parent::Runs,
        Some("ContinuedAsNew") => Parent::Continued,
        Some(_) => Parent::Ended,
        None if dump.is_instance(parent) => Parent::Pruned,
        None => Parent::Gone,
    }
}
