//! Deleting many: by filter, by age, and what nobody waits for.

use std::time::Duration;

use abide_provider::{DeleteInstanceResult, InstanceFilter, OrphanFilter, Retention};
use async_trait::async_trait;

use crate::bug::{Answer, Bug};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// Bulk deletion takes what runs, if it is named.
    BulkTakesRunning => "bulk_deletion::test_delete_instance_bulk_safety_and_limits";
    /// Bulk deletion takes a finished instance with a child that runs.
    BulkTakesRunningChild => "bulk_deletion::test_delete_instance_bulk_cascades_to_children";
    /// Bulk deletion takes an instance between two executions.
    BulkTakesBetweenExecutions => "bulk_deletion::test_delete_instance_bulk_spares_what_goes_on";
    /// Bulk deletion takes children for themselves.
    BulkTakesChildren => "bulk_deletion::test_delete_instance_bulk_safety_and_limits";
    /// Bulk deletion leaves the children of what it deletes.
    BulkLeavesChildren => "bulk_deletion::test_delete_instance_bulk_cascades_to_children";
    /// Bulk deletion has no limit.
    BulkIgnoresLimit => "bulk_deletion::test_delete_instance_bulk_safety_and_limits";
    /// Bulk deletion that is not told how many takes all.
    BulkWithoutDefault => "bulk_deletion::test_delete_instance_bulk_default_limit";
    /// Bulk deletion takes everything, whatever is named.
    BulkIgnoresIds => "bulk_deletion::test_delete_instance_bulk_filter_combinations";
    /// Bulk deletion takes what is named, whenever it ended.
    BulkIgnoresTime => "bulk_deletion::test_delete_instance_bulk_completed_before_filter";
    /// Bulk deletion takes what ended at the given time too.
    BulkTimeIncluded => "bulk_deletion::test_delete_instance_bulk_completed_before_filter";
    /// Bulk deletion goes by when an instance was created.
    BulkGoesByCreation => "bulk_deletion::test_delete_instance_bulk_completed_before_filter";
    /// Bulk deletion counts what is not deleted towards its limit.
    BulkCountsSkipped => "bulk_deletion::test_delete_instance_bulk_limit_makes_progress";
    /// Bulk deletion stops at the first it cannot delete.
    BulkStopsAtRunning => "bulk_deletion::test_delete_instance_bulk_limit_makes_progress";
    /// Children are removed while the execution that asked for them runs.
    OrphanOfRunningParent => "orphans::test_children_of_what_runs_are_no_orphans";
    /// Instances that nobody started as a child are orphans.
    RootsAreOrphans => "orphans::test_roots_are_no_orphans";
    /// Only children whose parent is gone are removed.
    OrphanNeedsNoParent => "orphans::test_orphans_of_ended_parents";
    /// Only children whose parent is there are removed.
    OrphanNeedsParent => "orphans::test_orphans_of_a_missing_parent";
    /// Any number of orphans is removed.
    OrphansIgnoreLimit => "orphans::test_orphans_limit_makes_progress";
    /// Orphans are removed however they ended.
    OrphansIgnoreStatus => "orphans::test_orphans_by_status";
    /// Orphans are removed whenever their parent ended.
    OrphansIgnoreTime => "orphans::test_orphans_by_the_end_of_the_parent";
    /// Orphans whose parent ended at the given time are removed too.
    OrphanTimeIncluded => "orphans::test_orphans_by_the_end_of_the_parent";
    /// Asking for orphans that run is no mistake.
    OrphansOfAnyStatus => "orphans::test_orphans_of_a_wrong_status_are_refused";
    /// Finished instances are removed at once.
    RetentionIgnored => "retention::test_retention_removes_what_ended_long_ago";
    /// Nothing is old enough to be removed.
    RetentionForEver => "retention::test_retention_removes_what_ended_long_ago";
    /// Any number of old instances is removed.
    RetentionIgnoresLimit => "retention::test_retention_limit_makes_progress";
    /// What ended exactly as long ago as instances are kept is removed.
    RetentionTimeIncluded => "retention::test_retention_age_is_strict";
}

/// Deletes by filter, and then by force what the bug finds besides.
async fn delete_besides(
    store: &Store,
    filter: InstanceFilter,
    is_taken: impl Fn(&str, &str) -> bool,
) -> Answer<DeleteInstanceResult> {
    let mut total = DeleteInstanceResult::default();
    let named = filter.instance_ids.clone();
    let roots = store.dump().instances.into_iter().filter(|(_, dump)| dump.parent.is_none());
    for (name, dump) in roots {
        let is_named = named.as_ref().is_none_or(|ids| ids.contains(&name));
        let status = dump.status.unwrap_or_default();
        if is_named && filter.completed_before.is_none() && is_taken(&name, &status) {
            total.add(&store.delete_instance(&name, true).await?);
        }
    }
    total.add(&store.delete_instance_bulk(filter).await?);
    Ok(total)
}

