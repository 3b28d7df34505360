//! The traits of the provider side and the types of administration, as users of the reference call them.
//!
//! Checked by compiling: nothing here runs. Each method is called through the trait object with the documented
//! arguments, and its answer has the documented type. That the documented required methods are all there are is
//! shown by `fake.rs` and `admin.rs`, which implement exactly those. The values are in `api_values.rs`.

#![allow(dead_code, reason = "it is compiled and never run")]

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;
use std::time::Duration;

use abide_model::Event;
use abide_provider::management::{
    self, DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree, PruneOptions,
    PruneResult, QueueDepths, SystemMetrics,
};
use abide_provider::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, SystemStats, TagFilter, WorkItem,
};

type Answer<T> = Result<T, ProviderError>;

/// An answer of exactly this type.
fn is<T>(answer: T) -> T {
    answer
}

const fn is_object<T: ?Sized + Any + Send + Sync>() {}
const _: () = {
    is_object::<dyn Provider>();
    is_object::<dyn ProviderAdmin>();
};

// 7.2

fn names(store: &dyn Provider) -> (&str, &str, Option<&dyn ProviderAdmin>) {
    (store.name(), store.version(), store.as_management_capability())
}

async fn orchestrations(
    store: &dyn Provider,
    filter: Option<&DispatcherCapabilityFilter>,
    cancelled: Vec<ScheduledActivityIdentifier>,
) -> Answer<()> {
    let second = Duration::from_secs(1);
    is::<Option<(OrchestrationItem, String, u32)>>(
        store.fetch_orchestration_item(second, second, filter).await?,
    );
    let (events, work, mail) = (Vec::<Event>::new(), Vec::<WorkItem>::new(), Vec::<WorkItem>::new());
    let metadata = ExecutionMetadata::default();
    is::<()>(store.ack_orchestration_item("t", 1_u64, events, work, mail, metadata, cancelled).await?);
    is::<()>(store.abandon_orchestration_item("t", Some(second), true).await?);
    is::<()>(store.renew_orchestration_item_lock("t", second).await?);
    is::<Vec<Event>>(store.read("i").await?);
    is::<Vec<Event>>(store.read_with_execution("i", 1_u64).await?);
    is::<()>(store.append_with_execution("i", 1_u64, Vec::<Event>::new()).await?);
    Ok(())
}

async fn work(
    store: &dyn Provider,
    item: WorkItem,
    session: Option<&SessionFetchConfig>,
    tags: &TagFilter,
) -> Answer<()> {
    let second = Duration::from_secs(1);
    is::<()>(store.enqueue_for_worker(item.clone()).await?);
    is::<()>(store.enqueue_for_orchestrator(item.clone(), Some(second)).await?);
    is::<Option<(WorkItem, String, u32)>>(store.fetch_work_item(second, second, session, tags).await?);
    is::<()>(store.ack_work_item("t", Some(item)).await?);
    is::<()>(store.renew_work_item_lock("t", second).await?);
    is::<()>(store.abandon_work_item("t", None, false).await?);
    is::<usize>(store.renew_session_lock(&["w"], second, second).await?);
    is::<usize>(store.cleanup_orphaned_sessions(second).await?);
    Ok(())
}

async fn state(store: &dyn Provider) -> Answer<()> {
    is::<Option<(Option<String>, u64)>>(store.get_custom_status("i", 1_u64).await?);
    is::<Option<String>>(store.get_kv_value("i", "k").await?);
    is::<HashMap<String, String>>(store.get_kv_all_values("i").await?);
    is::<Option<SystemStats>>(store.get_instance_stats("i").await?);
    Ok(())
}

// 7.3

