//! Deleting past executions, for themselves and with a commit.

use abide_model::{PruneOptions, PruneResult};
use abide_provider::{Committed, InstanceFilter, TurnCommit};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// Pruning takes the current execution if it has ended.
    PruneTakesCurrent => "prune::test_prune_safety";
    /// Pruning takes an execution that runs.
    PruneTakesRunning => "prune::test_prune_keeps_running_executions";
    /// Pruning keeps one execution more than it should.
    PruneKeepsOneMore => "prune::test_prune_options_combinations";
    /// Pruning keeps one execution less than it should.
    PruneKeepsOneLess => "prune::test_prune_options_combinations";
    /// Pruning keeps the last ones, whenever the others ended.
    PruneIgnoresTime => "prune::test_prune_options_combinations";
    /// Pruning takes what ended long ago, even of the last ones.
    PruneIgnoresKeepLast => "prune::test_prune_options_combinations";
    /// Pruning takes nothing.
    PruneDoesNothing => "prune::test_prune_options_combinations";
    /// Pruning what does not exist says that it is done.
    PrunesNothing => "prune::test_prune_safety";
    /// Bulk pruning leaves instances alone that run.
    BulkPruneSkipsRunning => "prune::test_prune_bulk_includes_running_instances";
    /// Bulk pruning has no limit.
    BulkPruneIgnoresLimit => "prune::test_prune_bulk_limit_makes_progress";
    /// Bulk pruning takes all instances, whatever is named.
    BulkPruneIgnoresIds => "prune::test_prune_bulk_filters";
    /// A commit that asks for pruning does not prune.
    CommitDoesNotPrune => "prune_with_commit::test_commit_prunes_all_but_the_last";
    /// A commit that asks for pruning does not say what it pruned.
    CommitPrunesInSilence => "prune_with_commit::test_commit_prunes_all_but_the_last";
    /// Every commit prunes.
    CommitAlwaysPrunes => "prune_with_commit::test_commit_without_prune_prunes_nothing";
    /// A commit prunes all there is, however much.
    CommitPrunesWithoutEnd => "prune_with_commit::test_commit_prunes_a_bounded_number";
    /// A refused commit prunes.
    RefusedCommitPrunes => "prune_with_commit::test_refused_commit_prunes_nothing";
}

#[async_trait]
impl Bug for PruneTakesCurrent {
    async fn prune_executions(
        &self,
        store: &Store,
        instance: &str,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        let status = store.get_instance_info(instance).await?.status;
        if options.keep_last.unwrap_or_default() == 0 && status == "Completed" {
            let deleted = store.delete_instance(instance, true).await?;
            return Ok(PruneResult {
                instances_processed: 1,
                executions_deleted: deleted.executions_deleted,
                events_deleted: deleted.events_deleted,
            });
        }
        store.prune_executions(instance, options).await
    }
}

#[async_trait]
impl Bug for PruneTakesRunning {
    async fn prune_executions(
        &self,
        store: &Store,
        instance: &str,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        let status = store.get_instance_info(instance).await?.status;
        if options.keep_last.unwrap_or_default() == 0 && status == "Running" {
            let deleted = store.delete_instance(instance, true).await?;
            let executions_deleted = deleted.executions_deleted;
            return Ok(PruneResult { executions_deleted, ..PruneResult::default() });
        }
        store.prune_executions(instance, options).await
    }
}

/// Prunes with other options, one and many.
macro_rules! prunes_with {
    ($bug:ident, $change:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn prune_executions(
                &self,
                store: &Store,
                instance: &str,
                options: PruneOptions,
            ) -> Answer<PruneResult> {
                let change: fn(PruneOptions) -> PruneOptions = $change;
                store.prune_executions(instance, change(options)).await
            }

            async fn prune_executions_bulk(
                &self,
                store: &Store,
                filter: InstanceFilter,
                options: PruneOptions,
            ) -> Answer<PruneResult> {
                let change: fn(PruneOptions) -> PruneOptions = $change;
                store.prune_executions_bulk(filter, change(options)).await
            }
        }
    };
}

prunes_with!(PruneKeepsOneMore, |options| PruneOptions {
    keep_last: options.keep_last.map(|keep| keep + 1),
    ..options
});
prunes_with!(PruneKeepsOneLess, |options| PruneOptions {
    keep_last: options.keep_last.map(|keep| keep.saturating_sub(1)),
    ..options
});
prunes_with!(PruneIgnoresTime, |options| PruneOptions { completed_before: None, ..options });
prunes_with!(PruneIgnoresKeepLast, |options| PruneOptions {
    keep_last: options.keep_last.filter(|_| options.completed_before.is_none()),
    ..options
});
prunes_with!(PruneDoesNothing, |options| PruneOptions { keep_last: Some(u32::MAX), ..options });

#[async_trait]
impl Bug for PrunesNothing {
    async fn prune_executions(
        &self,
        store: &Store,
        instance: &str,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        if !store.is_instance(instance) {
            return Ok(PruneResult::default());
        }
        store.prune_executions(instance, options).await
    }
}

#[async_trait]
impl Bug for BulkPruneSkipsRunning {
    async fn prune_executions_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        let over = store.dump().instances.into_iter();
        let over = over.filter(|(_, dump)| dump.status.as_deref().is_some_and(|status| status != "Running"));
        let mut ids: Vec<String> = over.map(|(name, _)| name).collect();
        ids.retain(|id| filter.instance_ids.as_ref().is_none_or(|named| named.contains(id)));
        store.prune_executions_bulk(InstanceFilter { instance_ids: Some(ids), ..filter }, options).await
    }
}

#[async_trait]
impl Bug for BulkPruneIgnoresLimit {
    async fn prune_executions_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        store.prune_executions_bulk(InstanceFilter { limit: Some(u32::MAX), ..filter }, options).await
    }
}

#[async_trait]
impl Bug for BulkPruneIgnoresIds {
    async fn prune_executions_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        store.prune_executions_bulk(InstanceFilter { instance_ids: None, ..filter }, options).await
    }
}

#[async_trait]
impl Bug for CommitDoesNotPrune {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.prune = None;
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for CommitPrunesInSilence {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        store.commit(commit).await.map(|_| Committed::default())
    }
}

#[async_trait]
impl Bug for CommitAlwaysPrunes {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.prune.get_or_insert_default();
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for CommitPrunesWithoutEnd {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let (instance, prune) = (commit.instance.clone(), commit.turn.prune.clone());
        let committed = store.commit(commit).await?;
        let (Some(mut pruned), Some(options)) = (committed.pruned.clone(), prune) else {
            return Ok(committed);
        };
        let rest = store.prune_executions(&instance, options).await.expect("the instance is there");
        pruned.executions_deleted += rest.executions_deleted;
        pruned.events_deleted += rest.events_deleted;
        Ok(Committed::with_pruned(Some(pruned)))
    }
}

#[async_trait]
impl Bug for RefusedCommitPrunes {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let (instance, prune) = (commit.instance.clone(), commit.turn.prune.clone());
        let answer = store.commit(commit).await;
        if let (Err(_), Some(options)) = (&answer, prune) {
            // Of what does not exist nothing can be pruned.
            let _pruned = store.prune_executions(&instance, options).await;
        }
        answer
    }
}