#[async_trait]
impl Bug for BulkTakesRunning {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        delete_besides(store, filter, |_, status| status == "Running").await
    }
}

#[async_trait]
impl Bug for BulkTakesRunningChild {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        delete_besides(store, filter, |_, status| matches!(status, "Completed" | "Failed")).await
    }
}

#[async_trait]
impl Bug for BulkTakesBetweenExecutions {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        delete_besides(store, filter, |_, status| status == "ContinuedAsNew").await
    }
}

#[async_trait]
impl Bug for BulkTakesChildren {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        let mut total = DeleteInstanceResult::default();
        for id in filter.instance_ids.iter().flatten().filter(|id| store.is_instance(id)) {
            let tree = store.get_instance_tree(id).await?.all_ids;
            let is_child = store.get_parent_id(id).await?.is_some();
            if is_child && let Ok(deleted) = store.delete_instances_atomic(&tree, false).await {
                total.add(&deleted);
            }
        }
        total.add(&store.delete_instance_bulk(filter).await?);
        Ok(total)
    }
}

#[async_trait]
impl Bug for BulkLeavesChildren {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        let children = store.dump().instances.into_iter().filter(|(_, dump)| dump.parent.is_some());
        let mut remembered = Vec::new();
        for (child, _) in children {
            remembered.push((child.clone(), store.remember(&child).await));
        }
        let deleted = store.delete_instance_bulk(filter).await?;
        for (child, remembered) in remembered {
            if !store.is_instance(&child) {
                store.bring_back(remembered).await;
            }
        }
        Ok(deleted)
    }
}

#[async_trait]
impl Bug for BulkIgnoresLimit {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        store.delete_instance_bulk(InstanceFilter { limit: Some(u32::MAX), ..filter }).await
    }
}

#[async_trait]
impl Bug for BulkWithoutDefault {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        let limit = filter.limit.or(Some(u32::MAX));
        store.delete_instance_bulk(InstanceFilter { limit, ..filter }).await
    }
}

#[async_trait]
impl Bug for BulkIgnoresIds {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        store.delete_instance_bulk(InstanceFilter { instance_ids: None, ..filter }).await
    }
}

#[async_trait]
impl Bug for BulkIgnoresTime {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        store.delete_instance_bulk(InstanceFilter { completed_before: None, ..filter }).await
    }
}

#[async_trait]
impl Bug for BulkTimeIncluded {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        let completed_before = filter.completed_before.map(|time| time + 1);
        store.delete_instance_bulk(InstanceFilter { completed_before, ..filter }).await
    }
}

#[async_trait]
impl Bug for BulkGoesByCreation {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        let Some(before) = filter.completed_before else { return store.delete_instance_bulk(filter).await };
        let is_old = store.dump().instances.into_iter().filter(|(_, dump)| dump.created < before);
        let mut ids: Vec<String> = is_old.map(|(name, _)| name).collect();
        ids.retain(|id| filter.instance_ids.as_ref().is_none_or(|named| named.contains(id)));
        let filter = InstanceFilter { instance_ids: Some(ids), completed_before: None, ..filter };
        store.delete_instance_bulk(filter).await
    }
}

#[async_trait]
impl Bug for BulkCountsSkipped {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        mut filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        let limit = usize::try_from(filter.limit.unwrap_or(1_000)).unwrap_or(usize::MAX);
        filter.instance_ids.iter_mut().for_each(|ids| ids.truncate(limit));
        store.delete_instance_bulk(filter).await
    }
}

#[async_trait]
impl Bug for BulkStopsAtRunning {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        mut filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        let over = standing(store, |status| matches!(status, "Completed" | "Failed"));
        if let Some(ids) = &mut filter.instance_ids {
            let mut deletable = Vec::new();
            for id in ids.iter() {
                let tree = store.get_instance_tree(id).await?.all_ids;
                deletable.push(tree.iter().all(|id| over.contains(id)));
            }
            ids.truncate(deletable.iter().position(|deletable| !deletable).unwrap_or(ids.len()));
        }
        store.delete_instance_bulk(filter).await
    }
}

/// The names of what is an instance and stands like this.
fn standing(store: &Store, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let instances = store.dump().instances.into_iter();
    let meant = instances.filter(|(_, dump)| dump.status.as_deref().is_some_and(&is_meant));
    meant.map(|(name, _)| name).collect()
}