async fn looking(admin: &dyn ProviderAdmin) -> Answer<()> {
    is::<Vec<String>>(admin.list_instances().await?);
    is::<Vec<String>>(admin.list_instances_by_status("Running").await?);
    is::<Vec<u64>>(admin.list_executions("i").await?);
    is::<Vec<Event>>(admin.read_history_with_execution_id("i", 1_u64).await?);
    is::<Vec<Event>>(admin.read_history("i").await?);
    is::<u64>(admin.latest_execution_id("i").await?);
    is::<InstanceInfo>(admin.get_instance_info("i").await?);
    is::<ExecutionInfo>(admin.get_execution_info("i", 1_u64).await?);
    is::<SystemMetrics>(admin.get_system_metrics().await?);
    is::<QueueDepths>(admin.get_queue_depths().await?);
    is::<Vec<String>>(admin.list_children("i").await?);
    is::<Option<String>>(admin.get_parent_id("i").await?);
    is::<InstanceTree>(admin.get_instance_tree("i").await?);
    Ok(())
}

async fn deleting(admin: &dyn ProviderAdmin, filter: InstanceFilter, options: PruneOptions) -> Answer<()> {
    is::<DeleteInstanceResult>(admin.delete_instances_atomic(&[String::new()], false).await?);
    is::<DeleteInstanceResult>(admin.delete_instance("i", true).await?);
    is::<DeleteInstanceResult>(admin.delete_instance_bulk(filter.clone()).await?);
    is::<PruneResult>(admin.prune_executions("i", options.clone()).await?);
    is::<PruneResult>(admin.prune_executions_bulk(filter, options).await?);
    Ok(())
}

// 7.4

const fn is_plain<T: Debug + Clone + Send + Sync + 'static>() {}
const fn is_default<T: Debug + Clone + Default + Send + Sync + 'static>() {}
const _: () = {
    is_plain::<InstanceInfo>();
    is_plain::<ExecutionInfo>();
    is_plain::<InstanceTree>();
    is_default::<SystemMetrics>();
    is_default::<QueueDepths>();
    is_default::<InstanceFilter>();
    is_default::<PruneOptions>();
    is_default::<DeleteInstanceResult>();
    is_default::<PruneResult>();
};
const _: fn(&InstanceTree) -> bool = InstanceTree::is_root_only;
const _: fn(&InstanceTree) -> usize = InstanceTree::size;

fn infos(text: String) -> (InstanceInfo, ExecutionInfo, InstanceTree) {
    let instance = InstanceInfo {
        instance_id: text.clone(),
        orchestration_name: text.clone(),
        orchestration_version: text.clone(),
        current_execution_id: 1_u64,
        status: text.clone(),
        output: Some(text.clone()),
        created_at: 1_u64,
        updated_at: 1_u64,
        parent_instance_id: Some(text.clone()),
    };
    let execution = ExecutionInfo {
        execution_id: 1_u64,
        status: text.clone(),
        output: Some(text.clone()),
        started_at: 1_u64,
        completed_at: Some(1_u64),
        event_count: 1_usize,
    };
    (instance, execution, InstanceTree { root_id: text.clone(), all_ids: vec![text] })
}

fn counts(n: u64, size: usize) -> (SystemMetrics, QueueDepths, DeleteInstanceResult, PruneResult) {
    let metrics = SystemMetrics {
        total_instances: n,
        total_executions: n,
        running_instances: n,
        completed_instances: n,
        failed_instances: n,
        total_events: n,
    };
    let depths = QueueDepths { orchestrator_queue: size, worker_queue: size, timer_queue: size };
    let deleted = DeleteInstanceResult {
        instances_deleted: n,
        executions_deleted: n,
        events_deleted: n,
        queue_messages_deleted: n,
    };
    (
        metrics,
        depths,
        deleted,
        PruneResult { instances_processed: n, executions_deleted: n, events_deleted: n },
    )
}

fn options(ids: Vec<String>) -> (InstanceFilter, PruneOptions) {
    let filter =
        InstanceFilter { instance_ids: Some(ids), completed_before: Some(1_u64), limit: Some(1_u32) };
    (filter, PruneOptions { keep_last: Some(1_u32), completed_before: Some(1_u64) })
}

/// The same names without the module, the older trait included.
fn re_exported(
    info: abide_provider::InstanceInfo,
    _: &dyn abide_provider::ManagementProvider,
    _: &dyn management::ManagementProvider,
) -> (management::InstanceInfo, abide_provider::PruneResult) {
    (info, management::PruneResult::default())
}
