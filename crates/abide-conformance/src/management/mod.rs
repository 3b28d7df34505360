//! Looking at instances, executions and queues.

mod depths;
mod stats;
mod times;

pub use depths::*;
pub use stats::*;
pub use times::*;

use crate::ProviderFactory;
use crate::deletion::{
    assert_says, completed_child, completed_root, eternal_root, existing, failed_root, moment,
    root_between_executions, run_next,
};
use crate::suite::area;
use crate::support::{Ack, ORCHESTRATION, Subject, VERSION, start};

area! {
    management;
    test_list_instances: Administration;
    test_list_instances_by_status: Administration;
    test_list_executions: Administration;
    test_get_instance_info: Administration;
    test_get_execution_info: Administration;
    test_get_system_metrics: Administration;
    test_get_queue_depths: Administration;
    test_get_instance_stats_nonexistent;
    test_get_instance_stats_history;
    test_get_instance_stats_kv;
    test_get_instance_stats_carry_forward;
    test_get_instance_stats_kv_delta_only;
    test_get_instance_stats_kv_merged;
    test_get_instance_stats_of_unreadable_history: Need::Hook(crate::Hook::CorruptHistory);
    test_latest_execution_id: Administration;
    test_read_history: Administration;
    test_what_is_no_instance_is_not_found: Administration;
    test_metrics_follow_what_happens: Administration;
    test_queue_depths_without_leases: Administration;
    test_queue_depths_with_timers: Administration;
    test_queue_depths_after_leases: Administration;
    test_times_of_an_instance: Administration;
    test_times_of_executions: Administration;
    test_looking_at_an_unreadable_history: Administration, Need::Hook(crate::Hook::CorruptHistory);
}

/// Every instance once, roots and children, whatever became of them; those created last come first.
pub async fn test_list_instances<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let listed = store.admin().list_instances().await.expect("instances can be listed");
    assert!(listed.is_empty(), "an empty store has no instances: {listed:?}");
    store.create("b").await;
    moment(&store).await;
    completed_root(&store, "c").await;
    moment(&store).await;
    completed_child(&store, "a", "b").await;
    let newest_first = ["a", "c", "b"];
    assert_eq!(store.admin().list_instances().await.expect("instances can be listed"), newest_first);
    moment(&store).await;
    store.step(Ack::of("b", 1).signalled(2)).await;
    store.post(start("unborn")).await;
    let listed = store.admin().list_instances().await.expect("instances can be listed");
    assert_eq!(listed, newest_first, "a change is no creation, and neither is a message");
}

/// An instance is listed under the status of its current execution, and under no other. A text that is no status has none.
pub async fn test_list_instances_by_status<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("running").await;
    moment(&store).await;
    eternal_root(&store, "running in its third execution", 3).await;
    completed_root(&store, "completed").await;
    failed_root(&store, "failed").await;
    root_between_executions(&store, "continuing").await;
    let expected: [(&str, &[&str]); 6] = [
        ("Running", &["running in its third execution", "running"]),
        ("Completed", &["completed"]),
        ("Failed", &["failed"]),
        ("ContinuedAsNew", &["continuing"]),
        ("Nonsense", &[]),
        ("", &[]),
    ];
    for (status, ids) in expected {
        let listed = store.admin().list_instances_by_status(status).await.expect("instances can be listed");
        assert_eq!(listed, ids, "the instances that are '{status}', newest first");
    }

    run_next(&store, Ack::first_of("continuing", 2).completing(2)).await;
    let completed = store.admin().list_instances_by_status("Completed").await;
    let mut completed = completed.expect("instances can be listed");
    completed.sort();
    assert_eq!(completed, ["completed", "continuing"], "the current execution counts");
    let continued = store.admin().list_instances_by_status("ContinuedAsNew").await;
    assert!(continued.expect("instances can be listed").is_empty(), "a past execution does not count");
}

/// All executions in ascending order; none for what is no instance.
pub async fn test_list_executions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("one").await;
    eternal_root(&store, "many", 11).await;
    store.post(start("unborn")).await;
    let all: Vec<u64> = (1..=11).collect();
    for (id, expected) in [("one", &[1][..]), ("many", &all), ("unborn", &[]), ("unknown", &[])] {
        let executions = store.admin().list_executions(id).await.expect("executions can be listed");
        assert_eq!(executions, expected, "the executions of '{id}'");
    }
}

