//! 5: the client, method by method.

use std::collections::HashMap;
use std::fmt::{Debug, Display};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use duroxide::client::{Client, ClientError};
use duroxide::providers::{Provider, ProviderError};
use duroxide::{
    DeleteInstanceResult, Event, ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree,
    OrchestrationStatus, PruneOptions, PruneResult, QueueDepths, SystemMetrics, SystemStats,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Text;

type Answer<T> = Result<T, ClientError>;

/// A call that answers this, and that a task may make.
async fn is<T>(call: impl Future<Output = Answer<T>> + Send) -> Answer<T> {
    call.await
}

const fn is_handle<T: Clone + Send + Sync + 'static>() {}
const fn is_error<T: std::error::Error + Display + Debug + Clone + From<ProviderError> + Send + Sync>() {}
const _: () = {
    is_handle::<Client>();
    is_error::<ClientError>();
};

const _: fn(Arc<dyn Provider>) -> Client = Client::new;
const _: fn(&Client) -> bool = Client::has_management_capability;
const _: fn(&ClientError) -> bool = ClientError::is_retryable;

fn _errors(error: ClientError) -> ClientError {
    match error {
        ClientError::Provider(error) => {
            let error: ProviderError = error;
            ClientError::Provider(error)
        }
        ClientError::ManagementNotAvailable => ClientError::ManagementNotAvailable,
        ClientError::InvalidInput { message } => ClientError::InvalidInput { message },
        ClientError::Timeout => ClientError::Timeout,
        ClientError::InstanceStillRunning { instance_id } => {
            ClientError::InstanceStillRunning { instance_id }
        }
        ClientError::CannotDeleteSubOrchestration { instance_id } => {
            ClientError::CannotDeleteSubOrchestration { instance_id }
        }
        ClientError::InstanceNotFound { instance_id } => ClientError::InstanceNotFound { instance_id },
    }
}

async fn _starts<A: Text + Send, B: Text + Send, C: Text + Send, D: Text + Send>(
    client: &Client,
    (a, b, c): (A, B, C),
    (e, f, g, h): (A, B, D, C),
) -> Answer<()> {
    is::<()>(client.start_orchestration(a, b, c)).await?;
    is::<()>(client.start_orchestration_versioned(e, f, g, h)).await
}

async fn _typed_starts<In: Serialize + Send, A: Text + Send, B: Text + Send, C: Text + Send>(
    client: &Client,
    (a, b, one): (A, B, In),
    (c, d, version, two): (A, B, C, In),
) -> Answer<()> {
    is::<()>(client.start_orchestration_typed::<In>(a, b, one)).await?;
    is::<()>(client.start_orchestration_versioned_typed::<In>(c, d, version, two)).await
}

async fn _events<T: Serialize + Sync, A: Text + Send, B: Text + Send, C: Text + Send>(
    client: &Client,
    texts: [(A, B, C); 3],
    [(g, h), (i, j)]: [(A, B); 2],
    (k, l): (A, C),
    data: &T,
) -> Answer<()> {
    let [(a, b, c), (d, e, f), (m, n, o)] = texts;
    is::<()>(client.raise_event(a, b, c)).await?;
    is::<()>(client.raise_event_typed::<T>(g, h, data)).await?;
    is::<()>(client.enqueue_event(d, e, f)).await?;
    is::<()>(client.enqueue_event_typed::<T>(i, j, data)).await?;
    #[expect(deprecated, reason = "the older name is part of the API, and says that it is older")]
    is::<()>(client.raise_event_persistent(m, n, o)).await?;
    is::<()>(client.cancel_instance(k, l)).await
}

async fn _status<Out: DeserializeOwned + Send>(client: &Client, time: Duration) -> Answer<()> {
    is::<OrchestrationStatus>(client.get_orchestration_status("i")).await?;
    is::<OrchestrationStatus>(client.wait_for_orchestration("i", time)).await?;
    let _ = is::<Result<Out, String>>(client.wait_for_orchestration_typed::<Out>("i", time)).await?;
    is::<OrchestrationStatus>(client.wait_for_status_change("i", 1_u64, time, time)).await?;
    Ok(())
}

async fn _kv<T: DeserializeOwned + Send>(client: &Client, time: Duration) -> Answer<()> {
    is::<Option<String>>(client.get_kv_value("i", "k")).await?;
    is::<Option<T>>(client.get_kv_value_typed::<T>("i", "k")).await?;
    is::<HashMap<String, String>>(client.get_kv_all_values("i")).await?;
    is::<String>(client.wait_for_kv_value("i", "k", time)).await?;
    is::<T>(client.wait_for_kv_value_typed::<T>("i", "k", time)).await?;
    Ok(())
}

async fn _looking(client: &Client) -> Answer<()> {
    is::<Option<SystemStats>>(client.get_orchestration_stats("i")).await?;
    is::<Vec<String>>(client.list_all_instances()).await?;
    is::<Vec<String>>(client.list_instances_by_status("Running")).await?;
    is::<InstanceInfo>(client.get_instance_info("i")).await?;
    is::<ExecutionInfo>(client.get_execution_info("i", 1_u64)).await?;
    is::<Vec<u64>>(client.list_executions("i")).await?;
    is::<Vec<Event>>(client.read_execution_history("i", 1_u64)).await?;
    is::<SystemMetrics>(client.get_system_metrics()).await?;
    is::<QueueDepths>(client.get_queue_depths()).await?;
    is::<InstanceTree>(client.get_instance_tree("i")).await?;
    Ok(())
}

async fn _deleting(client: &Client, filter: InstanceFilter, options: PruneOptions) -> Answer<()> {
    is::<DeleteInstanceResult>(client.delete_instance("i", false)).await?;
    is::<DeleteInstanceResult>(client.delete_instance_bulk(filter.clone())).await?;
    is::<PruneResult>(client.prune_executions("i", options.clone())).await?;
    is::<PruneResult>(client.prune_executions_bulk(filter, options)).await?;
    Ok(())
}
