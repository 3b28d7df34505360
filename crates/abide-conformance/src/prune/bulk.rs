//! Pruning many instances at once.

use abide_provider::{InstanceFilter, PruneOptions, PruneResult};

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{completed_root, ended_at, eternal_root, existing, moment, only};
use crate::support::{Ack, Subject};

/// More than enough calls for anything here to be done.
const ENOUGH: usize = 10;

/// Without a filter every instance that has past executions is pruned, and nothing else is counted or touched.
pub async fn test_prune_bulk<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    eternal_root(&store, "two", 2).await;
    eternal_root(&store, "three", 3).await;
    completed_root(&store, "one").await;
    let one = Observed::of(&store, "one").await;
    let current = store.history("three").await;

    let keep_two = PruneOptions { keep_last: Some(2), completed_before: None };
    let pruned = prune(&store, InstanceFilter::default(), keep_two).await;
    assert_eq!(pruned, PruneResult { instances_processed: 1, executions_deleted: 1, events_deleted: 2 });
    assert_executions(&store, [("one", &[1]), ("two", &[1, 2]), ("three", &[2, 3])]).await;
    let pruned = prune(&store, InstanceFilter::default(), PruneOptions::default()).await;
    assert_eq!(pruned, PruneResult { instances_processed: 2, executions_deleted: 2, events_deleted: 4 });
    assert_executions(&store, [("one", &[1]), ("two", &[2]), ("three", &[3])]).await;
    assert_eq!(store.history("three").await, current, "the current execution was pruned");
    assert_eq!(Observed::of(&store, "one").await, one, "what has nothing to prune was touched");
    let pruned = prune(&store, InstanceFilter::default(), PruneOptions::default()).await;
    assert_eq!(pruned, PruneResult::default(), "there is nothing left to prune");
}

/// An eternal instance runs, and is pruned all the same: that is what pruning is for.
pub async fn test_prune_bulk_includes_running_instances<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    eternal_root(&store, "running", 3).await;
    eternal_root(&store, "ended", 3).await;
    store.step(Ack::of("ended", 3).completing(2)).await;
    let pruned = prune(&store, InstanceFilter::default(), PruneOptions::default()).await;
    assert_eq!(pruned, PruneResult { instances_processed: 2, executions_deleted: 4, events_deleted: 8 });
    let info = store.admin().get_instance_info("running").await.expect("it exists");
    assert_eq!((info.status.as_str(), info.current_execution_id), ("Running", 3));
    store.step(Ack::of("running", 3).signalled(2)).await;
    assert_eq!(store.event_ids("running", 3).await, [1, 2], "it goes on");

    eternal_root(&store, "named", 2).await;
    let pruned = prune(&store, only(&["named"]), PruneOptions::default()).await;
    assert_eq!(pruned.executions_deleted, 1, "it runs, and is named");
}

/// Only the named instances, each once; nobody of an empty list; with a time only what ended before, strictly, which what runs
/// has not. The options hold for each.
pub async fn test_prune_bulk_filters<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in ["running", "early", "late"] {
        eternal_root(&store, id, 3).await;
    }
    store.step(Ack::of("early", 3).completing(2)).await;
    moment(&store).await;
    store.step(Ack::of("late", 3).completing(2)).await;
    let late = ended_at(&store, "late", 3).await;

    assert_eq!(prune(&store, only(&[]), PruneOptions::default()).await, PruneResult::default());
    let nobody = prune(&store, only(&["unknown"]), PruneOptions::default()).await;
    assert_eq!(nobody, PruneResult::default(), "what is no instance is passed over");
    assert_executions(&store, [("running", &[1, 2, 3]), ("early", &[1, 2, 3]), ("late", &[1, 2, 3])]).await;

    let before_late = InstanceFilter { completed_before: Some(late), ..InstanceFilter::default() };
    let keep_two = PruneOptions { keep_last: Some(2), completed_before: None };
    let pruned = prune(&store, before_late.clone(), keep_two).await;
    assert_eq!(pruned, PruneResult { instances_processed: 1, executions_deleted: 1, events_deleted: 2 });
    assert_executions(&store, [("running", &[1, 2, 3]), ("early", &[2, 3]), ("late", &[1, 2, 3])]).await;
    let both = InstanceFilter { completed_before: Some(late), ..only(&["late", "running"]) };
    assert_eq!(prune(&store, both, PruneOptions::default()).await.executions_deleted, 0, "both rules hold");

    let twice = prune(&store, only(&["late", "unknown", "late"]), PruneOptions::default()).await;
    assert_eq!(twice, PruneResult { instances_processed: 1, executions_deleted: 2, events_deleted: 4 });
    assert_executions(&store, [("running", &[1, 2, 3]), ("early", &[2, 3]), ("late", &[3])]).await;
    assert_eq!(existing(&store).await, ["early", "late", "running"], "pruning deletes no instance");
}

/// A limit is a number of instances. What has nothing to prune does not use it up, so that repeated calls come to an end with
/// everything pruned.
pub async fn test_prune_bulk_limit_makes_progress<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in ["a", "b", "c"] {
        completed_root(&store, &format!("nothing {id}")).await;
        eternal_root(&store, id, 3).await;
    }
    let none = InstanceFilter { limit: Some(0), ..InstanceFilter::default() };
    assert_eq!(prune(&store, none, PruneOptions::default()).await, PruneResult::default());
    let mut calls = 0;
    loop {
        let one = InstanceFilter { limit: Some(1), ..InstanceFilter::default() };
        let pruned = prune(&store, one, PruneOptions::default()).await;
        if pruned.executions_deleted == 0 {
            break;
        }
        assert_eq!(pruned, PruneResult { instances_processed: 1, executions_deleted: 2, events_deleted: 4 });
        calls += 1;
        assert!(calls < ENOUGH, "the prune comes to no end");
    }
    assert_eq!(calls, 3, "one instance with each call");
    assert_executions(&store, [("a", &[3]), ("b", &[3]), ("c", &[3])]).await;
}

async fn prune(store: &Subject<'_>, filter: InstanceFilter, options: PruneOptions) -> PruneResult {
    let pruned = store.admin().prune_executions_bulk(filter.clone(), options).await;
    pruned.unwrap_or_else(|error| panic!("{filter:?} can be pruned: {error}"))
}

async fn assert_executions<const N: usize>(store: &Subject<'_>, expected: [(&str, &[u64]); N]) {
    for (id, expected) in expected {
        let executions = store.admin().list_executions(id).await.expect("executions can be listed");
        assert_eq!(executions, expected, "the executions of '{id}'");
    }
}