/// Removes orphans, and then children that the bug takes for some.
async fn remove_besides(
    store: &Store,
    filter: OrphanFilter,
    is_taken: impl Fn(&str) -> bool,
) -> Answer<DeleteInstanceResult> {
    let mut total = store.cleanup_orphaned_instances(filter).await?;
    for child in standing(store, |status| matches!(status, "Completed" | "Failed")) {
        let Some(parent) = store.get_parent_id(&child).await? else { continue };
        let tree = store.get_instance_tree(&child).await?.all_ids;
        if is_taken(&parent)
            && let Ok(deleted) = store.delete_instances_atomic(&tree, false).await
        {
            total.add(&deleted);
        }
    }
    Ok(total)
}

#[async_trait]
impl Bug for OrphanOfRunningParent {
    async fn cleanup_orphaned_instances(
        &self,
        store: &Store,
        filter: OrphanFilter,
    ) -> Answer<DeleteInstanceResult> {
        let running = standing(store, |status| status == "Running");
        remove_besides(store, filter, |parent| running.iter().any(|name| name == parent)).await
    }
}

#[async_trait]
impl Bug for RootsAreOrphans {
    async fn cleanup_orphaned_instances(
        &self,
        store: &Store,
        filter: OrphanFilter,
    ) -> Answer<DeleteInstanceResult> {
        let mut total = store.cleanup_orphaned_instances(filter).await?;
        total.add(&store.delete_instance_bulk(InstanceFilter::default()).await?);
        Ok(total)
    }
}

/// Removes orphans, and brings back those that the bug does not take for any.
async fn remove_but(
    store: &Store,
    filter: OrphanFilter,
    is_kept: impl Fn(&str) -> bool,
) -> Answer<DeleteInstanceResult> {
    let mut kept = Vec::new();
    for child in standing(store, |_| true) {
        if let Some(parent) = store.get_parent_id(&child).await?
            && is_kept(&parent)
        {
            kept.push((child.clone(), store.remember(&child).await));
        }
    }
    let mut total = store.cleanup_orphaned_instances(filter).await?;
    for (child, remembered) in kept {
        if !store.is_instance(&child) {
            store.bring_back(remembered).await;
            total.instances_deleted -= 1;
        }
    }
    Ok(total)
}

#[async_trait]
impl Bug for OrphanNeedsNoParent {
    async fn cleanup_orphaned_instances(
        &self,
        store: &Store,
        filter: OrphanFilter,
    ) -> Answer<DeleteInstanceResult> {
        remove_but(store, filter, |parent| store.is_instance(parent)).await
    }
}

#[async_trait]
impl Bug for OrphanNeedsParent {
    async fn cleanup_orphaned_instances(
        &self,
        store: &Store,
        filter: OrphanFilter,
    ) -> Answer<DeleteInstanceResult> {
        remove_but(store, filter, |parent| !store.is_instance(parent)).await
    }
}

/// Removes orphans by another filter.
macro_rules! removes_orphans_by {
    ($bug:ident, $change:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn cleanup_orphaned_instances(
                &self,
                store: &Store,
                filter: OrphanFilter,
            ) -> Answer<DeleteInstanceResult> {
                let change: fn(OrphanFilter) -> OrphanFilter = $change;
                store.cleanup_orphaned_instances(change(filter)).await
            }
        }
    };
}

removes_orphans_by!(OrphansIgnoreLimit, |filter| OrphanFilter { limit: None, ..filter });
removes_orphans_by!(OrphansIgnoreTime, |filter| OrphanFilter { parent_completed_before: None, ..filter });
removes_orphans_by!(OrphanTimeIncluded, |filter| OrphanFilter {
    parent_completed_before: filter.parent_completed_before.map(|time| time + 1),
    ..filter
});
removes_orphans_by!(OrphansIgnoreStatus, |filter| match filter.ends() {
    Ok(_) => OrphanFilter { child_status: Vec::new(), ..filter },
    Err(_) => filter,
});
removes_orphans_by!(OrphansOfAnyStatus, |filter| OrphanFilter {
    child_status: filter.child_status.into_iter().filter(|status| status != "Running").collect(),
    ..filter
});

/// Enforces another retention.
macro_rules! retains {
    ($bug:ident, $change:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn enforce_retention(
                &self,
                store: &Store,
                retention: Retention,
            ) -> Answer<DeleteInstanceResult> {
                let change: fn(Retention) -> Retention = $change;
                store.enforce_retention(change(retention)).await
            }
        }
    };
}

retains!(RetentionIgnored, |retention| Retention { keep_for: Duration::ZERO, ..retention });
retains!(RetentionForEver, |retention| Retention { keep_for: Duration::MAX, ..retention });
retains!(RetentionIgnoresLimit, |retention| Retention { limit: u32::MAX, ..retention });

#[async_trait]
impl Bug for RetentionTimeIncluded {
    async fn enforce_retention(&self, store: &Store, retention: Retention) -> Answer<DeleteInstanceResult> {
        let mut filter = retention.filter(store.now());
        filter.completed_before = filter.completed_before.map(|time| time + 1);
        store.delete_instance_bulk(filter).await
    }
}