/// Name, version, current execution, its status and output, and the parent.
pub async fn test_get_instance_info<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let info = store.admin().get_instance_info("a").await.expect("it exists");
    assert_eq!(info.instance_id, "a");
    assert_eq!(
        (info.orchestration_name.as_str(), info.orchestration_version.as_str()),
        (ORCHESTRATION, VERSION)
    );
    assert_eq!((info.current_execution_id, info.status.as_str()), (1, "Running"));
    assert_eq!((info.output, info.parent_instance_id), (None, None), "no output yet, and no parent");

    store.step(Ack::of("a", 1).named("Renamed", "2.0.0").continuing(2)).await;
    let info = store.admin().get_instance_info("a").await.expect("it exists");
    assert_eq!((info.current_execution_id, info.status.as_str()), (1, "ContinuedAsNew"));
    assert_eq!(info.output.as_deref(), Some("next"), "the output is the input of the successor");
    assert_eq!((info.orchestration_name.as_str(), info.orchestration_version.as_str()), ("Renamed", "2.0.0"));
    run_next(&store, Ack::of("a", 2).signalled(1)).await;
    let info = store.admin().get_instance_info("a").await.expect("it exists");
    assert_eq!((info.current_execution_id, info.status.as_str()), (2, "Running"));
    assert_eq!(info.output, None, "the output of a past execution is not that of the current one");
    store.step(Ack::of("a", 2).failing(2)).await;
    let info = store.admin().get_instance_info("a").await.expect("it exists");
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Failed", Some("broken")));

    completed_child(&store, "child", "a").await;
    let info = store.admin().get_instance_info("child").await.expect("it exists");
    assert_eq!(info.parent_instance_id.as_deref(), Some("a"));
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Completed", Some("done")));
}

/// Status, output and number of events of each execution by itself; "not found" for one that is not there.
pub async fn test_get_execution_info<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    run_next(&store, Ack::first_of("a", 1).signalled(2).continuing(3)).await;
    run_next(&store, Ack::first_of("a", 2).continuing(2)).await;
    run_next(&store, Ack::first_of("a", 3)).await;
    store.create("b").await;
    let expected = [
        (1, "ContinuedAsNew", Some("next"), 3),
        (2, "ContinuedAsNew", Some("next"), 2),
        (3, "Running", None, 1),
    ];
    for (execution_id, status, output, events) in expected {
        let info = store.admin().get_execution_info("a", execution_id).await.expect("it exists");
        assert_eq!(info.execution_id, execution_id);
        assert_eq!(
            (info.status.as_str(), info.output.as_deref(), info.event_count),
            (status, output, events)
        );
        assert_eq!(info.completed_at.is_some(), status != "Running", "execution {execution_id}");
    }
    store.step(Ack::of("a", 3).completing(2)).await;
    let info = store.admin().get_execution_info("a", 3).await.expect("it exists");
    assert_eq!(
        (info.status.as_str(), info.output.as_deref(), info.event_count),
        ("Completed", Some("done"), 2)
    );
    assert!(info.completed_at.is_some(), "an execution that ended has a time of it");
    for (id, execution_id) in [("a", 4), ("a", 0), ("b", 2), ("unknown", 1)] {
        let missing = store.admin().get_execution_info(id, execution_id).await;
        assert_says(&missing, &["not found"], "an execution that is not there");
    }
}

/// The number of instances by what became of them, of executions, and of events. What is between two executions runs.
pub async fn test_get_system_metrics<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert_eq!(metrics(&store).await, [0; 6], "an empty store has nothing");
    completed_root(&store, "completed").await;
    failed_root(&store, "failed").await;
    failed_root(&store, "failed too").await;
    store.create("running").await;
    eternal_root(&store, "eternal", 3).await;
    completed_child(&store, "child", "running").await;
    root_between_executions(&store, "continuing").await;
    store.post(start("unborn")).await;
    // Instances, running, completed, failed, executions, events.
    assert_eq!(metrics(&store).await, [7, 3, 2, 2, 9, 16]);
}

