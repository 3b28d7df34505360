//! Managing instances: listing, looking into, deleting and pruning them. All of it needs a store with an administrative side.

use std::pin::Pin;

use abide_model::{Event, ExecutionStatus, INITIAL_EXECUTION_ID, PruneOptions, PruneResult, Timestamp};
use abide_provider::{
    DeleteInstanceResult, ExecutionInfo, Force, InstanceFilter, InstanceInfo, InstanceOverview, InstancePage,
    InstanceQuery, InstanceSummary, InstanceTree, OrphanFilter, ProviderAdmin, ProviderError, QueueDepths,
    SystemMetrics,
};
use futures_core::Stream;
use futures_util::{TryStreamExt as _, stream};

use crate::{Client, ClientError};

/// Instances, one after the other; see [`Client::instances`].
pub type Instances = Pin<Box<dyn Stream<Item = Result<InstanceSummary, ClientError>> + Send>>;

/// Looking.
impl Client {
    /// Whether the store has an administrative side.
    #[must_use]
    pub fn has_management_capability(&self) -> bool {
        self.store().as_management_capability().is_some()
    }

    /// All instances, newest first. There may be many: see [`Client::list_instances`].
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn list_all_instances(&self) -> Result<Vec<String>, ClientError> {
        self.ask_much(self.admin()?.list_instances()).await
    }

    /// The instances whose current execution stands like this, newest first: `Running`, `Completed`, `Failed` or
    /// `ContinuedAsNew`.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if there is no such status; [`ClientError::ManagementNotAvailable`]; if
    /// the store fails.
    pub async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ClientError> {
        let known = status.parse::<ExecutionStatus>();
        known.map_err(|unknown| {
            let names = ExecutionStatus::ALL.map(ExecutionStatus::as_str).join(", ");
            ClientError::invalid(&format_args!("{unknown}; use one of {names}"))
        })?;
        self.ask_much(self.admin()?.list_instances_by_status(status)).await
    }

    /// One page of instances: those the query means, in its order, with what a person wants to see.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; [`ClientError::InvalidInput`] if the query makes no sense; if the store fails.
    pub async fn list_instances(&self, query: InstanceQuery) -> Result<InstancePage, ClientError> {
        query.page_size().map_err(|error| ClientError::invalid(&error))?;
        query.start().map_err(|error| ClientError::invalid(&error))?;
        self.ask_much(self.admin()?.list_instances_page(query)).await
    }

    /// The instances of a query, page after page, each page asked for when the one before has been taken. After an error it
    /// ends.
    #[must_use]
    pub fn instances(&self, query: InstanceQuery) -> Instances {
        let client = self.clone();
        let pages = stream::try_unfold(Some(query), move |next| {
            let client = client.clone();
            async move {
                let Some(query) = next else { return Ok::<_, ClientError>(None) };
                let page = client.list_instances(query.clone()).await?;
                let next = page.next.map(|cursor| query.after(cursor));
                Ok(Some((stream::iter(page.instances.into_iter().map(Ok)), next)))
            }
        });
        Box::pin(pages.try_flatten())
    }

    /// What is known about an instance. One whose start is queued is running, and has no times.
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`]; [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ClientError> {
        let answer = self.ask(self.admin()?.get_instance_info(instance)).await;
        match self.or_not_found(instance, answer).await? {
            Known::Answer(info) => Ok(info),
            Known::QueuedStart(start, _) => Ok(info_of_queued_start(instance, *start)),
        }
    }

    /// What is known about one execution.
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`]; a permanent error of the store if the instance has no such
    /// execution; [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ClientError> {
        let answer = self.ask(self.admin()?.get_execution_info(instance, execution_id)).await;
        match self.or_not_found(instance, answer).await? {
            Known::Answer(info) => Ok(info),
            Known::QueuedStart(_, refusal) => Err(ClientError::Provider(refusal)),
        }
    }

    /// The executions of an instance, ascending; empty for an unknown one.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ClientError> {
        self.ask(self.admin()?.list_executions(instance)).await
    }

    /// The history of one execution; empty for an unknown one.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails, or the history cannot be read.
    pub async fn read_execution_history(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ClientError> {
        self.ask_much(self.admin()?.read_history_with_execution_id(instance, execution_id)).await
    }

    /// How much there is of everything.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn get_system_metrics(&self) -> Result<SystemMetrics, ClientError> {
        self.ask_much(self.admin()?.get_system_metrics()).await
    }

    /// How much waits in the queues.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn get_queue_depths(&self) -> Result<QueueDepths, ClientError> {
        self.ask_much(self.admin()?.get_queue_depths()).await
    }

    /// An instance and everything below it. An unknown one is alone.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ClientError> {
        self.ask_much(self.admin()?.get_instance_tree(instance_id)).await
    }
}

