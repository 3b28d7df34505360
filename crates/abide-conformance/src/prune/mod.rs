//! Past executions are deleted; the current one never is.

mod bulk;

pub use bulk::*;

use abide_model::EventKind;
use abide_provider::{PruneOptions, PruneResult};

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{
    assert_says, child_of, completed_root, ended_at, eternal_root, existing, moment, root_between_executions,
    run_next,
};
use crate::suite::area;
use crate::support::{Ack, Subject, activity, assert_refused, completed, signal, start};

area! {
    prune;
    test_prune_options_combinations: Administration;
    test_prune_safety: Administration;
    test_prune_bulk: Administration;
    test_prune_bulk_includes_running_instances: Administration;
    test_prune_keeps_running_executions: Administration;
    test_prune_between_executions: Administration;
    test_prune_beside_a_turn: Administration;
    test_prune_leaves_everything_else: Administration;
    test_prune_of_nothing: Administration;
    test_prune_bulk_filters: Administration;
    test_prune_bulk_limit_makes_progress: Administration;
    // The end of an execution takes its work back, so a store that knows only the required methods has none to remove.
    test_prune_removes_work_of_pruned_executions: Administration;
}

/// Deleted is what is outside the latest `keep_last` executions, and ended before `completed_before`, strictly. None, zero
/// and one keep the current execution.
pub async fn test_prune_options_combinations<F: ProviderFactory>(factory: &F) {
    // When executions 2 and 3 of five ended decides the time rules.
    let kept: [(Option<u32>, When, &[u64]); 12] = [
        (None, When::Ever, &[5]),
        (Some(0), When::Ever, &[5]),
        (Some(1), When::Ever, &[5]),
        (Some(2), When::Ever, &[4, 5]),
        (Some(4), When::Ever, &[2, 3, 4, 5]),
        (Some(5), When::Ever, &[1, 2, 3, 4, 5]),
        (Some(u32::MAX), When::Ever, &[1, 2, 3, 4, 5]),
        (None, When::EndOf(3), &[3, 4, 5]),
        (None, When::AfterEndOf(3), &[4, 5]),
        (Some(4), When::AfterEndOf(3), &[2, 3, 4, 5]),
        (Some(2), When::EndOf(2), &[2, 3, 4, 5]),
        (None, When::EndOf(1), &[1, 2, 3, 4, 5]),
    ];
    for (keep_last, when, expected) in kept {
        let store = Subject::new(factory).await;
        store.post(start("a")).await;
        for execution in 1..5 {
            run_next(&store, Ack::first_of("a", execution).continuing(2)).await;
            moment(&store).await;
        }
        run_next(&store, Ack::first_of("a", 5)).await;
        let completed_before = match when {
            When::Ever => None,
            When::EndOf(execution) => Some(ended_at(&store, "a", execution).await),
            When::AfterEndOf(execution) => Some(ended_at(&store, "a", execution).await + 1),
        };
        let pruned = prune(&store, "a", PruneOptions { keep_last, completed_before }).await;
        let deleted = 5 - u64::try_from(expected.len()).expect("five executions");
        let result =
            PruneResult { instances_processed: 1, executions_deleted: deleted, events_deleted: 2 * deleted };
        assert_eq!(pruned, result, "keep_last {keep_last:?}, completed_before {when:?}");
        let left = store.admin().list_executions("a").await.expect("executions can be listed");
        assert_eq!(left, expected, "keep_last {keep_last:?}, completed_before {when:?}");
    }
}

/// A time that a prune is told.
#[derive(Debug, Clone, Copy)]
enum When {
    Ever,
    EndOf(u64),
    AfterEndOf(u64),
}

/// The current execution is never pruned, whether it runs or ended, and however late the time is. What is pruned is gone; who is
/// not named is not touched; what is no instance is not found.
pub async fn test_prune_safety<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "ended").await;
    eternal_root(&store, "eternal", 3).await;
    eternal_root(&store, "other", 3).await;
    let (ended, other) = (Observed::of(&store, "ended").await, Observed::of(&store, "other").await);
    let everything = PruneOptions { keep_last: Some(0), completed_before: Some(u64::from(u32::MAX) * 1_000) };
    assert_eq!(prune(&store, "ended", everything.clone()).await.executions_deleted, 0);
    assert_eq!(Observed::of(&store, "ended").await, ended, "the current execution was pruned");

    let current = store.history("eternal").await;
    let pruned = prune(&store, "eternal", everything.clone()).await;
    assert_eq!((pruned.executions_deleted, pruned.events_deleted), (2, 4));
    assert_eq!(store.history("eternal").await, current, "the current execution was pruned");
    for execution in [1, 2] {
        assert!(store.event_ids("eternal", execution).await.is_empty(), "a pruned execution has no history");
        let info = store.admin().get_execution_info("eternal", execution).await;
        assert_says(&info, &["not found"], "a pruned execution");
    }
    let latest = store.admin().latest_execution_id("eternal").await.expect("it exists");
    assert_eq!(latest, 3, "the executions keep their numbers");
    assert_eq!(Observed::of(&store, "other").await, other, "another instance was pruned");

    let unknown = store.admin().prune_executions("unknown", everything).await;
    assert_says(&unknown, &["not found"], "the prune of nobody");
    assert_eq!(existing(&store).await, ["ended", "eternal", "other"]);
}

