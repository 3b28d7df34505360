//! Every documented name and signature, as programs written for the reference call them.
//!
//! Checked by compiling: almost nothing here runs.

#![allow(dead_code, reason = "it is compiled and never run")]

use std::collections::HashMap;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::sync::Arc;
use std::time::Duration;

use abide_client::{Client, ClientBuilder, ClientError, Instances, StartError, StartRequest, Started};
use abide_memory::InMemoryProvider;
use abide_model::{Clock, Entropy, Event, OrchestrationStatus, SystemStats};
use abide_provider::{
    DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, InstancePage, InstanceQuery,
    InstanceTree, OrphanFilter, Provider, ProviderError, PruneOptions, PruneResult, QueueDepths,
    SystemMetrics,
};

type Answer<T> = Result<T, ClientError>;

/// An answer of exactly this type, from a future that any runtime may move to another thread.
async fn is<T>(answer: impl Future<Output = T> + Send) -> T {
    answer.await
}

const fn is_shared<T: Clone + Debug + Send + Sync + 'static>() {}
const fn is_error<T: Error + Clone + Debug + Display + Send + Sync + 'static>() {}
const _: () = {
    is_shared::<Client>();
    is_shared::<ClientBuilder>();
    is_shared::<StartRequest>();
    is_shared::<Started>();
    is_error::<ClientError>();
    is_error::<StartError>();
};

/// No more variants than these, and no fewer.
fn every_error(error: ClientError) -> String {
    match error {
        ClientError::Provider(error) => ProviderError::to_string(&error),
        ClientError::ManagementNotAvailable | ClientError::Timeout => String::new(),
        ClientError::InvalidInput { message } => message,
        ClientError::InstanceStillRunning { instance_id }
        | ClientError::CannotDeleteSubOrchestration { instance_id }
        | ClientError::InstanceNotFound { instance_id } => instance_id,
    }
}

async fn starting(client: &Client) {
    is::<Answer<()>>(client.start_orchestration("a", String::from("Order"), "x")).await.unwrap();
    is::<Answer<()>>(client.start_orchestration_versioned("a", "Order", "1.0.0", "x")).await.unwrap();
    is::<Answer<()>>(client.start_orchestration_typed::<u8>("a", "Order", 1)).await.unwrap();
    is::<Answer<()>>(client.start_orchestration_versioned_typed::<u8>("a", "Order", "1.0.0", 1))
        .await
        .unwrap();
}

async fn signalling(client: &Client) {
    is::<Answer<()>>(client.raise_event("a", "go", "x")).await.unwrap();
    is::<Answer<()>>(client.raise_event_typed::<u8>("a", "go", &1)).await.unwrap();
    is::<Answer<()>>(client.enqueue_event("a", "inbox", "x")).await.unwrap();
    is::<Answer<()>>(client.enqueue_event_typed::<u8>("a", "inbox", &1)).await.unwrap();
    #[expect(deprecated, reason = "the older name is still there")]
    is::<Answer<()>>(client.raise_event_persistent("a", "inbox", "x")).await.unwrap();
    is::<Answer<()>>(client.cancel_instance("a", "enough")).await.unwrap();
}

async fn waiting(client: &Client, time: Duration) {
    is::<Answer<OrchestrationStatus>>(client.get_orchestration_status("a")).await.unwrap();
    is::<Answer<OrchestrationStatus>>(client.wait_for_orchestration("a", time)).await.unwrap();
    let typed = client.wait_for_orchestration_typed::<u8>("a", time);
    is::<Answer<Result<u8, String>>>(typed).await.unwrap().unwrap();
    is::<Answer<OrchestrationStatus>>(client.wait_for_status_change("a", 0_u64, time, time)).await.unwrap();
    is::<Answer<Option<String>>>(client.get_kv_value("a", "k")).await.unwrap();
    is::<Answer<Option<u8>>>(client.get_kv_value_typed::<u8>("a", "k")).await.unwrap();
    is::<Answer<HashMap<String, String>>>(client.get_kv_all_values("a")).await.unwrap();
    is::<Answer<String>>(client.wait_for_kv_value("a", "k", time)).await.unwrap();
    is::<Answer<u8>>(client.wait_for_kv_value_typed::<u8>("a", "k", time)).await.unwrap();
}

async fn looking(client: &Client) {
    let _is_there: bool = client.has_management_capability();
    is::<Answer<Option<SystemStats>>>(client.get_orchestration_stats("a")).await.unwrap();
    is::<Answer<Vec<String>>>(client.list_all_instances()).await.unwrap();
    is::<Answer<Vec<String>>>(client.list_instances_by_status("Running")).await.unwrap();
    is::<Answer<InstanceInfo>>(client.get_instance_info("a")).await.unwrap();
    is::<Answer<ExecutionInfo>>(client.get_execution_info("a", 1_u64)).await.unwrap();
    is::<Answer<Vec<u64>>>(client.list_executions("a")).await.unwrap();
    is::<Answer<Vec<Event>>>(client.read_execution_history("a", 1_u64)).await.unwrap();
    is::<Answer<SystemMetrics>>(client.get_system_metrics()).await.unwrap();
    is::<Answer<QueueDepths>>(client.get_queue_depths()).await.unwrap();
    is::<Answer<InstanceTree>>(client.get_instance_tree("a")).await.unwrap();
}

async fn removing(client: &Client, filter: InstanceFilter, options: PruneOptions) {
    is::<Answer<DeleteInstanceResult>>(client.delete_instance("a", true)).await.unwrap();
    is::<Answer<DeleteInstanceResult>>(client.delete_instance_bulk(filter.clone())).await.unwrap();
    is::<Answer<PruneResult>>(client.prune_executions("a", options.clone())).await.unwrap();
    is::<Answer<PruneResult>>(client.prune_executions_bulk(filter, options)).await.unwrap();
}

/// What the reference does not have.
async fn new(client: &Client) {
    let request: StartRequest = client.start("a", "Order").input("x").typed_input("x").version("1.0.0");
    let request = request.delay(Duration::ZERO).or_refuse();
    is::<Result<Started, StartError>>(request.clone().send()).await.unwrap();
    is::<Result<Started, StartError>>(request.into_future()).await.unwrap();
    is::<Answer<InstancePage>>(client.list_instances(InstanceQuery::new())).await.unwrap();
    let _instances: Instances = client.instances(InstanceQuery::new());
    let orphans = client.cleanup_orphaned_instances(OrphanFilter::default());
    is::<Answer<DeleteInstanceResult>>(orphans).await.unwrap();
}

fn building(store: Arc<dyn Provider>, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Client {
    let builder = Client::builder(store).clock(clock).entropy(entropy);
    let second = Duration::from_secs(1);
    builder.call_timeout(second).bulk_timeout(second).retry_for(second).build()
}

#[test]
fn a_client_shows_its_store_and_nothing_else() {
    let store = Arc::new(InMemoryProvider::new());
    assert_eq!(
        format!("{:?}", Client::builder(store.clone())),
        format!(
            "ClientBuilder {{ store: {:?}, call_timeout: 5s, bulk_timeout: 60s, retry_for: 10s, safety_net: 5s, max_payload_bytes: 67108864, .. }}",
            store.name()
        )
    );
    assert_eq!(
        format!("{:?}", Client::new(store.clone())),
        format!("Client {{ store: {:?}, .. }}", store.name())
    );
}