/// Metrics are of what is there now: an end changes the counts, a deletion and a prune lower them.
pub async fn test_metrics_follow_what_happens<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    eternal_root(&store, "a", 3).await;
    store.create("b").await;
    assert_eq!(metrics(&store).await, [2, 2, 0, 0, 4, 6]);
    store.step(Ack::of("b", 1).completing(2)).await;
    assert_eq!(metrics(&store).await, [2, 1, 1, 0, 4, 7]);
    store.admin().prune_executions("a", abide_provider::PruneOptions::default()).await.expect("it exists");
    assert_eq!(metrics(&store).await, [2, 1, 1, 0, 2, 3]);
    store.admin().delete_instance("b", false).await.expect("it has ended");
    assert_eq!(metrics(&store).await, [1, 1, 0, 0, 1, 1]);
}

/// The latest execution, also while it has not begun to run the next; "not found" for what is no instance.
pub async fn test_latest_execution_id<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    for execution_id in 1..=3 {
        run_next(&store, Ack::first_of("a", execution_id).continuing(2)).await;
        let latest = store.admin().latest_execution_id("a").await.expect("it exists");
        assert_eq!(latest, execution_id, "what is only in the queue is no execution");
    }
    assert_says(&store.admin().latest_execution_id("unknown").await, &["not found"], "nobody's execution");
}

/// The history of one execution, and that of the latest; both are empty for what is not there.
pub async fn test_read_history<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    eternal_root(&store, "a", 2).await;
    let admin = store.admin();
    for execution_id in 1..=2 {
        let history = admin.read_history_with_execution_id("a", execution_id).await.expect("it can be read");
        let expected = store.read_with_execution("a", execution_id).await.expect("it can be read");
        assert_eq!(history, expected, "both sides of the store read the same");
        assert_eq!(history.len(), if execution_id == 1 { 2 } else { 1 });
    }
    let latest = admin.read_history("a").await.expect("it can be read");
    assert_eq!(latest, store.history("a").await);
    assert_eq!(latest.len(), 1, "only the latest execution is read");
    let missing = admin.read_history_with_execution_id("a", 3).await.expect("nothing can be read");
    assert!(missing.is_empty(), "an execution that is not there has no history: {missing:?}");
    let nobody = admin.read_history("unknown").await.expect("nothing can be read");
    assert!(nobody.is_empty(), "what is no instance has no history: {nobody:?}");
}

/// Asking about what is no instance says so. A message does not make it one.
pub async fn test_what_is_no_instance_is_not_found<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(start("unborn")).await;
    let admin = store.admin();
    for id in ["unknown", "unborn", ""] {
        assert_says(&admin.get_instance_info(id).await, &["not found"], "information about nobody");
        assert_says(&admin.latest_execution_id(id).await, &["not found"], "the latest execution of nobody");
        assert_says(&admin.get_execution_info(id, 1).await, &["not found"], "an execution of nobody");
        assert_says(&admin.get_parent_id(id).await, &["not found"], "the parent of nobody");
    }
    assert_eq!(existing(&store).await, ["a"], "asking makes no instance");
}

/// What cannot be read can be looked at: it is listed and described, and so is everybody else.
pub async fn test_looking_at_an_unreadable_history<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("good").await;
    completed_root(&store, "bad").await;
    factory.corrupt_instance_history("bad").await;
    assert_eq!(existing(&store).await, ["bad", "good"]);
    let info = store.admin().get_instance_info("bad").await.expect("nobody needs its history for that");
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Completed", Some("done")));
    let execution =
        store.admin().get_execution_info("bad", 1).await.expect("nobody needs its events for that");
    assert_eq!((execution.status.as_str(), execution.event_count), ("Completed", 2));
    let completed = store.admin().list_instances_by_status("Completed").await;
    assert_eq!(completed.expect("instances can be listed"), ["bad"]);
    assert_eq!(metrics(&store).await, [2, 1, 1, 0, 2, 3]);
    assert!(store.admin().read_history("bad").await.is_err(), "what cannot be read is not empty");
}

async fn metrics(store: &Subject<'_>) -> [u64; 6] {
    let metrics = store.admin().get_system_metrics().await.expect("a store can be measured");
    let running = store.admin().count_running_instances().await.expect("what runs can be counted");
    assert_eq!(running, metrics.running_instances, "what runs is counted twice, and differently");
    [
        metrics.total_instances,
        metrics.running_instances,
        metrics.completed_instances,
        metrics.failed_instances,
        metrics.total_executions,
        metrics.total_events,
    ]
}