/// Removing.
impl Client {
    /// Deletes an instance with everything below it. With `force`, also if something of it runs, or if its
    /// start is queued and has not run yet.
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`], [`ClientError::InstanceStillRunning`], and
    /// [`ClientError::CannotDeleteSubOrchestration`] for a child: it goes with its root.
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    #[expect(clippy::fn_params_excessive_bools, reason = "the signature is frozen")]
    pub async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ClientError> {
        let admin = self.admin()?;
        match self.ask_much(admin.delete_instance(instance_id, force)).await {
            Err(ClientError::Provider(refusal)) if !refusal.is_retryable() => {
                let obstacle = self.ask_much(obstacle(admin, instance_id, force.into())).await;
                match obstacle.ok().flatten() {
                    Some(ClientError::InstanceNotFound { .. }) => {
                        self.delete_queued_start(admin, instance_id, force.into()).await
                    }
                    obstacle => Err(obstacle.unwrap_or(ClientError::Provider(refusal))),
                }
            }
            answer => answer,
        }
    }

    /// Deletes the start of an instance that has not run yet, with all messages for it. The parent of a child
    /// waits for it, so a child goes only with its root.
    async fn delete_queued_start(
        &self,
        admin: &dyn ProviderAdmin,
        instance: &str,
        force: Force,
    ) -> Result<DeleteInstanceResult, ClientError> {
        let instance_id = instance.to_owned();
        match self.overview(instance).await? {
            None => Err(ClientError::InstanceNotFound { instance_id }),
            Some(start) if start.parent.is_some() => {
                Err(ClientError::CannotDeleteSubOrchestration { instance_id })
            }
            Some(_) => match force {
                Force::No => Err(ClientError::InstanceStillRunning { instance_id }),
                Force::Yes => self.ask_much(admin.delete_instances_atomic(&[instance_id], true)).await,
            },
        }
    }

    /// Deletes finished root instances with everything below them; what runs is left alone.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ClientError> {
        self.ask_much(self.admin()?.delete_instance_bulk(filter)).await
    }

    /// Deletes finished children, with everything below them, whose asking execution has ended or is not there any more.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; [`ClientError::InvalidInput`] if the filter means children that run; if the
    /// store fails.
    pub async fn cleanup_orphaned_instances(
        &self,
        filter: OrphanFilter,
    ) -> Result<DeleteInstanceResult, ClientError> {
        let _ends = filter.ends().map_err(|error| ClientError::invalid(&error))?;
        self.ask_much(self.admin()?.cleanup_orphaned_instances(filter)).await
    }

    /// Deletes finished executions of an instance; never the current one.
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`]; [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ClientError> {
        let answer = self.ask_much(self.admin()?.prune_executions(instance_id, options)).await;
        match self.or_not_found(instance_id, answer).await? {
            Known::Answer(pruned) => Ok(pruned),
            Known::QueuedStart(..) => Ok(PruneResult { instances_processed: 1, ..PruneResult::default() }),
        }
    }

    /// Deletes finished executions of many instances, also of such that run.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ClientError> {
        self.ask_much(self.admin()?.prune_executions_bulk(filter, options)).await
    }
}

impl Client {
    /// Replaces a refusal with [`ClientError::InstanceNotFound`] if there is no such instance, and finds one
    /// whose start is queued. A refusal does not say so in a form that all stores share, so the store is
    /// asked.
    async fn or_not_found<T>(
        &self,
        instance: &str,
        answer: Result<T, ClientError>,
    ) -> Result<Known<T>, ClientError> {
        let refusal = match answer {
            Err(ClientError::Provider(refusal)) if !refusal.is_retryable() => refusal,
            answer => return answer.map(Known::Answer),
        };
        match self.list_executions(instance).await {
            Ok(executions) if executions.is_empty() => match self.overview(instance).await? {
                Some(start) => Ok(Known::QueuedStart(Box::new(start), refusal)),
                None => Err(ClientError::InstanceNotFound { instance_id: instance.to_owned() }),
            },
            Ok(_) | Err(_) => Err(ClientError::Provider(refusal)),
        }
    }
}

/// What a store says of an instance that it knows.
enum Known<T> {
    Answer(T),
    /// Its start is queued and has not run, and the store refuses what was asked.
    QueuedStart(Box<InstanceOverview>, ProviderError),
}

fn info_of_queued_start(instance: &str, start: InstanceOverview) -> InstanceInfo {
    let millis = |time: Option<Timestamp>| time.map_or(0, Timestamp::as_millis);
    InstanceInfo {
        instance_id: instance.to_owned(),
        orchestration_name: start.orchestration_name,
        orchestration_version: start.orchestration_version,
        current_execution_id: start.execution_id.max(INITIAL_EXECUTION_ID),
        status: ExecutionStatus::Running.to_string(),
        output: None,
        created_at: millis(start.created),
        updated_at: millis(start.updated),
        parent_instance_id: start.parent.map(|parent| parent.instance),
    }
}

/// What stands in the way of a deletion that was refused, as far as can be seen now. A refusal does not say it in a form
/// that all stores share, and its text is for people.
async fn obstacle(
    admin: &dyn ProviderAdmin,
    instance: &str,
    force: Force,
) -> Result<Option<ClientError>, ProviderError> {
    let instance_id = instance.to_owned();
    if admin.list_executions(instance).await?.is_empty() {
        return Ok(Some(ClientError::InstanceNotFound { instance_id }));
    }
    if admin.get_parent_id(instance).await?.is_some() {
        return Ok(Some(ClientError::CannotDeleteSubOrchestration { instance_id }));
    }
    match force {
        Force::Yes => Ok(None),
        Force::No => {
            let running = first_running(admin, instance).await?;
            Ok(running.map(|instance_id| ClientError::InstanceStillRunning { instance_id }))
        }
    }
}

/// The first instance of the tree that has not ended.
async fn first_running(admin: &dyn ProviderAdmin, root: &str) -> Result<Option<String>, ProviderError> {
    for id in admin.get_instance_tree(root).await?.all_ids {
        let status = admin.get_instance_info(&id).await?.status;
        if status.parse().is_ok_and(|status: ExecutionStatus| !status.is_end()) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