/// An execution that runs is not pruned, even if it is not the current one.
pub async fn test_prune_keeps_running_executions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    // The commit that begins the second execution does not end the first.
    store.create("a").await;
    store.step(Ack::first_of("a", 2).continuing(2)).await;
    run_next(&store, Ack::first_of("a", 3)).await;
    let pruned = prune(&store, "a", PruneOptions::default()).await;
    assert_eq!((pruned.executions_deleted, pruned.events_deleted), (1, 2), "only the second has ended");
    assert_eq!(store.admin().list_executions("a").await.expect("executions can be listed"), [1, 3]);
    assert_eq!(store.event_ids("a", 1).await, [1]);
}

/// An instance between two executions is pruned like any other: the one that ended last is still the current one, and the next
/// begins behind it.
pub async fn test_prune_between_executions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    run_next(&store, Ack::first_of("a", 1).continuing(2)).await;
    run_next(&store, Ack::first_of("a", 2).continuing(2)).await;
    assert_eq!(prune(&store, "a", PruneOptions::default()).await.executions_deleted, 1);
    assert_eq!(store.admin().list_executions("a").await.expect("executions can be listed"), [2]);
    let turn = store.fetch("a").await;
    assert_eq!((turn.item.execution_id, turn.item.history.len()), (2, 2), "the current execution is whole");
    store.ack(&turn.token, Ack::first_of("a", 3)).await;
    assert_eq!(store.admin().list_executions("a").await.expect("executions can be listed"), [2, 3]);
}

/// A prune takes no lease away and no mail: a turn that was leased before it is committed after it.
pub async fn test_prune_beside_a_turn<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    eternal_root(&store, "a", 3).await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    store.post(signal("a", "waiting")).await;
    assert_eq!(prune(&store, "a", PruneOptions::default()).await.executions_deleted, 2);
    store.ack(&turn.token, Ack::of("a", 3).signalled(2)).await;
    assert_eq!(store.event_ids("a", 3).await, [1, 2]);
    assert_eq!(store.fetch("a").await.signals(), ["waiting"]);
}

/// Custom status, children, work and mail of the instance stay. A child keeps its parent even if the execution that asked for
/// it is pruned.
pub async fn test_prune_leaves_everything_else<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let status = EventKind::CustomStatusUpdated { status: Some("busy".to_owned()) };
    store.begin(Ack::first("a").event(2, status)).await;
    child_of(&store, "child", "a", 1).await;
    store.step(Ack::of("a", 1).continuing(3)).await;
    let mut work = activity("a", 2);
    if let abide_model::WorkItem::ActivityExecute { execution_id, .. } = &mut work {
        *execution_id = 2;
    }
    run_next(&store, Ack::first_of("a", 2).scheduling(work)).await;
    let child = Observed::of(&store, "child").await;
    let before = store.admin().get_instance_info("a").await.expect("it exists");

    assert_eq!(prune(&store, "a", PruneOptions::default()).await.executions_deleted, 1);
    let status = store.get_custom_status("a", 0).await.expect("a custom status can be read");
    assert_eq!(status, Some((Some("busy".to_owned()), 1)));
    assert_eq!(Observed::of(&store, "child").await, child, "the child was touched");
    assert_eq!(store.admin().list_children("a").await.expect("children can be listed"), ["child"]);
    let parent = store.admin().get_parent_id("child").await.expect("it exists");
    assert_eq!(parent.as_deref(), Some("a"));
    let after = store.admin().get_instance_info("a").await.expect("it exists");
    assert_eq!((after.created_at, after.status), (before.created_at, before.status));
    assert_eq!(store.fetch_work().await.id(), 2, "work of the current execution was pruned");
}

/// A prune that finds nothing says so, the second time and the first.
pub async fn test_prune_of_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    eternal_root(&store, "a", 2).await;
    let nothing = PruneResult { instances_processed: 1, ..PruneResult::default() };
    let keep_two = PruneOptions { keep_last: Some(2), completed_before: None };
    assert_eq!(prune(&store, "a", keep_two).await, nothing);
    assert_eq!(prune(&store, "a", PruneOptions::default()).await.executions_deleted, 1);
    assert_eq!(prune(&store, "a", PruneOptions::default()).await, nothing);
    root_between_executions(&store, "b").await;
    assert_eq!(prune(&store, "b", PruneOptions::default()).await, nothing);
}

/// Work of an execution goes with it when that is pruned: nobody would read the result.
pub async fn test_prune_removes_work_of_pruned_executions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let first = Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3));
    store.begin(first.continuing(4)).await;
    run_next(&store, Ack::first_of("a", 2)).await;
    let job = store.fetch_work().await;
    assert_eq!(prune(&store, "a", PruneOptions::default()).await.executions_deleted, 1);
    store.assert_no_work("the work went with its execution").await;
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    assert_refused(&renewed, "the renewal of work that was pruned");
    let acked = store.ack_work_item(&job.token, Some(completed("a", job.id()))).await;
    assert_refused(&acked, "the result of work that was pruned");
    store.assert_no_turn("nobody is told the result").await;
}

async fn prune(store: &Subject<'_>, id: &str, options: PruneOptions) -> PruneResult {
    let pruned = store.admin().prune_executions(id, options).await;
    pruned.unwrap_or_else(|error| panic!("'{id}' exists and can be pruned: {error}"))
}
