//! Every method that can fail goes through the plan, under its own name.

use abide_model::{PruneOptions, Timestamp};
use abide_provider::{
    ExecutionMetadata, InstanceFilter, InstanceQuery, Lane, Operation, OrphanFilter, Provider, Retention,
    TagFilter,
};
use abide_sim::{Fault, FaultPlan, FaultStore, World};

use crate::support::*;

/// Calls a method and says under which name it failed.
macro_rules! failed {
    ($($call:expr),* $(,)?) => { vec![$($call.await.unwrap_err().operation.to_string()),*] };
}

/// A store in which every call fails, and what it recorded.
fn failing() -> std::sync::Arc<FaultStore> {
    World::new(1).faulty(FaultPlan::none().when(|_| Some(Fault::NotApplied)))
}

fn recorded(store: &FaultStore) -> Vec<String> {
    store.calls().into_iter().map(|(operation, _)| operation.as_str().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_required_ones() {
    let store = failing();
    let zero = std::time::Duration::ZERO;
    let metadata = ExecutionMetadata::default();
    let names = failed![
        store.fetch_orchestration_item(LEASE, zero, None),
        store.ack_orchestration_item("t", 1, Vec::new(), Vec::new(), Vec::new(), metadata, Vec::new()),
        store.abandon_orchestration_item("t", None, false),
        store.read("a"),
        store.read_with_execution("a", 1),
        store.append_with_execution("a", 1, Vec::new()),
        store.enqueue_for_worker(activity("a")),
        store.fetch_work_item(LEASE, zero, None, &TagFilter::default()),
        store.ack_work_item("t", None),
        store.renew_work_item_lock("t", LEASE),
        store.renew_session_lock(&["o"], LEASE, LEASE),
        store.cleanup_orphaned_sessions(LEASE),
        store.abandon_work_item("t", None, false),
        store.renew_orchestration_item_lock("t", LEASE),
        store.enqueue_for_orchestrator(start("a"), None),
        store.get_custom_status("a", 0),
        store.get_kv_value("a", "k"),
        store.get_kv_all_values("a"),
        store.get_instance_stats("a"),
    ];
    assert_eq!((names.len(), &names), (19, &recorded(&store)));
}

#[tokio::test(start_paused = true)]
async fn the_provided_ones() {
    let world = World::new(1);
    let lease = leased(&*world.memory, &["a"]).await.remove(0);
    let held = leased_work(&*world.memory, "b").await;
    let store = failing();
    let zero = std::time::Duration::ZERO;
    let mut names = failed![
        store.lease_instances(instances(zero)),
        store.read_history_after(&lease, 0),
        store.read_kv_snapshot(&lease),
        store.lease_work(work(zero)),
        store.enqueue_once(request(start("a"))),
        store.start_once(request(start("a"))),
        store.read_status("a"),
        store.next_due(Lane::Work),
    ];
    let answer = store.commit_turns(vec![commit_of(&lease)]).await.remove(0);
    names.push(answer.unwrap_err().operation.to_string());
    let answer = store.finish_work(vec![finished(&held, "b")]).await.remove(0);
    names.push(answer.unwrap_err().operation.to_string());
    assert_eq!(names, recorded(&store));
}

#[tokio::test(start_paused = true)]
async fn the_administrative_ones() {
    let store = failing();
    let admin = store.as_management_capability().unwrap();
    let ids = ["a".to_owned()];
    let retention = Retention { keep_for: HOUR, limit: 1, host_time: Timestamp::EPOCH };
    let names = failed![
        admin.list_instances(),
        admin.list_instances_by_status("Running"),
        admin.list_executions("a"),
        admin.read_history_with_execution_id("a", 1),
        admin.read_history("a"),
        admin.latest_execution_id("a"),
        admin.get_instance_info("a"),
        admin.get_execution_info("a", 1),
        admin.get_system_metrics(),
        admin.get_queue_depths(),
        admin.list_children("a"),
        admin.get_parent_id("a"),
        admin.delete_instances_atomic(&ids, false),
        admin.get_instance_tree("a"),
        admin.delete_instance("a", false),
        admin.delete_instance_bulk(InstanceFilter::default()),
        admin.prune_executions("a", PruneOptions::default()),
        admin.prune_executions_bulk(InstanceFilter::default(), PruneOptions::default()),
        admin.list_instances_page(InstanceQuery::new()),
        admin.cleanup_orphaned_instances(OrphanFilter::default()),
        admin.enforce_retention(retention),
    ];
    assert_eq!(names, recorded(&store));
}

#[tokio::test(start_paused = true)]
async fn none_is_the_callers_own() {
    // One call of a provided method is one call, however many the inner store makes of it.
    let store = World::new(1).faulty(FaultPlan::none());
    store.start_once(request(start("a"))).await.unwrap();
    store.read_status("a").await.unwrap();
    assert_eq!(store.calls(), [(Operation::StartOnce, 1), (Operation::ReadStatus, 1)]);
}
