//! Overviews, and what an instance waits for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use abide_provider::{Authority, ChildOverview, Committed, InstanceOverview, TurnCommit};
use async_trait::async_trait;

use crate::bug::{Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

type Overview = StoreAnswer<Option<InstanceOverview>>;

bugs! {
    /// A name that has mail has an overview.
    MailHasOverview => "overviews::test_overview_of_what_is_no_instance";
    /// A start that waits in the queue has no overview.
    QueuedStartUnknown => "overviews::test_overview_of_a_start_that_is_queued";
    /// What an instance waits for is not stored.
    WaitingNotStored => "overviews::test_every_commit_replaces_what_is_waited_for";
    /// What an instance waited for stays until something else is said.
    OldWaitingStays { last: Mutex<BTreeMap<String, String>> } => "overviews::test_every_commit_replaces_what_is_waited_for";
    /// A fused step does not say what the instance waits for.
    WaitingOfFusedStepsLost => "overviews::test_fused_step_replaces_what_is_waited_for";
    /// The time at which an instance ended is not told.
    EndNotTold => "overviews::test_overview_of_what_has_ended";
    /// Leases on turns are not told.
    TurnLeaseNotTold => "overviews::test_overview_has_mail_and_leases";
    /// Activities are listed from the last to the first.
    ActivitiesReversed => "overviews::test_overview_has_activities_of_the_current_execution";
    /// The names of activities are not told.
    ActivityNamesNotTold => "overviews::test_overview_has_activities_of_the_current_execution";
    /// The tags of activities are not told.
    ActivityTagsNotTold => "overviews::test_overview_has_activities_of_the_current_execution";
    /// Only the listed children are counted.
    ListedChildrenCounted => "overviews::test_overview_has_parent_and_children";
    /// Held activities of children are not told.
    HoldsOfChildrenNotTold => "overviews::test_children_are_told_with_what_blocks_them";
    /// A child whose start waits in the queue is left out.
    QueuedChildLeftOut => "overviews::test_children_are_told_with_what_blocks_them";
}

#[async_trait]
impl Bug for MailHasOverview {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        let found = store.read_overview(instance).await?;
        let has_mail = store.dump().instances.contains_key(instance);
        Ok(found.or_else(|| has_mail.then(InstanceOverview::default)))
    }
}

#[async_trait]
impl Bug for QueuedStartUnknown {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        Ok(store.read_overview(instance).await?.filter(|found| found.execution_id > 0))
    }
}

#[async_trait]
impl Bug for WaitingNotStored {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.waiting = None;
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for OldWaitingStays {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        let mut found = store.read_overview(instance).await?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &mut found {
            match &found.waiting {
                Some(waiting) => {
                    let _before = last.insert(instance.to_owned(), waiting.clone());
                }
                None => found.waiting = last.get(instance).cloned(),
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl Bug for WaitingOfFusedStepsLost {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if matches!(commit.authority, Authority::FinishedWork { .. }) {
            commit.turn.waiting = None;
        }
        store.commit(commit).await
    }
}

/// Reads an overview, and changes it.
async fn changed(
    store: &Store,
    instance: &str,
    change: impl FnOnce(&mut InstanceOverview) + Send,
) -> Overview {
    let mut found = store.read_overview(instance).await?;
    if let Some(found) = &mut found {
        change(found);
    }
    Ok(found)
}

#[async_trait]
impl Bug for EndNotTold {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        changed(store, instance, |found| found.completed = None).await
    }
}

#[async_trait]
impl Bug for TurnLeaseNotTold {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        changed(store, instance, |found| found.lease = None).await
    }
}

#[async_trait]
impl Bug for ActivitiesReversed {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        changed(store, instance, |found| found.work.reverse()).await
    }
}

#[async_trait]
impl Bug for ActivityNamesNotTold {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        changed(store, instance, |found| found.work.iter_mut().for_each(|work| work.name.clear())).await
    }
}

#[async_trait]
impl Bug for ActivityTagsNotTold {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        changed(store, instance, |found| found.work.iter_mut().for_each(|work| work.tag = None)).await
    }
}

#[async_trait]
impl Bug for ListedChildrenCounted {
    async fn read_overview(&self, store: &Store, instance: &str) -> Overview {
        let counted = |found: &mut InstanceOverview| {
            found.child_count = u64::try_from(found.children.len()).unwrap_or(u64::MAX);
        };
        changed(store, instance, counted).await
    }
}

#[async_trait]
impl Bug for HoldsOfChildrenNotTold {
    async fn read_children(&self, store: &Store, instances: &[String]) -> StoreAnswer<Vec<ChildOverview>> {
        let mut found = store.read_children(instances).await?;
        for child in &mut found {
            child.block = child.block.take().filter(|block| !block.holds_activity);
        }
        Ok(found)
    }
}

#[async_trait]
impl Bug for QueuedChildLeftOut {
    async fn read_children(&self, store: &Store, instances: &[String]) -> StoreAnswer<Vec<ChildOverview>> {
        let found = store.read_children(instances).await?;
        Ok(found.into_iter().filter(|child| child.status.is_some()).collect())
    }
}
