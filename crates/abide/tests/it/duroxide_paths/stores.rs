//! 7.2 to 7.6: the traits of a store, administration, and the stores there are.
//!
//! Each method is called through the trait object with the documented arguments, and its answer has the documented type.
//! That the documented required methods are all there are is shown by `own_store.rs`, which implements exactly those.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use duroxide::Event;
use duroxide::providers::instrumented::InstrumentedProvider;
use duroxide::providers::management::{
    self, DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree, PruneOptions,
    PruneResult, QueueDepths, SystemMetrics,
};
use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, SystemStats, TagFilter, WorkItem,
};
use duroxide::runtime::observability::MetricsProvider;

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
    info: duroxide::providers::InstanceInfo,
    _: &dyn duroxide::providers::ManagementProvider,
    _: &dyn management::ManagementProvider,
) -> (management::InstanceInfo, duroxide::providers::PruneResult) {
    (info, management::PruneResult::default())
}

/// The older trait, whose methods all have a body.
struct Nothing;
#[async_trait::async_trait]
impl management::ManagementProvider for Nothing {}

async fn older(admin: &dyn management::ManagementProvider) -> Result<(), String> {
    is::<Vec<String>>(admin.list_instances().await?);
    is::<Vec<String>>(admin.list_instances_by_status("Running").await?);
    is::<Vec<u64>>(admin.list_executions("i").await?);
    is::<Vec<Event>>(admin.read_execution("i", 1_u64).await?);
    is::<u64>(admin.latest_execution_id("i").await?);
    is::<InstanceInfo>(admin.get_instance_info("i").await?);
    is::<ExecutionInfo>(admin.get_execution_info("i", 1_u64).await?);
    is::<SystemMetrics>(admin.get_system_metrics().await?);
    is::<QueueDepths>(admin.get_queue_depths().await?);
    Ok(())
}

// 7.5

const _: fn(Arc<dyn Provider>, Option<Arc<MetricsProvider>>) -> InstrumentedProvider =
    InstrumentedProvider::new;

fn measured(inner: Arc<dyn Provider>) -> Arc<dyn Provider> {
    Arc::new(InstrumentedProvider::new(inner, None))
}

// 7.6: errors are ours, and `get_pool` is not there

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::error::Error;
    use std::fmt::Debug;
    use std::sync::Arc;

    use duroxide::providers::sqlite::{SqliteOptions, SqliteProvider};
    use duroxide::providers::{Provider, ProviderAdmin, ProviderError};

    const fn is_default<T: Debug + Clone + Default>() {}
    const _: () = is_default::<SqliteOptions>();

    async fn opened(url: &str) -> Result<Arc<dyn Provider>, Box<dyn Error + Send + Sync>> {
        let file = SqliteProvider::new(url, None).await?;
        let empty = SqliteProvider::new(url, Some(SqliteOptions {})).await?;
        let in_memory: SqliteProvider = SqliteProvider::new_in_memory().await?;
        let too = SqliteProvider::new_in_memory_with_options(Some(SqliteOptions::default())).await?;
        let () = file.checkpoint().await?;
        let _: [String; 3] = [empty.debug_dump().await, in_memory.debug_dump().await, too.debug_dump().await];
        // Both ways of naming a method, and both coercions.
        let _: Vec<u64> = ProviderAdmin::list_executions(&file, "i").await?;
        let _ = file.read_history("i").await?;
        let store = Arc::new(file);
        let plain: &dyn Provider = &*store;
        let _: Option<&dyn ProviderAdmin> = plain.as_management_capability();
        Ok(store)
    }

    /// What its errors are good for without naming their type.
    async fn failed() -> Result<SqliteProvider, String> {
        SqliteProvider::new("sqlite::memory:", None).await.map_err(|error| error.to_string())
    }

    const fn is_store<T: Provider + ProviderAdmin + Send + Sync + 'static>() {}
    const _: () = is_store::<SqliteProvider>();

    fn converted(error: ProviderError) -> duroxide::ClientError {
        error.into()
    }
}

// Not of that crate, but of the one beside it: opening a store is all that programs for `duroxide-pg` say about theirs

#[cfg(feature = "postgres")]
mod postgres {
    use std::error::Error;
    use std::sync::Arc;
    use std::time::Duration;

    use duroxide::providers::postgres::{InvalidSchema, OpenError, PostgresBuilder, PostgresProvider};
    use duroxide::providers::{Provider, ProviderAdmin};

    async fn opened(url: &str) -> Result<Arc<dyn Provider>, Box<dyn Error + Send + Sync>> {
        let plain = PostgresProvider::new(url).await?;
        let named = PostgresProvider::new_with_schema(url, Some("orders")).await?;
        let default = PostgresProvider::new_with_schema(url, None).await?;
        let _: [&str; 2] = [named.schema(), default.schema()];
        let builder: PostgresBuilder = PostgresProvider::builder(url);
        let chosen =
            builder.schema("orders").connections(1).listen_url(url).safety_poll(Duration::from_secs(1));
        let _: Result<PostgresProvider, OpenError> = chosen.open().await;
        let store = Arc::new(plain);
        let plain: &dyn Provider = &*store;
        let _: Option<&dyn ProviderAdmin> = plain.as_management_capability();
        Ok(store)
    }

    fn converted(error: InvalidSchema) -> OpenError {
        error.into()
    }

    const fn is_store<T: Provider + ProviderAdmin + Send + Sync + 'static>() {}
    const _: () = is_store::<PostgresProvider>();
}
